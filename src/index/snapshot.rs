//! Snapshots: an immutable state of an index. [`queries`](super::queries) has what is asked of it.

use std::sync::{Arc, OnceLock};

use time::Date;

use super::chain::Chain;
use super::company_ranks::CompanyRanks;
use super::identity::IndexId;
use super::live::SegmentHandle;
use super::manifest::{History, Manifest};
use super::narrowings::Narrowings;
use super::result_page::RowAddress;
use crate::Result;
use crate::digest::Digest;
use crate::encoding::row::{CompanyNumber, Row};
use crate::exec::{Request, SharedExecutor, may_be_eager};
use crate::plan::Strategies;
use crate::query::{Filter, IdOrder};
use crate::signal::{Company, Item, Signal, SignalId};

/// An immutable state of an index. Searches need no locks and allocate little.
///
/// Parts of the files are checked before their first use, so damage never changes an answer: a method that needs a
/// damaged part returns an error ([`Corrupt`](crate::ErrorKind::Corrupt)) that names the file and the section.
/// Methods that need none of it still answer. [`check`](Self::check) checks everything at once.
#[derive(Clone)]
pub struct Snapshot {
    pub(super) identity: IndexId,
    pub(super) generation: u64,
    pub(super) revision: Digest,
    pub(super) history: History,
    pub(super) chain: Chain,
    /// Oldest first.
    pub(super) segments: Vec<SegmentHandle>,
    pub(super) strategies: Strategies,
    /// Computed on demand, and shared by clones.
    pub(super) company_ranks: Arc<OnceLock<Arc<CompanyRanks>>>,
    /// Those of an earlier snapshot, from which these follow.
    pub(super) earlier_ranks: Option<Arc<CompanyRanks>>,
    /// What keys with a filter see of this index, shared by its snapshots.
    pub(super) narrowings: Arc<Narrowings<Snapshot>>,
    /// What runs parts of queries, shared by the snapshots of an index.
    pub(super) executor: Arc<OnceLock<SharedExecutor>>,
}

/// A signal and its company.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct Found<'a> {
    /// The signal.
    pub signal: Signal<'a>,
    /// Its company.
    pub company: Company<'a>,
}

impl Found<'_> {
    /// The same records, owning their text. Costs one allocation per field.
    pub fn into_owned(self) -> Found<'static> {
        Found {
            signal: self.signal.into_owned(),
            company: self.company.into_owned(),
        }
    }
}

impl Snapshot {
    pub(super) fn new(manifest: &Manifest, segments: Vec<SegmentHandle>, chain: Chain) -> Snapshot {
        Snapshot {
            identity: manifest.identity,
            generation: manifest.generation,
            revision: manifest.revision(),
            history: manifest.history,
            chain,
            segments,
            strategies: Strategies::ALL,
            company_ranks: Arc::default(),
            earlier_ranks: None,
            narrowings: Arc::default(),
            executor: Arc::default(),
        }
    }

    /// The same snapshot, which takes from an earlier one what has not changed.
    pub(super) fn following(self, earlier: &Snapshot) -> Snapshot {
        earlier.narrowings.retire();
        let ranks = earlier.company_ranks.get();
        let earlier_ranks = ranks.or(earlier.earlier_ranks.as_ref()).cloned();
        Snapshot {
            earlier_ranks,
            narrowings: Arc::clone(&earlier.narrowings),
            executor: Arc::clone(&earlier.executor),
            ..self
        }
    }

    /// The same snapshot with other strategies, for tests and benchmarks of this crate.
    #[cfg(any(test, feature = "__strategies"))]
    #[doc(hidden)]
    pub fn with_strategies(&self, strategies: Strategies) -> Snapshot {
        Snapshot {
            strategies,
            ..self.clone()
        }
    }

