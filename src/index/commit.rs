//! Commits: turn changes into the next durable state of an index.
//!
//! Invariant: at any time, the directory contains one complete state, that of its manifest. A commit writes
//! and syncs new files, which no manifest refers to yet, then renames a new manifest over the old one. A crash
//! leaves the old or the new state. The snapshot in memory is published after the manifest, never before.
//! After a failed sync nothing on disk can be trusted, so the committer refuses all further changes.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roaring::RoaringBitmap;

use super::chain::Chain;
use super::directory::{self, FileBuilder, FileKind, NewFiles};
use super::live::SegmentHandle;
use super::manifest::{FileLine, History, Manifest};
use super::merge::{self, MergeInput};
use super::pending::{CommitReport, PendingChanges};
use super::removals::{Removals, Removed};
use super::shared::Shared;
use super::snapshot::{Found, Snapshot};
use super::storage::Storage;
use crate::signal::Signal;
use crate::{Error, ErrorKind, Result};

/// Publishes new states of an index, one at a time: commits of the writer, and merges of its threads.
#[derive(Debug)]
pub(super) struct Committer {
    shared: Arc<Shared>,
    pub(super) storage: Arc<dyn Storage>,
    state: Mutex<CommitterState>,
    /// The number of the last segment of each running merge. Changed only while the state is locked, except when
    /// a merge ends.
    merging: Mutex<Vec<u64>>,
    _lock: Box<dyn Debug + Send + Sync>,
}

/// Prevents commits from taking the segments of a running merge.
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

/// The state that only one commit or merge changes at a time.
#[derive(Debug)]
pub(super) struct CommitterState {
    pub(super) manifest: Manifest,
    /// Why nothing more may be written.
    failure: Option<String>,
}

impl Committer {
    /// Creates the committer of an index. Its directory must be locked and in the state of the manifest.
    pub(super) fn new(
        shared: Arc<Shared>,
        storage: Arc<dyn Storage>,
        manifest: Manifest,
        lock: Box<dyn Debug + Send + Sync>,
    ) -> Committer {
        let state = CommitterState {
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

    /// The published snapshot. Under the state's lock it equals the manifest: a refresh of the same index can only
    /// publish the state that this writer has written, never an earlier one.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.current.load_full()
    }

    /// The state, unless the writer has failed.
    pub(super) fn lock(&self) -> Result<MutexGuard<'_, CommitterState>> {
        // A panic while the lock was held cannot leave the state half-changed: `publish` replaces it as a
        // whole at its end.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.failure {
            None => Ok(state),
            Some(reason) => Err(Error::poisoned(format!(
                "the writer has failed and has to be opened again: {reason}"
            ))),
        }
    }

    /// Claims segments for a merge. `None` if a commit or another merge has taken some of them.
    pub(super) fn claim(&self, segments: &[SegmentHandle]) -> Result<Option<Claim<'_>>> {
        // The lock keeps commits from taking segments.
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

    /// Makes segments the current state: first durable, then visible. Keeps their new files. `history` and `chain`
    /// include the commit, unless this is a merge.
    pub(super) fn publish(
        &self,
        state: &mut CommitterState,
        new: NewFiles,
        segments: Vec<(SegmentHandle, Option<FileLine>)>,
        (history, chain): (History, Chain),
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
            chain: chain.line(),
        };
        let published = new.publish(&manifest);
        published.map_err(|error| Self::fail(state, error))?;
        let generation = manifest.generation;
        let live = segments.into_iter().map(|(live, _)| live).collect();
        let snapshot = Snapshot::new(&manifest, live, chain).following(&self.snapshot());
        self.shared.current.store(Arc::new(snapshot));
        let before = std::mem::replace(&mut state.manifest, manifest);
        // The commit is durable. Files that cannot be removed now are removed when the next writer opens.
        let _ = directory::remove_replaced(&*self.storage, &before, &state.manifest);
        Ok(generation)
    }

    /// Refuses all further changes, because the state on disk is unknown.
    pub(super) fn fail(state: &mut CommitterState, error: Error) -> Error {
        state.failure = Some(error.to_string());
        error
    }

    /// Commits changes, which are durable and visible when this returns.
    pub(super) fn commit(&self, changes: &PendingChanges) -> Result<CommitReport> {
        let mut state = self.lock()?;
        let snapshot = self.snapshot();
        if changes.signals.is_empty() && changes.companies.is_empty() {
            return Ok(CommitReport {
                generation: snapshot.generation(),
                ..Default::default()
            });
        }
        // Before the removals: the old rows of reindexed signals are removed, too.
        let reindexed = reindexed_signals(&snapshot, changes)?;
        let history = state.manifest.history.next();
        let removals = Removals::of(&snapshot, changes, &reindexed, history.last_commit)?;
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
        // The segments after these have been copied to the new one, without the removed rows.
        let mut segments = Vec::new();
        let before = snapshot.segments.iter().zip(&removals.of_segments);
        for (live, removed) in before.take(kept) {
            let line = state.manifest.deleted_line(live.number);
            let writing = (&mut *state, &mut new_files);
            segments.push(Self::write_removed(writing, live, removed, line)?);
        }
        let chain = Self::next_chain(
            (&mut *state, &mut new_files),
            &snapshot.chain,
            changes,
            new.as_ref(),
        )?;
        segments.extend(new.map(|live| (live, None)));
        // Before publishing, because the report counts what existed before the commit.
        let mut report = removals.report(&snapshot, changes, &reindexed)?;
        report.generation = self.publish(&mut state, new_files, segments, (history, chain))?;
        Ok(report)
    }

    /// Writes the segment of a commit, if any, including the live rows of small segments that it replaces. Returns
    /// the number of segments that are kept.
    fn write_segment(
        &self,
        (state, new_files): (&mut CommitterState, &mut NewFiles),
        content: &NewContent<'_>,
    ) -> Result<Option<(SegmentHandle, usize)>> {
        let size = content.size();
        if size == 0 {
            return Ok(None);
        }
        let segments = &content.snapshot.segments;
        // Segments that a running merge has claimed must stay.
        let free = merge::unclaimed(segments, self.merging().iter().copied().max());
        let taken = merge::choose_for_commit(free, size as u64);
        let mut create = |new_files: &mut NewFiles| {
            FileBuilder::create(new_files, &mut state.manifest.next_file, None)
        };
        let mut kept = segments.len() - taken;
        let new = create(new_files)?;
        let mut filled = content.fill(new, kept);
        // A damaged segment may fail merges but must not fail commits.
        if taken > 0
            && filled
                .as_ref()
                .is_err_and(|error| error.kind() == ErrorKind::Corrupt)
        {
            // Dropping the previous value removes the files of the first attempt.
            *new_files = NewFiles::new(&self.storage);
            kept = segments.len();
            filled = content.fill(create(new_files)?, kept);
        }
        let new = filled?.finish(&*self.storage);
        new.map(|new| Some((new, kept)))
            .map_err(|error| Self::fail_on_io(state, error))
    }

    /// The chain with the commit of these changes, which wrote a segment, if any.
    fn next_chain(
        (state, new_files): (&mut CommitterState, &mut NewFiles),
        chain: &Chain,
        changes: &PendingChanges,
        new: Option<&SegmentHandle>,
    ) -> Result<Chain> {
        let deleted = changes.companies.iter().filter(|(_, new)| new.is_none());
        let deleted = deleted.map(|(slug, _)| slug.as_str());
        let digest = chain.newest().next(new.map(|live| &*live.segment), deleted);
        let remembered = state.manifest.history.remembered_commits;
        let chain = chain.with(
            digest,
            remembered,
            (&mut state.manifest.next_file, new_files),
        );
        chain.map_err(|error| Self::fail_on_io(state, error))
    }

    /// A segment with more deleted rows. Its file of deletions is rewritten only if there are new ones.
    fn write_removed(
        (state, new_files): (&mut CommitterState, &mut NewFiles),
        live: &SegmentHandle,
        removed: &Removed,
        line: Option<FileLine>,
    ) -> Result<(SegmentHandle, Option<FileLine>)> {
        if removed.is_empty() {
            return Ok((live.clone(), line));
        }
        Self::write_deleted((state, new_files), live, &removed.rows, &removed.companies)
    }

    /// A segment with more rows and companies deleted.
    pub(super) fn write_deleted(
        (state, new_files): (&mut CommitterState, &mut NewFiles),
        live: &SegmentHandle,
        rows: &RoaringBitmap,
        companies: &RoaringBitmap,
    ) -> Result<(SegmentHandle, Option<FileLine>)> {
        let deleted = live.deleted.with(rows, companies, &live.segment)?;
        let line = new_files
            .write(
                FileKind::Deleted,
                &mut state.manifest.next_file,
                &deleted.encode(&live.segment)?,
            )
            .map_err(|error| Self::fail_on_io(state, error))?;
        let live = SegmentHandle {
            deleted: Arc::new(deleted),
            ..live.clone()
        };
        Ok((live, Some(line)))
    }

    /// After a failed sync, the kernel may have dropped written data and report success the next time, so nothing
    /// written since can be trusted.
    pub(super) fn fail_on_io(state: &mut CommitterState, error: Error) -> Error {
        if error.kind() == ErrorKind::Io {
            Self::fail(state, error)
        } else {
            error
        }
    }
}

