//! Updates of a folder of shards: each record goes to the shard of its company.
//!
//! Everything is collected and checked first. Then the shards commit one after another, and a crash between two of
//! them leaves each shard as it was or as it is to be. If signals move between shards, all shards take their new
//! records before any deletes one, so that a crash leaves a signal in two shards, where the same update finds it
//! again, rather than in none.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem;
use std::sync::Arc;

use signaldex::json::Sink;
use signaldex::{
    Company, CompanyDeletion, Error, Index, Result, Signal, SignalId, Snapshot, Writer,
};

use super::error::ClusterResult;
use super::placement::shard_of;
use super::shard_folder::{FolderLock, ShardFolder};

/// The only writer of a folder of shards. It holds the folder's lock until it is dropped.
///
/// Changes are collected in memory, and checked as by a [`Writer`] of one index of everything. Dropping the update
/// discards them.
///
/// ```
/// use signaldex::{Company, Signal, SignalId, json::Sink};
/// use signaldex_cluster::{ShardFolder, ShardUpdate, Splitter};
///
/// let folder = tempfile::tempdir()?;
/// Splitter::new(folder.path(), 4)?.finish()?;
/// let shards = ShardFolder::open(folder.path())?;
/// let mut update = ShardUpdate::begin(&shards)?;
/// update.add_company(&Company::new("acme", "Acme"))?;
/// update.add_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires"))?;
/// let report = update.commit()?;
/// assert_eq!(report.shards_changed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ShardUpdate {
    indexes: Vec<Index>,
    snapshots: Vec<Arc<Snapshot>>,
    /// Pending companies; `None` deletes.
    companies: BTreeMap<String, Option<Company<'static>>>,
    /// Pending signals; `None` deletes.
    signals: BTreeMap<SignalId, Option<Signal<'static>>>,
    /// The companies that are to be deleted with their signals after all records have been added.
    to_delete: BTreeSet<String>,
    _lock: FolderLock,
}

/// What an update has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShardUpdateReport {
    /// Shards with a new commit.
    pub shards_changed: u32,
    /// Signals that were added or replaced.
    pub signals_written: u64,
    /// Of these, the signals that were in another shard before.
    pub signals_moved: u64,
    /// Signals that were deleted.
    pub signals_deleted: u64,
    /// Companies that were deleted.
    pub companies_deleted: u64,
}

/// The changes of one shard.
#[derive(Debug, Default)]
struct ShardChanges {
    companies: Vec<Company<'static>>,
    signals: Vec<Signal<'static>>,
    deletions: Deletions,
}

/// What a shard deletes.
#[derive(Debug, Default)]
struct Deletions {
    signals: Vec<SignalId>,
    companies: Vec<String>,
}

/// A checked update.
struct Prepared {
    targets: Vec<ShardWriter>,
    /// What is left to commit.
    steps: VecDeque<CommitStep>,
    report: ShardUpdateReport,
}

/// A commit of a target.
enum CommitStep {
    /// Its new records.
    Records(usize),
    /// Everything that is not committed yet.
    All(usize),
}

/// A shard that an update changes, with its new records pending.
struct ShardWriter {
    shard: u32,
    writer: Writer,
    deletions: Deletions,
    /// Whether the writer has changes that are not committed.
    is_pending: bool,
}

impl ShardUpdate {
    /// Begins an update.
    ///
    /// # Errors
    /// [`Locked`](signaldex::ErrorKind::Locked) while another process updates, compacts or publishes the shards; as
    /// [`Index::open`].
    pub fn begin(folder: &ShardFolder) -> ClusterResult<ShardUpdate> {
        let lock = folder.lock()?;
        let indexes = folder.open_indexes()?;
        Ok(ShardUpdate {
            snapshots: indexes.iter().map(Index::snapshot).collect(),
            indexes,
            companies: BTreeMap::new(),
            signals: BTreeMap::new(),
            to_delete: BTreeSet::new(),
            _lock: lock,
        })
    }

