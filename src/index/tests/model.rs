//! The naive model of an index: maps of records, and answers by looking at each.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use time::Date;
use time::macros::date;

use super::disk::Disk;
use crate::Result;
use crate::fixtures::Random;
use crate::index::storage::Storage;
use crate::index::{Facets, Index, IndexBuilder, Snapshot};
use crate::query::{Filter, Order, Query, Start};
use crate::signal::{Company, Funding, Signal, SignalId};

pub(super) const TODAY: Date = date!(2026 - 06 - 30);

/// What an index should hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Model {
    pub(super) signals: BTreeMap<SignalId, Signal<'static>>,
    pub(super) companies: BTreeMap<String, Company<'static>>,
}

const WORDS: [&str; 8] = [
    "acme", "raises", "series", "a", "robotics", "hires", "head", "of",
];
const COUNTRIES: [&str; 3] = ["Germany", "germany ", "France"];
const STAGES: [&str; 3] = ["Series A", "SERIES A", "Seed"];

/// A random signal of a company, with an id from a small range.
pub(super) fn random_signal(random: &mut Random, slug: &str) -> Signal<'static> {
    let id = SignalId::new(1 + random.below(60)).expect("a small number");
    let words: Vec<&str> = (0..1 + random.below(5))
        .map(|_| random.word(&WORDS))
        .collect();
    let mut signal = Signal::new(id, slug.to_owned(), words.join(" "));
    let days = random.below(120) as i64;
    signal.date = (random.below(8) > 0).then(|| TODAY - time::Duration::days(days));
    signal.category = Some(Cow::Borrowed(random.word(&["funding", "hiring", "launch"])));
    if random.below(3) == 0 {
        signal.funding = Some(Funding {
            stage: Some(Cow::Borrowed(random.word(&STAGES))),
            amount: Some(random.below(5) as f64 * 1e6),
            currency: None,
        });
    }
    signal
}

/// A random company, its slug from a small range.
pub(super) fn random_company(random: &mut Random) -> Company<'static> {
    let slug = format!("c{}", random.below(6));
    let name = format!("{} {}", random.word(&WORDS), random.word(&WORDS));
    let mut company = Company::new(slug, name);
    company.country = Some(Cow::Borrowed(random.word(&COUNTRIES)));
    company.employees = Some(random.below(700) as i64);
    company
}

impl Model {
    /// Everything that an index says it holds.
    pub(super) fn of(snapshot: &Snapshot) -> Result<Model> {
        let mut model = Model::default();
        for found in snapshot.scan() {
            let signal = found?.signal.into_owned();
            let other = model.signals.insert(signal.id, signal);
            assert!(other.is_none(), "an id is live once");
        }
        for company in snapshot.scan_companies() {
            let company = company?.into_owned();
            let other = model.companies.insert(company.slug.to_string(), company);
            assert!(other.is_none(), "a company is live once");
        }
        Ok(model)
    }

