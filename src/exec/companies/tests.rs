//! White-box tests of `exec/companies.rs`.

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
            let postings = segment.facet_postings(facet, &key.to_lowercase()).unwrap();
            postings.map(|posting| segment.company_posting(facet, posting).unwrap()).collect()
        };
        let countries = wanted.0.iter().flat_map(|&country| set(Facet::Country, COUNTRIES[country]));
        let sets = [countries.collect(), set(Facet::Industry, INDUSTRIES[wanted.1])];
        let is_meant = |&row: &u32| {
            let (country, industry) = companies[signals[row as usize]];
            wanted.0.contains(&country) && industry == wanted.1
        };
        let expected: Vec<u32> = (0..signals.len() as u32).filter(is_meant).collect();
        let found = rows_of_companies(&segment, &sets, most).unwrap();
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
