//! All matches of a segment, kept so that they can be visited several times: first to count groups, then to measure
//! those that are shown.

use std::ops::Range;

use super::candidate_rows::CandidateRows;
use super::execution::Execution;
use super::live::{LiveSegment, Request};
use super::observer::{Observer, Run, Strategy};
use super::parallel::{SharedExecutor, fold};
use crate::Result;
use crate::encoding::column::{Column, NO_CODE};
use crate::encoding::row::Row;
use crate::encoding::row_bits::RowBits;
use crate::kernels::bits;
use crate::kernels::block::BlockBits;
use crate::plan::PlanStorage;

/// Matches per word of a bitset from which testing the codes of all rows of a word, by vectors, takes less time than those
/// of its matches.
const MATCHES_PER_WORD: usize = 4;

/// The matches of a segment, block by block. At most a bit for each row of a block, or two bytes for each match.
#[derive(Debug, Default)]
pub(crate) struct MatchedRows {
    blocks: Vec<(u32, BlockMatches)>,
}

/// Some of the blocks with matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatchedBlocks<'m>(&'m [(u32, BlockMatches)]);

/// The matches of a block.
#[derive(Debug)]
enum BlockMatches {
    /// Offsets, ascending.
    List(Vec<u16>),
    /// A range of words of the block's bitset.
    Bits { first_word: usize, words: Vec<u64> },
}

impl<'a> LiveSegment<'a> {
    /// The matches of a request, and the observer's explanation of the run.
    ///
    /// # Errors
    /// A part of the segment that the request needs is damaged.
    ///
    /// Cost: that of a count without stored counts, and copying the set of each block.
    pub(crate) fn matched_rows<O: Observer>(
        self,
        request: &Request<'_>,
    ) -> Result<(MatchedRows, O::Explained)> {
        let mut storage = PlanStorage::new();
        let plan = self.plan(&mut storage, request, None)?;
        if plan.no_match.is_some() {
            let run = Run::without_visits(Strategy::NoMatch);
            return Ok((
                MatchedRows::default(),
                O::default().explain(run, plan, self),
            ));
        }
        let mut execution = Execution::<O>::unbound(self, request.strategies);
        execution.bind(self, plan, &self.rows())?;
        let executor = request.executor_for::<O>(self.segment);
        let matched = MatchedRows::of(&mut execution, executor)?;
        let (run, observer) = execution.finish();
        Ok((matched, observer.explain(run, plan, self)))
    }
}

impl MatchedRows {
    fn of<O: Observer>(
        execution: &mut Execution<'_, O>,
        executor: Option<&SharedExecutor>,
    ) -> Result<MatchedRows> {
        let mut matched = MatchedRows::default();
        if execution.visit_listed(|row| matched.push(row)) {
            return Ok(matched);
        }
        let blocks = execution.blocks();
        let Some(executor) = executor else {
            matched.keep(execution, 0..blocks);
            return Ok(matched);
        };
        let (_, mut matched) = fold(
            Some(executor),
            blocks,
            || (execution.fork(), MatchedRows::default()),
            |(fork, matched), blocks| {
                matched.keep(fork, blocks);
                Ok(())
            },
            |(_, matched), (_, other)| matched.blocks.extend(other.blocks),
        )?;
        // Each thread has kept the blocks that it claimed, ascending.
        matched.blocks.sort_unstable_by_key(|&(block, _)| block);
        Ok(matched)
    }

    /// Keeps the matches of some blocks.
    fn keep<O: Observer>(&mut self, execution: &mut Execution<'_, O>, blocks: Range<u32>) {
        let mut next = execution.block_at_or_after(blocks.start);
        // Invariant: the matches of all of the blocks before `next` have been kept.
        while let Some(block) = next.filter(|&block| block < blocks.end) {
            execution.load_block(block);
            execution.evaluate_residual();
            let rows = match execution.candidates() {
                CandidateRows::List(list) => BlockMatches::List(list.to_vec()),
                CandidateRows::Bits { first_word, words } => BlockMatches::Bits {
                    first_word,
                    words: words.to_vec(),
                },
            };
            self.blocks.push((block, rows));
            next = execution.block_at_or_after(block + 1);
        }
    }

    /// Adds a row after all others.
    fn push(&mut self, row: Row) {
        match self.blocks.last_mut() {
            Some((block, BlockMatches::List(offsets))) if *block == row.block() => {
                offsets.push(row.offset());
            }
            _ => {
                let offsets = BlockMatches::List(vec![row.offset()]);
                self.blocks.push((row.block(), offsets));
            }
        }
    }

    /// Adds the matches to a set of rows.
    pub(crate) fn add_to(&self, set: &mut RowBits) {
        for (block, rows) in &self.blocks {
            match rows {
                BlockMatches::List(offsets) => set.insert(*block, offsets),
                BlockMatches::Bits { first_word, words } => {
                    set.insert_words(*block, *first_word, words);
                }
            }
        }
    }

