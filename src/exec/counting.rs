//! Counts the matches of an execution.

use std::ops::Range;

use super::execution::Execution;
use super::observer::Observer;
use super::parallel::{SharedExecutor, fold};
use crate::Result;
use crate::kernels::block::block_count;

impl<O: Observer> Execution<'_, O> {
    /// The number of blocks of the segment.
    pub(super) fn blocks(&self) -> u32 {
        block_count(self.segment.row_count())
    }

    /// The number of matches. Cost: visits every block that may have some, with an executor on several threads.
    pub(super) fn count(&mut self, executor: Option<&SharedExecutor>) -> Result<u64> {
        let mut total = 0;
        // A leading list has so few rows that they are looked up sooner than other threads wake.
        if self.visit_listed(|_| total += 1) {
            return Ok(total);
        }
        let blocks = self.blocks();
        let Some(executor) = executor else {
            return Ok(self.count_blocks(0..blocks));
        };
        let (_, total) = fold(
            Some(executor),
            blocks,
            || (self.fork(), 0),
            |(fork, total), blocks| {
                *total += fork.count_blocks(blocks);
                Ok(())
            },
            |(_, total), (_, other)| *total += other,
        )?;
        Ok(total)
    }

    /// The number of matches in some blocks.
    fn count_blocks(&mut self, blocks: Range<u32>) -> u64 {
        let mut total = 0;
        let mut next = self.block_at_or_after(blocks.start);
        // Invariant: `total` is the number of matches in all of the blocks before this one.
        while let Some(block) = next.filter(|&block| block < blocks.end) {
            total += u64::from(self.count_of(block));
            next = self.block_at_or_after(block + 1);
        }
        total
    }
}
