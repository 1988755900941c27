//! Counting the values of facets among the matches of an execution.

use super::candidates::CandidateRows;
use super::execution::Execution;
use crate::query::Facet;
use crate::segment::{BlockRows, Column, FacetView, Postings, Row, bits};

/// From this many candidates a value on, a block's values are counted by intersecting each
/// posting with the candidates rather than by reading the column. Intersecting a bitset takes
/// about 60 ns, reading a code and counting it about 1 ns, and most values are lists that cost
/// less than a bitset: the two meet near 32 candidates a value.
const INTERSECT_CANDIDATES_PER_VALUE: u32 = 32;

/// How many matches have each value of a facet; by value number.
#[derive(Clone, Debug)]
pub(crate) struct FacetTally {
    pub(crate) facet: Facet,
    pub(crate) counts: Vec<u64>,
}

/// Counts the values of several facets among an execution's matches.
pub(crate) fn tally(
    mut execution: Execution<'_>,
    facets: &[Facet],
    intersect: bool,
) -> Vec<FacetTally> {
    let segment = execution.segment();
    let postings = segment.postings();
    let views: Vec<FacetView<'_>> = facets.iter().map(|&facet| segment.facet(facet)).collect();
    // Code 0, no value, is counted too and cut off at the end, which saves a branch a row.
    let mut by_code: Vec<Vec<u64>> = views.iter().map(|view| vec![0; view.len() + 1]).collect();
    let mut next = execution.block_at_or_after(0);
    while let Some(block) = next {
        execution.enter(block);
        execution.settle(block);
        let candidates = execution.candidate_count();
        for (view, counts) in views.iter().zip(&mut by_code) {
            match execution.candidates() {
                CandidateRows::Bits(set)
                    if intersect
                        && candidates / INTERSECT_CANDIDATES_PER_VALUE >= view.len() as u32 =>
                {
                    count_by_intersection(view, &postings, block, set, counts);
                }
                rows => count_by_column(&view.column, block, rows, counts),
            }
        }
        next = execution.block_at_or_after(block + 1);
    }
    let tallies = facets.iter().zip(by_code);
    tallies
        .map(|(&facet, counts)| FacetTally {
            facet,
            counts: counts[1..].to_vec(),
        })
        .collect()
}

fn count_by_intersection(
    view: &FacetView<'_>,
    postings: &Postings<'_>,
    block: u32,
    set: &crate::segment::BlockBits,
    counts: &mut [u64],
) {
    for value in 0..view.len() {
        let count = match postings.get(view.posting(value)).block(block) {
            BlockRows::Bits(other) => bits::count_both(set, other) as usize,
            rows => rows
                .offsets()
                .filter(|&offset| bits::test(set, offset))
                .count(),
        };
        counts[value + 1] += count as u64;
    }
}

fn count_by_column(column: &Column<'_>, block: u32, rows: CandidateRows<'_>, counts: &mut [u64]) {
    let row = |offset| Row::of(block, offset).index();
    match column {
        Column::One(codes) => rows.for_each(|offset| counts[usize::from(codes[row(offset)])] += 1),
        Column::Two(codes) => rows.for_each(|offset| counts[usize::from(codes[row(offset)])] += 1),
        Column::Four(codes) => rows.for_each(|offset| counts[codes[row(offset)] as usize] += 1),
    }
}
