//! Intersections of sets of companies, and their rows.
//!
//! Attributes of a company apply to all its signals, and there are many times fewer companies than signals. So
//! filters by country, industry and size are first evaluated on companies. If few companies match, only their
//! rows need to be checked.

use std::ops::Range;

use smallvec::SmallVec;

use super::buffer_pool::PooledCandidates;
use super::bytes_read::of_look_ups;
use super::observer::{Method, Observer, StepKey};
use super::operand::Operand;
use super::row_window::RowWindow;
use crate::Result;
use crate::encoding::posting::PostingId;
use crate::encoding::row::{CompanyNumber, Row};
use crate::kernels::retain::retain_where;
use crate::segment::Segment;

/// The rows of the companies in the intersection of several unions of postings, company by company; `None` if
/// there are more than `max` rows. The first set leads.
///
/// # Errors
/// A posting, or the rows of companies, are damaged.
///
/// Cost: that of a conjunction of companies, and of listing their rows.
pub(super) fn rows_of_companies(
    segment: &Segment,
    sets: &[SmallVec<[PostingId; 4]>],
    max: usize,
) -> Result<Option<Vec<u32>>> {
    let mut bound: SmallVec<[Operand<'_>; 3]> = SmallVec::new();
    for set in sets {
        bound.push(match set.as_slice() {
            [one] => Operand::One(segment.posting(*one)?),
            any => Operand::Union(
                any.iter()
                    .map(|&id| segment.posting(id))
                    .collect::<Result<_>>()?,
            ),
        });
    }
    let [lead, others @ ..] = bound.as_slice() else {
        unreachable!("companies are looked for where several facets are filtered on");
    };
    let of_company = segment.rows_by_company()?;
    let mut candidates = PooledCandidates::take();
    let mut companies: SmallVec<[CompanyNumber; 64]> = SmallVec::new();
    let mut total = 0;
    let mut next = lead.next_block(0);
    while let Some(block) = next {
        // Invariant: `companies` has the matches of all blocks before this one, and `total` is the
        // number of their rows.
        candidates.set_window(RowWindow::whole(block));
        lead.load_into(&mut candidates, block);
        for set in others {
            set.narrow(&mut candidates, block);
        }
        let found = companies.len();
        let candidates = candidates.rows();
        // These are sets of companies in the encoding of sets of rows, so an offset gives a company
        // number.
        candidates.for_each(|offset| companies.push(CompanyNumber(Row::of(block, offset).0)));
        let rows = companies[found..]
            .iter()
            .map(|&company| of_company.get(company).len());
        total += rows.sum::<usize>();
        // Checked after every block, so that exceeding the limit costs at most one block.
        if total > max {
            return Ok(None);
        }
        next = lead.next_block(block + 1);
    }
    let mut rows = Vec::with_capacity(total);
    for &company in &companies {
        rows.extend_from_slice(Row::numbers(of_company.get(company)));
    }
    Ok(Some(rows))
}

/// Keeps the rows that are in a range and in all of several sets, the rarest first, and sorts them. Sorting
/// comes last because it takes longer than looking up.
///
/// The observer sees the rows as the first required step, and the sets as the steps after it.
pub(super) fn narrowed<O: Observer>(
    rows: &[u32],
    range: &Range<u32>,
    sets: &[Operand<'_>],
    observer: &mut O,
) -> Vec<u32> {
    let started = O::now();
    observer.read(|| size_of_val(rows) as u64);
    // A look-up in a bitset takes a third of one in a list, and few rows pass either.
    let (bits, lists): (SmallVec<[_; 4]>, SmallVec<[_; 4]>) =
        // Step 0 is that of the rows themselves, so the sets are numbered from 1.
        (1..).zip(sets).partition(|(_, set)| set.is_bits());
    let mut rows = rows.to_vec();
    // The range comes first, because testing it needs no look-up.
    retain_where(&mut rows, |row| range.contains(&row));
    let left = || Some(rows.len() as u64);
    observer.ran(StepKey::Required(0), Method::NarrowList, started, left);
    for (step, set) in bits.iter().chain(&lists) {
        let started = O::now();
        observer.read(|| of_look_ups(rows.len()));
        set.retain(&mut rows);
        let left = || Some(rows.len() as u64);
        observer.ran(StepKey::Required(*step), Method::LookUp, started, left);
    }
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests;
