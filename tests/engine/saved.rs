//! Saved searches agree with `Filter::matches`, whatever they require and whatever has changed.

use std::collections::{BTreeMap, BTreeSet};

use signaldex::{
    Filter, Index, Position, PositionError, SavedSearches, Signal, SignalId, Snapshot,
};
use signaldex_synthetic::Corpus;
use time::Date;
use time::macros::date;

use crate::oracle::{Oracle, Record, index_of};
use crate::questions::Questions;
use crate::random::Random;

const TODAY: Date = date!(2026 - 06 - 30);

fn index(signals: u64, seed: u64) -> Index {
    let corpus = Corpus::new(signals, seed).expect("a corpus");
    index_of(corpus.companies(), corpus.signals())
}

/// Random searches by name, made of the records' own words and values.
fn random_searches(records: &[Record], count: usize, seed: u64) -> BTreeMap<String, Filter> {
    let mut questions = Questions::new(records, TODAY, seed);
    let mut searches = BTreeMap::new();
    while searches.len() < count {
        if let Ok(filter) = Filter::from_query_string(&questions.filter()) {
            searches.insert(format!("search {:06}", searches.len()), filter);
        }
    }
    searches
}

fn saved(mut empty: SavedSearches, searches: &BTreeMap<String, Filter>) -> SavedSearches {
    for (name, filter) in searches {
        assert_eq!(empty.insert(name, filter.clone()), None);
    }
    empty
}

/// The names of the searches that a record matches, by the meaning of their filters.
fn expected<'s>(searches: &'s BTreeMap<String, Filter>, record: &Record) -> BTreeSet<&'s str> {
    let (signal, company) = record;
    let matching = searches.iter();
    let matching = matching.filter(|(_, filter)| filter.matches(signal, company, TODAY));
    matching.map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_million_pairs_agree_with_the_meaning_of_filters() {
    let index = index(2_000, 27);
    let snapshot = index.snapshot();
    let records = Oracle::of(&index).records;
    let searches = random_searches(&records, 1_000, 27);
    let sampled = SavedSearches::for_index(&snapshot, TODAY).expect("whole records");
    let both = [
        saved(SavedSearches::new(), &searches),
        saved(sampled, &searches),
    ];
    let mut matches = 0;
    for record in records.iter().take(1_000) {
        let expected: Vec<&str> = expected(&searches, record).into_iter().collect();
        matches += expected.len();
        for saved in &both {
            assert_eq!(
                saved.matches(&record.0, &record.1, TODAY),
                expected,
                "{record:?}"
            );
        }
    }
    assert!(matches > 10_000, "{matches} of 1,000,000 pairs match");
}

#[test]
fn what_requires_nothing_or_the_impossible_is_decided_too() {
    let index = index(300, 3);
    let records = Oracle::of(&index).records;
    let queries = [
        "",
        "exclude=series",
        "q=-hires",
        "dateFrom=2026-05-01",
        "fundingMin=1000",
        "all=hires&exclude=hires",
        "companySlug=nobody&country=Germany",
        "any=\"raises series\" hires",
        "categories=hiring,funding,product,people&hiringType=new%20hire&size=1-49",
        "country=united states&categories=hiring,funding",
    ];
    let filters = queries.map(|query| Filter::from_query_string(query).expect(query));
    let searches = queries
        .map(str::to_owned)
        .into_iter()
        .zip(filters)
        .collect();
    let sampled = SavedSearches::for_index(&index.snapshot(), TODAY).expect("whole records");
    for empty in [SavedSearches::new(), sampled] {
        let saved = saved(empty, &searches);
        for record in &records {
            let found: BTreeSet<&str> = saved
                .matches(&record.0, &record.1, TODAY)
                .into_iter()
                .collect();
            assert_eq!(found, expected(&searches, record), "{record:?}");
        }
    }
}

#[test]
fn searches_are_replaced_and_removed_without_a_trace() {
    let index = index(300, 5);
    let records = Oracle::of(&index).records;
    let pool: Vec<Filter> = random_searches(&records, 500, 5).into_values().collect();
    let mut random = Random::new(5);
    let mut searches = BTreeMap::new();
    let mut saved = SavedSearches::for_index(&index.snapshot(), TODAY).expect("whole records");
    for round in 0..6_000 {
        let name = format!("search {:03}", random.below(200));
        if random.chance(60) {
            let filter = random.pick(&pool).clone();
            assert_eq!(
                saved.insert(&name, filter.clone()),
                searches.insert(name, filter)
            );
        } else {
            assert_eq!(saved.remove(&name), searches.remove(&name));
        }
        assert_eq!(saved.len(), searches.len());
        if round % 50 == 0 {
            let record = random.pick(&records);
            let found: BTreeSet<&str> = saved
                .matches(&record.0, &record.1, TODAY)
                .into_iter()
                .collect();
            assert_eq!(found, expected(&searches, record), "round {round}");
        }
    }
    let listed: BTreeMap<String, Filter> = saved
        .iter()
        .map(|(name, filter)| (name.to_owned(), filter.clone()))
        .collect();
    assert_eq!(listed, searches);
    assert_eq!(saved.is_empty(), searches.is_empty());
}

