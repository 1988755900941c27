//! Aggregates agree with `AggregateQuery::of`, a plain loop over records: over random histories of several segments, with
//! every strategy on and off, and merged from parts.
//!
//! `SIGNALDEX_AGGREGATES` sets how many random queries are asked in all; a failure prints the seed and the query, and
//! `SIGNALDEX_SEED` replays it.

use std::collections::BTreeMap;

use signaldex::query::{AggregateOrder, GroupBy, Measure, ParameterSet, TimeUnit};
use signaldex::{
    AggregateQuery, Company, Currency, ErrorKind, Facet, Funding, Index, IndexBuilder,
    PartialAggregates, Signal, SignalId, Snapshot, Strategies,
};
use signaldex_synthetic::Corpus;
use time::Date;
use time::macros::date;

use crate::agreement::setting;
use crate::oracle::{Oracle, Record, index_of};
use crate::questions::Questions;
use crate::random::Random;

/// Random queries in the ordinary run.
const QUERIES: usize = 2_000;

/// Random queries of one history.
const QUERIES_OF_HISTORY: usize = 100;

/// Amounts whose sums and quantiles are easily wrong.
const AMOUNTS: [f64; 12] = [
    0.0,
    -0.0,
    0.1,
    0.2,
    0.3,
    0.01,
    1e22,
    0.125,
    12_500_000.5,
    4_700_000.0,
    1e-300,
    f64::MAX,
];

/// Days at the ends of the calendar and over New Year.
const DAYS: [Date; 8] = [
    date!(0000 - 01 - 01),
    date!(0000 - 01 - 02),
    date!(0000 - 01 - 03),
    date!(2024 - 12 - 29),
    date!(2024 - 12 - 30),
    date!(2025 - 01 - 01),
    date!(2026 - 03 - 15),
    date!(9999 - 12 - 31),
];

/// Changes a signal, mostly its date and funding.
fn changed<'r>(mut signal: Signal<'r>, random: &mut Random) -> Signal<'r> {
    if random.chance(40) {
        signal.date = random.chance(80).then(|| *random.pick(&DAYS));
    }
    if random.chance(60) {
        let mut funding = signal.funding.take().unwrap_or_default();
        // Mostly ordinary amounts, so that sums in hundredths are tested as well.
        let amounts = if random.chance(30) {
            &AMOUNTS[..]
        } else {
            &AMOUNTS[2..10]
        };
        funding.amount = random.chance(90).then(|| *random.pick(amounts));
        let currency = random.word(&["EUR", "USD", "GBP", ""]);
        funding.currency = Currency::new(currency);
        signal.funding = Some(funding);
    }
    if random.chance(20) {
        let category = random.word(&["funding", "Funding", "FUNDING", "hiring"]);
        signal.category = Some(category.to_owned().into());
    }
    signal
}

fn renamed<'r>(mut company: Company<'r>, random: &mut Random) -> Company<'r> {
    if random.chance(50) {
        let country = random.word(&[
            "Germany",
            "GERMANY",
            "germany",
            "Côte d’Ivoire",
            "Cote d'Ivoire",
        ]);
        company.country = Some(country.to_owned().into());
    }
    company
}

/// An index with several segments, deleted signals, companies that changed, and companies in several segments.
fn history(seed: u64, random: &mut Random) -> (Index, Date) {
    let signals = 40 + random.below(200);
    let corpus = Corpus::new(signals, seed).expect("a size within bounds");
    let companies: Vec<_> = corpus
        .companies()
        .map(|company| renamed(company, random))
        .collect();
    let signals: Vec<_> = corpus
        .signals()
        .map(|signal| changed(signal, random))
        .collect();
    let commits = random.below(4);
    let first = if commits == 0 {
        signals.len()
    } else {
        signals.len() / 2
    };
    let index = index_of(companies.iter().cloned(), signals[..first].iter().cloned());
    let rest = &signals[first..];
    for commit in 0..commits {
        let mut writer = index.writer().expect("the only writer");
        let part = rest.len() / commits;
        for signal in &rest[commit * part..(commit + 1) * part] {
            writer.upsert_signal(signal).expect("a valid signal");
        }
        for _ in 0..random.below(12) {
            let signal = random.pick(&signals[..first]);
            if random.chance(50) {
                writer.delete_signal(signal.id).expect("a deletion");
            } else {
                let signal = changed(signal.clone(), random);
                writer.upsert_signal(&signal).expect("a valid signal");
            }
        }
        if random.chance(50) {
            let company = renamed(random.pick(&companies).clone(), random);
            writer.upsert_company(&company).expect("a valid company");
        }
        writer.commit().expect("memory can be written to");
    }
    (index, corpus.as_of())
}

