//! Columns of segments, and rows of matches by block: what a host needs to compute answers of its own.

use std::ops::{Bound, ControlFlow, Range, RangeBounds, RangeInclusive};

use time::Date;

use super::live::SegmentHandle;
use super::snapshot::Snapshot;
use crate::encoding::row::{CompanyNumber, Row};
use crate::exec::{Consumer, MatchRuns, Observer, Unobserved};
use crate::plan::PlanStorage;
use crate::query::{Facet, Filter};
use crate::signal::{Signal, SignalId};
use crate::{Error, Result};

/// A segment as a table of columns, returned by [`Snapshot::segments`].
///
/// Values of facets and companies are numbered from 0, and a number is meaningless outside its segment. A signal is live
/// in at most one segment.
#[derive(Clone, Copy)]
pub struct SegmentColumns<'s> {
    snapshot: &'s Snapshot,
    live: &'s SegmentHandle,
}

/// Rows of a segment in the order in which they were found, returned by [`SegmentColumns::rows`]. Each column has an
/// entry per row, in the same order.
///
/// ```
/// use signaldex::{Facet, Filter, sample};
///
/// let snapshot = sample::index()?.snapshot();
/// let filter = Filter::from_query_string("categories=funding")?;
/// let mut by_country = std::collections::BTreeMap::new();
/// for segment in snapshot.segments() {
///     let labels: Vec<&str> = segment.labels(Facet::Country)?.collect();
///     let block = segment.rows(&filter, sample::AS_OF, .., usize::MAX)?;
///     for (country, amount) in block.values(Facet::Country)?.zip(block.amounts()?) {
///         let country = country.map(|number| labels[number as usize]);
///         *by_country.entry(country).or_insert(0.0) += amount.unwrap_or_default();
///     }
/// }
/// assert!(by_country[&Some("Germany")] > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RowBlock<'s> {
    live: &'s SegmentHandle,
    rows: Vec<u32>,
}

impl Snapshot {
    /// The segments, oldest first.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// assert_eq!(snapshot.segments().len(), 1);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn segments(&self) -> impl ExactSizeIterator<Item = SegmentColumns<'_>> {
        let of = |live| SegmentColumns {
            snapshot: self,
            live,
        };
        self.segments.iter().map(of)
    }
}

impl<'s> SegmentColumns<'s> {
    /// The ids of the first and the last row, which may be deleted; `None` without rows.
    ///
    /// ```
    /// use signaldex::{SignalId, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let ids = snapshot.segments().next().expect("a segment").id_range()?.expect("rows");
    /// assert_eq!(*ids.end(), SignalId::MAX);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The ids are damaged.
    pub fn id_range(&self) -> Result<Option<RangeInclusive<SignalId>>> {
        let segment = &self.live.segment;
        let Some(last) = segment.row_count().checked_sub(1) else {
            return Ok(None);
        };
        Ok(Some(segment.id(Row(0))?..=segment.id(Row(last))?))
    }

    /// The labels of a facet by number. Each occurs once, but several may have the same [key](Facet::key), and some
    /// may be of deleted rows only.
    ///
    /// ```
    /// use signaldex::{Facet, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let segment = snapshot.segments().next().expect("a segment");
    /// assert_eq!(segment.labels(Facet::Size)?.len(), 4);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The labels of the segment are damaged.
    pub fn labels(&self, facet: Facet) -> Result<impl ExactSizeIterator<Item = &'s str> + use<'s>> {
        self.live.segment.check_facet_values()?;
        let view = self.live.segment.facet(facet);
        Ok((0..view.len()).map(|value| view.labels.get(value)))
    }

