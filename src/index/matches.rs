//! Lazy iterators over all matches of a filter and all pages of a query.

use std::iter::FusedIterator;
use std::vec;

use time::Date;

use super::result_page::RowAddress;
use super::{Found, Page, Snapshot};
use crate::query::{Filter, InvalidQuery, Order, Query, SortKey, Start};
use crate::signal::{Item, SignalId};
use crate::{Error, Result};

/// Signals in the first batch: a caller that takes few pays for no more than a page.
const FIRST_SLICE: usize = 50;

/// Signals per batch after that: enough that finding where to continue is negligible, few enough to bound
/// memory.
const SLICE_MAX: usize = 1000;

impl Snapshot {
    /// The pages of a query, from the requested one to the last. A query without matches has one empty page. The
    /// iterator ends after an error.
    ///
    /// ```
    /// use signaldex::{Company, IndexBuilder, Query, Signal, SignalId};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let mut builder = IndexBuilder::in_memory();
    /// # builder.add_company(&Company::new("acme", "Acme"))?;
    /// # for id in 1..=120 {
    /// #     let id = SignalId::new(id).expect("an id");
    /// #     builder.add_signal(&Signal::new(id, "acme", "Acme hires"))?;
    /// # }
    /// # let snapshot = builder.finish()?.snapshot();
    /// # let today = time::macros::date!(2026 - 06 - 30);
    /// let query = Query::from_query_string("q=hires&limit=50")?;
    /// let lengths: Vec<usize> = snapshot
    ///     .pages(&query, today)
    ///     .map(|page| Ok(page?.len()))
    ///     .collect::<signaldex::Result<_>>()?;
    /// assert_eq!(lengths, [50, 50, 20]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Cost: that of [`search`](Self::search) per page; the query is not built again.
    pub fn pages(&self, query: &Query, today: Date) -> Pages<'_> {
        Pages {
            snapshot: self,
            next: Some(query.clone()),
            today,
        }
    }
}

/// An iterator over all matches of a filter, returned by [`Snapshot::matches`].
pub struct Matches<'s> {
    snapshot: &'s Snapshot,
    /// Why the order is refused, which is the first item.
    refusal: Option<InvalidQuery>,
    /// The query of the last batch, which caches the filter's fingerprint.
    query: Query,
    today: Date,
    /// The start of the next batch, if there is one.
    next: Option<Start>,
    /// The maximum size of the next batch.
    next_length: usize,
    slice: vec::IntoIter<(SignalId, RowAddress)>,
}

