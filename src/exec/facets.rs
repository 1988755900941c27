//! Counts the values of facets among the matches of an execution.

use std::ops::Range;

use smallvec::SmallVec;

use super::candidate_rows::CandidateRows;
use super::execution::Execution;
use super::live::LiveSegment;
use super::observer::Observer;
use super::parallel::{SharedExecutor, add_each, fold};
use crate::Result;
use crate::encoding::code_counts::{
    are_sets_cheaper, count_in_block, count_in_sets, count_nibbles,
};
use crate::encoding::column::Column;
use crate::encoding::nibbles::FacetColumn;
use crate::encoding::posting::BlockRows;
use crate::encoding::row::{CompanyNumber, Row};
use crate::kernels::bits;
use crate::kernels::block::BlockBits;
use crate::query::Facet;
use crate::segment::{FacetView, Segment};

/// Maximum number of matches whose codes are sorted; with more, every value gets a counter.
const SORTED_CODES_MAX: usize = 64;

/// With at most this many values per match, every value gets a counter, too: clearing and reading counters
/// takes less time than sorting.
const COUNTERS_PER_MATCH_MAX: usize = 4;

/// Values of a facet whose counters need no allocation.
const INLINE_COUNTERS: usize = 64;

/// The counts of a facet: the numbers of values with matches, ascending, each with its count.
pub(crate) type FacetTally = SmallVec<[(u32, u64); 8]>;

/// The values of a facet and the codes of its rows.
struct FacetCodes<'a> {
    values: &'a FacetView<'a>,
    column: FacetColumn<'a>,
}

