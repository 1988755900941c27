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

use roaring::RoaringBitmap;

use super::directory::{self, FileBuilder, NewFiles};
use super::live::SegmentHandle;
use super::manifest::{DeletedLine, History, Manifest};
use super::merge::{self, MergeInput};
use super::removals::{Removals, Removed};
use super::snapshot::Snapshot;
use super::storage::Storage;
use super::{Found, Shared};
use crate::segment::catch_damage;
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
    /// The number of the last segment of each merge under way. It changes only while the state is locked,
    /// but for merges that end.
    merging: Mutex<Vec<u64>>,
    _lock: Box<dyn Debug + Send + Sync>,
}

/// What keeps commits from taking the segments of a merge, for as long as it goes on.
#[derive(Debug)]
pub(super) struct Claim<'c> {
    merging: &'c Mutex<Vec<u64>>,
    last: u64,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut merging = self.merging.lock().unwrap_or_else(PoisonError::into_inner);
        merging.retain(|&last| last != self.last);
    }
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
            merging: Mutex::default(),
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

    /// Claims segments for a merge; none where a commit or another merge has taken some of them.
    pub(super) fn claim(&self, segments: &[SegmentHandle]) -> Result<Option<Claim<'_>>> {
        // No commit takes segments meanwhile.
        let _state = self.lock()?;
        let stand = merge::find(segments, &self.snapshot().segments).is_some();
        Ok(segments.last().filter(|_| stand).map(|live| {
            self.merging().push(live.number);
            Claim {
                merging: &self.merging,
                last: live.number,
            }
        }))
    }

    fn merging(&self) -> MutexGuard<'_, Vec<u64>> {
        self.merging.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut new_files = NewFiles::new(&self.storage);
        let upserted = changes.signals.values().flatten();
        let content = NewContent {
            snapshot: &snapshot,
            changes,
            removals: &removals,
            signals: upserted
                .chain(reindexed.iter().map(|found| &found.signal))
                .collect(),
            remembered_from: history.remembered_from(),
        };
        let new = self.write_segment((&mut *state, &mut new_files), &content)?;
        let (new, kept) = match new {
            Some((new, kept)) => (Some(new), kept),
            None => (None, snapshot.segments.len()),
        };
        let mut segments = Vec::new();
        let before = snapshot.segments.iter().zip(&removals.of_segments);
        for (live, removed) in before.take(kept) {
            let line = state.manifest.deleted_line(live.number);
            let writing = (&mut *state, &mut new_files);
            segments.push(Self::write_removed(writing, live, removed, line)?);
        }
        segments.extend(new.map(|live| (live, None)));
        let mut report = removals.report(&snapshot, changes, &reindexed);
        report.generation = self.publish(&mut state, new_files, segments, history)?;
        Ok(report)
    }

    /// Writes the segment of a commit, if it has any, and says how many segments before it are kept: it takes
    /// over what is live in the small ones after them.
    fn write_segment(
        &self,
        (state, new_files): (&mut State, &mut NewFiles),
        content: &NewContent<'_>,
    ) -> Result<Option<(SegmentHandle, usize)>> {
        let size = content.size();
        if size == 0 {
            return Ok(None);
        }
        let segments = &content.snapshot.segments;
        let free = merge::unclaimed(segments, self.merging().iter().copied().max());
        let taken = merge::choose_for_commit(free, size as u64);
        let mut create = |new_files: &mut NewFiles| {
            FileBuilder::create(new_files, &mut state.manifest.next_file, None)
        };
        let mut kept = segments.len() - taken;
        let new = create(new_files)?;
        let mut filled = catch_damage(|| content.fill(new, kept)).flatten();
        // A damaged segment fails merges, and must not fail commits.
        if taken > 0 && filled.as_ref().is_err_and(Error::is_corrupt) {
            *new_files = NewFiles::new(&self.storage);
            kept = segments.len();
            filled = content.fill(create(new_files)?, kept);
        }
        let new = filled?.finish(&*self.storage);
        new.map(|new| Some((new, kept)))
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

/// What the segment of a commit holds.
struct NewContent<'a> {
    snapshot: &'a Snapshot,
    changes: &'a Changes,
    removals: &'a Removals,
    /// New, changed and reindexed signals.
    signals: Vec<&'a Signal<'a>>,
    /// The deletions of this commit and of all later ones are remembered.
    remembered_from: u64,
}

impl NewContent<'_> {
    /// How many signals, companies and deletions it holds that are of no segment before it.
    fn size(&self) -> usize {
        let companies = self.changes.companies.values().flatten();
        self.signals.len() + companies.count() + self.removals.tombstones.len()
    }

    /// Fills a segment, with what is live in all but the first segments of the snapshot.
    fn fill(&self, mut new: FileBuilder, kept: usize) -> Result<FileBuilder> {
        let before = self.snapshot.segments.iter();
        let taken: Vec<MergeInput<'_>> = before
            .zip(&self.removals.of_segments)
            .skip(kept)
            .map(|(live, removed)| MergeInput { live, removed })
            .collect();
        merge::copy(&mut new, &taken, &|| false)?;
        merge::copy_tombstones(&mut new, &taken, self.remembered_from);
        for company in self.changes.companies.values().flatten() {
            new.builder.add_company(company)?;
        }
        for signal in &self.signals {
            self.add_signal(&mut new, signal)?;
        }
        for &tombstone in &self.removals.tombstones {
            new.builder.add_tombstone(tombstone);
        }
        Ok(new)
    }

    /// Adds a signal, and its company where the segment does not have it.
    fn add_signal(&self, new: &mut FileBuilder, signal: &Signal<'_>) -> Result<()> {
        if !new.builder.has_company(&signal.company_slug) {
            let stored = self.snapshot.company_record(&signal.company_slug)?;
            let company = stored.ok_or_else(|| {
                Error::invalid(format!("signal {}: its company was deleted", signal.id))
            })?;
            new.builder.add_company(&company)?;
        }
        let commits = self.removals.commits_of(signal.id);
        new.builder.add_committed_signal(signal, commits).map(drop)
    }
}
