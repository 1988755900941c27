//! Groups rows by value, for writing postings.

use std::mem;

use hashbrown::HashMap;

use crate::encoding::tokens;

/// Rows grouped by value: the rows of value `v` are `rows[starts[v]..starts[v + 1]]`, ascending.
pub(super) struct Groups {
    pub(super) starts: Vec<u32>,
    pub(super) rows: Vec<u32>,
}

impl Groups {
    /// Groups rows by their single optional value.
    pub(super) fn new(
        values: usize,
        value_of_row: impl Iterator<Item = Option<u32>> + Clone,
    ) -> Groups {
        let mut ends = vec![0_u32; values];
        for value in value_of_row.clone().flatten() {
            ends[value as usize] += 1;
        }
        let starts = starts_of(ends.iter().copied());
        // From here on, an end is the index at which the next row of its value belongs.
        ends.copy_from_slice(&starts[..values]);
        let mut rows = vec![0; starts[values] as usize];
        // Invariant: the rows so far are between starts and ends.
        for (row, value) in (0..).zip(value_of_row) {
            let Some(value) = value else { continue };
            let end = &mut ends[value as usize];
            rows[*end as usize] = row;
            *end += 1;
        }
        Groups { starts, rows }
    }

    /// Groups rows by each of their distinct values, alternates or not.
    pub(super) fn of_distinct<'t>(
        values: usize,
        values_of_row: impl Iterator<Item = &'t [u32]> + Clone,
    ) -> Groups {
        let mut states = vec![ValueState::default(); values];
        // Rows are counted from 1, because 0 means that no row had the value yet.
        for (row, values) in (1..).zip(values_of_row.clone()) {
            for &value in values {
                let state = &mut states[tokens::split(value).0 as usize];
                // A value that a row has repeatedly counts once.
                state.end += u32::from(mem::replace(&mut state.last_row, row) != row);
            }
        }
        let starts = starts_of(states.iter().map(|state| state.end));
        for (state, &start) in states.iter_mut().zip(&starts) {
            *state = ValueState {
                end: start,
                last_row: 0,
            };
        }
        let mut rows = vec![0; starts[values] as usize];
        // Invariant: the rows so far are between starts and ends.
        for (row, values) in (1..).zip(values_of_row) {
            for &value in values {
                let state = &mut states[tokens::split(value).0 as usize];
                if mem::replace(&mut state.last_row, row) != row {
                    rows[state.end as usize] = row - 1;
                    state.end += 1;
                }
            }
        }
        Groups { starts, rows }
    }

    /// The number of values.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// The rows of a value.
    pub(super) fn rows(&self, value: usize) -> &[u32] {
        &self.rows[self.starts[value] as usize..self.starts[value + 1] as usize]
    }
}

/// The state of a value while grouping; both numbers are in one cache line.
#[derive(Clone, Copy, Default)]
struct ValueState {
    /// First the number of rows, then the index of the next row.
    end: u32,
    /// The last row with the value, plus one; 0 for none.
    last_row: u32,
}

/// The start of each of several consecutive runs, and the end of the last.
fn starts_of(lengths: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut end = 0;
    let ends = lengths.map(|length| {
        end += length;
        end
    });
    std::iter::once(0).chain(ends).collect()
}

/// Pairs of words, numbered in the order of first occurrence.
#[derive(Default)]
pub(super) struct PairNumbers {
    numbers: HashMap<u64, u32>,
    /// By number: the pair's key.
    keys: Vec<u64>,
}

/// After the numbers of a title's pairs.
const NO_PAIR: u32 = u32::MAX;

impl PairNumbers {
    /// Replaces the terms of a title by the numbers of its pairs, which are fewer, so that no more memory is needed.
    /// `key` is the key of two neighbours, if their pair is wanted.
    pub(super) fn replace_terms(
        &mut self,
        title: &mut [u32],
        key: impl Fn(u32, u32) -> Option<u64>,
    ) {
        let mut pairs = 0;
        // Invariant: the numbers of the pairs so far are before `second`.
        for second in 1..title.len() {
            if let Some(key) = key(title[second - 1], title[second]) {
                title[pairs] = self.number(key);
                pairs += 1;
            }
        }
        title[pairs..].fill(NO_PAIR);
    }

    /// The numbers of the pairs of a title whose terms have been replaced.
    pub(super) fn of_title(title: &[u32]) -> &[u32] {
        let end = title.iter().position(|&number| number == NO_PAIR);
        &title[..end.unwrap_or(title.len())]
    }

    fn number(&mut self, key: u64) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        })
    }

    /// The number of pairs.
    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The numbers of the pairs, ascending by key.
    pub(super) fn order_by_key(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.keys.len() as u32).collect();
        order.sort_unstable_by_key(|&pair| self.key(pair));
        order
    }

    /// The key of a pair.
    pub(super) fn key(&self, pair: u32) -> u64 {
        self.keys[pair as usize]
    }
}