impl<'a> FacetCodes<'a> {
    fn of(segment: &'a Segment, facet: Facet) -> Result<FacetCodes<'a>> {
        Ok(FacetCodes {
            values: segment.facet(facet),
            column: segment.facet_column(facet)?,
        })
    }

    fn of_all(segment: &'a Segment, facets: &[Facet]) -> Result<Vec<FacetCodes<'a>>> {
        // Collecting results loses the length, and grows the list several times.
        let mut codes = Vec::with_capacity(facets.len());
        for &facet in facets {
            codes.push(FacetCodes::of(segment, facet)?);
        }
        Ok(codes)
    }
}

/// The stored cardinalities of a facet's postings, deleted rows included.
pub(super) fn stored_values(live: LiveSegment<'_>, facet: Facet) -> Result<Vec<u64>> {
    let view = live.segment.facet(facet);
    let entries = live.segment.posting_entries()?;
    let count = |value| u64::from(entries.cardinality(view.posting(value)));
    Ok((0..view.len()).map(count).collect())
}

/// Counts the values of several facets among the rows of companies, returning a tally per facet. Facets of a
/// company are read once for all its rows.
pub(super) fn tally_companies(
    live: LiveSegment<'_>,
    companies: &[CompanyNumber],
    facets: &[Facet],
) -> Result<Vec<FacetTally>> {
    let views = FacetCodes::of_all(live.segment, facets)?;
    let by_company = live.segment.rows_by_company()?;
    let deleted = live.deleted.posting();
    let is_live = |row: &&Row| deleted.is_none_or(|deleted| !deleted.contains(**row));
    let rows_of = |&company: &CompanyNumber| by_company.get(company);
    let stored = companies.iter().map(|company| rows_of(company).len()).sum();
    let mut rows: Vec<Row> = Vec::with_capacity(stored);
    // The first row of each company with rows, and the number of its rows.
    let mut firsts: SmallVec<[(Row, u64); 4]> = SmallVec::new();
    for company in companies.iter().map(rows_of) {
        // Invariant: `rows` has the live rows of the companies before this one, company by company.
        let before = rows.len();
        rows.extend(company.iter().filter(is_live));
        let first = rows.get(before).copied();
        firsts.extend(first.map(|first| (first, (rows.len() - before) as u64)));
    }
    let tally = |(view, &facet): (&FacetCodes<'_>, &Facet)| {
        if facet.is_of_company() {
            let codes = firsts.iter().map(|&(row, n)| (view.column.get(row), n));
            tally_codes(view.values.len(), codes)
        } else {
            tally_rows(view, &rows)
        }
    };
    Ok(views.iter().zip(facets).map(tally).collect())
}

/// Counts the values of several facets among the live ones of the listed rows, returning a tally per facet.
pub(super) fn tally_listed(
    live: LiveSegment<'_>,
    listed: &[u32],
    facets: &[Facet],
) -> Result<Vec<FacetTally>> {
    let deleted = live.deleted.posting();
    let rows = listed.iter().map(|&row| Row(row));
    let rows = rows.filter(|&row| deleted.is_none_or(|deleted| !deleted.contains(row)));
    let rows: SmallVec<[Row; SORTED_CODES_MAX]> = rows.collect();
    let views = FacetCodes::of_all(live.segment, facets)?;
    Ok(views.iter().map(|view| tally_rows(view, &rows)).collect())
}

/// Counts the values of several facets among an execution's matches, returning a tally per facet. The sets of values
/// are checked as blocks need them: most blocks read columns instead, and a facet may have many values.
///
/// # Errors
/// A column or a set of the facets is damaged.
pub(super) fn tally<O: Observer>(
    mut execution: Execution<'_, O>,
    facets: &[Facet],
    executor: Option<&SharedExecutor>,
) -> Result<Vec<FacetTally>> {
    let segment = execution.segment();
    let views = FacetCodes::of_all(segment, facets)?;
    let mut rows: Vec<Row> = Vec::new();
    if execution.visit_listed(|row| rows.push(row)) {
        return Ok(views.iter().map(|view| tally_rows(view, &rows)).collect());
    }
    let blocks = execution.blocks();
    // Each thread has counters of its own, so that none waits for another's cache lines.
    let counters = if let Some(executor) = executor {
        let start = || (execution.fork(), TallyCounters::new(segment, &views));
        let (_, counters) = fold(
            Some(executor),
            blocks,
            start,
            |(fork, counters), blocks| counters.count(fork, blocks),
            |(_, counters), (_, other)| counters.add(&other),
        )?;
        counters
    } else {
        let mut counters = TallyCounters::new(segment, &views);
        counters.count(&mut execution, 0..blocks)?;
        counters
    };
    let counted = |counts: &Vec<u64>| counted(&counts[1..]);
    Ok(counters.by_code.iter().map(counted).collect())
}

/// The counts of facets among the matches of some blocks.
struct TallyCounters<'v, 'a> {
    views: &'v [FacetCodes<'a>],
    /// Code 0 (no value) is counted, too, and dropped at the end, which saves a branch per row.
    by_code: Vec<Vec<u64>>,
    block_tally: BlockTally<'a>,
}

impl<'v, 'a> TallyCounters<'v, 'a> {
    fn new(segment: &'a Segment, views: &'v [FacetCodes<'a>]) -> TallyCounters<'v, 'a> {
        let zeros = |view: &FacetCodes<'_>| vec![0; view.values.len() + 1];
        TallyCounters {
            views,
            by_code: views.iter().map(zeros).collect(),
            block_tally: BlockTally {
                segment,
                candidates: 0,
                listed: Vec::new(),
            },
        }
    }

    /// Counts an execution's matches in some blocks.
    fn count<O: Observer>(
        &mut self,
        execution: &mut Execution<'_, O>,
        blocks: Range<u32>,
    ) -> Result<()> {
        let mut next = execution.block_at_or_after(blocks.start);
        // Invariant: the matches of all of the blocks before `next` have been counted.
        while let Some(block) = next.filter(|&block| block < blocks.end) {
            execution.load_block(block);
            execution.evaluate_residual();
            self.block_tally.start(execution.candidate_count());
            for (view, counts) in self.views.iter().zip(&mut self.by_code) {
                let candidates = execution.candidates();
                self.block_tally.count(view, block, candidates, counts)?;
            }
            next = execution.block_at_or_after(block + 1);
        }
        Ok(())
    }

    /// Adds the counts of other blocks.
    fn add(&mut self, other: &TallyCounters<'_, '_>) {
        for (counts, others) in self.by_code.iter_mut().zip(&other.by_code) {
            add_each(counts, others);
        }
    }
}

/// Counts the values of a facet among some rows. Each width of codes has a loop of its own, which takes a
/// third less than one that asks for the width of every row.
fn tally_rows(view: &FacetCodes<'_>, rows: &[Row]) -> FacetTally {
    let values = view.values.len();
    match view.column {
        FacetColumn::Empty => FacetTally::default(),
        FacetColumn::Nibbles(codes) => {
            let counts = count_nibbles(codes, rows, |row| row.index());
            // Validated codes are at most `values`, and there are at most 15 of these, so the range
            // is in bounds.
            counted(&counts[1..=values])
        }
        FacetColumn::Bytes(Column::One(codes)) => tally_codes(
            values,
            rows.iter().map(|row| (codes[row.index()].into(), 1)),
        ),
        FacetColumn::Bytes(Column::Two(codes)) => tally_codes(
            values,
            rows.iter().map(|row| (codes[row.index()].into(), 1)),
        ),
        FacetColumn::Bytes(Column::Four(codes)) => {
            tally_codes(values, rows.iter().map(|row| (codes[row.index()], 1)))
        }
    }
}

/// Counts the values of a facet by some codes, each of which stands for a number of matches.
fn tally_codes(values: usize, codes: impl ExactSizeIterator<Item = (u32, u64)>) -> FacetTally {
    let matches = codes.len();
    if matches > SORTED_CODES_MAX || values <= matches * COUNTERS_PER_MATCH_MAX {
        // Validated codes are at most `values`, so each has a counter.
        let mut by_code: SmallVec<[u64; INLINE_COUNTERS]> = SmallVec::from_elem(0, values + 1);
        let counters = by_code.as_mut_slice();
        codes.for_each(|(code, count)| counters[code as usize] += count);
        return counted(&counters[1..]);
    }
    let codes = codes.filter(|&(code, _)| code > 0);
    let mut codes: SmallVec<[(u32, u64); SORTED_CODES_MAX]> = codes.collect();
    codes.sort_unstable_by_key(|&(code, _)| code);
    // Equal codes are neighbours after sorting. Code `n + 1` stands for value `n`.
    let values = codes.chunk_by(|(a, _), (b, _)| a == b);
    let count = |same: &[(u32, u64)]| same.iter().map(|&(_, count)| count).sum();
    values.map(|same| (same[0].0 - 1, count(same))).collect()
}

/// The values whose count is not zero.
pub(super) fn counted(by_value: &[u64]) -> FacetTally {
    let counts = (0..).zip(by_value.iter().copied());
    counts.filter(|&(_, count)| count > 0).collect()
}

/// Counts the values of facets among candidates, block by block.
struct BlockTally<'a> {
    segment: &'a Segment,
    /// The number of candidates of the block.
    candidates: u32,
    /// The candidates as offsets, filled when a facet of the block needs them.
    listed: Vec<u16>,
}

impl BlockTally<'_> {
    /// Starts a block with `candidates` candidates.
    fn start(&mut self, candidates: u32) {
        self.candidates = candidates;
        self.listed.clear();
    }

