//! Look-ups of single records, and scans of all.

use std::hint::black_box;
use std::ops::ControlFlow;

use time::Date;

use super::facets::{self, Facets};
use super::live::SegmentHandle;
use super::result_page::Page;
use super::snapshot::{Found, Snapshot, found};
use crate::Result;
use crate::encoding::row::Row;
use crate::query::{Facet, Filter};
#[cfg(feature = "json")]
use crate::signal::SentItem;
use crate::signal::{Company, Signal, SignalId};

impl Snapshot {
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
        visit: impl FnMut(&Signal<'_>, &str) -> ControlFlow<()>,
    ) -> Result<()> {
        self.visit_first_records(page, page.len(), visit)
    }

    /// As [`visit_records`](Self::visit_records), of the first `limit` signals.
    pub(crate) fn visit_first_records(
        &self,
        page: &Page,
        limit: usize,
        mut visit: impl FnMut(&Signal<'_>, &str) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        for (live, row) in self.touched_rows(page, limit)? {
            let company_name = live.segment.company_name(live.segment.company_of(row)?)?;
            let signal = live.segment.signal_in(row, &mut buffer)?;
            if visit(&signal, company_name).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// As [`visit_first_records`](Self::visit_first_records), with what answers copy of each signal.
    #[cfg(feature = "json")]
    pub(crate) fn visit_sent_items(
        &self,
        page: &Page,
        limit: usize,
        mut visit: impl FnMut(&SentItem<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        for (live, row) in self.touched_rows(page, limit)? {
            if visit(&live.segment.sent_item_in(row, &mut buffer)?).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The segments and rows of a page's first signals, whose records are on their way into the processor's caches.
    fn touched_rows(&self, page: &Page, limit: usize) -> Result<Vec<(&SegmentHandle, Row)>> {
        let mut rows = Vec::with_capacity(limit.min(page.len()));
        for (id, address) in page.addresses().take(limit) {
            rows.extend(self.live_row(id, address)?);
        }
        // In loops of their own, so that the processor waits for several rows at once.
        let mut places = Vec::with_capacity(rows.len());
        for (live, row) in &rows {
            let offset = live.segment.record_start(row.index())?;
            places.push((offset, live.segment.company_of(*row)?));
        }
        let mut touched = 0;
        for ((live, _), (offset, company)) in rows.iter().zip(places) {
            touched ^= live.segment.touch_record(offset, company)?;
        }
        // A use of the bytes, without which the compiler would not read them.
        black_box(touched);
        Ok(rows)
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
}
