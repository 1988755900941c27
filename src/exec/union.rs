//! Several lists of rows, walked as one.

use std::ops::Range;

use super::lists::between;
use crate::query::Order;

/// What a list without further rows has as its next.
const NO_HEAD: u64 = 0;

/// The rows of several lists in an order, each once. Cost: about ten nanoseconds a row among twenty
/// lists, however long they are.
#[derive(Debug)]
pub(crate) struct ListUnion<'a> {
    /// What is left of each list behind its next row.
    rest: Vec<&'a [u32]>,
    next: Tournament,
    order: Order,
    last: Option<u32>,
}

impl<'a> ListUnion<'a> {
    /// Those of the lists' rows that are among some rows. The lists ascend.
    pub(super) fn new(mut lists: Vec<&'a [u32]>, rows: &Range<u32>, order: Order) -> ListUnion<'a> {
        let rest = lists.iter_mut().enumerate();
        let heads = rest.map(|(place, rest)| {
            *rest = between(rest, rows);
            take_next(rest, place, order)
        });
        ListUnion {
            next: Tournament::new(heads),
            rest: lists,
            order,
            last: None,
        }
    }
}

impl Iterator for ListUnion<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        // Every round takes a row out of a list.
        loop {
            let head = self.next.greatest().filter(|&head| head != NO_HEAD)?;
            let place = head as u32 as usize - 1;
            let next = take_next(&mut self.rest[place], place, self.order);
            self.next.replace(place, next);
            let row = row_of(head, self.order);
            if self.last.replace(row) != Some(row) {
                return Some(row);
            }
        }
    }
}

/// A tree of contestants, the greater of two at each place above them. Which wins cannot be
/// predicted, so that a heap, which asks, takes three times as long (`benches/queries`, 20
/// companies).
#[derive(Debug)]
struct Tournament {
    /// The winner at place 1; those below place `n` at `2n` and `2n + 1`; contestants last.
    tree: Vec<u64>,
}

impl Tournament {
    fn new(contestants: impl ExactSizeIterator<Item = u64>) -> Tournament {
        let count = contestants.len().next_power_of_two();
        let mut tree = Vec::with_capacity(2 * count);
        tree.resize(count, NO_HEAD);
        tree.extend(contestants);
        tree.resize(2 * count, NO_HEAD);
        for place in (1..count).rev() {
            tree[place] = tree[2 * place].max(tree[2 * place + 1]);
        }
        Tournament { tree }
    }

    fn greatest(&self) -> Option<u64> {
        self.tree.get(1).copied()
    }

    fn replace(&mut self, contestant: usize, by: u64) {
        let mut place = self.tree.len() / 2 + contestant;
        let mut winner = by;
        self.tree[place] = winner;
        while place > 1 {
            winner = winner.max(self.tree[place ^ 1]);
            place /= 2;
            self.tree[place] = winner;
        }
    }
}

/// Takes the next row out of a list, as it stands in the tournament: what comes first is greatest,
/// and the list's place plus one, which no head is without, tells whose it is.
fn take_next(rest: &mut &[u32], place: usize, order: Order) -> u64 {
    let next = match order {
        Order::NewestFirst => rest.split_off_last(),
        Order::OldestFirst => rest.split_off_first(),
    };
    let key = |row: u32| match order {
        Order::NewestFirst => row,
        Order::OldestFirst => !row,
    };
    next.map_or(NO_HEAD, |&row| {
        u64::from(key(row)) << 32 | (place as u64 + 1)
    })
}

fn row_of(head: u64, order: Order) -> u32 {
    let key = (head >> 32) as u32;
    match order {
        Order::NewestFirst => key,
        Order::OldestFirst => !key,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_union_of_lists_is_the_union_of_sets(
            sets in prop::collection::vec(prop::collection::btree_set(0_u32..60, 0..40), 0..8),
            start in prop_oneof![Just(0), 0_u32..60],
            length in 0_u32..70,
        ) {
            let lists: Vec<Vec<u32>> = sets.iter().map(|set| set.iter().copied().collect()).collect();
            let rows = start..start + length;
            let union = |order| ListUnion::new(lists.iter().map(Vec::as_slice).collect(), &rows, order);
            let expected: BTreeSet<u32> =
                sets.iter().flatten().copied().filter(|row| rows.contains(row)).collect();
            let ascending: Vec<u32> = expected.iter().copied().collect();
            let descending: Vec<u32> = expected.iter().rev().copied().collect();
            prop_assert_eq!(union(Order::OldestFirst).collect::<Vec<_>>(), ascending);
            prop_assert_eq!(union(Order::NewestFirst).collect::<Vec<_>>(), descending);
        }
    }
}