impl<'s> Matches<'s> {
    pub(super) fn new(
        snapshot: &'s Snapshot,
        filter: &Filter,
        today: Date,
        order: Order,
    ) -> Matches<'s> {
        Matches {
            snapshot,
            refusal: Query::refusal_of(filter, order),
            query: Query::unchecked(filter.clone(), order, FIRST_SLICE),
            today,
            next: Some(Start::First),
            next_length: FIRST_SLICE,
            slice: Vec::new().into_iter(),
        }
    }

    /// Restarts after a signal in the order: its id, or its [`key`](Order::key_of) if the order is by value. The signal
    /// need not match or exist. Earlier skips are discarded.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Filter, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::from_query_string("q=robotics")?);
    /// let all = || snapshot.matches(&filter, sample::AS_OF, Order::OldestFirst);
    /// let tenth = all().nth(9).transpose()?.expect("there are more than ten");
    /// assert_eq!(all().after(tenth.signal.id).count(), all().count() - 10);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after(mut self, last: impl Into<SortKey>) -> Matches<'s> {
        self.next = Some(Start::After(self.query.cursor_after(last, self.today)));
        self.slice = Vec::new().into_iter();
        self
    }

    /// The ids of the matches, without reading records.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Filter, SignalId, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::from_query_string("q=robotics")?);
    /// let ids = snapshot.matches(&filter, sample::AS_OF, Order::OldestFirst).ids();
    /// let ids: Vec<SignalId> = ids.collect::<signaldex::Result<_>>()?;
    /// assert_eq!(ids.len() as u64, snapshot.count(&filter, sample::AS_OF)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(mut self) -> impl FusedIterator<Item = Result<SignalId>> + 's {
        let next = move || Some(self.next_address().transpose()?.map(|(id, _)| id));
        std::iter::from_fn(next).fuse()
    }

    /// The matches with the whole records of their companies, which are found by number, without a look-up.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Filter, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::from_query_string("country=Japan")?);
    /// let matches = snapshot.matches(&filter, sample::AS_OF, Order::NewestFirst);
    /// for found in matches.with_companies() {
    ///     assert_eq!(found?.company.country.as_deref(), Some("Japan"));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_companies(mut self) -> impl FusedIterator<Item = Result<Found<'s>>> + 's {
        let next = move || self.next_read(Snapshot::found_at).transpose();
        std::iter::from_fn(next).fuse()
    }

    /// The next match. There is none after an error: the next batch, which failed, has been taken.
    pub(super) fn next_address(&mut self) -> Result<Option<(SignalId, RowAddress)>> {
        if let Some(address) = self.slice.next() {
            return Ok(Some(address));
        }
        // The batch is exhausted, and an empty one has no successor.
        let Some(start) = self.next.take() else {
            return Ok(None);
        };
        if let Some(refusal) = self.refusal.take() {
            return Err(Error::invalid(refusal.to_string()));
        }
        let length = std::mem::replace(&mut self.next_length, SLICE_MAX);
        self.query = self.query.part(start, length);
        let page = self.snapshot.search(&self.query, self.today)?;
        self.slice = page.addresses().collect::<Vec<_>>().into_iter();
        self.next = page.next_cursor().cloned().map(Start::After);
        Ok(self.slice.next())
    }

    /// The next match, read. There is none after an error.
    fn next_read<T>(
        &mut self,
        read: impl FnOnce(&'s Snapshot, SignalId, RowAddress) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let Some((id, address)) = self.next_address()? else {
            return Ok(None);
        };
        let item = read(self.snapshot, id, address);
        if item.is_err() {
            self.next = None;
            self.slice = Vec::new().into_iter();
        }
        item
    }
}

impl<'s> Iterator for Matches<'s> {
    type Item = Result<Item<'s>>;

    fn next(&mut self) -> Option<Result<Item<'s>>> {
        self.next_read(Snapshot::item_at).transpose()
    }

    /// Does not read skipped records.
    fn nth(&mut self, n: usize) -> Option<Result<Item<'s>>> {
        for _ in 0..n {
            match self.next_address().transpose()? {
                Ok(_) => {}
                Err(error) => return Some(Err(error)),
            }
        }
        self.next()
    }

    /// Counts without reading records. An error at the end counts as one item, as it does for every iterator.
    fn count(self) -> usize {
        self.ids().count()
    }
}

impl FusedIterator for Matches<'_> {}

/// An iterator over the pages of a query, returned by [`Snapshot::pages`].
///
/// ```
/// use signaldex::{Query, sample};
///
/// let snapshot = sample::index()?.snapshot();
/// let query = Query::from_query_string("country=Germany&limit=50")?;
/// let mut found = 0;
/// for page in snapshot.pages(&query, sample::AS_OF).take(3) {
///     found += page?.len(); // a page is searched for when it is asked for
/// }
/// assert_eq!(found, 150);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pages<'s> {
    snapshot: &'s Snapshot,
    next: Option<Query>,
    today: Date,
}

impl Iterator for Pages<'_> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        let query = self.next.take()?;
        let page = self.snapshot.search(&query, self.today);
        let cursor = page.as_ref().ok().and_then(Page::next_cursor).cloned();
        self.next = cursor.map(|cursor| query.part(Start::After(cursor), query.limit()));
        Some(page)
    }
}

impl FusedIterator for Pages<'_> {}
