//! Facts of several parts give the hints of one index of the whole.

use super::*;
use crate::fixtures::Random;
use crate::{Company, Index, IndexBuilder, Signal, SignalId, sample};

/// Searches of the sample corpus.
const SEARCHES: &str = include_str!("../../../data/searches/hinted.tsv");

/// The sample corpus by company, in several indexes.
fn parts(count: usize, seed: u64) -> Vec<Index> {
    let whole = sample::index().expect("the sample").snapshot();
    let mut random = Random::new(seed);
    let companies = whole
        .scan_companies()
        .map(|company| company.expect("a company"));
    let companies: Vec<(Company<'_>, usize)> = companies
        .map(|company| (company, random.below(count)))
        .collect();
    let records: Vec<_> = whole
        .scan()
        .map(|found| found.expect("a signal").signal)
        .collect();
    let part = |number: usize| {
        let mut builder = IndexBuilder::in_memory();
        for (company, _) in companies.iter().filter(|(_, part)| *part == number) {
            builder.add_company(company).expect("a company");
            for signal in &records {
                if signal.company_slug == company.slug {
                    builder.add_signal(signal).expect("a signal");
                }
            }
        }
        builder.finish().expect("an index")
    };
    (0..count).map(part).collect()
}

#[test]
fn facts_of_parts_give_the_hints_of_the_whole() {
    let whole = sample::index().expect("the sample").snapshot();
    for (count, seed) in [(1, 1), (2, 2), (7, 3)] {
        let parts = parts(count, seed);
        for line in SEARCHES.lines().filter(|line| !line.starts_with('#')) {
            let (text, _) = line.split_once('\t').expect("two fields");
            let query = Query::from_query_string(text).expect("a query");
            // As it arrives at a node.
            let filter: Filter = query.filter().to_string().parse().expect("a filter");
            for is_empty in [false, true] {
                let mut facts = HintFacts::default();
                for part in &parts {
                    let of_part = part.snapshot().hint_facts(&filter, is_empty);
                    let lines = of_part.expect("a whole index");
                    facts.merge(lines.iter().map(str::to_owned).collect());
                }
                let expected = whole.hints(&query, is_empty).expect("a whole index");
                assert_eq!(facts.hints(&query, is_empty), expected, "{text}");
                if !HintFacts::are_needed(&filter, is_empty) {
                    assert_eq!(query.typed_hints(is_empty), expected, "{text}");
                }
            }
        }
    }
}

/// A part with many labels says so, and no label of others is taken for the nearest.
#[test]
fn too_many_labels_are_not_compared() {
    let index = |countries: usize| {
        let mut builder = IndexBuilder::in_memory();
        for number in 0..countries {
            let mut company = Company::new(format!("company-{number}"), "Acme");
            company.country = Some(format!("Germany {number}").into());
            builder.add_company(&company).expect("a company");
            let id = SignalId::new(number as u64 + 1).expect("an id");
            let signal = Signal::new(id, company.slug.clone(), "A title");
            builder.add_signal(&signal).expect("a signal");
        }
        builder.finish().expect("an index").snapshot()
    };
    let query = Query::from_query_string("country=Germny 1").expect("a query");
    let (few, many) = (index(NearestValues::LABELS_MAX), index(300));
    let nearest = few.hints(&query, true).expect("a whole index");
    assert_eq!(
        nearest,
        ["no signal has country \"germny 1\"; did you mean Germany 1?"]
    );
    let alone = ["no signal has country \"germny 1\""];
    assert_eq!(many.hints(&query, true).expect("a whole index"), alone);
    let mut facts = few.hint_facts(query.filter(), true).expect("facts");
    assert_eq!(facts.hints(&query, true), nearest);
    facts.merge(many.hint_facts(query.filter(), true).expect("facts"));
    assert_eq!(facts.hints(&query, true), alone);
}
