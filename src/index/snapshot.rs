//! Snapshots: an immutable state of an index, and all queries on it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use time::Date;

use super::chain::Chain;
use super::facets::{self, Facets};
use super::identity::IndexId;
use super::live::SegmentHandle;
use super::manifest::{History, Manifest};
use super::page;
use super::result_page::{Page, RowAddress};
use crate::Result;
use crate::digest::Digest;
use crate::encoding::row::{CompanyNumber, Row};
use crate::exec::{Counting, Request, Unobserved, may_be_eager};
use crate::plan::{Explanation, SegmentExplanation, Strategies};
use crate::query::dates::day_of_number;
use crate::query::{Facet, Filter, Order, Query};
use crate::signal::{Company, CompanyProfile, Item, Signal, SignalId};

/// An immutable state of an index. Searches need no locks and allocate little.
///
/// Parts of the files are checked before their first use, so damage never changes an answer: a method that needs a
/// damaged part returns an error ([`Corrupt`](crate::ErrorKind::Corrupt)) that names the file and the section.
/// Methods that need none of it still answer. [`check`](Self::check) checks everything at once.
#[derive(Clone)]
pub struct Snapshot {
    identity: IndexId,
    generation: u64,
    revision: Digest,
    pub(super) history: History,
    pub(super) chain: Chain,
    /// Oldest first.
    pub(super) segments: Vec<SegmentHandle>,
    pub(super) strategies: Strategies,
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

/// Statistics of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct IndexStatistics {
    /// The identity of the index.
    pub identity: IndexId,
    /// The generation of the snapshot.
    pub generation: u64,
    /// Live signals.
    pub signals: u64,
    /// Deleted or replaced rows that still take space.
    pub deleted_rows: u64,
    /// Live companies.
    pub companies: u64,
    /// Segments.
    pub segments: u64,
    /// Bytes of all segment files.
    pub bytes: u64,
    /// Bytes by section, over all segments, largest first.
    pub sections: Vec<(String, u64)>,
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

    /// Whether a signal with this id exists. Cost: a binary search per segment.
    ///
    /// ```
    /// use signaldex::{SignalId, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// assert!(snapshot.contains(SignalId::MAX)?);
    /// assert!(!snapshot.contains(SignalId::MIN)?);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The ids of a file are damaged.
    pub fn contains(&self, id: SignalId) -> Result<bool> {
        Ok(self.address(id)?.is_some())
    }

    /// Whether a company with this slug exists. Cost: a look-up per segment.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert!(snapshot.has_company("cpp-foundry")?);
    /// assert!(!snapshot.has_company("C++ Foundry")?, "that is its name");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The keys of companies of a file are damaged.
    pub fn has_company(&self, slug: &str) -> Result<bool> {
        Ok(self.company_address(slug)?.is_some())
    }

    /// The ids of a company's live signals, in no particular order; none where the company does not exist.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert_eq!(snapshot.signals_of("cpp-foundry")?.len(), 3);
    /// assert!(snapshot.signals_of("no-such-company")?.is_empty());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The keys, ids or rows of companies of a file are damaged.
    pub fn signals_of(&self, slug: &str) -> Result<Vec<SignalId>> {
        let mut found = Vec::new();
        for live in &self.segments {
            if let Some(company) = live.segment.company_keys()?.by_slug(slug) {
                let ids = live.segment.ids()?;
                let id = |row: Row| SignalId::of_checked(ids.get(row.index()));
                found.extend(live.company_rows(company)?.map(id));
            }
        }
        Ok(found)
    }

