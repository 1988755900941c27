//! Histograms of times that can be added up: eight buckets per power of two.

use std::time::Duration;

use unsigned_varint::{decode, encode};

/// Buckets per power of two: the upper bound of a bucket is at most 9.1 % above the times in it.
const STEPS: u32 = 8;
/// Covers 2^32 microseconds, more than an hour.
const BUCKETS: usize = (STEPS * 32) as usize;

/// How many times fall into each bucket. Only buckets that hold any take room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimeHistogram {
    /// The number of a bucket and its count, by number; no count is 0.
    counts: Vec<(u8, u64)>,
}

impl TimeHistogram {
    /// Counts a time.
    pub(crate) fn add(&mut self, time: Duration) {
        self.add_to(bucket(time), 1);
    }

    /// Adds the counts of another histogram.
    pub(crate) fn merge(&mut self, other: &TimeHistogram) {
        let counts = other.counts.iter();
        counts.for_each(|&(bucket, count)| self.add_to(bucket, count));
    }

    /// The upper bound of the bucket that holds a percentile, from 1 to 100; `None` without times. Never below the exact
    /// percentile, and at most 9.1 % or a microsecond above it.
    pub(crate) fn percentile(&self, percent: u64) -> Option<Duration> {
        let all: u64 = self.counts.iter().map(|(_, count)| count).sum();
        let wanted = (u128::from(all) * u128::from(percent)).div_ceil(100).max(1);
        let mut seen = 0_u128;
        let (bucket, _) = self.counts.iter().find(|(_, count)| {
            seen += u128::from(*count);
            seen >= wanted
        })?;
        let microseconds = (f64::from(u32::from(*bucket) + 1) / f64::from(STEPS)).exp2();
        Some(Duration::from_secs_f64(microseconds / 1e6))
    }

    /// The histogram as it is stored: of each bucket its number, a byte, and its count in LEB128.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 * self.counts.len());
        for &(bucket, count) in &self.counts {
            bytes.push(bucket);
            bytes.extend(encode::u64(count, &mut encode::u64_buffer()));
        }
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) has written; `None` for anything else.
    pub(crate) fn from_bytes(mut rest: &[u8]) -> Option<TimeHistogram> {
        let mut counts: Vec<(u8, u64)> = Vec::with_capacity(rest.len() / 2);
        while let Some((&bucket, after)) = rest.split_first() {
            let (count, after) = decode::u64(after).ok()?;
            rest = after;
            let follows = counts.last().is_none_or(|(last, _)| *last < bucket);
            if count == 0 || !follows {
                return None;
            }
            counts.push((bucket, count));
        }
        Some(TimeHistogram { counts })
    }

    fn add_to(&mut self, bucket: u8, count: u64) {
        match self.counts.binary_search_by_key(&bucket, |known| known.0) {
            Ok(index) => self.counts[index].1 = self.counts[index].1.saturating_add(count),
            Err(index) => self.counts.insert(index, (bucket, count)),
        }
    }
}

fn bucket(time: Duration) -> u8 {
    let microseconds = (time.as_secs_f64() * 1e6).max(1.0);
    let index = (microseconds.log2() * f64::from(STEPS)) as usize;
    index.min(BUCKETS - 1) as u8
}

#[cfg(test)]
mod tests;
