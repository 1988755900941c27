//! A page as it is returned: ids, where their records are, and the cursor of the next page.

use std::iter::FusedIterator;
use std::slice;

use crate::encoding::row::Row;
use crate::exec::Counters;
use crate::query::Cursor;
use crate::signal::SignalId;

/// The signals that a query asked for, by id, and where to go on.
#[derive(Clone, PartialEq, Eq)]
pub struct Page {
    pub(super) hits: Vec<Hit>,
    pub(super) next_cursor: Option<Cursor>,
    pub(super) counters: Counters,
}

/// The ids of a page, in its order; made by [`Page::ids`].
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

/// A signal of a page, and where it is, so that its record need not be looked for. The address is only
/// valid in the snapshot of the page and is checked; hits of the same id are equal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hit {
    pub(super) id: SignalId,
    pub(super) address: RowAddress,
}

/// A row of a segment, by the segment's index in the snapshot.
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
    pub fn ids(&self) -> Ids<'_> {
        Ids(self.hits.iter())
    }

    /// Where the next page starts; `None` exactly when no further signal matches.
    pub fn next_cursor(&self) -> Option<&Cursor> {
        self.next_cursor.as_ref()
    }

    /// The ids and where they were found.
    pub(super) fn addresses(&self) -> impl Iterator<Item = (SignalId, RowAddress)> + '_ {
        self.hits.iter().map(|hit| (hit.id, hit.address))
    }

    /// The number of signals.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether nothing matches.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// How many rows had to be looked at one by one; the rest was decided by sets.
    pub fn rows_checked(&self) -> u64 {
        self.counters.rows_checked
    }

    /// How many blocks of rows had their candidates formed.
    pub fn blocks_visited(&self) -> u64 {
        self.counters.blocks_visited
    }

    /// How many blocks of rows were passed over, without a look at their rows.
    pub fn blocks_skipped(&self) -> u64 {
        self.counters.blocks_skipped
    }
}
