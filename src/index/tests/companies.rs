//! Queries for companies beside a writer: every answer is what `CompanyFilter::matches` says, over random histories
//! with several segments, deletions, moved signals, changed companies and merges.
//!
//! `SIGNALDEX_COMPANIES` sets how many queries are compared; `SIGNALDEX_SEED` is the first seed.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::disk::Disk;
use super::model::{Model, TODAY, empty_index, random_query};
use super::random_index::{RandomIndex, setting};
use crate::ErrorKind;
use crate::fixtures::Random;
use crate::index::company_ranks::CompanyRanks;
use crate::index::{Index, Snapshot};
use crate::plan::Strategies;
use crate::query::{
    CompanyCursor, CompanyFilter, CompanyKey, CompanyOrder, CompanyQuery, CompanyStart, Condition,
    Facet, MatchedCompany,
};
use crate::signal::{Company, CompanyProfile, Signal};

/// Queries in the ordinary run.
const QUERIES: u64 = 2_000;

const WHOLE: &str = "a whole index";

fn signals_of<'m>(
    model: &'m Model,
    slug: &'m str,
) -> impl Iterator<Item = &'m Signal<'static>> + Clone {
    let signals = model.signals.values();
    signals.filter(move |signal| signal.company_slug == slug)
}

/// The companies that fulfil a filter, in an order, by definition.
fn by_law<'m>(
    model: &'m Model,
    filter: &CompanyFilter,
    order: CompanyOrder,
) -> Vec<MatchedCompany<'m>> {
    let companies = model.companies.iter();
    let mut found: Vec<MatchedCompany<'m>> = companies
        .filter(|(slug, company)| filter.matches(company, signals_of(model, slug), TODAY))
        .map(|(slug, company)| matched(company, signals_of(model, slug), filter.has()))
        .collect();
    found.sort_by(|a, b| order.compare(a, b));
    found
}

fn matched<'m>(
    company: &Company<'m>,
    signals: impl Iterator<Item = &'m Signal<'static>> + Clone,
    has: &[Condition],
) -> MatchedCompany<'m> {
    let all = Condition::default().matches_of(company, signals.clone(), TODAY);
    let matches = has.iter();
    let matches = matches.map(|condition| condition.matches_of(company, signals.clone(), TODAY));
    MatchedCompany {
        profile: CompanyProfile {
            company: company.clone(),
            signal_count: all.count,
            latest_signal_date: all.latest_date,
        },
        matches: matches.collect(),
    }
}

/// The values of a facet by definition, in the order of filter-options.
fn facet_by_law(model: &Model, filter: &CompanyFilter, facet: Facet) -> Vec<(String, u64)> {
    let mut values: BTreeMap<String, (String, u64)> = BTreeMap::new();
    for item in by_law(model, &filter.without(facet), CompanyOrder::Slug) {
        let Some(label) = facet.company_label(&item.profile.company) else {
            continue;
        };
        let value = values.entry(facet.key(&label).into_owned());
        let value = value.or_insert_with(|| (label.to_string(), 0));
        value.0 = value.0.clone().min(label.to_string());
        value.1 += 1;
    }
    let mut values: Vec<(String, u64)> = values.into_values().collect();
    values.sort_by_key(|(label, count)| (Reverse(*count), label.clone()));
    values
}

/// The parameters of a random filter.
pub(super) fn random_filter(random: &mut Random) -> String {
    const OF_COMPANIES: [&str; 14] = [
        "country=germany",
        "country=FRANCE",
        "country=Atlantis",
        "size=1-49",
        "company=acme",
        "company=head of",
        "companySlug=c1",
        "companySlug=none",
        "companies=c2,c3,acme hires",
        "city=sao paulo",
        "foundedFrom=1999&foundedTo=2000",
        "foundedTo=1998",
        "employeesMin=50",
        "employeesMax=400&country=germany",
    ];
    let mut parts: Vec<String> = Vec::new();
    if random.chance(40) {
        parts.push(random.word(&OF_COMPANIES).to_owned());
    }
    for name in ["has", "hasNot"] {
        if random.chance(60) {
            let conditions: Vec<String> = (0..1 + random.below(3))
                .map(|_| condition(random))
                .collect();
            parts.push(format!("{name}={}", conditions.join(",")));
        }
    }
    parts.join("&")
}

