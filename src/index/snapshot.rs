//! A snapshot: what the index held at one moment, and every question that can be asked of it.

#[cfg(feature = "http")]
use std::ops::ControlFlow;
use std::time::Instant;

use time::Date;

use super::facets::{self, Facets};
use super::identity::IndexId;
use super::live::SegmentHandle;
use super::manifest::{History, Manifest};
use super::page;
use super::result_page::{Page, RowAddress};
use crate::Result;
use crate::digest::Digest;
use crate::encoding::row::{CompanyNumber, Row};
use crate::exec::{Counting, Request, Unobserved};
use crate::plan::{Explanation, SegmentExplanation, Strategies};
use crate::query::dates::day_of_number;
use crate::query::{Facet, Filter, Order, Query};
use crate::segment::catch_damage;
use crate::signal::{Company, CompanyProfile, Item, Signal, SignalId};

/// The index at one moment. It never changes; searches on it need no lock and allocate little.
///
/// What a question needs of the files is checked when a question first needs it, so that damage never
/// changes an answer. A question that meets damage panics where it returns no `Result`; ask it in
/// [`catch_damage`](crate::catch_damage) to get the error, or [`check`](Self::check) the snapshot first.
#[derive(Clone)]
pub struct Snapshot {
    identity: IndexId,
    generation: u64,
    revision: Digest,
    pub(super) history: History,
    /// Oldest first.
    pub(super) segments: Vec<SegmentHandle>,
    pub(super) strategies: Strategies,
}

/// A signal and its company, as stored.
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

