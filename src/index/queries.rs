//! The queries of a snapshot, in the order of use, which is the order of the documentation.

use std::time::Instant;

use time::Date;

use super::changes::Changes;
use super::facets::Facets;
use super::matches::Matches;
use super::page;
use super::position::{Position, PositionError};
use super::result_page::Page;
use super::snapshot::{Found, Snapshot, found};
use crate::Result;
use crate::encoding::row::CompanyNumber;
use crate::exec::{Counting, Unobserved};
use crate::plan::{Explanation, SegmentExplanation};
use crate::query::dates::day_of_number;
use crate::query::{Facet, Filter, Order, Query};
use crate::signal::{Company, CompanyProfile, Item, SignalId};

impl Snapshot {
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
    /// more than [`count`](Self::count). In an order by value, at most that of counting a facet: all matches may have to be
    /// compared.
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

    /// As [`records`](Self::records), with the whole records of the companies, which are found by number, without a
    /// look-up.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("country=Japan")?, sample::AS_OF)?;
    /// for found in snapshot.records_with_companies(&page)? {
    ///     assert_eq!(found.company.country.as_deref(), Some("Japan"));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`records`](Self::records).
    ///
    /// Cost: about twice that of [`records`](Self::records).
    pub fn records_with_companies(&self, page: &Page) -> Result<Vec<Found<'_>>> {
        let mut found = Vec::with_capacity(page.len());
        for (id, address) in page.addresses() {
            found.extend(self.found_at(id, address)?);
        }
        Ok(found)
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

    /// All matches of a filter in an order.
    ///
    /// The iterator is lazy: it holds at most 1,000 row addresses and reads a record when it yields it, so a caller
    /// that stops early pays for no more. Skipped signals are not read. It ends after an error; an order by amount for a
    /// filter without a currency is the only item, an [`Invalid`](crate::ErrorKind::Invalid) error.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Company, Filter, IndexBuilder, Signal, SignalId};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut builder = IndexBuilder::in_memory();
    /// builder.add_company(&Company::new("acme", "Acme"))?;
    /// for id in 1..=120 {
    ///     let id = SignalId::new(id).expect("an id");
    ///     builder.add_signal(&Signal::new(id, "acme", "Acme hires"))?;
    /// }
    /// let snapshot = builder.finish()?.snapshot();
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// let filter = Filter::from_query_string("q=hires")?;
    /// let all = snapshot.matches(&filter, today, Order::OldestFirst);
    /// assert_eq!(all.count(), 120);
    /// let last = SignalId::new(100).expect("an id");
    /// let rest = snapshot.matches(&filter, today, Order::OldestFirst).after(last);
    /// assert_eq!(rest.count(), 20);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cost: that of [`search`](Self::search) per thousand signals, and of [`records`](Self::records).
    pub fn matches(&self, filter: &Filter, today: Date, order: Order) -> Matches<'_> {
        Matches::new(self, filter, today, order)
    }

    /// The changes after a position, ordered by commit, then by id.
    ///
    /// Applying each [`Upsert`](crate::Change::Upsert) and each [`Remove`](crate::Change::Remove) to a copy of the
    /// signals that matched at the position results in the signals that match now. A signal that changed several times
    /// is returned once, in its current state; a change of a company changes its signals. A removal may concern a
    /// signal that the copy never held, but never one that was added after the position.
    ///
    /// A copy starts empty at [`Position::START`], or with the [`matches`](Self::matches) of a snapshot at its
    /// position. A copy collected from several snapshots, such as pages of a service while it is updated, has no
    /// position and may keep deleted signals.
    ///
    /// The iterator is lazy: it reads a record when it yields it. It ends after an error, such as that of a damaged file. Pass
    /// [`Changes::position`] to the next call, at the end or at any point before it.
    ///
    /// Days and date ranges of the filter are relative to `today`; a signal that leaves such a range as time
    /// passes is not a change. Prefer a filter with a fixed start date.
    ///
    /// ```
    /// use signaldex::{Change, Company, Filter, Index, Signal, SignalId};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let index = Index::in_memory()?;
    /// let mut writer = index.writer()?;
    /// let since = index.snapshot().position();
    /// writer.upsert_company(&Company::new("acme", "Acme"))?;
    /// writer.upsert_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires"))?;
    /// writer.commit()?;
    ///
    /// let snapshot = index.snapshot();
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// let filter = Filter::from_query_string("q=hires")?;
    /// let mut changes = snapshot.changes(&filter, today, &since)?;
    /// let first = changes.next().transpose()?;
    /// assert!(matches!(first, Some(Change::Upsert { is_new: true, .. })));
    /// assert!(changes.next().is_none());
    /// assert_eq!(changes.position(), snapshot.position());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The position belongs to another index, is ahead of the snapshot, is of commits that are not in its history
    /// ([`PositionError::Diverged`]), or is so old that later deletions have been forgotten
    /// ([`IndexBuilder::remember_deletions`](crate::IndexBuilder::remember_deletions)).
    ///
    /// Cost: a comparison per segment if nothing has changed. Otherwise a nanosecond or two per 64 rows of segments
    /// with changes, tens of nanoseconds per change, and that of [`records`](Self::records).
    pub fn changes<'a>(
        &'a self,
        filter: &'a Filter,
        today: Date,
        since: &Position,
    ) -> Result<Changes<'a>, PositionError> {
        Changes::after(self, filter, today, since)
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
        let profile = self.company_profile(company, |index| {
            let keys = self.segments[index].segment.company_keys()?;
            Ok(keys.by_slug(slug))
        })?;
        Ok(Some(profile))
    }

    /// A company with the summary of its signals, given its number in each segment.
    pub(super) fn company_profile<'s>(
        &'s self,
        company: Company<'s>,
        number_in: impl Fn(usize) -> Result<Option<CompanyNumber>>,
    ) -> Result<CompanyProfile<'s>> {
        let (mut signal_count, mut latest) = (0, None);
        for (index, live) in self.segments.iter().enumerate() {
            let Some(number) = number_in(index)? else {
                continue;
            };
            let (days, column) = (live.segment.days()?, live.segment.day_column()?.column);
            for row in live.company_rows(number)? {
                signal_count += 1;
                let index = column.get(row).checked_sub(1);
                latest = latest.max(index.map(|index| days[index as usize]));
            }
        }
        Ok(CompanyProfile {
            company,
            signal_count,
            latest_signal_date: latest.and_then(day_of_number),
        })
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
            query: query.filter().to_string(),
            companies: self.named_companies(query.filter())?,
            hints: self.hints(query, matches == 0)?,
            segments: segments.collect::<Result<_>>()?,
            matches,
            page_length: page.len(),
            page_time,
            count_time,
        })
    }
}
