//! Entropy bounds of the sections of postings.

use hashbrown::HashSet;

use super::{Container, Posting, PostingId, Postings};
use crate::encoding::entropy::{choice_bits, of_symbols};
use crate::kernels::block::BLOCK_ROWS;

/// Bits by section: those that identify each list and container among all others with as many rows, plus those of
/// the numbers of rows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PostingBits {
    pub(crate) entries: f64,
    pub(crate) rows: f64,
    pub(crate) containers: f64,
    pub(crate) arrays: f64,
    pub(crate) bitsets: f64,
}

impl Postings<'_> {
    /// The bits of all postings; `count_of` returns the number of rows that each could have.
    pub(crate) fn bits(&self, count_of: impl Fn(usize) -> u32) -> PostingBits {
        let cardinalities = self.entries.iter().map(|entry| entry.cardinality.into());
        let in_blocks = self.containers.iter();
        let mut bits = PostingBits {
            entries: of_symbols(cardinalities),
            containers: of_symbols(in_blocks.map(|container| container.cardinality() as u64)),
            ..PostingBits::default()
        };
        // Postings of the same rows share them, and so do containers.
        let mut seen = HashSet::new();
        let mut seen_containers = HashSet::new();
        for (id, entry) in self.entries.iter().enumerate() {
            let count = count_of(id);
            match self.get(PostingId(id as u32)) {
                Posting::List([_]) => bits.entries += f64::from(count).log2(),
                _ if !seen.insert(entry.start) => {}
                Posting::List(rows) => bits.rows += choice_bits(count.into(), rows.len() as f64),
                // Dense postings exist only in memory.
                Posting::Dense(_) => {}
                Posting::Blocks { containers, .. } => {
                    for container in containers {
                        if seen_containers.insert(container.start) {
                            bits.add(container, count);
                        }
                    }
                }
            }
        }
        bits
    }
}

impl PostingBits {
    fn add(&mut self, container: &Container, count: u32) {
        let first = u32::from(container.block) * BLOCK_ROWS;
        let rows = count.saturating_sub(first).min(BLOCK_ROWS);
        let bits = choice_bits(rows.into(), container.cardinality() as f64);
        if container.is_array() {
            self.arrays += bits;
        } else {
            self.bitsets += bits;
        }
    }
}
