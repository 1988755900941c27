//! Several lists of rows, walked as one.

use std::ops::Range;

use super::lists::between;
use crate::query::Order;

/// What a list without further rows has as its next.
const NO_HEAD: u64 = 0;

/// The rows of several lists, no two of which share a row, in an order. Cost: about ten nanoseconds a
/// row among twenty lists, however long they are.
#[derive(Debug)]
pub(crate) struct ListUnion<'a> {
    /// What is left of each list behind its next row.
    rest: Vec<&'a [u32]>,
    next: Tournament,
    order: Order,
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
        }
    }
}

impl Iterator for ListUnion<'_> {
    type Item = u32;

    #[inline(always)]
    fn next(&mut self) -> Option<u32> {
        let head = Some(self.next.winner).filter(|&head| head != NO_HEAD)?;
        let place = head as u32 as usize - 1;
        let next = take_next(&mut self.rest[place], place, self.order);
        self.next.replace_winner(place, next);
        Some(row_of(head, self.order))
    }
}

/// A tree of matches, each of which keeps its loser ("tree of losers", Knuth, The Art of Computer
/// Programming, volume 3, 5.4.1): whoever takes the winner's place meets only these on its way up. Who
/// wins cannot be predicted, so that a heap, which asks, takes three times as long (`benches/queries`,
/// 20 companies).
#[derive(Debug)]
struct Tournament {
    winner: u64,
    /// The final is at place 1, the matches whose winners met at place `n` are at `2n` and `2n + 1`.
    losers: Vec<u64>,
}

impl Tournament {
    fn new(contestants: impl ExactSizeIterator<Item = u64>) -> Tournament {
        let count = contestants.len().next_power_of_two();
        let mut tree = vec![NO_HEAD; 2 * count];
        for (place, contestant) in tree[count..].iter_mut().zip(contestants) {
            *place = contestant;
        }
        for place in (1..count).rev() {
            tree[place] = tree[2 * place].max(tree[2 * place + 1]);
        }
        let winner = tree[1];
        // From the final down, a match still finds its winners below.
        for place in 1..count {
            tree[place] = tree[2 * place].min(tree[2 * place + 1]);
        }
        tree.truncate(count);
        Tournament {
            winner,
            losers: tree,
        }
    }

    /// Puts another in the place of the winner, which is the contestant of this number.
    fn replace_winner(&mut self, contestant: usize, by: u64) {
        let mut place = (self.losers.len() + contestant) / 2;
        let mut winner = by;
        while place > 0 {
            let loser = &mut self.losers[place];
            (winner, *loser) = (winner.max(*loser), winner.min(*loser));
            place /= 2;
        }
        self.winner = winner;
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
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_union_of_lists_is_the_union_of_sets(
            list_of_row in prop::collection::vec(prop::option::of(0_usize..8), 0..60),
            list_count in 0_usize..9,
            start in prop_oneof![Just(0), 0_u32..60],
            length in 0_u32..70,
        ) {
            let of_list = |list| (0..).zip(&list_of_row).filter(move |(_, of)| **of == Some(list));
            let lists: Vec<Vec<u32>> =
                (0..list_count).map(|list| of_list(list).map(|(row, _)| row).collect()).collect();
            let rows = start..start + length;
            let union = |order| ListUnion::new(lists.iter().map(Vec::as_slice).collect(), &rows, order);
            let mut expected: Vec<u32> = lists.concat();
            expected.retain(|row| rows.contains(row));
            expected.sort_unstable();
            prop_assert_eq!(&union(Order::OldestFirst).collect::<Vec<_>>(), &expected);
            expected.reverse();
            prop_assert_eq!(union(Order::NewestFirst).collect::<Vec<_>>(), expected);
        }
    }
}
