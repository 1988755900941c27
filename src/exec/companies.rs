//! Companies that are in several sets, and their rows.
//!
//! What is a company's is the same for all its signals, and there are many times fewer companies than
//! signals. So a filter by country, industry and size is answered among the companies first, where it
//! leaves few: their rows are then all that has to be looked at.

use std::ops::Range;

use smallvec::SmallVec;

use super::buffer_pool::PooledCandidates;
use super::observer::{Method, Observer, StepKey};
use super::operand::Operand;
use super::row_window::RowWindow;
use crate::encoding::posting::PostingId;
use crate::encoding::row::{CompanyNumber, Row};
use crate::kernels::retain::retain_where;
use crate::segment::Segment;

/// The rows of the companies that are in a posting of each of several sets, company by company; `None`
/// where there are more than `max`. The first set leads.
///
/// Cost: that of a conjunction of companies, and of listing their rows.
pub(super) fn rows_of_companies(
    segment: &Segment,
    sets: &[SmallVec<[PostingId; 4]>],
    max: usize,
) -> Option<Vec<u32>> {
    let postings = segment.postings();
    let bound = sets.iter().map(|set| match set.as_slice() {
        [one] => Operand::One(postings.get(*one)),
        any => Operand::Union(any.iter().map(|&id| postings.get(id)).collect()),
    });
    let sets: SmallVec<[Operand<'_>; 3]> = bound.collect();
    let [lead, others @ ..] = sets.as_slice() else {
        unreachable!("companies are looked for where several facets are filtered on");
    };
    let of_company = segment.rows_by_company();
    let mut candidates = PooledCandidates::take();
    candidates.allow_lists(true);
    let mut companies: SmallVec<[CompanyNumber; 64]> = SmallVec::new();
    let mut total = 0;
    let mut next = lead.next_block(0);
    while let Some(block) = next {
        candidates.set_window(RowWindow::whole(block));
        lead.load_into(&mut candidates, block);
        for set in others {
            set.narrow(&mut candidates, block);
        }
        let found = companies.len();
        let candidates = candidates.rows();
        candidates.for_each(|offset| companies.push(CompanyNumber(Row::of(block, offset).0)));
        let rows = companies[found..]
            .iter()
            .map(|&company| of_company.get(company).len());
        total += rows.sum::<usize>();
        if total > max {
            return None;
        }
        next = lead.next_block(block + 1);
    }
    let mut rows = Vec::with_capacity(total);
    for &company in &companies {
        rows.extend_from_slice(Row::numbers(of_company.get(company)));
    }
    Some(rows)
}

/// Those of some rows that are in a range and in all of several sets, the rarest first, ascending.
/// Sorting takes longer than looking, so that it comes last.
///
/// The observer hears of the rows as the first required step, and of the sets as those after it.
pub(super) fn narrowed<O: Observer>(
    rows: &[u32],
    range: &Range<u32>,
    sets: &[Operand<'_>],
    observer: &mut O,
) -> Vec<u32> {
    let started = O::now();
    // A look at bits takes a third of one at a list, and few rows pass either.
    let (bits, lists): (SmallVec<[_; 4]>, SmallVec<[_; 4]>) =
        (1..).zip(sets).partition(|(_, set)| set.is_bits());
    let mut rows = rows.to_vec();
    retain_where(&mut rows, |row| range.contains(&row));
    let left = || Some(rows.len() as u64);
    observer.ran(StepKey::Required(0), Method::NarrowList, started, left);
    for (step, set) in bits.iter().chain(&lists) {
        let started = O::now();
        set.retain(&mut rows);
        let left = || Some(rows.len() as u64);
        observer.ran(StepKey::Required(*step), Method::LookUp, started, left);
    }
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::observer::Unobserved;
    use super::*;
    use crate::encoding::posting::Posting;
    use crate::query::Facet;
    use crate::segment::SegmentBuilder;
    use crate::signal::{Company, Signal, SignalId};

    const COUNTRIES: [&str; 3] = ["Chile", "Ghana", "Nepal"];
    const INDUSTRIES: [&str; 2] = ["Dairy", "Mining"];

    /// Companies with a country and an industry each, and signals of some of them in turn.
    fn segment(companies: &[(usize, usize)], signals: &[usize]) -> Segment {
        let mut builder = SegmentBuilder::new(Vec::new()).unwrap();
        let slug = |company: usize| format!("company-{company}");
        for (number, &(country, industry)) in companies.iter().enumerate() {
            let mut company = Company::new(slug(number), "A company");
            company.country = Some(COUNTRIES[country].into());
            company.industry = Some(INDUSTRIES[industry].into());
            builder.add_company(&company).unwrap();
        }
        for (id, &company) in (1..).zip(signals) {
            let id = SignalId::new(id).unwrap();
            builder
                .add_signal(&Signal::new(id, slug(company), "A title"))
                .unwrap();
        }
        Segment::from_bytes(&builder.finish().unwrap()).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rows_of_companies_are_those_of_their_values(
            companies in prop::collection::vec((0_usize..3, 0_usize..2), 1..40),
            signals in prop::collection::vec(any::<prop::sample::Index>(), 1..200),
            wanted in (prop::collection::btree_set(0_usize..3, 1..3), 0_usize..2),
            most in 0_usize..200,
        ) {
            let signals: Vec<usize> = signals.iter().map(|signal| signal.index(companies.len())).collect();
            let segment = segment(&companies, &signals);
            segment.verify().unwrap();
            let set = |facet: Facet, key: &str| -> SmallVec<[PostingId; 4]> {
                let postings = segment.facet_postings(facet, &key.to_lowercase());
                postings.map(|posting| segment.company_posting(facet, posting).unwrap()).collect()
            };
            let countries = wanted.0.iter().flat_map(|&country| set(Facet::Country, COUNTRIES[country]));
            let sets = [countries.collect(), set(Facet::Industry, INDUSTRIES[wanted.1])];
            let is_meant = |&row: &u32| {
                let (country, industry) = companies[signals[row as usize]];
                wanted.0.contains(&country) && industry == wanted.1
            };
            let expected: Vec<u32> = (0..signals.len() as u32).filter(is_meant).collect();
            let found = rows_of_companies(&segment, &sets, most);
            prop_assert_eq!(found.is_some(), expected.len() <= most);
            let found = found.map(|rows| narrowed(&rows, &(0..u32::MAX), &[], &mut Unobserved));
            prop_assert!(found.is_none_or(|found| found == expected));
        }

        #[test]
        fn narrowed_rows_are_in_all_sets(
            rows in prop::collection::btree_set(0_u32..300, 0..100),
            sets in prop::collection::vec(prop::collection::btree_set(0_u32..300, 0..200), 0..4),
            range in (0_u32..300, 0_u32..300),
        ) {
            let range = range.0..range.1;
            let mut expected: BTreeSet<u32> = rows.clone();
            expected.retain(|row| range.contains(row));
            sets.iter().for_each(|set| expected.retain(|row| set.contains(row)));
            let lists: Vec<Vec<u32>> = sets.iter().map(|set| set.iter().copied().collect()).collect();
            let sets: Vec<Operand<'_>> = lists.iter().map(|list| Operand::One(Posting::List(list))).collect();
            let rows: Vec<u32> = rows.into_iter().rev().collect();
            prop_assert_eq!(narrowed(&rows, &range, &sets, &mut Unobserved), expected.into_iter().collect::<Vec<_>>());
        }
    }
}