    /// The number of companies, including those that a newer segment replaces.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let segment = snapshot.segments().next().expect("a segment");
    /// assert_eq!(segment.company_count(), 300);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn company_count(&self) -> u32 {
        self.live.segment.company_count()
    }

    /// The slug of a company. Cost: an access to a dictionary.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let segment = snapshot.segments().next().expect("a segment");
    /// assert!(segment.company_slug(0)? < segment.company_slug(1)?);
    /// assert!(segment.company_slug(300).is_err());
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such company, or the keys of companies are damaged.
    pub fn company_slug(&self, company: u32) -> Result<&'s str> {
        let company = self.company(company)?;
        Ok(self.live.segment.company_keys()?.slug(company))
    }

    /// The name of a company. Cost: an access to a list of names.
    ///
    /// ```
    /// let snapshot = signaldex::sample::index()?.snapshot();
    /// let segment = snapshot.segments().next().expect("a segment");
    /// let profile = snapshot.company(segment.company_slug(7)?)?.expect("the company is live");
    /// assert_eq!(segment.company_name(7)?, profile.company.name);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such company, or the names of companies are damaged.
    pub fn company_name(&self, company: u32) -> Result<&'s str> {
        self.live.segment.company_name(self.company(company)?)
    }

    fn company(&self, company: u32) -> Result<CompanyNumber> {
        if company < self.company_count() {
            Ok(CompanyNumber(company))
        } else {
            Err(Error::invalid(format!(
                "the segment has no company {company}: they are numbered from 0 to below company_count"
            )))
        }
    }

    /// The newest `n` live matches among the ids of a range, or fewer, newest first. To read on, end the range before the
    /// [last id](RowBlock::last_id).
    ///
    /// ```
    /// use std::ops::Bound;
    ///
    /// use signaldex::{Filter, SignalId, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = Filter::from_query_string("q=raises")?;
    /// let segment = snapshot.segments().next().expect("a segment");
    /// let (mut total, mut end) = (0, Bound::Unbounded);
    /// loop {
    ///     let ids = (Bound::Unbounded::<SignalId>, end);
    ///     let block = segment.rows(&filter, sample::AS_OF, ids, 100)?;
    ///     total += block.len() as u64;
    ///     match block.last_id()? {
    ///         Some(last) => end = Bound::Excluded(last),
    ///         None => break,
    ///     }
    /// }
    /// assert_eq!(total, snapshot.count(&filter, sample::AS_OF)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A part of the segment that the filter needs is damaged.
    ///
    /// Cost: plans the filter, some microseconds, and visits rows until there are `n`; four bytes per row.
    pub fn rows(
        &self,
        filter: &Filter,
        today: Date,
        ids: impl RangeBounds<SignalId>,
        n: usize,
    ) -> Result<RowBlock<'s>> {
        let request = self.snapshot.request(filter, today);
        let mut found = RowBlock {
            live: self.live,
            rows: Vec::new(),
        };
        let range = self.rows_of_ids(&ids)?;
        if range.is_empty() || n == 0 {
            return Ok(found);
        }
        let live = self.live.live();
        let mut storage = PlanStorage::new();
        let plan = live.plan_among(&mut storage, &request, &range, n)?;
        if plan.no_match.is_none() {
            let collector = RowCollector {
                rows: &mut found.rows,
                n,
            };
            live.search::<Unobserved, _>(plan, &request, range, collector)?;
        }
        Ok(found)
    }

    /// The rows with ids in a range.
    fn rows_of_ids(&self, ids: &impl RangeBounds<SignalId>) -> Result<Range<u32>> {
        let numbers = self.live.segment.ids()?;
        // At most the number of rows, which fits into a `u32`. Ids leave room for one more.
        let below = |id: u64| numbers.count_below(id) as u32;
        let start = match ids.start_bound() {
            Bound::Unbounded => 0,
            Bound::Included(id) => below(id.get()),
            Bound::Excluded(id) => below(id.get() + 1),
        };
        let end = match ids.end_bound() {
            Bound::Unbounded => self.live.segment.row_count(),
            Bound::Included(id) => below(id.get() + 1),
            Bound::Excluded(id) => below(id.get()),
        };
        Ok(start..end)
    }
}

impl std::fmt::Debug for SegmentColumns<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.live.segment.fmt(f)
    }
}

/// Collects the rows of matches.
struct RowCollector<'c> {
    rows: &'c mut Vec<u32>,
    n: usize,
}

impl<'a, O: Observer> Consumer<'a, O> for RowCollector<'_> {
    type Output = ();

    fn consume(self, mut matches: impl MatchRuns<O> + 'a) {
        // Each iteration takes some matches, or finds that there are no more.
        while self.rows.len() < self.n {
            let wanted = self.n - self.rows.len();
            let run = matches.next_run(wanted);
            let taken = run.len().min(wanted);
            if taken == 0 {
                return;
            }
            self.rows.extend_from_slice(run.part(0..taken).rows());
            matches.take(taken);
        }
    }
}

impl<'s> RowBlock<'s> {
    /// The number of rows.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let segment = snapshot.segments().next().expect("a segment");
    /// let all = segment.rows(&Filter::default(), sample::AS_OF, .., usize::MAX)?;
    /// assert_eq!(all.len(), 2000);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The ids. Cost: a nanosecond or two per row.
    ///
    /// ```
    /// use signaldex::{Filter, SignalId, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let segment = snapshot.segments().next().expect("a segment");
    /// let block = segment.rows(&Filter::default(), sample::AS_OF, .., 10)?;
    /// assert_eq!(block.ids()?[0], SignalId::MAX);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// The ids are damaged.
    pub fn ids(&self) -> Result<Vec<SignalId>> {
        let mut ids = Vec::with_capacity(self.len());
        let numbers = self.live.segment.ids()?;
        numbers.read(&self.rows, &mut ids, |_, id| SignalId::of_checked(id));
        Ok(ids)
    }