    /// Adds a block's candidates to the counts of one facet.
    fn count(
        &mut self,
        view: &FacetCodes<'_>,
        block: u32,
        candidates: CandidateRows<'_>,
        counts: &mut [u64],
    ) -> Result<()> {
        let (first_word, words) = match candidates {
            CandidateRows::List(list) => {
                count_in_block(&view.column, block, list, counts);
                return Ok(());
            }
            CandidateRows::Bits { first_word, words } => (first_word, words),
        };
        // Only with all words of a block, because that is what postings are intersected with.
        if let Ok(set) = <&BlockBits>::try_from(words)
            && are_sets_cheaper(self.candidates, self.rows_of(view.values, block))?
        {
            return count_in_sets(set, self.rows_of(view.values, block), &mut counts[1..]);
        }
        // Listed once per block, for all of its facets.
        if self.listed.is_empty() {
            bits::list(first_word, words, &mut self.listed);
        }
        count_in_block(&view.column, block, &self.listed, counts);
        Ok(())
    }

    /// The rows of each value of a facet in a block.
    fn rows_of<'v>(
        &'v self,
        view: &'v FacetView<'_>,
        block: u32,
    ) -> impl Iterator<Item = Result<BlockRows<'v>>> {
        let posting = move |value| self.segment.posting(view.posting(value));
        (0..view.len()).map(move |value| Ok(posting(value)?.block(block)))
    }
}