    /// The number of blocks with matches.
    pub(crate) fn len(&self) -> u32 {
        self.blocks.len() as u32
    }

    /// Those of the blocks with matches that are at some indices.
    pub(crate) fn part(&self, indices: Range<u32>) -> MatchedBlocks<'_> {
        MatchedBlocks(&self.blocks[indices.start as usize..indices.end as usize])
    }

    /// All blocks with matches.
    pub(crate) fn all(&self) -> MatchedBlocks<'_> {
        MatchedBlocks(&self.blocks)
    }
}

impl MatchedBlocks<'_> {
    /// The number of matches.
    pub(crate) fn count(self) -> u64 {
        let counts = self.0.iter().map(|(_, rows)| match rows {
            BlockMatches::List(offsets) => offsets.len() as u64,
            BlockMatches::Bits { words, .. } => bits::count(words).into(),
        });
        counts.sum()
    }

    /// Calls `visit` with each block and the offsets of its matches that have a value in a column, ascending.
    pub(crate) fn for_each_with_value(
        self,
        column: Column<'_>,
        mut visit: impl FnMut(u32, &[u16]),
    ) {
        let values = [NO_CODE + 1..=u32::MAX];
        let (mut kept, mut listed) = (Vec::new(), Vec::new());
        for (block, rows) in self.0 {
            listed.clear();
            match rows {
                BlockMatches::Bits { first_word, words }
                    if bits::count(words) as usize >= MATCHES_PER_WORD * words.len() =>
                {
                    kept.clone_from(words);
                    let first = Row::of(*block, 64 * *first_word as u16);
                    column.keep_in_ranges(first, &values, &mut kept);
                    bits::list(*first_word, &kept, &mut listed);
                }
                BlockMatches::Bits { first_word, words } => {
                    bits::list(*first_word, words, &mut listed);
                    column.retain_in_ranges(*block, &values, &mut listed);
                }
                BlockMatches::List(offsets) => {
                    listed.extend_from_slice(offsets);
                    column.retain_in_ranges(*block, &values, &mut listed);
                }
            }
            visit(*block, &listed);
        }
    }

    /// Calls `visit` with each block and the offsets of its matches, ascending.
    pub(crate) fn for_each_block(self, visit: impl FnMut(u32, &[u16])) {
        self.visit(|_, _| false, visit);
    }

    /// Calls `visit` with each block and the offsets of its matches, ascending, unless `take_set` returns that it has
    /// taken the bitset of the whole block.
    pub(crate) fn visit(
        self,
        mut take_set: impl FnMut(u32, &BlockBits) -> bool,
        mut visit: impl FnMut(u32, &[u16]),
    ) {
        let mut listed = Vec::new();
        for (block, rows) in self.0 {
            match rows {
                BlockMatches::List(offsets) => visit(*block, offsets),
                BlockMatches::Bits { first_word, words } => {
                    if let Ok(set) = words.as_slice().try_into()
                        && take_set(*block, set)
                    {
                        continue;
                    }
                    listed.clear();
                    bits::list(*first_word, words, &mut listed);
                    visit(*block, &listed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_with_a_value_are_those_of_all_whose_code_is_not_zero() {
        const ROWS: u32 = 66_000;
        let code = |row: u32| if row % 7 < 2 { row % 5 } else { 0 };
        let bytes: Vec<u8> = (0..ROWS).map(|row| code(row) as u8).collect();
        let numbers: Vec<u32> = (0..ROWS).map(code).collect();
        let words = |of_word: fn(usize) -> u64| (0..9).map(of_word).collect();
        let bits = |first_word, words| BlockMatches::Bits { first_word, words };
        let matched = MatchedRows {
            blocks: vec![
                (0, bits(3, words(|_| u64::MAX))),
                (0, bits(1015, words(|index| 1 << (7 * index)))),
                (0, BlockMatches::List((0..65_535).step_by(3).collect())),
                (1, bits(0, [vec![u64::MAX; 7], vec![0xFFFF]].concat())),
            ],
        };
        assert_eq!(matched.all().count(), 9 * 64 + 9 + 21_845 + 464);
        for column in [Column::One(&bytes), Column::Four(&numbers)] {
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            matched.all().for_each_block(|block, offsets| {
                let rows = offsets.iter().map(|&offset| Row::of(block, offset));
                expected.extend(rows.filter(|&row| column.get(row) != NO_CODE));
            });
            matched.all().for_each_with_value(column, |block, offsets| {
                found.extend(offsets.iter().map(|&offset| Row::of(block, offset)));
            });
            assert_eq!(found, expected);
            assert!(found.iter().any(|row| row.block() == 1));
        }
    }
}