/// Figures about a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct IndexStatistics {
    /// The identity of the index.
    pub identity: IndexId,
    /// The number of the commit that made the snapshot.
    pub generation: u64,
    /// Live signals.
    pub signals: u64,
    /// Rows deleted or replaced that still take space.
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
    pub(super) fn new(manifest: &Manifest, segments: Vec<SegmentHandle>) -> Snapshot {
        Snapshot {
            identity: manifest.identity,
            generation: manifest.generation,
            revision: manifest.revision(),
            history: manifest.history,
            segments,
            strategies: Strategies::ALL,
        }
    }

    /// The same snapshot with other optimisations; for this crate's tests and benchmarks.
    #[cfg(any(test, feature = "__strategies"))]
    #[doc(hidden)]
    pub fn with_strategies(&self, strategies: Strategies) -> Snapshot {
        Snapshot {
            strategies,
            ..self.clone()
        }
    }

    /// The identity of the index, which commits, merges and replicas keep. One that is built anew has
    /// another.
    pub fn identity(&self) -> IndexId {
        self.identity
    }

    /// Of all that a search can answer: two snapshots with one revision answer alike.
    pub(crate) fn revision(&self) -> Digest {
        self.revision
    }

    /// The number of the commit that made the snapshot; later ones have greater numbers.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether a signal of that id is live. Cost: a binary search a segment.
    pub fn contains(&self, id: SignalId) -> bool {
        self.segments.iter().any(|live| live.row(id).is_some())
    }

    /// Whether a company of that slug is live. Cost: a binary search a segment.
    pub fn has_company(&self, slug: &str) -> bool {
        self.segments
            .iter()
            .any(|live| live.company_by_slug(slug).is_some())
    }

    /// The ids of a company's live signals, in no particular order.
    pub(super) fn signals_of(&self, slug: &str) -> Vec<SignalId> {
        let mut ids = Vec::new();
        for live in &self.segments {
            if let Some(company) = live.segment.company_keys().by_slug(slug) {
                ids.extend(live.company_rows(company).map(|row| live.segment.id(row)));
            }
        }
        ids
    }

    /// The number of live signals. Cost: one addition a segment.
    pub fn signal_count(&self) -> u64 {
        self.segments
            .iter()
            .map(|handle| handle.live().live_rows())
            .sum()
    }

    /// The number of live companies. Cost: a look-up a company where there is more than one
    /// segment.
    pub fn company_count(&self) -> u64 {
        self.live_companies().count() as u64
    }

    /// The page of signals that a query asks for: ids and the cursor of the next page.
    ///
    /// `today` is the UTC date; where the query has a cursor, the day of the walk's first page
    /// counts instead, so that all pages of a walk see the same window of dates.
    ///
    /// # Panics
    /// If a file is damaged and was not checked before: see [`catch_damage`](crate::catch_damage).
    ///
    /// Cost: grows with the rows looked at until the page is full, a few microseconds where
    /// matches are common; never more than [`count`](Self::count).
    pub fn search(&self, query: &Query, today: Date) -> Page {
        let day = query.day(today);
        page::search(&self.segments, query, day, &self.strategies)
    }

    /// The records of a page's signals, in its order.
    ///
    /// The page has to come from this snapshot; of another's, signals may be missing.
    ///
    /// # Errors
    /// A record is corrupt.
    ///
    /// Cost: a random memory access or two a signal, and where records are compressed an allocation for each
    /// text: 0.15 to 0.5 microseconds each.
    pub fn records(&self, page: &Page) -> Result<Vec<Item<'_>>> {
        catch_damage(|| {
            let rows = self.rows_of(page);
            rows.map(|(live, row)| live.segment.item(row)).collect()
        })?
    }

    /// Calls `visit` with each signal of a page, in its order, and the name of its company, until it
    /// breaks off.
    ///
    /// # Errors
    /// A record is corrupt.
    ///
    /// Cost: that of [`records`](Self::records) without its allocations.
    #[cfg(feature = "http")]
    pub(crate) fn visit_records(
        &self,
        page: &Page,
        mut visit: impl FnMut(&Signal<'_>, &str) -> ControlFlow<()>,
    ) -> Result<()> {
        catch_damage(|| {
            let mut buffer = Vec::new();
            for (live, row) in self.rows_of(page) {
                let signal = live.segment.signal_in(row, &mut buffer)?;
                let company_name = live.segment.company_name(live.segment.company_of(row));
                if visit(&signal, company_name).is_break() {
                    break;
                }
            }
            Ok(())
        })?
    }

    /// The record of a match, which is where it was found.
    pub(super) fn item_at(&self, id: SignalId, address: RowAddress) -> Option<Result<Item<'_>>> {
        let (live, row) = self.live_row(id, address)?;
        Some(live.segment.item(row))
    }

    /// Where the live records of a page are. What the page remembers is right unless it comes from
    /// another snapshot.
    fn rows_of(&self, page: &Page) -> impl Iterator<Item = (&SegmentHandle, Row)> {
        page.addresses()
            .filter_map(|(id, address)| self.live_row(id, address))
    }

    /// Where the live record of an id is, which is at the address unless that comes from another
    /// snapshot.
    fn live_row(&self, id: SignalId, address: RowAddress) -> Option<(&SegmentHandle, Row)> {
        let RowAddress { segment, row } = address;
        let remembered = self.segments.get(segment as usize);
        remembered
            .filter(|live| live.has(row, id))
            .map(|live| (live, row))
            .or_else(|| self.address(id))
    }

    /// The exact number of signals that match.
    ///
    /// # Panics
    /// If a file is damaged and was not checked before: see [`catch_damage`](crate::catch_damage).
    ///
    /// Cost: proportional to the blocks that may hold matches, some hundred nanoseconds each; a
    /// single value is read from its stored count.
    pub fn count(&self, filter: &Filter, today: Date) -> u64 {
        let request = self.request(filter, today);
        let count = |handle: &SegmentHandle| handle.live().count::<Unobserved>(&request).0;
        self.segments.iter().map(count).sum()
    }

    /// The values of all facets with their counts, each list lifted from its own filter.
    ///
    /// # Panics
    /// If a file is damaged and was not checked before: see [`catch_damage`](crate::catch_damage).
    ///
    /// Cost: as [`count`](Self::count), once and once more for each facet that is filtered on,
    /// and one addition a match and facet.
    pub fn facets(&self, filter: &Filter, today: Date) -> Facets {
        self.facets_of(filter, today, &Facet::ALL)
    }

    /// The values of some facets with their counts, each list lifted from its own filter. The lists of
    /// all others are empty.
    ///
    /// # Panics
    /// If a file is damaged and was not checked before: see [`catch_damage`](crate::catch_damage).
    ///
    /// Cost: as [`facets`](Self::facets), for those that are asked for.
    pub fn facets_of(&self, filter: &Filter, today: Date, facets: &[Facet]) -> Facets {
        facets::count(&self.segments, &self.request(filter, today), facets)
    }

    /// The signal of an id.
    ///
    /// # Errors
    /// Its record is corrupt.
    ///
    /// Cost: a binary search a segment.
    pub fn signal(&self, id: SignalId) -> Result<Option<Found<'_>>> {
        catch_damage(|| {
            let address = self.address(id);
            address.map(|(live, row)| found(live, row)).transpose()
        })?
    }

    /// Where the live record of an id is.
    fn address(&self, id: SignalId) -> Option<(&SegmentHandle, Row)> {
        let mut newest_first = self.segments.iter().rev();
        newest_first.find_map(|live| live.row(id).map(|row| (live, row)))
    }

    /// The company of a slug, with what its live signals say.
    ///
    /// # Errors
    /// Its record is corrupt.
    ///
    /// Cost: a binary search a segment, and a look at each signal of the company.
    pub fn company(&self, slug: &str) -> Result<Option<CompanyProfile<'_>>> {
        catch_damage(|| self.company_profile(slug))?
    }

    fn company_profile(&self, slug: &str) -> Result<Option<CompanyProfile<'_>>> {
        let Some(company) = self.company_record(slug)? else {
            return Ok(None);
        };
        let (mut signal_count, mut latest) = (0, None);
        for live in &self.segments {
            let Some(number) = live.segment.company_keys().by_slug(slug) else {
                continue;
            };
            let (days, column) = (live.segment.days(), live.segment.day_column().column);
            for row in live.company_rows(number) {
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

    /// Every live signal, segment by segment, in no particular order over segments.
    ///
    /// Cost: reads every record; meant for tests, exports and checks.
    pub fn scan(&self) -> impl Iterator<Item = Result<Found<'_>>> + '_ {
        self.segments.iter().flat_map(|live| {
            let rows = live.segment.rows();
            rows.filter(|&row| !live.deleted.contains(row))
                .map(|row| found(live, row))
        })
    }

    /// Every live company, once, in no particular order.
    ///
    /// Cost: reads every record; meant for tests, exports and checks.
    pub fn scan_companies(&self) -> impl Iterator<Item = Result<Company<'_>>> + '_ {
        let mut companies = self.live_companies().fuse();
        let next = move || {
            let found = catch_damage(|| companies.next()).transpose()?;
            Some(found.and_then(|(live, company)| live.segment.company(company)))
        };
        std::iter::from_fn(next)
    }

    /// Where each live company's current record is, once: in its latest segment.
    fn live_companies(&self) -> impl Iterator<Item = (&SegmentHandle, CompanyNumber)> + '_ {
        let segments = self.segments.iter().enumerate();
        segments.flat_map(|(index, live)| {
            let newer = &self.segments[index + 1..];
            let keys = live.segment.company_keys();
            let companies = live.segment.companies();
            companies
                .filter(move |&company| {
                    let slug = keys.slug(company);
                    !live.deleted.contains_company(company)
                        && newer
                            .iter()
                            .all(|newer| newer.company_by_slug(slug).is_none())
                })
                .map(move |company| (live, company))
        })
    }

    /// The record of a slug's company, without what its signals say.
    pub(crate) fn company_record(&self, slug: &str) -> Result<Option<Company<'_>>> {
        let mut newest_first = self.segments.iter().rev();
        let found = newest_first.find_map(|live| Some((live, live.company_by_slug(slug)?)));
        found
            .map(|(live, company)| live.segment.company(company))
            .transpose()
    }

    /// How a query is answered: runs the page and the count as [`search`](Self::search) and
    /// [`count`](Self::count) do, and once more while the steps are counted.
    ///
    /// # Panics
    /// If a file is damaged and was not checked before: see [`catch_damage`](crate::catch_damage).
    ///
    /// Cost: several times that of [`count`](Self::count).
    pub fn explain(&self, query: &Query, today: Date) -> Explanation {
        let day = query.day(today);
        let started = Instant::now();
        let page = page::search(&self.segments, query, day, &self.strategies);
        let page_time = started.elapsed();
        let started = Instant::now();
        let matches = self.count(query.filter(), day);
        let count_time = started.elapsed();
        let pages = page::explain(&self.segments, query, day, &self.strategies);
        let request = self.request(query.filter(), day);
        let segments = self.segments.iter().zip(pages).map(|(handle, page)| {
            let (matches, count) = handle.live().count::<Counting>(&request);
            SegmentExplanation {
                rows: u64::from(handle.segment.row_count()),
                matches,
                page,
                count,
            }
        });
        Explanation {
            query: query.filter().canonical(),
            unknown: self.unknown_values(query.filter()),
            segments: segments.collect(),
            matches,
            page_length: page.len(),
            page_time,
            count_time,
        }
    }

    /// Bytes of all segment files.
    pub(crate) fn file_bytes(&self) -> u64 {
        let files = self.segments.iter();
        files.map(|live| live.segment.file_size()).sum()
    }

    /// Figures about segments, rows and bytes.
    pub fn statistics(&self) -> IndexStatistics {
        let segments = self.segments.iter();
        let mut sections = added_up(segments.flat_map(|live| live.segment.section_sizes()));
        sections.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        IndexStatistics {
            identity: self.identity,
            generation: self.generation,
            signals: self.signal_count(),
            deleted_rows: self
                .segments
                .iter()
                .map(|live| live.deleted.row_count())
                .sum(),
            companies: self.company_count(),
            segments: self.segments.len() as u64,
            bytes: self.file_bytes(),
            sections,
        }
    }

    /// The entropy bound of each section: the bytes that it would take if each symbol, or each set of rows,
    /// were coded by itself, as docs/format.md says. A name stands for all segments, as in
    /// [`IndexStatistics::sections`].
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

    /// What is asked of each segment, where no order matters.
    pub(super) fn request<'a>(&'a self, filter: &'a Filter, today: Date) -> Request<'a> {
        Request {
            filter,
            today,
            order: Order::default(),
            strategies: &self.strategies,
        }
    }
}

/// The record of a row and its company.
fn found(live: &SegmentHandle, row: Row) -> Result<Found<'_>> {
    Ok(Found {
        signal: live.segment.signal(row)?,
        company: live.segment.company(live.segment.company_of(row))?,
    })
}

/// The sums of what has one name, in the order in which names come first.
fn added_up<T: std::ops::AddAssign>(named: impl Iterator<Item = (String, T)>) -> Vec<(String, T)> {
    let mut sums: Vec<(String, T)> = Vec::new();
    for (name, number) in named {
        match sums.iter_mut().find(|(other, _)| *other == name) {
            Some((_, sum)) => *sum += number,
            None => sums.push((name, number)),
        }
    }
    sums
}