fn condition(random: &mut Random) -> String {
    let mut query = random_query(random);
    if query.starts_with("ids") {
        query.clear();
    }
    let mut parts = vec![query.replace('&', ";")];
    match random.below(8) {
        0 => parts.push("min=0".to_owned()),
        1 => parts.push(format!("min={}", 1 + random.below(5))),
        2 => parts.push(format!("min=0;max={}", random.below(4))),
        3 => parts.push(format!("max={}", 1 + random.below(4))),
        _ => {}
    }
    format!("({})", parts.join(";"))
}

fn owned(items: Vec<MatchedCompany<'_>>) -> Vec<MatchedCompany<'static>> {
    items.into_iter().map(MatchedCompany::into_owned).collect()
}

/// Compares everything that a snapshot answers under a filter.
pub(super) fn compare(
    snapshot: &Snapshot,
    model: &Model,
    text: &str,
    order: CompanyOrder,
    context: &str,
) {
    let query = CompanyQuery::from_query_string(text).expect("a valid query");
    let filter = query.filter();
    let law = owned(by_law(model, filter, order));
    let count = snapshot.count_companies(filter, TODAY).expect(WHOLE);
    assert_eq!(count, law.len() as u64, "{context}");
    let all = snapshot
        .matching_companies(filter, TODAY, order)
        .expect(WHOLE);
    let all: crate::Result<Vec<_>> = all.collect();
    assert_eq!(owned(all.expect(WHOLE)), law, "{context}");
    let facets = snapshot
        .company_facets(filter, TODAY, &Facet::ALL)
        .expect(WHOLE);
    for facet in Facet::OF_COMPANY {
        let values = facets.values(facet).iter();
        let values = values.map(|value| (value.label().to_owned(), value.count()));
        let values: Vec<(String, u64)> = values.collect();
        assert_eq!(
            values,
            facet_by_law(model, filter, facet),
            "{context}, {facet:?}"
        );
    }
    let limit = 1 + law.len() / 3;
    let builder = query
        .clone()
        .into_builder()
        .order(order)
        .limit(limit)
        .page(2);
    let second = builder.build().expect("a valid query");
    let page = snapshot.companies(&second, TODAY).expect(WHOLE);
    let has_more = page.next_cursor().is_some();
    assert_eq!(has_more, law.len() > 2 * limit, "{context}");
    let expected = law.iter().skip(limit).take(limit);
    assert!(page.items().iter().eq(expected), "{context}");
    let keys = snapshot.company_keys(&second, TODAY).expect(WHOLE);
    let expected: Vec<CompanyKey> = page.items().iter().map(|item| order.key_of(item)).collect();
    assert_eq!(keys, expected, "{context}");
    let found = snapshot.companies_of_keys(&second, &keys, TODAY);
    assert_eq!(found.expect(WHOLE), page.items(), "{context}");
    snapshot.companies_cost(&second, TODAY, 0).expect(WHOLE);
}

#[test]
fn each_answer_and_each_page_of_a_walk_is_what_the_law_says() {
    let mut queries = 0;
    let mut seed = setting("SIGNALDEX_SEED", 1);
    let strategies: Vec<_> = Strategies::each_off().collect();
    while queries < setting("SIGNALDEX_COMPANIES", QUERIES) {
        seed += 1;
        let mut random = Random::new(seed);
        let mut changing = RandomIndex::new(&mut random);
        for _ in 0..6 {
            let (name, strategies) = *random.pick(&strategies);
            let snapshot = changing.index.snapshot().with_strategies(strategies);
            for _ in 0..6 {
                let text = random_filter(&mut random);
                let order = *random.pick(&CompanyOrder::ALL);
                let context = format!("seed {seed}, {text}, {order}, {name}");
                compare(&snapshot, &changing.model, &text, order, &context);
                queries += 1;
            }
            queries += walk(&mut changing, &mut random, seed);
        }
    }
}

/// Walks in a random order while values change. Returns the number of pages.
fn walk(changing: &mut RandomIndex, random: &mut Random, seed: u64) -> u64 {
    let (order, limit) = (*random.pick(&CompanyOrder::ALL), 1 + random.below(3));
    let text = random_filter(random);
    let query = CompanyQuery::from_query_string(&text).expect("a valid query");
    let query = query.into_builder().order(order).limit(limit);
    let first = query.build().expect("a valid query");
    let keys = |model: &Model| -> BTreeMap<String, CompanyKey> {
        let found = by_law(model, first.filter(), order);
        let key =
            |item: MatchedCompany<'_>| (item.profile.company.slug.to_string(), order.key_of(&item));
        found.into_iter().map(key).collect()
    };
    // The keys at the first page of the companies that fulfil the filter and keep them throughout.
    let mut kept = keys(&changing.model);
    let mut seen: Vec<CompanyKey> = Vec::new();
    let (mut cursor, mut pages): (Option<CompanyCursor>, u64) = (None, 0);
    loop {
        let start = cursor
            .clone()
            .map_or(CompanyStart::First, CompanyStart::After);
        let snapshot = changing.index.snapshot();
        let page = snapshot
            .companies(&first.part(start, limit), TODAY)
            .expect(WHOLE);
        let context = format!("seed {seed}, {text}, {order}, page {pages} of {limit}");
        let comes_after = |item: &MatchedCompany<'_>| {
            let last = cursor.as_ref().map(CompanyCursor::last);
            last.is_none_or(|last| last.compare(&order.key_of(item)).is_lt())
        };
        let mut rest = owned(by_law(&changing.model, first.filter(), order));
        rest.retain(comes_after);
        assert_eq!(
            page.next_cursor().is_some(),
            rest.len() > limit,
            "{context}"
        );
        rest.truncate(limit);
        assert_eq!(page.items(), rest, "{context}");
        seen.extend(rest.iter().map(|item| order.key_of(item)));
        pages += 1;
        let next = page.next_cursor().map(ToString::to_string);
        cursor = next.map(|text| text.parse().expect("it was written"));
        if cursor.is_none() {
            break;
        }
        changing.disturb(random);
        let now = keys(&changing.model);
        kept.retain(|slug, key| now.get(slug) == Some(key));
    }
    let in_order = |pair: &[CompanyKey]| pair[0].compare(&pair[1]).is_lt();
    assert!(
        seen.windows(2).all(in_order),
        "a walk never goes back, seed {seed}"
    );
    for key in kept.values() {
        let times = seen.iter().filter(|other| *other == key).count();
        assert_eq!(times, 1, "{key:?} was kept, seed {seed}, {text}, {order}");
    }
    pages
}