    /// The number of live signals. Cost: one addition per segment.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert_eq!(snapshot.signal_count(), 2000);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn signal_count(&self) -> u64 {
        self.segments
            .iter()
            .map(|handle| handle.live().live_rows())
            .sum()
    }

    /// The number of live companies. Cost: a look-up per company if there is more than one segment.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert_eq!(snapshot.company_count()?, 300);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The keys of companies of a file are damaged.
    pub fn company_count(&self) -> Result<u64> {
        Ok(self.live_companies()?.count() as u64)
    }

    /// Finds the requested page of a query: ids and the cursor of the next page.
    ///
    /// `today` is the UTC date. If the query has a cursor, the date of the first page is used instead, so that
    /// all pages of a result use the same range of dates.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::from_query_string("categories=funding&country=Germany&limit=10")?;
    /// let page = snapshot.search(&query, sample::AS_OF)?;
    /// assert_eq!(page.len(), 10);
    /// assert!(page.ids().is_sorted_by(|newer, older| newer > older));
    /// assert!(page.next_cursor().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A part of a file that the query needs is damaged.
    ///
    /// Cost: grows with the rows visited until the page is full; a few microseconds if matches are common; never
    /// more than [`count`](Self::count).
    pub fn search(&self, query: &Query, today: Date) -> Result<Page> {
        let day = query.day(today);
        page::search(&self.segments, query, day, &self.strategies)
    }

    /// Reads the records of a page's signals, in its order.
    ///
    /// The page must come from this snapshot. Signals of a page from another snapshot may be missing.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=raises&limit=10")?, sample::AS_OF)?;
    /// for item in snapshot.records(&page)? {
    ///     assert!(item.signal.title.contains("raises"));
    ///     println!("{}: {}", item.company_name, item.signal.title);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A record is corrupt.
    ///
    /// Cost: one or two random memory accesses per signal and, if records are compressed, an allocation per text:
    /// 0.15 to 0.5 microseconds per signal.
    pub fn records(&self, page: &Page) -> Result<Vec<Item<'_>>> {
        let mut items = Vec::with_capacity(page.len());
        for (id, address) in page.addresses() {
            items.extend(self.item_at(id, address)?);
        }
        Ok(items)
    }

    /// Calls `visit` with each signal of a page, in its order, and the name of its company, until it returns
    /// `Break`.
    ///
    /// # Errors
    /// A record is corrupt.
    ///
    /// Cost: that of [`records`](Self::records) without its allocations.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use signaldex::{Query, sample};
    ///
    /// let index = sample::index()?;
    /// let snapshot = index.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=robotics")?, sample::AS_OF)?;
    /// let mut titles = Vec::new();
    /// snapshot.visit_records(&page, |signal, company_name| {
    ///     titles.push(format!("{company_name}: {}", signal.title));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!(titles.len(), page.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit_records(
        &self,
        page: &Page,
        mut visit: impl FnMut(&Signal<'_>, &str) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        for (id, address) in page.addresses() {
            let Some((live, row)) = self.live_row(id, address)? else {
                continue;
            };
            let company_name = live.segment.company_name(live.segment.company_of(row)?)?;
            let signal = live.segment.signal_in(row, &mut buffer)?;
            if visit(&signal, company_name).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Reads the record of a match.
    pub(super) fn item_at(&self, id: SignalId, address: RowAddress) -> Result<Option<Item<'_>>> {
        let found = self.live_row(id, address)?;
        found.map(|(live, row)| live.segment.item(row)).transpose()
    }

    /// The segment and row of a live signal: those of the address, unless it comes from another snapshot.
    fn live_row(&self, id: SignalId, address: RowAddress) -> Result<Option<(&SegmentHandle, Row)>> {
        let RowAddress { segment, row } = address;
        match self.segments.get(segment as usize) {
            Some(live) if live.has(row, id)? => Ok(Some((live, row))),
            _ => self.address(id),
        }
    }

    /// The exact number of signals that match.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = Filter::from_query_string("categories=funding")?;
    /// assert_eq!(snapshot.count(&filter, sample::AS_OF)?, 501);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A part of a file that the filter needs is damaged.
    ///
    /// Cost: about a hundred nanoseconds per block that may have matches. The count of a single value is stored.
    pub fn count(&self, filter: &Filter, today: Date) -> Result<u64> {
        let request = self.request(filter, today);
        let mut total = 0;
        for handle in &self.segments {
            total += handle.live().count::<Unobserved>(&request)?.0;
        }
        Ok(total)
    }

    /// The values of all facets with their counts. Each facet is counted without its own filter.
    ///
    /// ```
    /// use signaldex::{Facet, Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = Filter::from_query_string("categories=funding&country=Germany")?;
    /// let facets = snapshot.facets(&filter, sample::AS_OF)?;
    /// let countries = facets.values(Facet::Country); // of all countries that could be chosen instead
    /// assert_eq!((countries[0].label(), countries[0].count()), ("United States", 96));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A part of a file that the filter or the facets need is damaged.
    ///
    /// Cost: as [`count`](Self::count), plus once more for each facet that is filtered on, plus one addition per
    /// match and facet.
    pub fn facets(&self, filter: &Filter, today: Date) -> Result<Facets> {
        self.facets_of(filter, today, &Facet::ALL)
    }

    /// The values of the given facets with their counts. Each facet is counted without its own filter. The lists of
    /// all other facets are empty.
    ///
    /// ```
    /// use signaldex::{Facet, Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let facets = snapshot.facets_of(&Filter::default(), sample::AS_OF, &[Facet::Category])?;
    /// let largest = &facets.values(Facet::Category)[0];
    /// assert_eq!((largest.label(), largest.count()), ("funding", 501));
    /// assert!(facets.values(Facet::Country).is_empty(), "not counted");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`facets`](Self::facets).
    ///
    /// Cost: as [`facets`](Self::facets), for the given facets.
    pub fn facets_of(&self, filter: &Filter, today: Date, facets: &[Facet]) -> Result<Facets> {
        facets::count(&self.segments, &self.request(filter, today), facets)
    }

    /// Reads the signal with an id.
    ///
    /// ```
    /// use signaldex::{SignalId, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let found = snapshot.signal(SignalId::MAX)?.expect("the sample has it");
    /// assert_eq!(found.company.name, "Pomelora AG");
    /// assert!(snapshot.signal(SignalId::MIN)?.is_none());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// Its record is corrupt.
    ///
    /// Cost: a binary search per segment.
    pub fn signal(&self, id: SignalId) -> Result<Option<Found<'_>>> {
        let address = self.address(id)?;
        address.map(|(live, row)| found(live, row)).transpose()
    }

    /// The segment and row of a live signal.
    fn address(&self, id: SignalId) -> Result<Option<(&SegmentHandle, Row)>> {
        for live in self.segments.iter().rev() {
            if let Some(row) = live.row(id)? {
                return Ok(Some((live, row)));
            }
        }
        Ok(None)
    }

    /// Reads the company with a slug, with a summary of its live signals.
    ///
    /// ```
    /// use time::macros::date;
    ///
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let profile = snapshot.company("cpp-foundry")?.expect("the sample has it");
    /// assert_eq!((&*profile.company.name, profile.signal_count), ("C++ Foundry", 3));
    /// assert_eq!(profile.latest_signal_date, Some(date!(2026 - 02 - 02)));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// Its record is corrupt.
    ///
    /// Cost: a look-up per segment, and per signal of the company.
    pub fn company(&self, slug: &str) -> Result<Option<CompanyProfile<'_>>> {
        let Some(company) = self.company_record(slug)? else {
            return Ok(None);
        };
        let (mut signal_count, mut latest) = (0, None);
        for live in &self.segments {
            let Some(number) = live.segment.company_keys()?.by_slug(slug) else {
                continue;
            };
            let (days, column) = (live.segment.days()?, live.segment.day_column()?.column);
            for row in live.company_rows(number)? {
                signal_count += 1;
                let index = column.get(row).checked_sub(1);
                latest = latest.max(index.map(|index| days[index as usize]));
            }
        }
        Ok(Some(CompanyProfile {
            company,
            signal_count,
            latest_signal_date: latest.and_then(day_of_number),
        }))
    }

    /// Iterates over all live signals, segment by segment, in no particular order.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let mut undated = 0;
    /// for found in snapshot.scan() {
    ///     undated += usize::from(found?.signal.date.is_none());
    /// }
    /// assert_eq!(undated, 34);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// Cost: reads every record; meant for tests, exports and checks.
    pub fn scan(&self) -> impl Iterator<Item = Result<Found<'_>>> + '_ {
        self.segments.iter().flat_map(|live| {
            let rows = live.segment.rows();
            rows.filter(|&row| !live.deleted.contains(row))
                .map(|row| found(live, row))
        })
    }

    /// Iterates over all live companies, in no particular order.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let mut countries = std::collections::BTreeSet::new();
    /// for company in snapshot.scan_companies() {
    ///     countries.extend(company?.country);
    /// }
    /// assert!(countries.contains("Japan"));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// Cost: reads every record; meant for tests, exports and checks.
    pub fn scan_companies(&self) -> impl Iterator<Item = Result<Company<'_>>> + '_ {
        let (companies, damage) = match self.live_companies() {
            Ok(companies) => (Some(companies), None),
            Err(error) => (None, Some(Err(error))),
        };
        let companies = companies.into_iter().flatten();
        let records = companies.map(|(live, company)| live.segment.company(company));
        damage.into_iter().chain(records)
    }

    /// The latest segment and the number of each live company. Checks the keys of all segments first.
    fn live_companies(&self) -> Result<impl Iterator<Item = (&SegmentHandle, CompanyNumber)> + '_> {
        let segments = self.segments.iter();
        let keys = segments.map(|live| Ok((live, live.segment.company_keys()?)));
        let keys: Arc<[_]> = keys.collect::<Result<_>>()?;
        Ok((0..keys.len()).flat_map(move |index| {
            let (all, (live, own)) = (Arc::clone(&keys), keys[index]);
            let is_live = move |&company: &CompanyNumber| {
                let slug = own.slug(company);
                // The newest segment that has a company decides.
                let mut newer = all[index + 1..].iter();
                !live.deleted.contains_company(company)
                    && newer.all(|(newer, keys)| {
                        let company = keys.by_slug(slug);
                        company.is_none_or(|company| newer.deleted.contains_company(company))
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
    fn company_address(&self, slug: &str) -> Result<Option<(&SegmentHandle, CompanyNumber)>> {
        // The newest record of a company replaces earlier ones.
        for live in self.segments.iter().rev() {
            if let Some(company) = live.company_by_slug(slug)? {
                return Ok(Some((live, company)));
            }
        }
        Ok(None)
    }

    /// Explains how a query is answered: runs the page and the count as [`search`](Self::search) and
    /// [`count`](Self::count) do, and again with observed steps.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::from_query_string("q=\"series a\"&country=Germany")?;
    /// let explanation = snapshot.explain(&query, sample::AS_OF)?;
    /// println!("{explanation}");
    /// assert_eq!(explanation.matches, snapshot.count(query.filter(), sample::AS_OF)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`search`](Self::search) and [`count`](Self::count).
    ///
    /// Cost: several times that of [`count`](Self::count).
    pub fn explain(&self, query: &Query, today: Date) -> Result<Explanation> {
        let day = query.day(today);
        let started = Instant::now();
        let page = page::search(&self.segments, query, day, &self.strategies)?;
        let page_time = started.elapsed();
        let started = Instant::now();
        let matches = self.count(query.filter(), day)?;
        let count_time = started.elapsed();
        let pages = page::explain(&self.segments, query, day, &self.strategies)?;
        let request = self.request(query.filter(), day);
        let segments = self.segments.iter().zip(pages).map(|(handle, page)| {
            let (matches, count) = handle.live().count::<Counting>(&request)?;
            Ok(SegmentExplanation {
                rows: u64::from(handle.segment.row_count()),
                matches,
                page,
                count,
            })
        });
        Ok(Explanation {
            query: query.filter().canonical(),
            unknown: self.unknown_values(query.filter())?,
            segments: segments.collect::<Result<_>>()?,
            matches,
            page_length: page.len(),
            page_time,
            count_time,
        })
    }

    /// Bytes of all segment files, as in [`statistics`](Self::statistics).
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert_eq!(snapshot.file_bytes(), snapshot.statistics()?.bytes);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// Cost: one addition per segment.
    pub fn file_bytes(&self) -> u64 {
        let files = self.segments.iter();
        files.map(|live| live.segment.file_size()).sum()
    }

    /// Statistics of segments, rows and bytes.
    ///
    /// ```
    /// let statistics = signaldex::sample::index()?.snapshot().statistics()?;
    /// assert_eq!((statistics.signals, statistics.segments), (2000, 1));
    /// let (section, bytes) = &statistics.sections[0];
    /// println!("the largest section, {section}, takes {bytes} of {} bytes", statistics.bytes);
    /// assert!(*bytes < statistics.bytes);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`company_count`](Self::company_count).
    ///
    /// Cost: that of [`company_count`](Self::company_count), and an addition per section of each segment.
    pub fn statistics(&self) -> Result<IndexStatistics> {
        let segments = self.segments.iter();
        let mut sections = added_up(segments.flat_map(|live| live.segment.section_sizes()));
        sections.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Ok(IndexStatistics {
            identity: self.identity,
            generation: self.generation,
            signals: self.signal_count(),
            deleted_rows: self
                .segments
                .iter()
                .map(|live| live.deleted.row_count())
                .sum(),
            companies: self.company_count()?,
            segments: self.segments.len() as u64,
            bytes: self.file_bytes(),
            sections,
        })
    }

    /// The entropy bound of each section: the bytes that it would take if each symbol, or each set of rows,
    /// were coded by itself, as docs/format.md says. A name stands for all segments, as in
    /// [`IndexStatistics::sections`].
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let bounds = snapshot.entropy_bounds()?;
    /// let (bound, taken) = (bounds.iter().map(|(_, bytes)| bytes).sum(), snapshot.file_bytes() as f64);
    /// println!("{taken} bytes are taken where {bound:.0} might do");
    /// assert!((0.0..taken).contains(&bound));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// A file of the index is damaged.
    ///
    /// Cost: reads everything, and counts every symbol.
    pub fn entropy_bounds(&self) -> Result<Vec<(String, f64)>> {
        let mut bounds = Vec::new();
        for live in &self.segments {
            bounds.extend(live.segment.entropy_bounds()?);
        }
        Ok(added_up(bounds.into_iter()))
    }

    /// The request to each segment if the order does not matter.
    pub(super) fn request<'a>(&'a self, filter: &'a Filter, today: Date) -> Request<'a> {
        Request {
            filter,
            today,
            order: Order::default(),
            strategies: &self.strategies,
            may_be_eager: may_be_eager(filter, self.segments.len(), &self.strategies),
        }
    }
}

/// Reads the records of a row and its company.
fn found(live: &SegmentHandle, row: Row) -> Result<Found<'_>> {
    Ok(Found {
        signal: live.segment.signal(row)?,
        company: live.segment.company(live.segment.company_of(row)?)?,
    })
}

/// The sums of what has one name, in the order in which names come first.
fn added_up<T: std::ops::AddAssign>(named: impl Iterator<Item = (String, T)>) -> Vec<(String, T)> {
    let mut sums: Vec<(String, T)> = Vec::new();
    for (name, number) in named {
        // There are few names, so searching them one by one suffices.
        match sums.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sum)) => *sum += number,
            None => sums.push((name, number)),
        }
    }
    sums
}
