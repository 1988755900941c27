//! Answers equal a plain loop over records.

use std::sync::Arc;

use signaldex::{Facet, Filter, Found, Snapshot, sample};
use time::macros::date;

use crate::fixture::{NULL, answer, corpora, database, sorted_answer, threads};

fn records(snapshots: &[Arc<Snapshot>]) -> impl Iterator<Item = Found<'_>> {
    let records = snapshots.iter().flat_map(|snapshot| snapshot.scan());
    records.map(|found| found.expect("a record"))
}

/// A condition of SQL, and the same in plain code.
type Meaning = (&'static str, fn(&Found<'_>) -> bool);

fn country(found: &Found<'_>) -> Option<String> {
    let label = Facet::Country.label(&found.signal, &found.company);
    label.map(|label| label.into_owned())
}

fn amount(found: &Found<'_>) -> Option<f64> {
    found.signal.funding.as_ref()?.amount
}

fn matches(found: &Found<'_>, query: &str) -> bool {
    let filter = Filter::from_query_string(query).expect("a query");
    filter.matches(&found.signal, &found.company, sample::AS_OF)
}

const MEANINGS: &[Meaning] = &[
    ("country = 'Germany'", |found| {
        country(found).as_deref() == Some("Germany")
    }),
    ("country = 'germany'", |found| {
        country(found).as_deref() == Some("germany")
    }),
    ("country IS NULL", |found| country(found).is_none()),
    ("country IN ('Germany', 'Japan')", |found| {
        country(found).is_some_and(|country| ["Germany", "Japan"].contains(&&*country))
    }),
    ("query = 'country=germany'", |found| {
        matches(found, "country=germany")
    }),
    ("query = 'q=raises -seed'", |found| {
        matches(found, "q=raises -seed")
    }),
    ("query = 'q=\"series a\"&days=90'", |found| {
        matches(found, "q=\"series a\"&days=90")
    }),
    ("query = 'dateRanges=older'", |found| {
        matches(found, "dateRanges=older")
    }),
    ("category = 'FUNDING'", |found| {
        found.signal.category.as_deref() == Some("FUNDING")
    }),
    ("category IS NOT NULL", |found| {
        found.signal.category.is_some()
    }),
    ("size = '1-49'", |found| {
        found
            .company
            .employees
            .is_some_and(|n| (1..=49).contains(&n))
    }),
    ("date >= '2026-01-15'", |found| {
        found
            .signal
            .date
            .is_some_and(|day| day >= date!(2026 - 01 - 15))
    }),
    ("date < '2025-03-01'", |found| {
        found
            .signal
            .date
            .is_some_and(|day| day < date!(2025 - 03 - 01))
    }),
    ("date IS NULL", |found| found.signal.date.is_none()),
    ("funding_amount > 10000000", |found| {
        amount(found).is_some_and(|n| n > 1e7)
    }),
    ("funding_amount >= 10000000", |found| {
        amount(found).is_some_and(|n| n >= 1e7)
    }),
    ("funding_amount <= 0", |found| {
        amount(found).is_some_and(|n| n <= 0.0)
    }),
    ("funding_amount IS NULL", |found| amount(found).is_none()),
    ("funding_currency = 'EUR'", |found| {
        let funding = found.signal.funding.as_ref();
        funding
            .and_then(|funding| funding.currency)
            .is_some_and(|of| of.as_str() == "EUR")
    }),
    ("company_slug = 'cpp-foundry'", |found| {
        found.signal.company_slug == "cpp-foundry"
    }),
    ("company_name = 'C++ Foundry'", |found| {
        found.company.name == "C++ Foundry"
    }),
    ("id > 8000000000000000000", |found| {
        found.signal.id.get() > 8_000_000_000_000_000_000
    }),
    ("id <= 20", |found| found.signal.id.get() <= 20),
    ("title LIKE '%raises%'", |found| {
        found.signal.title.contains("raises")
    }),
    ("author_name IS NULL", |found| {
        found.signal.author_name.is_none()
    }),
];

/// Every pair of conditions, which covers each way in which one keeps the index from evaluating another.
#[test]
fn conditions_mean_what_they_say() {
    let runtime = threads();
    for (name, snapshots) in corpora() {
        let database = database(&snapshots);
        for (number, (one, holds)) in MEANINGS.iter().enumerate() {
            for (other, also_holds) in &MEANINGS[number..] {
                let statement = format!("SELECT id FROM signals WHERE {one} AND {other}");
                let has_two_searches =
                    one != other && one.starts_with("query") && other.starts_with("query");
                if has_two_searches {
                    continue;
                }
                let expected =
                    records(&snapshots).filter(|found| holds(found) && also_holds(found));
                let mut expected: Vec<Vec<String>> = expected
                    .map(|found| vec![found.signal.id.to_string()])
                    .collect();
                expected.sort();
                let found = sorted_answer(&database, &runtime, &statement);
                assert_eq!(found, expected, "{name}: {statement}");
                let count = answer(
                    &database,
                    &runtime,
                    &format!("SELECT count(*) FROM signals WHERE {one} AND {other}"),
                );
                assert_eq!(count, [[expected.len().to_string()]], "{name}: {statement}");
            }
        }
    }
}

#[test]
fn columns_hold_the_fields_of_records() {
    let runtime = threads();
    let text = |value: Option<&str>| value.unwrap_or(NULL).to_owned();
    for (name, snapshots) in corpora() {
        let statement = "SELECT id, title, evidence, category, funding_stage, hiring_type, size, company_name, slug, \
                         author_url, date, funding_amount, query FROM signals";
        let mut expected: Vec<Vec<String>> = records(&snapshots)
            .map(
                |Found {
                     signal, company, ..
                 }| {
                    let label = |facet: Facet| text(facet.label(&signal, &company).as_deref());
                    let amount = signal.funding.as_ref().and_then(|funding| funding.amount);
                    vec![
                        signal.id.to_string(),
                        signal.title.to_string(),
                        text(signal.evidence.as_deref()),
                        label(Facet::Category),
                        label(Facet::FundingStage),
                        label(Facet::HiringType),
                        label(Facet::Size),
                        company.name.to_string(),
                        signal.slug.to_string(),
                        text(signal.author_url.as_deref()),
                        signal.date.map_or(NULL.to_owned(), |date| date.to_string()),
                        amount.map_or(NULL.to_owned(), |amount| format!("{amount:?}")),
                        NULL.to_owned(),
                    ]
                },
            )
            .collect();
        expected.sort();
        let found = sorted_answer(&database(&snapshots), &runtime, statement);
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn companies_have_a_summary_of_their_signals() {
    let runtime = threads();
    for (name, snapshots) in corpora() {
        let mut expected = Vec::new();
        for snapshot in &snapshots {
            for company in snapshot.scan_companies() {
                let slug = company.expect("a record").slug;
                let found = snapshot
                    .company(&slug)
                    .expect("a record")
                    .expect("it is live");
                let number = |n: Option<i64>| n.map_or(NULL.to_owned(), |n| n.to_string());
                expected.push(vec![
                    slug.into_owned(),
                    found.company.name.to_string(),
                    number(found.company.employees),
                    found.signal_count.to_string(),
                    found
                        .latest_signal_date
                        .map_or(NULL.to_owned(), |day| day.to_string()),
                ]);
            }
        }
        expected.sort();
        let statement =
            "SELECT slug, name, employees, signal_count, latest_signal_date FROM companies";
        let found = sorted_answer(&database(&snapshots), &runtime, statement);
        assert_eq!(found, expected, "{name}");
    }
}
