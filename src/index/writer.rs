//! Changing an index: upserts and deletes, gathered, then committed as one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roaring::RoaringBitmap;

use super::deleted::Deleted;
use super::directory::{self, FileBuilder, NewFiles};
use super::live::LiveSegment;
use super::manifest::{DeletedLine, Manifest};
use super::merge::{self, MergeThread};
use super::snapshot::Snapshot;
use super::storage::Storage;
use super::{Found, Shared};
use crate::segment;
use crate::signal::{Company, Signal, SignalId};
use crate::{Error, Result};

/// The one writer of an index. It holds a lock that other processes see, until it is dropped or
/// its process ends.
///
/// Changes are gathered in memory and become durable and visible together with
/// [`commit`](Self::commit); a writer that is dropped before leaves the last commit.
#[derive(Debug)]
pub struct Writer {
    pub(super) core: Arc<WriterCore>,
    pending: Changes,
    pub(super) merges: MergeThread,
}

/// What a commit changes: the record that each id or slug gets, or none where it is deleted.
#[derive(Debug, Default)]
struct Changes {
    signals: BTreeMap<SignalId, Option<Signal<'static>>>,
    companies: BTreeMap<String, Option<Company<'static>>>,
}

/// What to do with the signals of a company that is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSignals {
    /// Refuse to delete the company while it has some.
    Refuse,
    /// Delete them as well.
    Delete,
}

/// What a commit did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitReport {
    /// The generation of the snapshot that it published.
    pub generation: u64,
    /// Signals written: those upserted, and those whose company changed.
    pub signals_written: u64,
    /// Signals that are gone.
    pub signals_deleted: u64,
    /// Companies written.
    pub companies_written: u64,
    /// Companies that are gone.
    pub companies_deleted: u64,
}

impl Writer {
    pub(super) fn open(shared: &Arc<Shared>) -> Result<Writer> {
        let storage = shared
            .storage
            .clone()
            .ok_or_else(|| Error::invalid("an index in memory cannot be changed"))?;
        let lock = storage.lock()?;
        let current = shared.current.load_full();
        let (manifest, snapshot) = directory::read(&*storage, Some(&current))?;
        directory::remove_leftovers(&*storage, &manifest)?;
        shared.publish_if_changed(snapshot);
        let core = Arc::new(WriterCore {
            shared: Arc::clone(shared),
            storage,
            state: Mutex::new(State {
                manifest,
                failure: None,
            }),
            _lock: lock,
        });
        let merges = MergeThread::start(&core);
        Ok(Writer {
            core,
            pending: Changes::default(),
            merges,
        })
    }

    /// Adds a signal, in place of the one with its id.
    ///
    /// # Errors
    /// [`is_unknown_company`](Error::is_unknown_company); [`is_invalid`](Error::is_invalid) where its
    /// texts take more than 16 MiB.
    pub fn upsert_signal(&mut self, signal: &Signal<'_>) -> Result<()> {
        if !self.has_company(&signal.company_slug) {
            return Err(Error::unknown_company(&signal.company_slug));
        }
        segment::check_signal(signal)?;
        self.pending
            .signals
            .insert(signal.id, Some(signal.clone().into_owned()));
        Ok(())
    }

    /// Deletes a signal and says whether there was one.
    ///
    /// # Errors
    /// None today.
    pub fn delete_signal(&mut self, id: SignalId) -> Result<bool> {
        let existed = self.has_signal(id);
        self.pending.signals.insert(id, None);
        Ok(existed)
    }

    /// Adds a company, in place of the one with its slug. Its signals are found by its new fields
    /// from the commit on.
    ///
    /// # Errors
    /// [`is_invalid`](Error::is_invalid) where its slug is empty, or its texts take more than 16 MiB.
    pub fn upsert_company(&mut self, company: &Company<'_>) -> Result<()> {
        if company.slug.is_empty() {
            return Err(Error::invalid("slug: a company's slug is not empty"));
        }
        segment::check_company(company)?;
        self.pending
            .companies
            .insert(company.slug.to_string(), Some(company.clone().into_owned()));
        Ok(())
    }

