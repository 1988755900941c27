//! Result pages: ids, row addresses, and the cursor of the next page.

use std::iter::FusedIterator;
use std::slice;

use crate::encoding::row::Row;
use crate::exec::Counters;
use crate::query::{Cursor, SortKey, SortValue};
use crate::signal::SignalId;

/// A page of results: the ids of signals, and the cursor of the next page.
#[derive(Clone, PartialEq, Eq)]
pub struct Page {
    pub(super) hits: Vec<Hit>,
    /// The value of each hit, if the order is by value.
    pub(super) values: Vec<Option<SortValue>>,
    pub(super) next_cursor: Option<Cursor>,
    pub(super) counters: Counters,
}

/// An iterator over the ids of a page, returned by [`Page::ids`].
#[derive(Clone, Debug)]
pub struct Ids<'a>(slice::Iter<'a, Hit>);

impl Iterator for Ids<'_> {
    type Item = SignalId;

    fn next(&mut self) -> Option<SignalId> {
        self.0.next().map(|hit| hit.id)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Ids<'_> {}

impl FusedIterator for Ids<'_> {}

impl<'a> IntoIterator for &'a Page {
    type Item = SignalId;
    type IntoIter = Ids<'a>;

    fn into_iter(self) -> Ids<'a> {
        self.ids()
    }
}

/// A signal of a page with its row address, which saves a look-up by id. The address is only valid in the
/// snapshot of the page and is checked before use; hits with the same id are equal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) id: SignalId,
    pub(super) address: RowAddress,
}

/// A segment's index in the snapshot, and a row of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowAddress {
    pub(super) segment: u32,
    pub(super) row: Row,
}

impl PartialEq for Hit {
    fn eq(&self, other: &Hit) -> bool {
        self.id == other.id
    }
}

impl Eq for Hit {}

impl Page {
    /// The ids, in the query's order; at most its limit.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=robotics&limit=5")?, sample::AS_OF)?;
    /// for id in page.ids() {
    ///     assert!(snapshot.contains(id)?);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(&self) -> Ids<'_> {
        Ids(self.hits.iter())
    }

    /// The cursor of the next page; `None` if and only if no further signal matches.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::from_query_string("q=robotics&limit=20")?;
    /// let first = snapshot.search(&query, sample::AS_OF)?;
    /// let query = query.into_builder().after(first.next_cursor()).build()?;
    /// let second = snapshot.search(&query, sample::AS_OF)?;
    /// assert_eq!((first.len(), second.len()), (20, 13));
    /// assert!(second.next_cursor().is_none(), "it is the last page");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_cursor(&self) -> Option<&Cursor> {
        self.next_cursor.as_ref()
    }

    /// The sort keys, in the query's order: for services that cut pages
    /// ([`Query::cursor_after`](crate::Query::cursor_after)) or merge those of several indexes.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::from_query_string("order=-date&limit=5")?;
    /// let page = snapshot.search(&query, sample::AS_OF)?;
    /// assert!(page.keys().is_sorted_by(|&a, &b| query.order().compare_keys(a, b).is_lt()));
    /// assert!(page.keys().map(|key| key.id()).eq(page.ids()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys(&self) -> impl Iterator<Item = SortKey> + '_ {
        let values = self.values.iter().copied();
        let values = values.chain(std::iter::repeat(None));
        let key = |(hit, value): (&Hit, Option<SortValue>)| SortKey { value, id: hit.id };
        self.hits.iter().zip(values).map(key)
    }

    /// The ids with their row addresses.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (SignalId, RowAddress)> + '_ {
        self.hits.iter().map(|hit| (hit.id, hit.address))
    }

    /// The number of signals.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=robotics&limit=5")?, sample::AS_OF)?;
    /// assert_eq!(page.len(), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether nothing matches.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=zebra")?, sample::AS_OF)?;
    /// assert!(page.is_empty() && page.next_cursor().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// The number of rows that were checked individually; all others were decided by sets.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=\"series a\"")?, sample::AS_OF)?;
    /// println!("{} rows checked for {} signals", page.rows_checked(), page.len());
    /// assert!(page.rows_checked() <= snapshot.signal_count());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rows_checked(&self) -> u64 {
        self.counters.rows_checked
    }

    /// The number of blocks whose candidates were formed.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=\"series a\"")?, sample::AS_OF)?;
    /// let (visited, skipped) = (page.blocks_visited(), page.blocks_skipped());
    /// assert!(visited + skipped <= 1, "2,000 signals are one block");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocks_visited(&self) -> u64 {
        self.counters.blocks_visited
    }

    /// The number of blocks that were skipped.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::from_query_string("q=robotics&dateTo=1999-12-31")?; // before the first signal
    /// let page = snapshot.search(&query, sample::AS_OF)?;
    /// println!("{} blocks skipped without a look at their rows", page.blocks_skipped());
    /// assert!(page.is_empty() && page.rows_checked() == 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn blocks_skipped(&self) -> u64 {
        self.counters.blocks_skipped
    }
}
