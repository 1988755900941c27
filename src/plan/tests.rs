//! Query in, plan out, without an index: statistics are made up.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use time::macros::date;

use super::*;
use crate::Result;
use crate::encoding::posting::PostingId;
use crate::encoding::row::CompanyNumber;
use crate::encoding::tokens::TermNumber;
use crate::query::{CompanyReference, Facet, Filter};
use crate::segment::TextField;
use crate::signal::SignalId;

/// A segment of 1,000,000 rows that exists only in what it says about itself.
#[derive(Default)]
struct FakeStatistics {
    /// By term: the rows that have it. The index in the map is the number of posting and term.
    terms: BTreeMap<&'static str, u64>,
    /// By the pairs of terms that are kept: the rows that have both next to each other.
    pairs: BTreeMap<[&'static str; 2], u64>,
    values: BTreeMap<(Facet, &'static str), Vec<u64>>,
    companies: BTreeMap<&'static str, u64>,
}

impl Statistics for FakeStatistics {
    fn row_count(&self) -> u64 {
        1_000_000
    }

    fn term(&self, _field: TextField, term: &str) -> Result<Option<TermStatistics>> {
        let Some(index) = self.terms.keys().position(|other| *other == term) else {
            return Ok(None);
        };
        let index = index as u32;
        let source = Source::Posting(PostingId(index));
        let source = SourceStatistics {
            source,
            rows: self.terms[term],
        };
        Ok(Some(TermStatistics {
            source,
            number: TermNumber(index),
        }))
    }

    fn title_prefix(&self, prefix: &str, listed_rows_max: u64) -> Result<PrefixWords> {
        let mut words = PrefixWords::default();
        let beginning = self.terms.keys().filter(|term| term.starts_with(prefix));
        for term in beginning {
            let source = self.term(TextField::Title, term)?.expect("a term").source;
            words.count += 1;
            if source.rows > listed_rows_max {
                words.sources.push(source);
            } else {
                words.rows.extend((0..source.rows as u32).rev());
            }
        }
        Ok(words)
    }

    fn title_pair(&self, first: &TermStatistics, second: &TermStatistics) -> Result<Pair> {
        let index = |term: &TermStatistics| self.terms.keys().nth(term.number.0 as usize).copied();
        let (Some(first), Some(second)) = (index(first), index(second)) else {
            return Ok(Pair::NotKept);
        };
        Ok(match self.pairs.get(&[first, second]) {
            None => Pair::NotKept,
            Some(0) => Pair::Absent,
            Some(&rows) => Pair::Stored(SourceStatistics {
                source: Source::Posting(PostingId(500)),
                rows,
            }),
        })
    }

    fn facet_values(
        &self,
        facet: Facet,
        key: &str,
    ) -> Result<impl Iterator<Item = SourceStatistics>> {
        let mut values = self.values.iter();
        let found = values.find(|((f, k), _)| *f == facet && *k == key);
        let rows = found.map_or(&[][..], |(_, rows)| rows).iter().enumerate();
        Ok(rows.map(move |(index, &rows)| {
            let source = Source::Posting(PostingId(1_000 * (facet as u32 + 1) + index as u32));
            SourceStatistics { source, rows }
        }))
    }

    fn company(&self, slug: &str) -> Result<Option<SourceStatistics>> {
        let index = self.companies.keys().position(|other| *other == slug);
        Ok(index.map(|index| SourceStatistics {
            source: Source::Company(CompanyNumber(index as u32)),
            rows: self.companies[slug],
        }))
    }

    fn companies(&self, references: &[CompanyReference]) -> Result<Vec<SourceStatistics>> {
        let found = references.iter();
        let found = found.filter_map(|one| self.company(&one.slug).transpose());
        found.collect()
    }

    fn rows_of_companies(&self, facets: &[CompanyFacet], most: usize) -> Result<Option<Vec<u32>>> {
        let rows = (0..10 * facets.len() as u32).collect::<Vec<_>>();
        Ok((rows.len() <= most).then_some(rows))
    }

    fn rows_of_ids(&self, ids: &[SignalId]) -> Result<Vec<u32>> {
        let rows = ids.iter().map(|id| id.get() as u32);
        Ok(rows.filter(|row| *row < 100).collect())
    }

    fn day_codes(&self, days: &RangeInclusive<i32>) -> Result<Option<CodeRange>> {
        Ok((*days.end() > 0).then_some(1..=9))
    }

    fn amount_codes(&self, min: Option<f64>, _max: Option<f64>) -> Result<Option<CodeRange>> {
        Ok(min.is_none_or(|min| min < 1e9).then_some(5..=7))
    }

    fn rows_in_ranges(&self, column: RangeColumn, _codes: &[CodeRange]) -> Result<Estimate> {
        Ok(match column {
            RangeColumn::Date => Estimate {
                min: 10,
                expected: 20,
                max: 30,
            },
            RangeColumn::Amount => Estimate {
                min: 0,
                expected: 100,
                max: 200,
            },
        })
    }
}

fn fake() -> FakeStatistics {
    FakeStatistics {
        terms: BTreeMap::from([
            ("a", 300_000),
            ("of", 200_000),
            ("series", 9_000),
            ("serious", 400),
            ("zebra", 3),
            ("zebras", 4),
        ]),
        pairs: BTreeMap::from([(["a", "of"], 700), (["of", "a"], 0)]),
        values: BTreeMap::from([
            ((Facet::Country, "germany"), vec![80_000]),
            ((Facet::Country, "iceland"), vec![4_000]),
            ((Facet::Industry, "building"), vec![50_000]),
            ((Facet::Industry, "fishing"), vec![20_000]),
            ((Facet::Country, "france"), vec![50_000, 2]),
            ((Facet::Category, "funding"), vec![120_000]),
            ((Facet::Category, "hiring"), vec![250_000]),
        ]),
        companies: BTreeMap::from([("acme", 40), ("brand", 7)]),
    }
}

/// Plans a query string and looks at the plan.
fn with_plan<T>(text: &str, strategies: &Strategies, look: impl FnOnce(&Plan<'_>) -> T) -> T {
    let filter = Filter::from_query_string(text).expect("a valid filter");
    let mut storage = PlanStorage::new();
    let request = PlanRequest {
        filter: &filter,
        today: date!(2026 - 06 - 30),
        strategies,
        matches: None,
    };
    let plan = Plan::new_in(&mut storage, &request, &fake()).expect("nothing is damaged");
    look(plan)
}

/// The plan of a query string, a line a step, as strategy, clause and estimate.
fn planned(text: &str, strategies: &Strategies) -> Vec<String> {
    with_plan(text, strategies, lines)
}

/// Why each step of a query string is where it is.
fn reasons(text: &str, strategies: &Strategies) -> Vec<&'static str> {
    with_plan(text, strategies, |plan| {
        let steps = plan.explain(&[], 0).into_iter();
        steps.map(|step| step.reason).collect()
    })
}

fn lines(plan: &Plan<'_>) -> Vec<String> {
    if let Some(clause) = plan.no_match {
        return vec![format!("no results for {clause}")];
    }
    let kinds = [
        ("lead with", plan.required.len().min(1)),
        ("intersect", plan.required.len().saturating_sub(1)),
        ("check", plan.ranges.len()),
        ("drop rows of", plan.excluded.len()),
        ("check", plan.phrases.len()),
    ];
    let methods = kinds.into_iter().flat_map(|(method, n)| vec![method; n]);
    let actuals = methods.map(|method| {
        Some(StepActual {
            methods: vec![method.to_owned()],
            ..StepActual::default()
        })
    });
    let actuals: Vec<Option<StepActual>> = actuals.collect();
    let steps = plan.explain(&actuals, 0).into_iter();
    steps
        .map(|step| format!("{}: {} ~ {}", step.strategy, step.clause, step.estimate))
        .collect()
}

#[test]
fn the_rarest_leads_and_order_of_words_comes_last() {
    assert_eq!(
        planned(
            "exact=series a&country=germany&exclude=of&days=7",
            &Strategies::ALL
        ),
        [
            "lead with a posting: title has \"series\" ~ 9000",
            "intersect a posting: country is \"germany\" ~ 80000",
            "intersect a posting: title has \"a\" ~ 300000",
            "check a range: date in range ~ 20 (10..30)",
            "drop rows of a posting: title has \"of\" ~ 200000",
            "check the order of words: title has \"series a\" ~ 4500 (0..9000)",
        ]
    );
}

#[test]
fn the_fewest_rows_are_claimed_for_the_rarest_alone() {
    let all = &Strategies::ALL;
    assert_eq!(
        reasons("exact=series a&exclude=zebra", all),
        [
            "the fewest rows of the required steps",
            "at least as many rows as the step before",
            "after what is required, when few candidates are left",
            "reads a title for each candidate, so it comes last",
        ]
    );
    assert_eq!(reasons("q=zebra", all), ["the only required step"]);
}

#[test]
fn several_values_are_a_union_within_bounds() {
    assert_eq!(
        planned(
            "categories=funding,hiring,unheard-of&country=france",
            &Strategies::ALL
        ),
        [
            "lead with a union: country is \"france\" ~ 50002 (50000..50002)",
            "intersect a union: category is \"funding\" or 2 more ~ 370000 (250000..370000)",
        ]
    );
    assert_eq!(
        planned("companies=acme,brand,acme,nobody", &Strategies::ALL),
        ["lead with a union: company is one of 3 ~ 47 (40..47)"]
    );
    assert_eq!(
        planned("any=zebra \"series a\" nowhere", &Strategies::ALL),
        [
            "lead with a union of phrases: title has any of \"nowhere\", \"series a\", \"zebra\" ~ 4503 (3..9003)",
        ]
    );
}

#[test]
fn a_prefix_word_is_the_union_of_its_words() {
    assert_eq!(
        planned("q=zeb* ser*&exclude=serio*", &Strategies::ALL),
        [
            "lead with listed rows: title has zeb* (2 words) ~ 4",
            "intersect a union: title has ser* (2 words) ~ 9400 (9000..9400)",
            "drop rows of a posting: title has serio* (1 word) ~ 400",
        ]
    );
    assert_eq!(
        planned("any=zeb* ser* \"a series\"", &Strategies::ALL),
        [
            "lead with a union of phrases: title has any of \"a series\", ser*, zeb* (4 words) ~ 13904 (9000..18404)",
        ]
    );
    for (text, expected) in [
        (
            "any=zeb* ser*",
            "lead with a union: title has any of ser*, zeb* (4 words) ~ 9404 (9000..9404)",
        ),
        (
            "any=zeb*",
            "lead with listed rows: title has any of zeb* (2 words) ~ 4",
        ),
        ("q=nob*", "no results for title has nob* (0 words)"),
        (
            "any=nob* nowhere",
            "no results for title has any of \"nowhere\", nob* (0 words)",
        ),
    ] {
        assert_eq!(planned(text, &Strategies::ALL), [expected], "{text}");
    }
    assert_eq!(planned("exclude=nob*", &Strategies::ALL), [""; 0]);
}

#[test]
fn the_cost_of_a_prefix_word_grows_with_its_words_and_their_rows() {
    let cost = |text| with_plan(text, &Strategies::ALL, |plan| plan.cost(1_000_000));
    assert!(cost("q=zeb*") < cost("q=ser*"));
    let filter = Filter::from_query_string("q=ser*&any=zeb*").expect("a valid filter");
    let [few, many] = [10, 1_000].map(|words| cost::bound(&filter, 1_000_000, words));
    assert!(cost("q=ser*&any=zeb*") <= few && few < many);
}

#[test]
fn facets_of_companies_are_found_among_companies_where_few_are_left() {
    let of_few = "country=iceland&industry=fishing&q=a&categories=funding";
    assert_eq!(
        planned(of_few, &Strategies::ALL),
        [
            "lead with rows of companies: country is \"iceland\", industry is \"fishing\" ~ 20",
            "intersect a posting: category is \"funding\" ~ 120000",
            "intersect a posting: title has \"a\" ~ 300000",
        ]
    );
    let strategies = Strategies {
        company_sets: false,
        ..Strategies::ALL
    };
    for (text, strategies) in [
        (of_few, strategies),
        // One facet alone, values that many have, or a word that few have.
        ("country=iceland&q=a", Strategies::ALL),
        ("country=iceland&industry=fishing&q=zebra", Strategies::ALL),
        ("country=germany&industry=building", Strategies::ALL),
    ] {
        let steps = planned(text, &strategies);
        assert!(steps[0].starts_with("lead with a posting"), "{steps:?}");
    }
}

#[test]
fn rows_of_companies_are_looked_up_in_sets_of_many_sources_last() {
    let phrases = "any=\"series a\" \"a series\" \"series of\" \"of series\" \"series series\"";
    let filter = format!("{phrases}&all=of&country=iceland&industry=fishing");
    let steps = planned(&filter, &Strategies::ALL);
    let clauses = steps.iter().map(|step| step.split(": ").nth(1));
    let clauses: Vec<&str> = clauses.flatten().collect();
    let is_any = |clause: &&str| clause.starts_with("title has any of");
    assert_eq!(clauses.iter().position(is_any), Some(2), "{steps:?}");
    assert!(clauses[1].starts_with("title has \"of\""), "{steps:?}");
}

#[test]
fn a_page_that_ends_early_goes_block_by_block() {
    let filter =
        Filter::from_query_string("country=iceland&industry=building").expect("a valid filter");
    let leads_with_companies = |matches| {
        let mut storage = PlanStorage::new();
        let request = PlanRequest {
            filter: &filter,
            today: date!(2026 - 06 - 30),
            strategies: &Strategies::ALL,
            matches,
        };
        let plan = Plan::new_in(&mut storage, &request, &fake()).expect("nothing is damaged");
        matches!(plan.required[0].access, Access::OfCompanies(_))
    };
    assert!(leads_with_companies(None));
    assert!(leads_with_companies(Some(51)));
    assert!(!leads_with_companies(Some(1)));
}

#[test]
fn two_words_that_are_stored_as_a_pair_need_no_check() {
    assert_eq!(
        planned("exact=a of", &Strategies::ALL),
        ["lead with a posting: title has \"a of\" ~ 700"]
    );
    assert_eq!(
        planned("exact=a of zebra", &Strategies::ALL),
        [
            "lead with a posting: title has \"zebra\" ~ 3",
            "intersect a posting: title has \"a of\" ~ 700",
            "check the order of words: title has \"a of zebra\" ~ 1 (0..3)",
        ]
    );
    assert_eq!(
        planned("any=zebra \"a of\" \"of a\"", &Strategies::ALL),
        ["lead with a union: title has any of \"a of\", \"of a\", \"zebra\" ~ 703 (700..703)"]
    );
    assert_eq!(
        planned("exclude=\"a of\" \"of a\"", &Strategies::ALL),
        ["drop rows of a posting: title has \"a of\" ~ 700"]
    );
    assert_eq!(
        planned("exact=zebra of a", &Strategies::ALL),
        ["no results for title has \"zebra of a\""]
    );
    let strategies = Strategies {
        stored_pairs: false,
        ..Strategies::ALL
    };
    assert_eq!(
        planned("exact=a of", &strategies),
        [
            "lead with a posting: title has \"of\" ~ 200000",
            "intersect a posting: title has \"a\" ~ 300000",
            "check the order of words: title has \"a of\" ~ 100000 (0..200000)",
        ]
    );
}

#[test]
fn what_cannot_match_is_known_before_any_row_is_touched() {
    for (text, clause) in [
        ("q=zebra nowhere", "title has \"nowhere\""),
        ("q=\"series nowhere\"", "title has \"nowhere\""),
        ("country=atlantis&q=zebra", "country is \"atlantis\""),
        (
            "any=nowhere nobody",
            "title has any of \"nobody\", \"nowhere\"",
        ),
        ("companySlug=nobody", "company is \"nobody\""),
        ("ids=500,600", "id is one of 2"),
        ("dateTo=1969-12-31", "date in range"),
        ("fundingMin=1e9", "amount from 1000000000"),
    ] {
        let expected = format!("no results for {clause}");
        assert_eq!(planned(text, &Strategies::ALL), [expected], "{text}");
    }
}

#[test]
fn excluding_what_does_not_occur_costs_nothing() {
    assert_eq!(
        planned("exclude=nowhere \"series nowhere\"", &Strategies::ALL),
        [""; 0]
    );
    assert_eq!(
        planned("exclude=\"series a\"", &Strategies::ALL),
        ["drop rows of a phrase: title has \"series a\" ~ 4500 (0..9000)"]
    );
}

#[test]
fn a_word_that_stands_twice_is_one_source() {
    assert_eq!(
        planned("exact=a series a", &Strategies::ALL),
        [
            "lead with a posting: title has \"series\" ~ 9000",
            "intersect a posting: title has \"a\" ~ 300000",
            "check the order of words: title has \"a series a\" ~ 4500 (0..9000)",
        ]
    );
}

#[test]
fn ids_are_looked_up_beforehand() {
    assert_eq!(
        planned("ids=7,8,500&activityIds=8,9", &Strategies::ALL),
        [
            "lead with listed rows: id is one of 3 ~ 2",
            "intersect listed rows: id is one of 2 ~ 2",
        ]
    );
}
