//! What a host may rely on beside answers: optional filters, owned and serialised values, texts that
//! read back, types that cross threads.

use signaldex::query::{Cursor, DateRange, Days, Order, ParseCursorError};
use signaldex::{
    Company, Currency, Facet, Facets, Filter, Index, IndexBuilder, Item, Matches, Page, Query,
    Signal, SignalId, SizeBucket, Snapshot, Writer,
};
use signaldex_synthetic::Corpus;
use time::Date;
use time::macros::date;

const TODAY: Date = date!(2026 - 06 - 30);

fn corpus() -> Index {
    let corpus = Corpus::new(300, 7).expect("a corpus");
    let mut builder = IndexBuilder::in_memory();
    for company in corpus.companies() {
        builder.add_company(&company).expect("memory");
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal).expect("memory");
    }
    builder.finish().expect("memory")
}

#[test]
fn nothing_given_is_no_filter() {
    let nothing: [&str; 0] = [];
    let none: Option<String> = None;
    let query = Query::builder()
        .keywords(&none)
        .all(&none)
        .exact(&none)
        .any(&none)
        .exclude(&none)
        .company(&none)
        .company_slug(&none)
        .companies(nothing)
        .country(&none)
        .industry(&none)
        .size(None)
        .days(None)
        .date_ranges([])
        .date_from(None)
        .date_to(None)
        .categories(nothing)
        .seniorities(nothing)
        .funding_stage(&none)
        .funding_currency(None)
        .funding_min(None)
        .funding_max(None)
        .ids([])
        .activity_ids([])
        .cursor(&none)
        .after(None)
        .build()
        .expect("a query");
    assert_eq!(query.filter(), &Filter::default());
}

#[test]
fn a_value_replaces_the_one_before_and_what_was_wrong_with_it() {
    let query = Query::builder()
        .keywords("robots")
        .categories(["funding"])
        .country("Italy")
        .ids([SignalId::MIN])
        .limit(0);
    let query = query
        .keywords("series")
        .categories(["hiring"])
        .country("France")
        .ids([])
        .limit(5);
    let expected = Query::from_query_string("q=series&categories=hiring&country=france&limit=5");
    assert_eq!(query.build(), expected);
    let lifted = Query::builder()
        .country("France")
        .country(None::<&str>)
        .build();
    assert!(lifted.expect("a query").filter().is_empty());
}

#[test]
fn blank_texts_are_no_filter() {
    for blank in ["", " ", "\t\n", "\u{3000}"] {
        let query = Query::builder()
            .keywords(blank)
            .all(blank)
            .exact(blank)
            .any(blank)
            .exclude(blank)
            .company(blank)
            .company_slug(blank)
            .country(blank)
            .industry(blank)
            .funding_stage(blank)
            .cursor(blank)
            .build();
        let query = query.expect("a query without filters");
        assert_eq!(query, Query::from_query_string("").expect("a query"));
    }
}

#[test]
fn a_page_of_the_library_has_up_to_100_000_signals() {
    let index = corpus();
    let snapshot = index.snapshot();
    let query = Query::builder().limit(100_000).build().expect("a query");
    let page = snapshot.search(&query, TODAY).expect("a page");
    assert_eq!(page.len() as u64, snapshot.signal_count());
    assert_eq!(query.to_string().parse(), Ok(query));
    let refused = Query::builder().limit(100_001).build();
    let message = refused.expect_err("one too many").to_string();
    assert_eq!(
        message,
        "limit is \"100001\"; allowed are whole numbers from 1 to 100000"
    );
}

#[test]
fn the_limits_of_the_http_api_are_not_those_of_the_library() {
    let index = corpus();
    let snapshot = index.snapshot();
    let ids: Vec<SignalId> = snapshot
        .scan()
        .map(|found| found.expect("whole").signal.id)
        .collect();
    let query = Query::builder()
        .ids(ids.iter().copied())
        .companies((0..200).map(|number| format!("company-{number}")))
        .categories((0..100).map(|number| format!("category-{number}")))
        .build()
        .expect("a query");
    assert_eq!(query.to_string().parse(), Ok(query.clone()));
    let query = Query::builder()
        .ids(ids.iter().copied())
        .build()
        .expect("a query");
    assert_eq!(
        snapshot
            .count(query.filter(), TODAY)
            .expect("a whole index"),
        300
    );
}

