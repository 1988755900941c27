//! The commit machine: turns changes into the next durable state of an index.
//!
//! Invariant: at every instant the directory holds one complete state, that of its manifest. A commit
//! writes and syncs new files that no manifest names, then renames a new manifest over the old one; a
//! crash leaves the state before or after. The in-memory snapshot follows the manifest, never precedes
//! it. After a failed sync nothing on disk can be trusted, so the committer refuses everything from
//! then on.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use roaring::RoaringBitmap;

use super::directory::{self, FileBuilder, NewFiles};
use super::live::SegmentHandle;
use super::manifest::{DeletedLine, History, Manifest};
use super::snapshot::Snapshot;
use super::storage::Storage;
use super::{Found, Shared};
use crate::segment::{Commits, Tombstone, catch_damage};
use crate::signal::{Company, Signal, SignalId};
use crate::{Error, Result};

/// What a commit changes: the record that each id or slug gets, or none where it is deleted.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) signals: BTreeMap<SignalId, Option<Signal<'static>>>,
    pub(super) companies: BTreeMap<String, Option<Company<'static>>>,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct CommitReport {
    /// The generation of the snapshot that it published.
    pub generation: u64,
    /// Signals written: those upserted, and those whose company changed.
    pub signals_written: u64,
    /// Signals deleted.
    pub signals_deleted: u64,
    /// Companies written.
    pub companies_written: u64,
    /// Companies deleted.
    pub companies_deleted: u64,
}

/// Publishes new states of an index, one at a time: commits of the writer, and merges of its thread.
#[derive(Debug)]
pub(super) struct Committer {
    shared: Arc<Shared>,
    pub(super) storage: Arc<dyn Storage>,
    state: Mutex<State>,
    _lock: Box<dyn Debug + Send + Sync>,
}

/// What only one commit or merge changes at a time.
#[derive(Debug)]
pub(super) struct State {
    pub(super) manifest: Manifest,
    /// Why nothing more may be written.
    failure: Option<String>,
}

impl Committer {
    /// Takes over an index whose directory is locked and in the state of a manifest.
    pub(super) fn new(
        shared: Arc<Shared>,
        storage: Arc<dyn Storage>,
        manifest: Manifest,
        lock: Box<dyn Debug + Send + Sync>,
    ) -> Committer {
        let state = State {
            manifest,
            failure: None,
        };
        Committer {
            shared,
            storage,
            state: Mutex::new(state),
            _lock: lock,
        }
    }

