//! Narrowed snapshots beside a writer: every answer is that of an index of the visible signals and companies alone, over
//! random histories with several segments, deletions, changed companies and merges, and edits of the filter between.
//!
//! `SIGNALDEX_NARROWED` sets how many questions are compared; `SIGNALDEX_SEED` is the first seed.

use std::sync::Arc;

use super::companies;
use super::copies::{Copies, Followed};
use super::model::{Model, TODAY, random_query};
use super::random_index::{RandomIndex, setting};
use crate::fixtures::Random;
use crate::index::{IndexBuilder, Snapshot};
use crate::plan::Strategies;
use crate::query::{AggregateQuery, CompanyOrder, Filter, KeyFilter, Order, ParameterSet, Query};

/// Questions in the ordinary run.
const QUESTIONS: u64 = 2_000;

/// Percentage of commits after which the filter is another one.
const EDITS: u64 = 25;

pub(super) const WHOLE: &str = "a whole index";

/// Random filters and exceptions; mostly some signals are left.
pub(super) fn random_key(random: &mut Random) -> KeyFilter {
    loop {
        let mut list = |percent| {
            let several = if random.chance(percent) {
                1 + random.below(2)
            } else {
                0
            };
            let texts = (0..several).map(|_| random_query(random));
            let takes = |text: &String| !text.is_empty() && !text.starts_with("ids");
            texts.filter(takes).collect::<Vec<String>>()
        };
        let (filters, exceptions) = (list(70), list(60));
        let texts = [&filters, &exceptions].map(|list| list.iter().map(String::as_str));
        let [filters, exceptions] = texts;
        if let Ok(key) = KeyFilter::parse(filters, exceptions) {
            return key;
        }
    }
}

/// What a key sees, by definition.
pub(super) fn visible(model: &Model, key: &KeyFilter) -> Model {
    let signals = model.signals.iter();
    let signals = signals
        .filter(|(_, signal)| key.matches(signal, &model.companies[&*signal.company_slug], TODAY));
    let mut seen = Model::default();
    for (id, signal) in signals {
        let slug = signal.company_slug.to_string();
        seen.companies
            .insert(slug.clone(), model.companies[&slug].clone());
        seen.signals.insert(*id, signal.clone());
    }
    seen
}

/// An index that holds nothing else.
fn index_of(model: &Model) -> Arc<Snapshot> {
    let mut builder = IndexBuilder::in_memory();
    for company in model.companies.values() {
        builder.add_company(company).expect("a valid company");
    }
    for signal in model.signals.values() {
        builder.add_signal(signal).expect("a known company");
    }
    builder.finish().expect(WHOLE).snapshot()
}

fn random_aggregate(random: &mut Random) -> AggregateQuery {
    let mut text = random_query(random);
    if text.starts_with("ids") {
        text.clear();
    }
    let by = [
        "month",
        "countries",
        "week,categories",
        "company",
        "fundingStages",
        "sizes,year",
    ];
    let measures = [
        "count",
        "companies",
        "count,sum,median",
        "companies,max,p25",
    ];
    let mut parts = vec![text];
    if random.chance(80) {
        parts.push(format!("by={}", random.word(&by)));
    }
    parts.push(format!("measures={}", random.word(&measures)));
    let text = parts.join("&");
    AggregateQuery::from_query_string(&text, ParameterSet::FILTERS).expect("a valid query")
}

/// Hints for queries that name what may not be there.
fn random_typed(random: &mut Random) -> Query {
    const TYPED: [&str; 10] = [
        "country=germani",
        "country=France",
        "q=robotix",
        "q=robotics",
        "q=rob*",
        "any=raises lands",
        "categories=funding,launches,hiring",
        "company=acme",
        "companies=c1,acme hires",
        "fundingStage=seed",
    ];
    Query::from_query_string(random.word(&TYPED)).expect("a valid query")
}