/// What a random query asks beside its filter.
fn grouping(random: &mut Random) -> String {
    let units = TimeUnit::ALL.map(|unit| unit.as_str());
    let mut by: Vec<&str> = Vec::new();
    match random.below(6) {
        0 => {}
        1 => by.push(random.word(&units)),
        2 => by.push(random.word(&Facet::LIST_NAMES)),
        3 => by.push("company"),
        4 => by.extend([random.word(&units), random.word(&Facet::LIST_NAMES)]),
        _ => by.extend([random.word(&Facet::LIST_NAMES), random.word(&units)]),
    }
    if by.len() == 2 && random.chance(30) {
        by = vec![Facet::LIST_NAMES[0], random.word(&Facet::LIST_NAMES[1..])];
    }
    let mut text = if by.is_empty() {
        String::new()
    } else {
        format!("&by={}", by.join(","))
    };
    let measures: Vec<&str> = Measure::NAMES
        .into_iter()
        .filter(|_| random.chance(30))
        .collect();
    if !measures.is_empty() {
        text += &format!("&measures={}", measures.join(","));
    }
    if random.chance(60) {
        text += &format!("&order={}", random.word(&AggregateOrder::NAMES));
    }
    if random.chance(60) {
        text += &format!("&limit={}", 1 + random.below(6));
    }
    text
}

pub(crate) fn query_of(questions: &mut Questions<'_>) -> Option<(String, AggregateQuery)> {
    let filter = if questions.random.chance(40) {
        String::new()
    } else {
        questions.filter()
    };
    let mut text = filter + &grouping(&mut questions.random);
    if text.contains("order=-sum") && !text.contains("fundingCurrency=") {
        text += "&fundingCurrency=USD";
    }
    let query =
        AggregateQuery::from_query_string(text.trim_start_matches('&'), ParameterSet::FILTERS);
    Some((text, query.ok()?))
}

fn pairs<'r>(records: &'r [Record]) -> impl Iterator<Item = (&'r Signal<'r>, &'r Company<'r>)> {
    records.iter().map(|(signal, company)| (signal, company))
}

/// Asks random queries of a history. Returns how many had a match.
fn compare(seed: u64, queries: usize) -> usize {
    let mut random = Random::new(seed);
    let (index, today) = history(seed, &mut random);
    let oracle = Oracle::of(&index);
    let snapshot = index.snapshot();
    let strategies: Vec<(&str, Snapshot)> = Strategies::each_off()
        .map(|(name, strategies)| (name, snapshot.with_strategies(strategies)))
        .collect();
    let mut questions = Questions::new(&oracle.records, today, seed);
    let mut answered = 0;
    for number in 0..queries {
        let Some((text, query)) = query_of(&mut questions) else {
            continue;
        };
        let expected = query.of(pairs(&oracle.records), today);
        answered += usize::from(expected.totals.figures.count > 0);
        for (name, snapshot) in [&strategies[0], &strategies[number % strategies.len()]] {
            let context = format!("seed {seed}, query {number}: {text} ({name})");
            let aggregates = snapshot.aggregate(&query, today).expect("a whole index");
            assert_eq!(aggregates, expected, "{context}");
            let partial = snapshot
                .partial_aggregates(&query, today)
                .expect("a whole index");
            assert_eq!(
                partial.finish(&query).expect("few groups"),
                expected,
                "partial; {context}"
            );
        }
        snapshot
            .aggregate_cost(&query, today, 0)
            .expect("a whole index");
    }
    answered
}

#[test]
fn aggregates_agree_with_a_loop_over_records() {
    let queries = setting("SIGNALDEX_AGGREGATES", QUERIES);
    let seed = setting("SIGNALDEX_SEED", 1) as u64;
    let histories = queries.div_ceil(QUERIES_OF_HISTORY);
    let answered: usize = (0..histories as u64)
        .map(|history| compare(seed + history, QUERIES_OF_HISTORY.min(queries)))
        .sum();
    assert!(
        answered * 3 > queries,
        "{answered} of {queries} find something"
    );
}

/// Each company with its signals is in one part.
#[test]
fn parts_merge_to_the_whole() {
    let today = date!(2026 - 06 - 30);
    for seed in 1..=10 {
        let mut random = Random::new(seed);
        let (index, _) = history(seed, &mut random);
        let oracle = Oracle::of(&index);
        let mut parts: BTreeMap<u64, Vec<Record>> = BTreeMap::new();
        for record in &oracle.records {
            let part = record.1.slug.len() as u64 % 3;
            parts.entry(part).or_default().push(record.clone());
        }
        let parts: Vec<Index> = parts
            .into_values()
            .map(|records| index_of_records(&records))
            .collect();
        let mut questions = Questions::new(&oracle.records, today, seed);
        for _ in 0..40 {
            let Some((text, query)) = query_of(&mut questions) else {
                continue;
            };
            let mut merged = PartialAggregates::default();
            for part in &parts {
                let partial = part.snapshot().partial_aggregates(&query, today);
                merged.merge(partial.expect("a whole index"), &query);
            }
            let merged = merged.finish(&query).expect("few groups");
            let whole = index
                .snapshot()
                .aggregate(&query, today)
                .expect("a whole index");
            assert_eq!(merged, whole, "seed {seed}: {text}");
        }
    }
}