    /// The published snapshot. Under the state's lock it is that of the manifest: a refresh of the
    /// same index can only bring the state that this writer has written, never an earlier one.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.current.load_full()
    }

    /// The state, unless the writer has failed.
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, State>> {
        // A panic while the lock was held cannot leave the state half-changed: it is replaced as
        // a whole at the end of `publish`.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.failure {
            None => Ok(state),
            Some(reason) => Err(Error::poisoned(format!(
                "the writer has failed and has to be opened again: {reason}"
            ))),
        }
    }

    /// Makes segments the current state, durably, then visibly, and keeps their new files. `history` counts
    /// the commit, where it is one and no merge.
    pub(super) fn publish(
        &self,
        state: &mut State,
        new: NewFiles,
        segments: Vec<(SegmentHandle, Option<DeletedLine>)>,
        history: History,
    ) -> Result<u64> {
        let manifest = Manifest {
            identity: state.manifest.identity,
            generation: state.manifest.generation + 1,
            next_file: state.manifest.next_file,
            compresses_records: state.manifest.compresses_records,
            history,
            segments: segments
                .iter()
                .map(|(live, deleted)| directory::line(live, deleted.clone()))
                .collect(),
        };
        let published = new.publish(&manifest);
        published.map_err(|error| Self::fail(state, error))?;
        let generation = manifest.generation;
        let live = segments.into_iter().map(|(live, _)| live).collect();
        let snapshot = Snapshot::new(&manifest, live);
        self.shared.current.store(Arc::new(snapshot));
        let before = std::mem::replace(&mut state.manifest, manifest);
        // The commit stands; what cannot be removed now is removed when the next writer opens.
        let _ = directory::remove_replaced(&*self.storage, &before, &state.manifest);
        Ok(generation)
    }

    /// Refuses everything from here on: what is on disk is not known any more.
    pub(super) fn fail(state: &mut State, error: Error) -> Error {
        state.failure = Some(error.to_string());
        error
    }

    /// Commits changes: durable and visible when this returns.
    pub(super) fn commit(&self, changes: &Changes) -> Result<CommitReport> {
        catch_damage(|| self.write_commit(changes))?
    }

    fn write_commit(&self, changes: &Changes) -> Result<CommitReport> {
        let mut state = self.lock()?;
        let snapshot = self.snapshot();
        if changes.signals.is_empty() && changes.companies.is_empty() {
            return Ok(CommitReport {
                generation: snapshot.generation(),
                ..Default::default()
            });
        }
        let reindexed = reindexed_signals(&snapshot, changes)?;
        let history = state.manifest.history.next();
        let removals = Removals::of(&snapshot, changes, &reindexed, history.last_commit);
        let mut report = CommitReport::default();
        let mut new_files = NewFiles::new(&self.storage);
        let new = self.write_changes(
            (&mut state, &mut new_files),
            &snapshot,
            &reindexed,
            changes,
            &removals,
            &mut report,
        )?;
        report.signals_deleted = removals.tombstones.len() as u64;
        let mut segments = Vec::new();
        for (live, removed) in snapshot.segments.iter().zip(&removals.of_segments) {
            let line = state.manifest.deleted_line(live.number);
            segments.push(Self::write_removed(
                (&mut state, &mut new_files),
                live,
                removed,
                line,
            )?);
        }
        report.companies_deleted = changes
            .companies
            .iter()
            .filter(|(slug, pending)| pending.is_none() && snapshot.has_company(slug))
            .count() as u64;
        segments.extend(new.map(|live| (live, None)));
        report.generation = self.publish(&mut state, new_files, segments, history)?;
        Ok(report)
    }

    /// Writes the segment of new and reindexed signals and of deletions, if there are any.
    fn write_changes(
        &self,
        (state, new_files): (&mut State, &mut NewFiles),
        snapshot: &Snapshot,
        reindexed: &[Found<'_>],
        changes: &Changes,
        removals: &Removals,
        report: &mut CommitReport,
    ) -> Result<Option<SegmentHandle>> {
        let upserts: Vec<&Signal<'_>> = changes
            .signals
            .values()
            .flatten()
            .chain(reindexed.iter().map(|found| &found.signal))
            .collect();
        let writes_companies = changes.companies.values().any(Option::is_some);
        if upserts.is_empty() && !writes_companies && removals.tombstones.is_empty() {
            return Ok(None);
        }
        let mut new = FileBuilder::create(new_files, &mut state.manifest.next_file, None)?;
        for company in changes.companies.values().flatten() {
            new.builder.add_company(company)?;
            report.companies_written += 1;
        }
        for signal in upserts {
            if !new.builder.has_company(&signal.company_slug) {
                let stored = snapshot.company_record(&signal.company_slug)?;
                let company = stored.ok_or_else(|| {
                    Error::invalid(format!("signal {}: its company was deleted", signal.id))
                })?;
                new.builder.add_company(&company)?;
            }
            let commits = removals.commits_of(signal.id);
            new.builder.add_committed_signal(signal, commits)?;
            report.signals_written += 1;
        }
        for &tombstone in &removals.tombstones {
            new.builder.add_tombstone(tombstone);
        }
        new.finish(&*self.storage)
            .map(Some)
            .map_err(|error| Self::fail_on_io(state, error))
    }

    /// A segment without the removed rows; its file of deletions is written only if there are more.
    fn write_removed(
        (state, new_files): (&mut State, &mut NewFiles),
        live: &SegmentHandle,
        removed: &Removed,
        line: Option<DeletedLine>,
    ) -> Result<(SegmentHandle, Option<DeletedLine>)> {
        if removed.is_empty() {
            return Ok((live.clone(), line));
        }
        Self::write_deleted((state, new_files), live, &removed.rows, &removed.companies)
    }

    /// A segment with more rows and companies deleted.
    pub(super) fn write_deleted(
        (state, new_files): (&mut State, &mut NewFiles),
        live: &SegmentHandle,
        rows: &RoaringBitmap,
        companies: &RoaringBitmap,
    ) -> Result<(SegmentHandle, Option<DeletedLine>)> {
        let deleted = live.deleted.with(rows, companies, &live.segment);
        let line = new_files
            .write_deleted(&mut state.manifest.next_file, &deleted)
            .map_err(|error| Self::fail_on_io(state, error))?;
        let live = SegmentHandle {
            deleted: Arc::new(deleted),
            ..live.clone()
        };
        Ok((live, Some(line)))
    }

    /// After a failed sync the kernel may have dropped what was written and report success the
    /// next time, so nothing that was written since can be trusted.
    pub(super) fn fail_on_io(state: &mut State, error: Error) -> Error {
        if error.is_io() {
            Self::fail(state, error)
        } else {
            error
        }
    }
}