#[test]
fn pages_follow_each_other_by_their_cursors() {
    let snapshot = corpus().snapshot();
    let mut page = snapshot
        .search(&Query::builder().build().expect("a query"), TODAY)
        .expect("a whole index");
    let mut seen = page.len();
    while let Some(cursor) = page.next_cursor() {
        let by_value = Query::builder().after(cursor).build();
        let by_text = Query::builder().cursor(cursor.to_string().as_str()).build();
        assert_eq!(by_value, by_text);
        page = snapshot
            .search(&by_value.expect("a query"), TODAY)
            .expect("a whole index");
        seen += page.len();
    }
    assert_eq!(seen, 300);
}

#[test]
fn texts_read_back_and_others_are_refused() {
    for size in SizeBucket::ALL {
        assert_eq!(size.to_string().parse(), Ok(size));
    }
    for days in [Days::Seven, Days::Thirty, Days::Ninety] {
        assert_eq!(days.to_string().parse(), Ok(days));
        let range = DateRange::Last(days);
        assert_eq!(range.to_string().parse(), Ok(range));
    }
    assert_eq!("older".parse(), Ok(DateRange::Older));
    let euro: Currency = "EUR".parse().expect("a currency");
    assert_eq!(euro.to_string(), "EUR");
    assert!("eur".parse::<Currency>().is_err());
    assert!("1-50".parse::<SizeBucket>().is_err());
    assert!("8".parse::<Days>().is_err());
    assert_eq!("x".parse::<Cursor>(), Err(ParseCursorError::Foreign));
}

/// Writes a value as JSON and reads it back.
fn round_trip<T>(value: &T)
where
    T: serde::Serialize + serde::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = serde_json::to_string(value).expect("JSON");
    let read: T = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(&read, value, "{text}");
    // Not self-describing, and not for people.
    let config = bincode::config::standard();
    let bytes = bincode::serde::encode_to_vec(value, config).expect("bytes");
    let (read, _): (T, usize) = bincode::serde::decode_from_slice(&bytes, config).expect("a value");
    assert_eq!(&read, value);
}

#[test]
fn values_are_serialised_and_read_back() {
    let index = corpus();
    let snapshot = index.snapshot();
    for found in snapshot.scan() {
        round_trip(&found.expect("a record").into_owned());
    }
    let query =
        Query::from_query_string("q=\"series a\"&country=france&days=30&fundingMin=0.1&limit=3");
    let query = query.expect("a query");
    round_trip(&query);
    round_trip(query.filter());
    let all = Query::builder().limit(7).order(Order::OldestFirst).build();
    let page = snapshot
        .search(&all.expect("a query"), TODAY)
        .expect("a whole index");
    let items = snapshot.records(&page).expect("whole");
    let items: Vec<Item<'static>> = items.into_iter().map(Item::into_owned).collect();
    round_trip(&items);
    round_trip(page.next_cursor().expect("a second page"));
    round_trip(
        &snapshot
            .facets(&Filter::default(), TODAY)
            .expect("a whole index"),
    );
    round_trip(&snapshot.statistics().expect("a whole index"));
    round_trip(&Order::ALL);
    round_trip(&Facet::ALL);
    let company = snapshot
        .scan_companies()
        .next()
        .expect("a company")
        .expect("whole");
    let profile = snapshot
        .company(&company.slug)
        .expect("whole")
        .expect("it exists");
    round_trip(&profile.into_owned());
    let json = serde_json::to_value(&items[0]).expect("JSON");
    assert!(
        json["signal"]["id"].is_string() && json["companyName"].is_string(),
        "{json}"
    );
}

#[test]
fn the_guide_for_hosts_shows_the_examples() {
    let read = |path: &str| std::fs::read_to_string(crate::house::root().join(path));
    let guide = read("docs/hosts.md").expect("the guide");
    for name in ["embed", "walk", "explain"] {
        let example = read(&format!("examples/{name}.rs")).expect("an example");
        let (_, code) = example.split_once("\n\n").expect("a comment and code");
        assert!(
            guide.contains(code),
            "docs/hosts.md shows another {name}.rs"
        );
        assert!(example.lines().count() < 80, "{name}.rs is short");
    }
}

#[test]
fn types_cross_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Index>();
    is_shared::<IndexBuilder>();
    is_shared::<Writer>();
    is_shared::<Snapshot>();
    is_shared::<Matches<'_>>();
    is_shared::<Page>();
    is_shared::<Facets>();
    is_shared::<Query>();
    is_shared::<Filter>();
    is_shared::<Signal<'_>>();
    is_shared::<Company<'_>>();
    is_shared::<signaldex::Error>();
    is_shared::<signaldex::query::InvalidQuery>();
}