/// A changed signal, whether it is new, and the searches that it matches.
type Changed = (SignalId, bool, Vec<String>);

fn matched(matching: signaldex::MatchedSignals<'_>) -> BTreeMap<SignalId, Changed> {
    let matching = matching.map(|matched| matched.expect("a whole record"));
    matching
        .map(|matched| {
            let id = matched.item.signal.id;
            let names = matched.searches.into_iter().map(str::to_owned);
            (id, (id, matched.is_new, names.collect()))
        })
        .collect()
}

/// The record of a signal in a snapshot.
fn record(snapshot: &Snapshot, id: SignalId) -> Option<Record> {
    let found = snapshot.signal(id).expect("a whole record")?;
    Some((found.signal.into_owned(), found.company.into_owned()))
}

#[test]
fn what_has_changed_is_matched_as_a_scan_would() {
    let index = index(400, 9);
    let corpus = Corpus::new(800, 10).expect("a corpus");
    let pool: Vec<Signal<'_>> = corpus.signals().collect();
    let records = Oracle::of(&index).records;
    let searches = random_searches(&records, 300, 9);
    let saved = saved(SavedSearches::new(), &searches);
    let companies: Vec<String> = records
        .iter()
        .map(|(_, company)| company.slug.to_string())
        .collect();
    let mut random = Random::new(9);
    let (mut seen, mut news) = (0, 0);
    for _ in 0..60 {
        let before = index.snapshot();
        let mut upserted = BTreeSet::new();
        let mut writer = index.writer().expect("nobody else writes");
        for _ in 0..random.below(30) {
            let mut signal = random.pick(&pool).clone();
            if random.chance(50) {
                signal.id = random.pick(&records).0.id;
            }
            signal.company_slug = random.pick(&companies).as_str().into();
            upserted.insert(signal.id);
            writer.upsert_signal(&signal).expect("a known company");
        }
        for _ in 0..random.below(5) {
            let id = random.pick(&records).0.id;
            upserted.remove(&id);
            writer.delete_signal(id).expect("a whole index");
        }
        writer.commit().expect("committed");
        drop(writer);
        let after = index.snapshot();
        let mut all = BTreeMap::new();
        let mut newly = BTreeMap::new();
        for id in upserted {
            let record_now = record(&after, id).expect("a live signal");
            let was = record(&before, id);
            let names = expected(&searches, &record_now);
            let earlier = was.as_ref().map(|was| expected(&searches, was));
            let entry = |names: Vec<&str>| {
                let names = names.into_iter().map(str::to_owned).collect();
                (id, was.is_none(), names)
            };
            let new = names
                .difference(&earlier.unwrap_or_default())
                .copied()
                .collect::<Vec<_>>();
            if !names.is_empty() {
                all.insert(id, entry(names.into_iter().collect()));
            }
            if !new.is_empty() {
                newly.insert(id, entry(new));
            }
        }
        let since = before.position();
        let matching = saved.matching(&after, &since, TODAY).expect("a position");
        assert_eq!(matched(matching), all);
        let matching = saved
            .newly_matching(&before, &after, TODAY)
            .expect("a position");
        assert_eq!(matched(matching), newly);
        seen += all.len();
        news += newly.len();
    }
    assert!(seen > news && news > 100, "{seen} {news}");
}

#[test]
fn a_changed_company_has_its_signals_matched() {
    let index = Index::in_memory().expect("memory");
    let mut writer = index.writer().expect("nobody else writes");
    let mut company = signaldex::Company::new("acme", "Acme");
    writer.upsert_company(&company).expect("a slug");
    let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
    writer.upsert_signal(&signal).expect("a known company");
    writer.commit().expect("committed");
    let mut saved = SavedSearches::new();
    saved.insert(
        "germans",
        Filter::from_query_string("country=Germany").expect("valid"),
    );
    let before = index.snapshot();
    company.country = Some("Germany".into());
    writer.upsert_company(&company).expect("a slug");
    writer.commit().expect("committed");
    let after = index.snapshot();
    let matching = saved
        .newly_matching(&before, &after, TODAY)
        .expect("a position");
    let matched = matched(matching);
    let expected = (SignalId::MIN, false, vec!["germans".to_owned()]);
    assert_eq!(matched.into_values().collect::<Vec<_>>(), [expected]);
}

#[test]
fn a_position_of_another_index_is_refused() {
    let (one, other) = (index(10, 1), index(10, 1));
    let saved = SavedSearches::new();
    let refused = saved
        .matching(&one.snapshot(), &other.snapshot().position(), TODAY)
        .err();
    assert_eq!(refused, Some(PositionError::OtherIndex));
    let everything = saved
        .matching(&one.snapshot(), &Position::START, TODAY)
        .map(Iterator::count);
    assert_eq!(everything, Ok(0));
}
