//! The writer: collects upserts and deletions, and commits them together.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::commit::Committer;
use super::directory;
use super::merge;
use super::merge_threads::MergeThreads;
use super::pending::{CommitReport, PendingChanges};
use super::shared::Shared;
use crate::segment;
use crate::signal::{Company, Signal, SignalId};
use crate::{Error, Result};

/// The only writer of an index. It holds a lock, which is visible to other processes for a directory, until it
/// is dropped or its process ends.
///
/// PendingChanges are collected in memory and become durable and visible together by [`commit`](Self::commit).
/// Dropping the writer discards pending changes.
pub struct Writer {
    pub(super) core: Arc<Committer>,
    pending: PendingChanges,
    pub(super) merges: MergeThreads,
}

/// How deleting a company treats its signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompanyDeletion {
    /// Refuse to delete the company while it has signals.
    Restrict,
    /// Delete its signals with it.
    Cascade,
}

impl Writer {
    pub(super) fn open(shared: &Arc<Shared>) -> Result<Writer> {
        let storage = Arc::clone(&shared.storage);
        let lock = storage.lock()?;
        let current = shared.current.load_full();
        let (manifest, snapshot) = directory::read(&*storage, Some(&current))?;
        directory::remove_leftovers(&*storage, &manifest)?;
        shared.publish_if_changed(snapshot);
        let core = Arc::new(Committer::new(Arc::clone(shared), storage, manifest, lock));
        let merges = MergeThreads::start(&core);
        Ok(Writer {
            core,
            pending: PendingChanges::default(),
            merges,
        })
    }

    /// Adds a signal, or replaces the one with its id.
    ///
    /// ```
    /// use signaldex::{Signal, SignalId, sample};
    ///
    /// let index = sample::index()?;
    /// let mut writer = index.writer()?;
    /// let signal = Signal::new(SignalId::MAX, "cpp-foundry", "C++ Foundry hires");
    /// writer.upsert_signal(&signal)?; // replaces the one with that id
    /// writer.commit()?;
    /// let snapshot = index.snapshot();
    /// let found = snapshot.signal(SignalId::MAX)?.expect("it was committed");
    /// assert_eq!(found.signal, signal);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`UnknownCompany`](crate::ErrorKind::UnknownCompany); [`Invalid`](crate::ErrorKind::Invalid) if its texts have more
    /// than 16 MiB; as [`has_company`](Self::has_company).
    pub fn upsert_signal(&mut self, signal: &Signal<'_>) -> Result<()> {
        if !self.has_company(&signal.company_slug)? {
            return Err(Error::unknown_company(&signal.company_slug));
        }
        segment::check_signal(signal)?;
        self.pending
            .signals
            .insert(signal.id, Some(signal.clone().into_owned()));
        Ok(())
    }

    /// Adds or replaces several signals.
    ///
    /// ```
    /// use signaldex::{Company, Index, Signal, SignalId};
    ///
    /// let index = Index::in_memory()?;
    /// let mut writer = index.writer()?;
    /// writer.upsert_companies([&Company::new("acme", "Acme GmbH")])?;
    /// let ids = (1..=3).filter_map(SignalId::new);
    /// writer.upsert_signals(ids.map(|id| Signal::new(id, "acme", "Acme hires")))?;
    /// assert_eq!(writer.commit()?.signals_written, 3);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`upsert_signal`](Self::upsert_signal), at the first record that is refused; those before it stay pending.
    pub fn upsert_signals<'r, S: Borrow<Signal<'r>>>(
        &mut self,
        signals: impl IntoIterator<Item = S>,
    ) -> Result<()> {
        signals
            .into_iter()
            .try_for_each(|signal| self.upsert_signal(signal.borrow()))
    }

    /// Deletes a signal. Returns whether it existed.
    ///
    /// ```
    /// use signaldex::{SignalId, sample};
    ///
    /// let index = sample::index()?;
    /// let mut writer = index.writer()?;
    /// assert!(writer.delete_signal(SignalId::MAX)?);
    /// assert!(!writer.delete_signal(SignalId::MIN)?, "there was none");
    /// writer.commit()?;
    /// assert_eq!(index.snapshot().signal_count(), 1999);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`has_signal`](Self::has_signal); then nothing is pending.
    pub fn delete_signal(&mut self, id: SignalId) -> Result<bool> {
        let existed = self.has_signal(id)?;
        self.pending.signals.insert(id, None);
        Ok(existed)
    }

    /// Adds a company, or replaces the one with its slug. Its signals are found by its new fields after the
    /// commit.
    ///
    /// ```
    /// use signaldex::{Company, Filter, sample};
    ///
    /// let index = sample::index()?;
    /// let mut writer = index.writer()?;
    /// let mut company = Company::new("cpp-foundry", "C++ Foundry");
    /// company.country = Some("Belgium".into());
    /// writer.upsert_company(&company)?;
    /// writer.commit()?;
    /// let filter = Filter::from_query_string("country=Belgium")?;
    /// assert_eq!(index.snapshot().count(&filter, sample::AS_OF)?, 3); // its signals
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if its slug is empty or its texts have more than 16 MiB.
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

    /// Adds or replaces several companies.
    ///
    /// ```
    /// use signaldex::{Company, Index};
    ///
    /// let index = Index::in_memory()?;
    /// let mut writer = index.writer()?;
    /// let names = [("acme", "Acme GmbH"), ("example", "Example, Inc.")];
    /// writer.upsert_companies(names.map(|(slug, name)| Company::new(slug, name)))?;
    /// assert_eq!(writer.commit()?.companies_written, 2);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`upsert_company`](Self::upsert_company), at the first record that is refused; those before it stay
    /// pending.
    pub fn upsert_companies<'r, C: Borrow<Company<'r>>>(
        &mut self,
        companies: impl IntoIterator<Item = C>,
    ) -> Result<()> {
        companies
            .into_iter()
            .try_for_each(|company| self.upsert_company(company.borrow()))
    }

