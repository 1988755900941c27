//! The first ones of many codes and rows by value, kept in a buffer of twice as many.

use crate::encoding::row::Row;
use crate::query::ValueOrder;

/// Minimum capacity, so that few wanted keys are not selected again and again. With more, allocating the keys of a page
/// takes as long as finding some of its rows (`benches/questions`, no filter).
const CAPACITY_MIN: usize = 128;

/// Collects codes with their rows and keeps the first ones in an order: by code, then by descending row.
#[derive(Debug)]
pub(super) struct FirstKeys {
    order: ValueOrder,
    wanted: usize,
    capacity: usize,
    /// Rank of the code and complement of the row; the first keys are the smallest.
    keys: Vec<u64>,
    /// Whether the keys ascend.
    are_sorted: bool,
    /// Keys from this one on are not among the first.
    bound: u64,
}

impl FirstKeys {
    pub(super) fn new(wanted: usize, order: ValueOrder) -> FirstKeys {
        FirstKeys {
            order,
            wanted,
            capacity: wanted.saturating_mul(2).max(CAPACITY_MIN),
            keys: Vec::with_capacity(CAPACITY_MIN),
            are_sorted: true,
            bound: u64::MAX,
        }
    }

    /// Adds the code of a row.
    #[inline(always)]
    pub(super) fn push(&mut self, code: u32, row: Row) {
        let key = self.key(code, row.0);
        if key >= self.bound {
            return;
        }
        self.are_sorted &= self.keys.last().is_none_or(|&last| last < key);
        self.keys.push(key);
        if self.keys.len() >= self.capacity {
            self.tighten();
        }
    }

    /// The number of wanted keys.
    pub(super) fn wanted(&self) -> usize {
        self.wanted
    }

    /// The code of the last wanted key, if there are enough.
    pub(super) fn last_code(&self) -> Option<u32> {
        (self.bound < u64::MAX).then(|| decode(self.bound, self.order).0)
    }

    /// Whether a row with this code may be among the first.
    pub(super) fn takes(&self, code: u32) -> bool {
        self.takes_row(code, Row(u32::MAX))
    }

    /// Whether a row with this code may be among the first itself.
    pub(super) fn takes_row(&self, code: u32, row: Row) -> bool {
        self.key(code, row.0) < self.bound
    }

    /// Codes and rows of the first keys, in order.
    pub(super) fn sorted(mut self) -> impl Iterator<Item = (u32, u32)> {
        self.tighten();
        if !self.are_sorted {
            self.keys.sort_unstable();
        }
        let order = self.order;
        self.keys.into_iter().map(move |key| decode(key, order))
    }

    /// Drops all but the first keys, if there are enough, and takes only those before the last of them from now on.
    pub(super) fn tighten(&mut self) {
        if self.keys.len() < self.wanted || self.keys.is_empty() {
            return;
        }
        let Some(last) = self.wanted.checked_sub(1) else {
            return self.keys.clear();
        };
        if !self.are_sorted {
            self.keys.select_nth_unstable(last);
        }
        self.bound = self.keys[last];
        self.keys.truncate(self.wanted);
    }

    /// A number that compares like the code and the row in the order.
    #[inline(always)]
    pub(super) fn key(&self, code: u32, row: u32) -> u64 {
        u64::from(self.order.code_rank(code)) << 32 | u64::from(!row)
    }
}

/// The code and the row of a key.
fn decode(key: u64, order: ValueOrder) -> (u32, u32) {
    // The rank of a rank is the code.
    (order.code_rank((key >> 32) as u32), !(key as u32))
}

#[cfg(test)]
mod tests;