/// What a commit removes from the segments that there are.
#[derive(Debug)]
struct Removals {
    commit: u64,
    /// By segment of the snapshot.
    of_segments: Vec<Removed>,
    /// Of each signal that is written anew: the commit in which it first appeared.
    first_commits: HashMap<SignalId, u64>,
    /// The signals that are deleted and not written anew.
    tombstones: Vec<Tombstone>,
}

/// What a commit removes from a segment.
#[derive(Debug, Default)]
struct Removed {
    rows: RoaringBitmap,
    companies: RoaringBitmap,
}

impl Removals {
    fn of(
        snapshot: &Snapshot,
        changes: &Changes,
        reindexed: &[Found<'_>],
        commit: u64,
    ) -> Removals {
        let mut removals = Removals {
            commit,
            of_segments: Vec::with_capacity(snapshot.segments.len()),
            first_commits: HashMap::new(),
            tombstones: Vec::new(),
        };
        for live in &snapshot.segments {
            let mut rows = RoaringBitmap::new();
            for (&id, pending) in &changes.signals {
                rows.extend(removals.remove(live, id, pending.is_some()));
            }
            for found in reindexed {
                rows.extend(removals.remove(live, found.signal.id, true));
            }
            let deleted = changes.companies.iter().filter(|(_, new)| new.is_none());
            let companies = deleted.filter_map(|(slug, _)| Some(live.company_by_slug(slug)?.0));
            let companies = companies.collect();
            removals.of_segments.push(Removed { rows, companies });
        }
        removals
    }

    /// Removes a signal from a segment, and says which row it had.
    fn remove(&mut self, live: &SegmentHandle, id: SignalId, is_written: bool) -> Option<u32> {
        let row = live.row(id)?;
        let first_commit = live.segment.commits(row).first;
        if is_written {
            self.first_commits.insert(id, first_commit);
        } else {
            self.tombstones.push(Tombstone {
                id: id.get(),
                commit: self.commit,
                first_commit,
            });
        }
        Some(row.0)
    }

    /// The commits of a signal that is written.
    fn commits_of(&self, id: SignalId) -> Commits {
        let first = self.first_commits.get(&id);
        Commits {
            first: first.copied().unwrap_or(self.commit),
            last: self.commit,
        }
    }
}

impl Removed {
    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.companies.is_empty()
    }
}

/// The signals to reindex because their company changes.
fn reindexed_signals<'s>(snapshot: &'s Snapshot, changes: &Changes) -> Result<Vec<Found<'s>>> {
    let mut reindexed = Vec::new();
    for slug in changes
        .companies
        .iter()
        .filter(|(_, pending)| pending.is_some())
        .map(|(slug, _)| slug)
    {
        for id in snapshot.signals_of(slug) {
            if !changes.signals.contains_key(&id) {
                reindexed.extend(snapshot.signal(id)?);
            }
        }
    }
    Ok(reindexed)
}