/// The signals that must be reindexed because their company changes.
fn reindexed_signals<'s>(
    snapshot: &'s Snapshot,
    changes: &PendingChanges,
) -> Result<Vec<Found<'s>>> {
    let mut reindexed = Vec::new();
    for slug in changes
        .companies
        .iter()
        .filter(|(_, pending)| pending.is_some())
        .map(|(slug, _)| slug)
    {
        for id in snapshot.signals_of(slug)? {
            // Signals that this commit changes are written anyway.
            if !changes.signals.contains_key(&id) {
                reindexed.extend(snapshot.signal(id)?);
            }
        }
    }
    Ok(reindexed)
}

/// The content of a commit's segment.
struct NewContent<'a> {
    snapshot: &'a Snapshot,
    changes: &'a PendingChanges,
    removals: &'a Removals,
    /// New, changed and reindexed signals.
    signals: Vec<&'a Signal<'a>>,
    /// The deletions of this commit and of all later ones are remembered.
    remembered_from: u64,
}

impl NewContent<'_> {
    /// The number of new signals, companies and deletions.
    fn size(&self) -> usize {
        let companies = self.changes.companies.values().flatten();
        self.signals.len() + companies.count() + self.removals.tombstones.len()
    }

    /// Writes the content to a segment, together with the live rows of all but the first `kept` segments of the
    /// snapshot.
    fn fill(&self, mut new: FileBuilder, kept: usize) -> Result<FileBuilder> {
        let before = self.snapshot.segments.iter();
        let taken: Vec<MergeInput<'_>> = before
            .zip(&self.removals.of_segments)
            .skip(kept)
            .map(|(live, removed)| MergeInput { live, removed })
            .collect();
        // Copied records first, so that the records of this commit replace them.
        merge::copy(&mut new, &taken, &|| false)?;
        merge::copy_tombstones(&mut new, &taken, self.remembered_from)?;
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

    /// Adds a signal, and its company if the segment does not have it.
    fn add_signal(&self, new: &mut FileBuilder, signal: &Signal<'_>) -> Result<()> {
        // A segment holds the company of each of its signals.
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