    /// The id of the last row; `None` without rows.
    ///
    /// # Errors
    /// The ids are damaged.
    pub fn last_id(&self) -> Result<Option<SignalId>> {
        let last = self.rows.last();
        last.map(|&row| self.live.segment.id(Row(row))).transpose()
    }

    /// The numbers of a facet's values, in the order of [`SegmentColumns::labels`]; `None` where a signal has none.
    ///
    /// # Errors
    /// The column is damaged.
    ///
    /// Cost: a nanosecond or two per row; see [`RowBlock`] for an example.
    pub fn values(&self, facet: Facet) -> Result<impl ExactSizeIterator<Item = Option<u32>> + '_> {
        let column = self.live.segment.facet_column(facet)?;
        let rows = self.rows.iter();
        Ok(rows.map(move |&row| column.get(Row(row)).checked_sub(1)))
    }

    /// The dates as days since 1 January 1970; `None` where a signal has none.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = Filter::from_query_string("days=7")?;
    /// let segment = snapshot.segments().next().expect("a segment");
    /// let block = segment.rows(&filter, sample::AS_OF, .., usize::MAX)?;
    /// let days: Option<Vec<i32>> = block.days()?.collect();
    /// let days = days.expect("a signal without a date matches no range of dates");
    /// assert!(days.iter().max() < days.iter().min().map(|&day| day + 7).as_ref());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The dates are damaged.
    pub fn days(&self) -> Result<impl ExactSizeIterator<Item = Option<i32>> + '_> {
        let (days, column) = (
            self.live.segment.days()?,
            self.live.segment.day_column()?.column,
        );
        let value = move |&row: &u32| Some(days[column.get(Row(row)).checked_sub(1)? as usize]);
        Ok(self.rows.iter().map(value))
    }

    /// The amounts of funding; `None` where a signal has none. [`RowBlock`] has an example.
    ///
    /// # Errors
    /// The amounts are damaged.
    pub fn amounts(&self) -> Result<impl ExactSizeIterator<Item = Option<f64>> + '_> {
        let amounts = self.live.segment.amounts()?;
        let column = self.live.segment.amount_column()?.column;
        let value = move |&row: &u32| Some(amounts[column.get(Row(row)).checked_sub(1)? as usize]);
        Ok(self.rows.iter().map(value))
    }

    /// The numbers of companies, for [`SegmentColumns::company_slug`] and [`SegmentColumns::company_name`].
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = Filter::from_query_string("companySlug=cpp-foundry")?;
    /// let segment = snapshot.segments().next().expect("a segment");
    /// let block = segment.rows(&filter, sample::AS_OF, .., 10)?;
    /// for company in block.companies()? {
    ///     assert_eq!(segment.company_slug(company)?, "cpp-foundry");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The column is damaged.
    pub fn companies(&self) -> Result<impl ExactSizeIterator<Item = u32> + '_> {
        let column = self.live.segment.company_column()?;
        let rows = self.rows.iter();
        Ok(rows.map(move |&row| CompanyNumber::of_code(column.get(Row(row))).0))
    }

    /// Keeps the rows whose index passes a test, such as one on a column that was read before.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let segment = snapshot.segments().next().expect("a segment");
    /// let mut block = segment.rows(&Filter::default(), sample::AS_OF, .., 100)?;
    /// let amounts: Vec<Option<f64>> = block.amounts()?.collect();
    /// block.retain(|index| amounts[index].is_some());
    /// assert!(block.amounts()?.all(|amount| amount.is_some()));
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn retain(&mut self, mut keep: impl FnMut(usize) -> bool) {
        let mut index = 0;
        self.rows.retain(|_| {
            index += 1;
            keep(index - 1)
        });
    }

    /// Calls `visit` with the record of each row until it returns `Break`.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use signaldex::{Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = Filter::from_query_string("q=robotics")?;
    /// let segment = snapshot.segments().next().expect("a segment");
    /// let block = segment.rows(&filter, sample::AS_OF, .., 10)?;
    /// block.visit_records(|signal| {
    ///     println!("{}", signal.title);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A record is corrupt.
    ///
    /// Cost: that of [`Snapshot::records`] without its allocations.
    pub fn visit_records(
        &self,
        mut visit: impl FnMut(&Signal<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        for &row in &self.rows {
            let signal = self.live.segment.signal_in(Row(row), &mut buffer)?;
            if visit(&signal).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for RowBlock<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowBlock")
            .field("rows", &self.rows.len())
            .finish_non_exhaustive()
    }
}
