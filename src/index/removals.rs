//! The removals of a commit: rows that it replaces, and deletions.

use hashbrown::HashMap;
use roaring::RoaringBitmap;

use super::live::SegmentHandle;
use super::pending::{CommitReport, PendingChanges};
use super::snapshot::{Found, Snapshot};
use crate::Result;
use crate::segment::{Commits, Tombstone};
use crate::signal::SignalId;

/// The removals of a commit from the existing segments.
#[derive(Debug)]
pub(super) struct Removals {
    commit: u64,
    /// The removals by segment of the snapshot.
    pub(super) of_segments: Vec<Removed>,
    /// For each rewritten signal, the commit that added it.
    first_commits: HashMap<SignalId, u64>,
    /// The signals that are deleted and not rewritten.
    pub(super) tombstones: Vec<Tombstone>,
}

/// The removals from a segment.
#[derive(Debug, Default)]
pub(super) struct Removed {
    pub(super) rows: RoaringBitmap,
    pub(super) companies: RoaringBitmap,
}

impl Removals {
    /// The removals of a commit with these changes and reindexed signals.
    pub(super) fn of(
        snapshot: &Snapshot,
        changes: &PendingChanges,
        reindexed: &[Found<'_>],
        commit: u64,
    ) -> Result<Removals> {
        let mut removals = Removals {
            commit,
            of_segments: Vec::with_capacity(snapshot.segments.len()),
            first_commits: HashMap::new(),
            tombstones: Vec::new(),
        };
        for live in &snapshot.segments {
            let mut rows = RoaringBitmap::new();
            // A signal is live in at most one segment, so each is removed once.
            for (&id, pending) in &changes.signals {
                rows.extend(removals.remove(live, id, pending.is_some())?);
            }
            for found in reindexed {
                rows.extend(removals.remove(live, found.signal.id, true)?);
            }
            let mut companies = RoaringBitmap::new();
            for (slug, _) in changes.companies.iter().filter(|(_, new)| new.is_none()) {
                companies.extend(live.company_by_slug(slug)?.map(|company| company.0));
            }
            removals.of_segments.push(Removed { rows, companies });
        }
        Ok(removals)
    }

    /// Removes a signal from a segment. Returns its row.
    fn remove(
        &mut self,
        live: &SegmentHandle,
        id: SignalId,
        is_written: bool,
    ) -> Result<Option<u32>> {
        let Some(row) = live.row(id)? else {
            return Ok(None);
        };
        let first_commit = live.segment.commits(row)?.first;
        if is_written {
            self.first_commits.insert(id, first_commit);
        } else {
            self.tombstones.push(Tombstone {
                id: id.get(),
                commit: self.commit,
                first_commit,
            });
        }
        Ok(Some(row.0))
    }

    /// The report of the commit, without its generation.
    pub(super) fn report(
        &self,
        snapshot: &Snapshot,
        changes: &PendingChanges,
        reindexed: &[Found<'_>],
    ) -> Result<CommitReport> {
        let upserted = changes.signals.values().flatten().count();
        let mut companies_deleted = 0;
        for (slug, _) in changes.companies.iter().filter(|(_, new)| new.is_none()) {
            companies_deleted += u64::from(snapshot.has_company(slug)?);
        }
        Ok(CommitReport {
            generation: 0,
            signals_written: (upserted + reindexed.len()) as u64,
            signals_deleted: self.tombstones.len() as u64,
            companies_written: changes.companies.values().flatten().count() as u64,
            companies_deleted,
        })
    }

    /// The commits of a written signal.
    pub(super) fn commits_of(&self, id: SignalId) -> Commits {
        let first = self.first_commits.get(&id);
        Commits {
            first: first.copied().unwrap_or(self.commit),
            last: self.commit,
        }
    }
}

impl Removed {
    /// Whether nothing is removed.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.companies.is_empty()
    }
}