    /// Deletes a company and says whether there was one.
    ///
    /// # Errors
    /// [`is_invalid`](Error::is_invalid) where it has signals and they are not to be deleted.
    ///
    /// Cost: a look at each signal of the company and each pending one.
    pub fn delete_company(&mut self, slug: &str, on_signals: OnSignals) -> Result<bool> {
        let existed = self.has_company(slug);
        let ids = self.live_signals_of(slug);
        if on_signals == OnSignals::Refuse && !ids.is_empty() {
            let shown: String = slug.chars().take(64).collect();
            return Err(Error::invalid(format!(
                "the company {shown:?} has {} signals; delete them first or with it",
                ids.len()
            )));
        }
        self.pending
            .signals
            .extend(ids.into_iter().map(|id| (id, None)));
        self.pending.companies.insert(slug.to_owned(), None);
        Ok(existed)
    }

    /// Whether a company is known, pending changes included.
    pub fn has_company(&self, slug: &str) -> bool {
        match self.pending.companies.get(slug) {
            Some(pending) => pending.is_some(),
            None => self.core.snapshot().has_company(slug),
        }
    }

    /// Whether a signal of that id is there, pending changes included.
    pub fn has_signal(&self, id: SignalId) -> bool {
        match self.pending.signals.get(&id) {
            Some(pending) => pending.is_some(),
            None => self.core.snapshot().contains(id),
        }
    }

    /// Makes all changes since the last commit durable and visible, as one.
    ///
    /// # Errors
    /// The directory cannot be written: the last commit stays, and the changes stay pending. Where
    /// making something durable failed, what is on disk is not known any more, and the writer
    /// refuses everything from then on ([`is_poisoned`](Error::is_poisoned)): drop it and open
    /// another.
    ///
    /// Cost: writes the changed signals, and all signals of changed companies, three times waits
    /// for the disk; readers are not disturbed.
    pub fn commit(&mut self) -> Result<CommitReport> {
        let report = self.core.commit(&self.pending)?;
        self.pending = Changes::default();
        self.merges.wake();
        // The commit stands; why merging fails is kept, and the next commit says it.
        let _ = merge::bound(&self.core);
        Ok(report)
    }

    /// Merges all segments into one without deleted rows. Pending changes stay pending.
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    ///
    /// Cost: that of building the index anew.
    pub fn compact(&mut self) -> Result<()> {
        merge::compact(&self.core)
    }

    /// Waits until the background has no segments left to merge.
    pub fn wait_for_merges(&mut self) {
        self.merges.wait();
    }

    /// The ids of a company's signals, pending changes included.
    fn live_signals_of(&self, slug: &str) -> Vec<SignalId> {
        let stored = self.core.snapshot().signals_of(slug);
        let mut ids: BTreeSet<SignalId> = stored.into_iter().collect();
        for (id, pending) in &self.pending.signals {
            match pending {
                Some(signal) if signal.company_slug == slug => ids.insert(*id),
                _ => ids.remove(id),
            };
        }
        ids.into_iter().collect()
    }
}

/// What the writer shares with the thread that merges.
#[derive(Debug)]
pub(super) struct WriterCore {
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

impl WriterCore {
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