#[test]
fn ranks_that_follow_from_earlier_ones_are_those_of_the_segments() {
    for seed in 1..=setting("SIGNALDEX_RANKS", 200) {
        let mut random = Random::new(seed);
        let mut changing = RandomIndex::new(&mut random);
        for step in 0..12 {
            let snapshot = changing.index.snapshot();
            // Of some snapshots the ranks are never asked for.
            if random.chance(60) {
                let (ranks, segments) =
                    (snapshot.company_ranks().expect(WHOLE), &snapshot.segments);
                let expected = CompanyRanks::of(segments).expect(WHOLE);
                let context = format!("seed {seed}, step {step}, {} segments", segments.len());
                assert_eq!(ranks.len(), expected.len(), "{context}");
                for number in 0..ranks.len() {
                    assert_eq!(ranks.record(number), expected.record(number), "{context}");
                }
                for (index, handle) in segments.iter().enumerate() {
                    let (live, deleted) = (handle.segment.companies(), handle.deleted_companies());
                    let deleted = deleted.expect(WHOLE);
                    for company in live.filter(|it| !deleted.contains(it.0)) {
                        let [found, number] =
                            [ranks, &expected].map(|ranks| ranks.number(index, company));
                        assert!(found.is_some() && found == number, "{context}, {company:?}");
                    }
                }
            }
            changing.disturb(&mut random);
        }
    }
}

#[test]
fn a_slug_that_no_cursor_could_hold_is_refused() {
    let index = empty_index(&Disk::default());
    let mut writer = index.writer().expect("nobody else writes");
    let company = |chars| Company::new("é".repeat(chars), "Acme");
    writer
        .upsert_company(&company(180))
        .expect("a valid company");
    let error = writer.upsert_company(&company(181));
    assert_eq!(error.expect_err("a long slug").kind(), ErrorKind::Invalid);
    writer.commit().expect("the disk is whole");
    let another = Company::new("é".repeat(179), "Acme");
    writer.upsert_company(&another).expect("a valid company");
    writer.commit().expect("the disk is whole");
    let query = CompanyQuery::builder()
        .limit(1)
        .build()
        .expect("a valid query");
    let query = query.part(CompanyStart::After(first_cursor(&index, &query)), 1);
    let page = index
        .snapshot()
        .companies(&query, TODAY)
        .expect(WHOLE)
        .len();
    assert_eq!(page, 1, "a walk goes on after the longest slug");
}

fn first_cursor(index: &Index, query: &CompanyQuery) -> CompanyCursor {
    let snapshot = index.snapshot();
    let page = snapshot.companies(query, TODAY).expect(WHOLE);
    let cursor = page.next_cursor().expect("there are more").to_string();
    cursor.parse().expect("it was written")
}