    pub(super) fn matches(&self, filter: &Filter) -> Vec<SignalId> {
        let is_match = |signal: &&Signal<'_>| {
            filter.matches(signal, &self.companies[&*signal.company_slug], TODAY)
        };
        self.signals
            .values()
            .filter(is_match)
            .map(|signal| signal.id)
            .collect()
    }

    /// Compares every kind of answer with a snapshot's.
    pub(super) fn compare(&self, snapshot: &Snapshot, random: &mut Random, context: &str) {
        assert_eq!(
            snapshot.signal_count(),
            self.signals.len() as u64,
            "{context}"
        );
        assert_eq!(
            snapshot.company_count().expect("a whole index"),
            self.companies.len() as u64,
            "{context}"
        );
        let text = random_query(random);
        let context = format!("{context}, query {text}");
        let filter = Filter::from_query_string(&text).expect("a valid filter");
        let matches = self.matches(&filter);
        let count = snapshot.count(&filter, TODAY).expect("a whole index");
        assert_eq!(count, matches.len() as u64, "{context}");
        self.compare_walk(snapshot, &text, matches, random, &context);
        let facets = snapshot.facets(&filter, TODAY).expect("a whole index");
        let records = self.signals.values();
        let records = records.map(|signal| (signal, &self.companies[&*signal.company_slug]));
        assert_eq!(facets, Facets::of(records, &filter, TODAY), "{context}");
        self.compare_company(snapshot, random, &context);
    }

    fn compare_walk(
        &self,
        snapshot: &Snapshot,
        text: &str,
        mut expected: Vec<SignalId>,
        random: &mut Random,
        context: &str,
    ) {
        let order = *random.pick(&Order::ALL);
        expected.sort_by(|a, b| order.compare(&self.signals[a], &self.signals[b]));
        let limit = 1 + random.below(20) as usize;
        let mut ids = Vec::new();
        let mut cursor = None;
        loop {
            let filter = Filter::from_query_string(text).expect("a valid filter");
            let first = Query::unchecked(filter, order, limit);
            let query = match cursor {
                Some(cursor) => first.part(Start::After(cursor), limit),
                None => first,
            };
            let page = snapshot.search(&query, TODAY).expect("a whole index");
            ids.extend(page.ids());
            assert!(ids.len() <= self.signals.len(), "a walk ends, {context}");
            cursor = page.next_cursor().cloned();
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(ids, expected, "{context}");
    }

    fn compare_company(&self, snapshot: &Snapshot, random: &mut Random, context: &str) {
        let slug = format!("c{}", random.below(6));
        let profile = snapshot.company(&slug).expect("a whole index");
        let of_company = self
            .signals
            .values()
            .filter(|signal| signal.company_slug == slug);
        let expected = self.companies.get(&slug).map(|company| {
            (
                company.clone(),
                of_company.clone().count() as u64,
                of_company.filter_map(|s| s.date).max(),
            )
        });
        let found = profile.map(|profile| {
            (
                profile.company.into_owned(),
                profile.signal_count,
                profile.latest_signal_date,
            )
        });
        assert_eq!(found, expected, "{context}");
    }
}

/// What a snapshot answers to a random query, in text that tells any difference: a page with its
/// records and cursor, the count, the facets and a company.
pub(super) fn answers(snapshot: &Snapshot, random: &mut Random) -> String {
    let text = random_query(random);
    let limit = 1 + random.below(20) as usize;
    let order = *random.pick(&Order::ALL[..4]);
    let builder = Query::from_query_string(&text)
        .expect("a valid query")
        .into_builder();
    let query = builder.order(order).limit(limit).build();
    let query = query.expect("a valid query");
    let page = snapshot.search(&query, TODAY).expect("a whole index");
    let ids: Vec<SignalId> = page.ids().collect();
    let items = snapshot.records(&page).expect("a whole index");
    let next = page.next_cursor().map(ToString::to_string);
    let count = snapshot
        .count(query.filter(), TODAY)
        .expect("a whole index");
    let facets = snapshot
        .facets(query.filter(), TODAY)
        .expect("a whole index");
    let company = snapshot.company(&format!("c{}", random.below(6)));
    format!("{ids:?} {items:?} {next:?} {count:?} {facets:?} {company:?}")
}

pub(super) fn random_query(random: &mut Random) -> String {
    let queries = [
        "",
        "q=series",
        "exact=series a",
        "any=robotics \"head of\"",
        "exclude=acme",
        "country=germany",
        "country=france&q=a",
        "size=1-49",
        "days=30",
        "dateRanges=7,older",
        "categories=funding,launch",
        "fundingStage=series a",
        "fundingMin=1000000",
        "company=acme",
        "companySlug=c1",
        "companies=c2,c3,acme hires",
        "ids=1,2,3,40,50",
        "q=-a -\"head of\"",
        "country=germany&size=501%2B&days=90",
        "q=raises a&categories=hiring",
        "q=a&exclude=acme",
        "q=a series&country=germany",
        "categories=funding,launch&exclude=of",
    ];
    random.word(&queries).to_owned()
}

/// An index on a disk that holds nothing yet.
pub(super) fn empty_index(disk: &Disk) -> Index {
    builder(disk)
        .finish()
        .expect("an empty disk can be written to")
}

/// Builds on an empty disk.
pub(super) fn builder(disk: &Disk) -> IndexBuilder {
    let storage = Arc::new(disk.clone());
    IndexBuilder::in_storage(storage).expect("an empty disk can be written to")
}

/// Opens what is on a disk.
pub(super) fn open(disk: &Disk) -> Result<Index> {
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    Index::from_storage(storage)
}