    /// Makes segments the current state, durably, then visibly, and keeps their new files.
    pub(super) fn publish(
        &self,
        state: &mut State,
        new: NewFiles,
        segments: Vec<(LiveSegment, Option<DeletedLine>)>,
    ) -> Result<u64> {
        let manifest = Manifest {
            identity: state.manifest.identity,
            generation: state.manifest.generation + 1,
            next_file: state.manifest.next_file,
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

    fn commit(&self, changes: &Changes) -> Result<CommitReport> {
        let mut state = self.lock()?;
        let snapshot = self.snapshot();
        if changes.signals.is_empty() && changes.companies.is_empty() {
            return Ok(CommitReport {
                generation: snapshot.generation(),
                ..Default::default()
            });
        }
        let moved = moved_signals(&snapshot, changes)?;
        let mut report = CommitReport::default();
        let mut new_files = NewFiles::new(&self.storage);
        let new = self.write_changes(
            (&mut state, &mut new_files),
            &snapshot,
            &moved,
            changes,
            &mut report,
        )?;
        let mut segments = Vec::new();
        for live in &snapshot.segments {
            let gone = Gone::of(live, changes, &moved);
            report.signals_deleted += gone.deleted_rows;
            let line = state.manifest.deleted_line(live.number);
            segments.push(self.write_gone((&mut state, &mut new_files), live, gone, line)?);
        }
        report.companies_deleted = changes
            .companies
            .iter()
            .filter(|(slug, pending)| pending.is_none() && snapshot.has_company(slug))
            .count() as u64;
        segments.extend(new.map(|live| (live, None)));
        report.generation = self.publish(&mut state, new_files, segments)?;
        Ok(report)
    }

    /// Writes the segment of what is new, where anything is.
    fn write_changes(
        &self,
        (state, new_files): (&mut State, &mut NewFiles),
        snapshot: &Snapshot,
        moved: &[Found<'_>],
        changes: &Changes,
        report: &mut CommitReport,
    ) -> Result<Option<LiveSegment>> {
        let upserts: Vec<&Signal<'_>> = changes
            .signals
            .values()
            .flatten()
            .chain(moved.iter().map(|found| &found.signal))
            .collect();
        if upserts.is_empty() && changes.companies.values().all(Option::is_none) {
            return Ok(None);
        }
        let mut new = FileBuilder::create(new_files, &mut state.manifest.next_file)?;
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
            new.builder.add_signal(signal)?;
            report.signals_written += 1;
        }
        new.finish(&*self.storage)
            .map(Some)
            .map_err(|error| Self::fail_on_io(state, error))
    }

    /// A segment with what is gone of it, which is written where it is more than before.
    fn write_gone(
        &self,
        (state, new_files): (&mut State, &mut NewFiles),
        live: &LiveSegment,
        gone: Gone,
        line: Option<DeletedLine>,
    ) -> Result<(LiveSegment, Option<DeletedLine>)> {
        if gone.is_empty() {
            return Ok((live.clone(), line));
        }
        Self::write_deleted((state, new_files), live, &gone.rows, &gone.companies)
    }

    /// A segment with more rows and companies deleted.
    pub(super) fn write_deleted(
        (state, new_files): (&mut State, &mut NewFiles),
        live: &LiveSegment,
        rows: &RoaringBitmap,
        companies: &RoaringBitmap,
    ) -> Result<(LiveSegment, Option<DeletedLine>)> {
        let deleted = Deleted::new(
            live.deleted.rows() | rows,
            live.deleted.companies() | companies,
            live.segment.row_count(),
        );
        let line = new_files
            .write_deleted(&mut state.manifest.next_file, &deleted)
            .map_err(|error| Self::fail_on_io(state, error))?;
        let live = LiveSegment {
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

/// What a commit takes away from a segment.
#[derive(Debug, Default)]
struct Gone {
    rows: RoaringBitmap,
    companies: RoaringBitmap,
    /// Rows that are deleted and not written anew.
    deleted_rows: u64,
}

impl Gone {
    fn of(live: &LiveSegment, changes: &Changes, moved: &[Found<'_>]) -> Gone {
        let mut gone = Gone::default();
        for (&id, pending) in &changes.signals {
            if let Some(row) = live.row(id) {
                gone.rows.insert(row.0);
                gone.deleted_rows += u64::from(pending.is_none());
            }
        }
        let moved_rows = moved.iter().filter_map(|found| live.row(found.signal.id));
        gone.rows.extend(moved_rows.map(|row| row.0));
        let deleted = changes
            .companies
            .iter()
            .filter(|(_, pending)| pending.is_none());
        gone.companies
            .extend(deleted.filter_map(|(slug, _)| live.company_by_slug(slug)));
        gone
    }

    fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.companies.is_empty()
    }
}

/// The signals that have to be written anew because their company changes.
fn moved_signals<'s>(snapshot: &'s Snapshot, changes: &Changes) -> Result<Vec<Found<'s>>> {
    let mut moved = Vec::new();
    for slug in changes
        .companies
        .iter()
        .filter(|(_, pending)| pending.is_some())
        .map(|(slug, _)| slug)
    {
        for id in snapshot.signals_of(slug) {
            if !changes.signals.contains_key(&id) {
                moved.extend(snapshot.signal(id)?);
            }
        }
    }
    Ok(moved)
}