fn compare(
    narrowed: &Snapshot,
    seen: &Model,
    alone: &Snapshot,
    random: &mut Random,
    context: &str,
) {
    seen.compare(narrowed, random, context);
    let text = companies::random_filter(random);
    let order = *random.pick(&CompanyOrder::ALL);
    companies::compare(
        narrowed,
        seen,
        &text,
        order,
        &format!("{context}, {text}, {order}"),
    );
    let query = random_aggregate(random);
    let [found, expected] = [narrowed, alone].map(|it| it.aggregate(&query, TODAY).expect(WHOLE));
    assert_eq!(found, expected, "{context}, {query}");
    let typed = random_typed(random);
    for is_empty in [false, true] {
        let [found, expected] =
            [narrowed, alone].map(|it| it.hints(&typed, is_empty).expect(WHOLE));
        assert_eq!(found, expected, "{context}, {typed}");
    }
    for id in 1..=60 {
        let id = crate::SignalId::new(id).expect("a small number");
        let found = narrowed.signal(id).expect(WHOLE);
        assert_eq!(found, alone.signal(id).expect(WHOLE), "{context}, {id}");
    }
    let slugs = |snapshot: &Snapshot| {
        let slugs = snapshot
            .slugs_of_matches(&Filter::default(), TODAY)
            .expect(WHOLE);
        slugs.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(slugs(narrowed), slugs(alone), "{context}");
}

#[test]
fn each_answer_is_that_of_an_index_of_what_is_visible() {
    let mut questions = 0;
    let mut seed = setting("SIGNALDEX_SEED", 1);
    let strategies: Vec<_> = Strategies::each_off().collect();
    while questions < setting("SIGNALDEX_NARROWED", QUESTIONS) {
        seed += 1;
        let mut random = Random::new(seed);
        let mut changing = RandomIndex::new(&mut random);
        let mut key = random_key(&mut random);
        let budget = [0, 24_000, u64::MAX];
        changing.index.keep_narrowed_bytes(*random.pick(&budget));
        let mut copies = Copies::default();
        let mut commits = Vec::new();
        let mut earlier: Option<(Arc<Snapshot>, Model)> = None;
        for step in 0..6 {
            let (name, strategies) = *random.pick(&strategies);
            let snapshot = changing.index.snapshot();
            if step > 0 && random.chance(EDITS) {
                // What was handed out before is of another filter now.
                (key, copies) = (random_key(&mut random), Copies::default());
            }
            assert_eq!(
                Model::of(&snapshot).expect(WHOLE),
                changing.model,
                "seed {seed}"
            );
            // What is kept is then of an earlier snapshot.
            if let Some((earlier, model)) = earlier.filter(|_| random.chance(50)) {
                let narrowed = earlier.narrowed(&key, TODAY).expect(WHOLE);
                let found = Model::of(&narrowed).expect(WHOLE);
                assert_eq!(found, visible(&model, &key), "seed {seed}, {key}");
            }
            earlier = Some((Arc::clone(&snapshot), changing.model.clone()));
            let narrowed = snapshot.narrowed(&key, TODAY).expect(WHOLE);
            let (seen, context) = (
                visible(&changing.model, &key),
                format!("seed {seed}, {key}, {name}"),
            );
            // It goes through everything, so what is computed on demand is known afterwards.
            let check_all = || assert_eq!(Model::of(&narrowed).expect(WHOLE), seen, "{context}");
            let is_first = random.chance(50);
            if is_first {
                check_all();
            }
            let alone = index_of(&seen);
            let switched = narrowed.with_strategies(strategies);
            for _ in 0..4 {
                compare(&switched, &seen, &alone, &mut random, &context);
                questions += 1;
            }
            if !is_first {
                check_all();
            }
            commits.push(step);
            copies.know(changing.written.iter());
            let followed = Followed {
                snapshot: &narrowed,
                committed: &seen,
                commits: &commits,
            };
            copies.follow(&followed, false, &mut random, &context);
            changing.disturb(&mut random);
        }
    }
}

#[test]
fn what_is_kept_follows_commits_and_is_dropped_beyond_its_budget() {
    let mut random = Random::new(7);
    let mut changing = RandomIndex::new(&mut random);
    let key = |text: &str| KeyFilter::parse([text], []).expect("a valid filter");
    let (one, other) = (key("q=a"), key("q=series"));
    let ask = |changing: &RandomIndex, key: &KeyFilter| {
        let snapshot = changing.index.snapshot();
        snapshot.narrowed(key, TODAY).expect(WHOLE)
    };
    let first = ask(&changing, &one);
    assert!(Arc::ptr_eq(&first, &ask(&changing, &one)), "kept");
    changing.disturb(&mut random);
    let next = ask(&changing, &one);
    assert!(!Arc::ptr_eq(&first, &next), "of another snapshot");
    let kept = first.segments.iter().filter(|before| {
        let mut now = next.segments.iter();
        now.any(|now| Arc::ptr_eq(&before.deleted, &now.deleted))
    });
    let same = first.segments.iter().filter(|before| {
        let mut now = next.segments.iter();
        now.any(|now| {
            Arc::ptr_eq(&before.segment, &now.segment)
                && before.stored_deletions().rows() == now.stored_deletions().rows()
        })
    });
    assert_eq!(
        kept.count(),
        same.count(),
        "unchanged segments keep their rows"
    );
    changing.index.keep_narrowed_bytes(0);
    assert!(
        !Arc::ptr_eq(&ask(&changing, &one), &ask(&changing, &one)),
        "beyond: per request"
    );
    changing.index.keep_narrowed_bytes(u64::MAX);
    let of_other = ask(&changing, &other);
    assert_ne!(of_other.revision(), ask(&changing, &one).revision());
    assert_ne!(of_other.identity(), changing.index.snapshot().identity());
    assert_eq!(
        ask(&changing, &one).revision(),
        ask(&changing, &key("q=A")).revision()
    );
}

#[test]
fn days_of_a_key_are_those_of_the_request() {
    let mut random = Random::new(3);
    let changing = RandomIndex::new(&mut random);
    let snapshot = changing.index.snapshot();
    let key = KeyFilter::parse(["days=30"], []).expect("a valid filter");
    let later = TODAY + time::Duration::days(200);
    let [now, then] = [TODAY, later].map(|day| snapshot.narrowed(&key, day).expect(WHOLE));
    let query = Query::unchecked(Filter::default(), Order::default(), 1);
    let first = now.search(&query, TODAY).expect(WHOLE);
    let cursor = first.next_cursor().expect("more in the window").clone();
    let next = query.part(crate::query::Start::After(cursor), 1);
    assert!(then.search(&next, later).expect(WHOLE).is_empty());
    assert_eq!(now.identity(), then.identity(), "positions stay good");
    assert_ne!(now.revision(), then.revision());
}