fn index_of_records(records: &[Record]) -> Index {
    let companies: BTreeMap<_, _> = records
        .iter()
        .map(|(_, company)| (&company.slug, company))
        .collect();
    let companies = companies.into_values().cloned();
    index_of(companies, records.iter().map(|(signal, _)| signal.clone()))
}

/// A signal of Acme with an id.
fn round(id: u64, currency: &str, amount: f64) -> Signal<'static> {
    let mut signal = Signal::new(SignalId::new(id).expect("an id"), "acme", "Acme raises");
    signal.funding = Some(Funding {
        amount: Some(amount),
        currency: Currency::new(currency),
        ..Funding::default()
    });
    signal
}

fn index_of_acme(signals: &[Signal<'static>]) -> Index {
    let mut builder = IndexBuilder::in_memory();
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a company");
    for signal in signals {
        builder.add_signal(signal).expect("a signal");
    }
    builder.finish().expect("what was built is valid")
}

#[test]
fn sums_are_exact() {
    let sums = |amounts: &[f64]| {
        let signals: Vec<_> = (1..)
            .zip(amounts)
            .map(|(id, &amount)| round(id, "EUR", amount))
            .collect();
        let query = AggregateQuery::from_query_string("measures=sum,median", ParameterSet::FILTERS);
        let snapshot = index_of_acme(&signals).snapshot();
        let aggregates = snapshot.aggregate(&query.expect("a query"), date!(2026 - 06 - 30));
        let amounts = aggregates.expect("a whole index").totals.figures.amounts;
        let amounts = amounts.expect("measured");
        (
            amounts[0].sum.expect("measured"),
            amounts[0].median.expect("measured"),
        )
    };
    assert_eq!(sums(&[0.1, 0.2]), (0.3, 0.15));
    assert_eq!(sums(&[1e22, 0.01, 0.01]), (1e22, 0.01));
    assert_eq!(sums(&[f64::MAX, f64::MAX]), (f64::MAX, f64::MAX));
}

#[test]
fn without_currency_date_or_match() {
    let mut dated = round(1, "", 5.0);
    dated.date = Some(date!(9999 - 12 - 31));
    let snapshot = index_of_acme(&[dated, round(2, "EUR", 7.0)]).snapshot();
    let ask = |text| {
        let query =
            AggregateQuery::from_query_string(text, ParameterSet::FILTERS).expect("a query");
        let aggregates = snapshot.aggregate(&query, date!(2026 - 06 - 30));
        aggregates.expect("a whole index")
    };
    let weeks = ask("by=week&measures=max");
    let keys: Vec<String> = weeks
        .groups
        .iter()
        .map(|group| format!("{:?}", group.key[0].is_some()))
        .collect();
    assert_eq!(keys, ["true", "false"], "what has no date is last");
    let amounts = weeks.totals.figures.amounts.expect("measured");
    let currencies: Vec<_> = amounts
        .iter()
        .map(|amounts| amounts.currency.map(|c| c.to_string()))
        .collect();
    assert_eq!(currencies, [Some("EUR".to_owned()), None]);
    let none = ask("q=zebra&by=company&measures=companies,sum");
    assert_eq!((none.groups.len(), none.totals.groups), (0, 0));
    assert_eq!(none.totals.figures.amounts, Some(Vec::new()));
}

#[test]
fn too_many_groups_of_two_are_refused() {
    let corpus = Corpus::new(300, 1).expect("a size within bounds");
    let snapshot = index_of(corpus.companies(), corpus.signals()).snapshot();
    let by = [GroupBy::Time(TimeUnit::Day), GroupBy::Facet(Facet::Country)];
    let query = |groups_max| {
        let builder = AggregateQuery::builder(signaldex::Filter::default()).by(by);
        builder.groups_max(groups_max).build().expect("a query")
    };
    let whole = snapshot
        .aggregate(&query(100_000), corpus.as_of())
        .expect("few groups");
    let groups = whole.totals.groups as usize;
    assert!(snapshot.aggregate(&query(groups), corpus.as_of()).is_ok());
    let refused = snapshot.aggregate(&query(groups - 1), corpus.as_of());
    assert_eq!(
        refused.expect_err("one group too many").kind(),
        ErrorKind::TooManyGroups
    );
}