    /// Announces companies that this update will [delete](Self::delete_company) with their signals once all records
    /// have been added. Signals of such a company are accepted even if it does not exist, because an earlier run of
    /// the same update may have deleted it.
    pub fn will_delete<'c>(&mut self, slugs: impl IntoIterator<Item = &'c str>) {
        self.to_delete.extend(slugs.into_iter().map(str::to_owned));
    }

    /// Deletes a signal, in whichever shard it is. Returns whether it existed.
    ///
    /// # Errors
    /// As [`Snapshot::contains`].
    pub fn delete_signal(&mut self, id: SignalId) -> Result<bool> {
        let existed = self.has_signal(id)?;
        self.signals.insert(id, None);
        Ok(existed)
    }

    /// Deletes a company. Returns whether it existed.
    ///
    /// # Errors
    /// As [`Writer::delete_company`].
    pub fn delete_company(&mut self, slug: &str, deletion: CompanyDeletion) -> Result<bool> {
        // Not whether a signal of it would be taken, as a sink says.
        let existed = ShardUpdate::has_company(self, slug)?;
        let ids = self.signals_of(slug)?;
        if deletion == CompanyDeletion::Restrict && !ids.is_empty() {
            let shown: String = slug.chars().take(64).collect();
            return Err(Error::invalid(format!(
                "the company {shown:?} has {} signals; delete them first or with it",
                ids.len()
            )));
        }
        self.signals.extend(ids.into_iter().map(|id| (id, None)));
        self.companies.insert(slug.to_owned(), None);
        Ok(existed)
    }

    /// Commits all changes, shard by shard, and waits until there are no segments left to merge.
    ///
    /// # Errors
    /// Nothing has changed if a shard cannot be written to at all, such as while another writer holds it. If a later
    /// commit fails, the shards before it have changed: the same update again completes the rest.
    ///
    /// Cost: that of a commit for each changed shard, and of two where signals move.
    pub fn commit(mut self) -> ClusterResult<ShardUpdateReport> {
        let mut prepared = self.prepare()?;
        while prepared.commit_next()? {}
        for target in &mut prepared.targets {
            target.writer.wait_for_merges();
        }
        Ok(prepared.report)
    }

    /// Opens the writers of all shards that change, and hands each its new records, which checks them.
    fn prepare(&mut self) -> Result<Prepared> {
        let mut report = ShardUpdateReport::default();
        let mut targets = Vec::new();
        for (shard, changes) in self.changes_by_shard(&mut report)? {
            let target = ShardWriter::new(shard, &self.indexes[shard as usize], changes);
            targets.push(target.map_err(|error| of_shard(shard, error))?);
        }
        report.shards_changed = targets.len() as u32;
        let records = (0..targets.len()).map(CommitStep::Records);
        let records = records.filter(|_| report.signals_moved > 0);
        let steps = records
            .chain((0..targets.len()).map(CommitStep::All))
            .collect();
        Ok(Prepared {
            targets,
            steps,
            report,
        })
    }

    /// Whether a company exists, including pending changes.
    fn has_company(&self, slug: &str) -> Result<bool> {
        match self.companies.get(slug) {
            Some(pending) => Ok(pending.is_some()),
            None => self.home_of(slug).has_company(slug),
        }
    }

    /// Whether a signal exists, including pending changes.
    fn has_signal(&self, id: SignalId) -> Result<bool> {
        match self.signals.get(&id) {
            Some(pending) => Ok(pending.is_some()),
            None => Ok(!self.shards_with(id)?.is_empty()),
        }
    }

    /// The ids of a company's signals, including pending changes.
    fn signals_of(&self, slug: &str) -> Result<BTreeSet<SignalId>> {
        let stored = self.home_of(slug).signals_of(slug)?;
        let mut ids: BTreeSet<SignalId> = stored.into_iter().collect();
        // A pending record replaces the stored one, and may have another company.
        for (id, pending) in &self.signals {
            match pending {
                Some(signal) if signal.company_slug == slug => ids.insert(*id),
                _ => ids.remove(id),
            };
        }
        Ok(ids)
    }

    /// The shard of a company, before the update.
    fn home_of(&self, slug: &str) -> &Snapshot {
        &self.snapshots[shard_of(slug, self.shard_count()) as usize]
    }

    /// The shards that have a signal, before the update: one, or two after a crash.
    fn shards_with(&self, id: SignalId) -> Result<Vec<u32>> {
        let mut shards = Vec::new();
        for (shard, snapshot) in (0..).zip(&self.snapshots) {
            if snapshot.contains(id)? {
                shards.push(shard);
            }
        }
        Ok(shards)
    }

    fn shard_count(&self) -> u32 {
        self.indexes.len() as u32
    }

    /// The pending changes by shard. Deletions of what does not exist are left out.
    fn changes_by_shard(
        &mut self,
        report: &mut ShardUpdateReport,
    ) -> Result<BTreeMap<u32, ShardChanges>> {
        let mut changes: BTreeMap<u32, ShardChanges> = BTreeMap::new();
        for (slug, pending) in mem::take(&mut self.companies) {
            let home = shard_of(&slug, self.shard_count());
            if let Some(company) = pending {
                changes.entry(home).or_default().companies.push(company);
            } else if self.home_of(&slug).has_company(&slug)? {
                report.companies_deleted += 1;
                let deletions = &mut changes.entry(home).or_default().deletions;
                deletions.companies.push(slug);
            }
        }
        for (id, pending) in mem::take(&mut self.signals) {
            let home = pending.as_ref();
            let home = home.map(|signal| shard_of(&signal.company_slug, self.shard_count()));
            let mut former = self.shards_with(id)?;
            former.retain(|&shard| Some(shard) != home);
            for &shard in &former {
                changes.entry(shard).or_default().deletions.signals.push(id);
            }
            let is_elsewhere = u64::from(!former.is_empty());
            if let Some((signal, home)) = pending.zip(home) {
                changes.entry(home).or_default().signals.push(signal);
                report.signals_written += 1;
                report.signals_moved += is_elsewhere;
            } else {
                report.signals_deleted += is_elsewhere;
            }
        }
        Ok(changes)
    }
}

