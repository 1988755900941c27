//! Merges several lists of rows into one.

use std::ops::Range;

use crate::kernels::gallop::between;
use crate::kernels::loser_tree::{LoserTree, NO_KEY};
use crate::query::IdOrder;

/// The rows of several disjoint lists, merged in an order. Cost: about ten nanoseconds per row for twenty lists
/// of any length.
#[derive(Debug)]
pub(super) struct ListUnion<'a> {
    /// The rest of each list after its next row.
    rest: Vec<&'a [u32]>,
    next: LoserTree,
    order: IdOrder,
}

impl<'a> ListUnion<'a> {
    /// Merges the ascending lists within a range of rows.
    pub(super) fn new(
        mut lists: Vec<&'a [u32]>,
        rows: &Range<u32>,
        order: IdOrder,
    ) -> ListUnion<'a> {
        let rest = lists.iter_mut().enumerate();
        let heads = rest.map(|(list, rest)| {
            // Cut before the first key is taken, so that every key is in the range.
            *rest = between(rest, rows);
            take_next(rest, list, order)
        });
        ListUnion {
            next: LoserTree::new(heads),
            rest: lists,
            order,
        }
    }
}

impl Iterator for ListUnion<'_> {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let head = Some(self.next.root()).filter(|&head| head != NO_KEY)?;
        // The low half is the list's index plus one; the first cast drops the row.
        let list = head as u32 as usize - 1;
        let next = take_next(&mut self.rest[list], list, self.order);
        self.next.replace_root(list, next);
        Some(row_of(head, self.order))
    }
}

/// Takes the next row of a list as a key of the loser tree: the first row in the order has the largest key. The
/// list's index plus one, in the low bits, identifies the list and makes every key positive.
fn take_next(rest: &mut &[u32], list: usize, order: IdOrder) -> u64 {
    let next = match order {
        IdOrder::NewestFirst => rest.split_off_last(),
        IdOrder::OldestFirst => rest.split_off_first(),
    };
    let key = |row: u32| match order {
        IdOrder::NewestFirst => row,
        IdOrder::OldestFirst => !row,
    };
    // The row is in the upper half, so keys compare by row. Lists are disjoint, so no rows are
    // equal.
    next.map_or(NO_KEY, |&row| u64::from(key(row)) << 32 | (list as u64 + 1))
}

fn row_of(head: u64, order: IdOrder) -> u32 {
    let key = (head >> 32) as u32;
    match order {
        IdOrder::NewestFirst => key,
        IdOrder::OldestFirst => !key,
    }
}

#[cfg(test)]
mod tests;
