//! Brings the candidates of a block into an order by value.
//!
//! Candidates ascend with rows, so counting them by code sorts them: twice as fast as comparing them, where there are not
//! many more codes than candidates (`benches/questions`, frequent term).

use super::candidate_rows::CandidateRows;
use super::first_keys::FirstKeys;
use super::value_column::ValueColumn;
use crate::encoding::row::Row;
use crate::plan::CodeRange;

/// With more codes per candidate, comparing takes less time than visiting all counters.
const CODES_PER_ROW_MAX: usize = 8;

/// Buffers for sorting.
#[derive(Debug, Default)]
pub(super) struct CodeOrder {
    /// Codes, as their distance from the lowest, and rows.
    found: Vec<(u32, u32)>,
    /// For each code, where its next row belongs.
    starts: Vec<u32>,
}

impl CodeOrder {
    /// Overwrites a list with the candidates of a block that have codes in a range, in order; with the first `max` of them
    /// at least.
    pub(super) fn list(
        &mut self,
        (block, candidates): (u32, CandidateRows<'_>),
        (column, codes): (ValueColumn<'_>, &CodeRange),
        (first, max): (&FirstKeys, usize),
        rows: &mut Vec<u32>,
    ) {
        let lowest = *codes.start();
        // Invariant: `found` ascends by row.
        self.found.clear();
        candidates.for_each(|offset| {
            let row = Row::of(block, offset);
            let code = column.code(row);
            if codes.contains(&code) {
                self.found.push((code - lowest, row.0));
            }
        });
        // A code is at most the number of values, so the width fits.
        let width = (codes.end() - lowest) as usize + 1;
        if width > CODES_PER_ROW_MAX * self.found.len() {
            let key = |&(code, row): &(u32, u32)| first.key(lowest + code, row);
            if self.found.len() > max {
                self.found.select_nth_unstable_by_key(max, key);
                self.found.truncate(max);
            }
            self.found.sort_unstable_by_key(key);
            rows.clear();
            rows.extend(self.found.iter().map(|&(_, row)| row));
        } else {
            self.count(width, column.order().descending);
            self.place(rows);
        }
    }

    /// Counts the rows before those of each code.
    fn count(&mut self, width: usize, descending: bool) {
        self.starts.clear();
        self.starts.resize(width, 0);
        for &(code, _) in &self.found {
            self.starts[code as usize] += 1;
        }
        // Invariant: the counters that were visited have become the number of rows before their code.
        let mut before = 0;
        let mut add = |start: &mut u32| {
            before += *start;
            *start = before - *start;
        };
        if descending {
            self.starts.iter_mut().rev().for_each(&mut add);
        } else {
            self.starts.iter_mut().for_each(&mut add);
        }
    }

    /// Moves each row to the next index of its code.
    fn place(&mut self, rows: &mut Vec<u32>) {
        rows.clear();
        rows.resize(self.found.len(), 0);
        // Equal values come by descending row.
        for &(code, row) in self.found.iter().rev() {
            let next = &mut self.starts[code as usize];
            rows[*next as usize] = row;
            *next += 1;
        }
    }
}

#[cfg(test)]
mod tests;