    /// Deletes a company. Returns whether it existed.
    ///
    /// ```
    /// use signaldex::{CompanyDeletion, ErrorKind, sample};
    ///
    /// let index = sample::index()?;
    /// let mut writer = index.writer()?;
    /// let refused = writer.delete_company("cpp-foundry", CompanyDeletion::Restrict);
    /// assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::Invalid));
    ///
    /// writer.delete_company("cpp-foundry", CompanyDeletion::Cascade)?;
    /// assert_eq!(writer.commit()?.signals_deleted, 3);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) if it has signals and `deletion` is [`CompanyDeletion::Restrict`].
    ///
    /// Cost: visits each signal of the company and each pending signal.
    pub fn delete_company(&mut self, slug: &str, deletion: CompanyDeletion) -> Result<bool> {
        let (existed, ids) = (self.has_company(slug)?, self.live_signals_of(slug)?);
        if deletion == CompanyDeletion::Restrict && !ids.is_empty() {
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

    /// Whether a company exists, including pending changes.
    ///
    /// ```
    /// use signaldex::{Company, Index};
    ///
    /// let index = Index::in_memory()?;
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
    /// assert!(writer.has_company("acme")? && !index.snapshot().has_company("acme")?);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Snapshot::has_company`](super::Snapshot::has_company).
    pub fn has_company(&self, slug: &str) -> Result<bool> {
        match self.pending.companies.get(slug) {
            Some(pending) => Ok(pending.is_some()),
            None => self.core.snapshot().has_company(slug),
        }
    }

    /// Whether a signal with this id exists, including pending changes.
    ///
    /// ```
    /// use signaldex::{SignalId, sample};
    ///
    /// let index = sample::index()?;
    /// let mut writer = index.writer()?;
    /// writer.delete_signal(SignalId::MAX)?;
    /// assert!(!writer.has_signal(SignalId::MAX)? && index.snapshot().contains(SignalId::MAX)?);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Snapshot::contains`](super::Snapshot::contains).
    pub fn has_signal(&self, id: SignalId) -> Result<bool> {
        match self.pending.signals.get(&id) {
            Some(pending) => Ok(pending.is_some()),
            None => self.core.snapshot().contains(id),
        }
    }

    /// Makes all changes since the last commit durable and visible, atomically.
    ///
    /// ```
    /// use signaldex::{Company, Index, Signal, SignalId};
    ///
    /// let index = Index::in_memory()?;
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
    /// writer.upsert_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires"))?;
    /// assert_eq!(index.snapshot().signal_count(), 0);
    /// let report = writer.commit()?;
    /// assert_eq!((report.companies_written, report.signals_written), (1, 1));
    /// assert_eq!(index.snapshot().signal_count(), 1);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The directory cannot be written: the last commit stays, and the changes stay pending. If a sync fails, the
    /// state on disk is unknown, and the writer refuses all further changes
    /// ([`Poisoned`](crate::ErrorKind::Poisoned)): drop it and open another.
    ///
    /// Cost: writes the changed signals and all signals of changed companies, and waits for the disk three times;
    /// an index in memory does not wait. Readers are not blocked.
    pub fn commit(&mut self) -> Result<CommitReport> {
        let report = self.core.commit(&self.pending)?;
        // Only after success: if the commit fails, the changes stay pending.
        self.pending = PendingChanges::default();
        self.merges.wake(report.signals_written);
        // The commit is complete. The next commit reports why merging failed.
        let _ = merge::bound(&self.core);
        Ok(report)
    }

    /// Merges all segments into one without deleted rows. Pending changes stay pending.
    ///
    /// ```
    /// use signaldex::{SignalId, sample};
    ///
    /// let index = sample::index()?;
    /// let mut writer = index.writer()?;
    /// writer.delete_signal(SignalId::MAX)?;
    /// writer.commit()?;
    /// writer.compact()?;
    /// let statistics = index.snapshot().statistics()?;
    /// assert_eq!((statistics.segments, statistics.deleted_rows), (1, 0));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`commit`](Self::commit).
    ///
    /// Cost: that of rebuilding the index.
    pub fn compact(&mut self) -> Result<()> {
        merge::compact(&self.core)
    }

    /// Waits until there are no segments left to merge.
    ///
    /// ```
    /// use signaldex::{Signal, SignalId, sample};
    ///
    /// let index = sample::index()?;
    /// let mut writer = index.writer()?;
    /// for id in (1..=20).filter_map(SignalId::new) {
    ///     writer.upsert_signal(&Signal::new(id, "cpp-foundry", "C++ Foundry hires"))?;
    ///     writer.commit()?;
    /// }
    /// writer.wait_for_merges();
    /// assert!(index.snapshot().statistics()?.segments < 20);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn wait_for_merges(&mut self) {
        self.merges.wait();
    }

    /// The number of signals and companies that the next commit changes.
    pub(super) fn pending_counts(&self) -> (usize, usize) {
        (self.pending.signals.len(), self.pending.companies.len())
    }

    /// The ids of a company's signals, including pending changes.
    fn live_signals_of(&self, slug: &str) -> Result<Vec<SignalId>> {
        let stored = self.core.snapshot().signals_of(slug)?;
        let mut ids: BTreeSet<SignalId> = stored.into_iter().collect();
        // A pending record replaces the stored one, and may have another company.
        for (id, pending) in &self.pending.signals {
            match pending {
                Some(signal) if signal.company_slug == slug => ids.insert(*id),
                _ => ids.remove(id),
            };
        }
        Ok(ids.into_iter().collect())
    }
}