    /// The identity of the index, which commits, merges and replicas keep. A rebuilt index has a new one.
    ///
    /// ```
    /// use signaldex::{Company, Index};
    ///
    /// let index = Index::in_memory()?;
    /// let identity = index.snapshot().identity();
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
    /// writer.commit()?;
    /// assert_eq!(index.snapshot().identity(), identity);
    /// assert_ne!(Index::in_memory()?.snapshot().identity(), identity);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn identity(&self) -> IndexId {
        self.identity
    }

    /// A digest of everything that determines answers: identity, generation and content. Snapshots of equal revisions
    /// answer equally, in any process and on any replica, so an entity tag may be a hash of the revision, the query
    /// and the date.
    ///
    /// ```
    /// let index = signaldex::sample::index()?;
    /// assert_eq!(index.snapshot().revision(), index.snapshot().revision());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn revision(&self) -> [u8; 32] {
        *self.revision.bytes()
    }

    /// The generation of the snapshot; later ones have larger generations.
    ///
    /// ```
    /// use signaldex::{Company, Index};
    ///
    /// let index = Index::in_memory()?;
    /// let before = index.snapshot().generation();
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
    /// let report = writer.commit()?;
    /// assert!(report.generation > before);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Reads the record of a match.
    pub(super) fn item_at(&self, id: SignalId, address: RowAddress) -> Result<Option<Item<'_>>> {
        let found = self.live_row(id, address)?;
        found.map(|(live, row)| live.segment.item(row)).transpose()
    }

    /// Reads the record of a match and that of its company.
    pub(super) fn found_at(&self, id: SignalId, address: RowAddress) -> Result<Option<Found<'_>>> {
        let live = self.live_row(id, address)?;
        live.map(|(live, row)| found(live, row)).transpose()
    }

    /// The segment and row of a live signal: those of the address, unless it comes from another snapshot.
    pub(super) fn live_row(
        &self,
        id: SignalId,
        address: RowAddress,
    ) -> Result<Option<(&SegmentHandle, Row)>> {
        let RowAddress { segment, row } = address;
        match self.segments.get(segment as usize) {
            Some(live) if live.has(row, id)? => Ok(Some((live, row))),
            _ => self.address(id),
        }
    }

    /// The segment and row of a live signal.
    pub(super) fn address(&self, id: SignalId) -> Result<Option<(&SegmentHandle, Row)>> {
        for live in self.segments.iter().rev() {
            if let Some(row) = live.row(id)? {
                return Ok(Some((live, row)));
            }
        }
        Ok(None)
    }

    /// The latest segment and the number of each live company. Checks the keys of all segments first.
    pub(super) fn live_companies(
        &self,
    ) -> Result<impl Iterator<Item = (&SegmentHandle, CompanyNumber)> + '_> {
        let segments = self.segments.iter();
        let keys = segments.map(|live| {
            Ok((
                live,
                live.segment.company_keys()?,
                live.deleted_companies()?,
            ))
        });
        let keys: Arc<[_]> = keys.collect::<Result<_>>()?;
        Ok((0..keys.len()).flat_map(move |index| {
            let (all, (live, own, deleted)) = (Arc::clone(&keys), keys[index]);
            let is_live = move |&company: &CompanyNumber| {
                let slug = own.slug(company);
                // The newest segment that has a company decides.
                let mut newer = all[index + 1..].iter();
                !deleted.contains(company.0)
                    && newer.all(|(_, keys, deleted)| {
                        let company = keys.by_slug(slug);
                        company.is_none_or(|company| deleted.contains(company.0))
                    })
            };
            let companies = live.segment.companies().filter(is_live);
            companies.map(move |company| (live, company))
        }))
    }

    /// Reads the record of a company, without the summary of its signals.
    pub(crate) fn company_record(&self, slug: &str) -> Result<Option<Company<'_>>> {
        let found = self.company_address(slug)?;
        found
            .map(|(live, company)| live.segment.company(company))
            .transpose()
    }

    /// The latest segment and the number of a live company.
    pub(super) fn company_address(
        &self,
        slug: &str,
    ) -> Result<Option<(&SegmentHandle, CompanyNumber)>> {
        // The newest record of a company replaces earlier ones.
        for live in self.segments.iter().rev() {
            if let Some(company) = live.company_by_slug(slug)? {
                return Ok(Some((live, company)));
            }
        }
        Ok(None)
    }

    /// The numbers of the companies, computed when they are first needed and shared by clones.
    ///
    /// # Errors
    /// As [`CompanyRanks::of`].
    ///
    /// Cost: after a commit that of [`CompanyRanks::following`] if an earlier snapshot had its numbers.
    pub(super) fn company_ranks(&self) -> Result<&CompanyRanks> {
        if let Some(known) = self.company_ranks.get() {
            return Ok(known);
        }
        let ranks = match &self.earlier_ranks {
            Some(earlier) => CompanyRanks::following(earlier, &self.segments)?,
            None => CompanyRanks::of(&self.segments)?,
        };
        // Another thread may have computed the same meanwhile.
        Ok(self.company_ranks.get_or_init(|| Arc::new(ranks)))
    }

    /// The request to each segment if the order does not matter.
    pub(super) fn request<'a>(&'a self, filter: &'a Filter, today: Date) -> Request<'a> {
        Request {
            filter,
            today,
            order: IdOrder::default(),
            strategies: &self.strategies,
            may_be_eager: may_be_eager(filter, self.segments.len(), &self.strategies),
            executor: self.executor.get(),
        }
    }
}

/// Reads the records of a row and its company.
pub(super) fn found(live: &SegmentHandle, row: Row) -> Result<Found<'_>> {
    Ok(Found {
        signal: live.segment.signal(row)?,
        company: live.segment.company(live.segment.company_of(row)?)?,
    })
}
