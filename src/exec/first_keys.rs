//! The first ones of many codes and rows by value, kept in a buffer of twice as many.

use crate::encoding::row::Row;
use crate::query::ValueOrder;

/// Minimum capacity, so that few wanted keys are not selected again and again.
const CAPACITY_MIN: usize = 256;

/// Collects codes with their rows and keeps the first ones in an order: by code, then by descending row.
#[derive(Debug)]
pub(super) struct FirstKeys {
    order: ValueOrder,
    wanted: usize,
    capacity: usize,
    /// Rank of the code and complement of the row; the first keys are the smallest.
    keys: Vec<u64>,
    /// Keys from this one on are not among the first.
    bound: u64,
}

impl FirstKeys {
    pub(super) fn new(wanted: usize, order: ValueOrder) -> FirstKeys {
        FirstKeys {
            order,
            wanted,
            capacity: wanted.saturating_mul(2).max(CAPACITY_MIN),
            keys: Vec::new(),
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
        self.keys.push(key);
        if self.keys.len() >= self.capacity {
            self.select();
        }
    }

    /// Whether a row with this code may be among the first.
    pub(super) fn takes(&self, code: u32) -> bool {
        self.key(code, u32::MAX) < self.bound
    }

    /// Codes and rows of the first keys, in order.
    pub(super) fn sorted(mut self) -> impl Iterator<Item = (u32, u32)> {
        if self.keys.len() > self.wanted {
            self.select();
        }
        self.keys.sort_unstable();
        let descending = self.order.descending;
        let decode = move |key: u64| {
            let (rank, row) = ((key >> 32) as u32, !(key as u32));
            (if descending { !rank } else { rank }, row)
        };
        self.keys.into_iter().map(decode)
    }

    /// Drops all but the first keys. There must be more.
    #[inline(never)]
    fn select(&mut self) {
        let (_, last, _) = self.keys.select_nth_unstable(self.wanted);
        self.bound = *last;
        self.keys.truncate(self.wanted);
    }

    #[inline(always)]
    fn key(&self, code: u32, row: u32) -> u64 {
        let rank = if self.order.descending { !code } else { code };
        u64::from(rank) << 32 | u64::from(!row)
    }
}

#[cfg(test)]
mod tests;