impl Sink for ShardUpdate {
    fn has_company(&mut self, slug: &str) -> Result<bool> {
        Ok(self.to_delete.contains(slug) || ShardUpdate::has_company(self, slug)?)
    }

    fn add_company(&mut self, company: &Company<'_>) -> Result<bool> {
        let is_replaced = ShardUpdate::has_company(self, &company.slug)?;
        if company.slug.is_empty() {
            return Err(Error::invalid("slug: a company's slug is not empty"));
        }
        let company = company.clone().into_owned();
        self.companies
            .insert(company.slug.to_string(), Some(company));
        Ok(is_replaced)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<bool> {
        let is_replaced = self.has_signal(signal.id)?;
        if ShardUpdate::has_company(self, &signal.company_slug)? {
            let owned = signal.clone().into_owned();
            self.signals.insert(signal.id, Some(owned));
        } else if self.to_delete.contains(&*signal.company_slug) {
            self.signals.insert(signal.id, None);
        } else {
            return Err(Error::unknown_company(&signal.company_slug));
        }
        Ok(is_replaced)
    }
}

impl Prepared {
    /// Makes the next commit. Returns whether there was one.
    fn commit_next(&mut self) -> Result<bool> {
        let Some(step) = self.steps.pop_front() else {
            return Ok(false);
        };
        match step {
            CommitStep::Records(target) => self.targets[target].commit()?,
            CommitStep::All(target) => {
                self.targets[target].delete()?;
                self.targets[target].commit()?;
            }
        }
        Ok(true)
    }
}

impl ShardWriter {
    /// Opens the writer of a shard, and hands it the new records, which checks them.
    fn new(shard: u32, index: &Index, changes: ShardChanges) -> Result<ShardWriter> {
        let mut writer = index.writer()?;
        let is_pending = !(changes.companies.is_empty() && changes.signals.is_empty());
        writer.upsert_companies(changes.companies)?;
        writer.upsert_signals(changes.signals)?;
        Ok(ShardWriter {
            shard,
            writer,
            deletions: changes.deletions,
            is_pending,
        })
    }

    /// Commits what is pending, if anything is.
    fn commit(&mut self) -> Result<()> {
        if mem::take(&mut self.is_pending) {
            let committed = self.writer.commit();
            committed.map_err(|error| of_shard(self.shard, error))?;
        }
        Ok(())
    }

    /// Adds the deletions to what is pending.
    fn delete(&mut self) -> Result<()> {
        let Deletions { signals, companies } = mem::take(&mut self.deletions);
        self.is_pending |= !(signals.is_empty() && companies.is_empty());
        let deleted = signals
            .into_iter()
            .try_for_each(|id| self.writer.delete_signal(id).map(drop));
        let deleted = deleted.and_then(|()| {
            // The signals of a deleted company are deleted, or have moved and are among the deletions.
            companies.iter().try_for_each(|slug| {
                let deletion = CompanyDeletion::Restrict;
                self.writer.delete_company(slug, deletion).map(drop)
            })
        });
        deleted.map_err(|error| of_shard(self.shard, error))
    }
}

fn of_shard(shard: u32, error: Error) -> Error {
    error.about(&format!("shard {shard}"))
}

#[cfg(test)]
mod tests;
