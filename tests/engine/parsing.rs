//! Query strings: any text is read or refused, and what is typed differently means the same.

use std::sync::LazyLock;

use proptest::prelude::*;
use signaldex::query::{Cursor, DateRange, Days, Order, PARAMETERS, Start};
use signaldex::synthetic::Corpus;
use signaldex::{Currency, Filter, Query, SignalId, SizeBucket};
use time::macros::date;

use crate::oracle::Record;
use crate::questions::Questions;

static RECORDS: LazyLock<Vec<Record>> = LazyLock::new(|| {
    let corpus = Corpus::new(400, 5).expect("a size within bounds");
    let companies: Vec<_> = corpus.companies().collect();
    let company = |slug: &str| companies.iter().find(|company| company.slug == slug);
    let signals = corpus.signals();
    signals
        .map(|signal| {
            let company = company(&signal.company_slug).expect("a company for each signal");
            (signal, company.clone())
        })
        .collect()
});

/// Query strings that are nearly right.
fn near_misses() -> impl Strategy<Value = String> {
    let names: Vec<&str> = PARAMETERS
        .iter()
        .map(|known| known.name)
        .chain(["x", ""])
        .collect();
    let value = prop_oneof![
        any::<String>(),
        "[0-9a-z%+,\"&=. -]{0,12}",
        prop::sample::select(
            PARAMETERS
                .iter()
                .map(|known| known.example.to_owned())
                .collect::<Vec<_>>()
        ),
    ];
    let pair =
        (prop::sample::select(names), value).prop_map(|(name, value)| format!("{name}={value}"));
    prop::collection::vec(pair, 0..5).prop_map(|pairs| pairs.join("&"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_or_refused_with_reasons(text in prop_oneof![any::<String>(), near_misses()]) {
        for faults in [
            Query::parse(&text).err(),
            Filter::parse(&text).err(),
        ].into_iter().flatten() {
            prop_assert!(!faults.faults().is_empty());
            for fault in faults.faults() {
                prop_assert!(!fault.message.is_empty());
                prop_assert!(!fault.message.contains(char::is_control), "{:?}", fault.message);
                prop_assert!(fault.message.chars().count() < 600, "{}", fault.message);
            }
        }
    }

    #[test]
    fn what_is_valid_means_the_same_in_any_order(seed in any::<u64>(), rotation in 0_usize..8) {
        let text = Questions::new(&RECORDS, date!(2026 - 06 - 30), seed).filter();
        if let Ok(filter) = Filter::parse(&text) {
            let mut pairs: Vec<&str> = text.split('&').collect();
            let middle = rotation % pairs.len();
            pairs.rotate_left(middle);
            let other = Filter::parse(&pairs.join("&")).expect("the same parameters");
            prop_assert_eq!(&filter, &other);
            prop_assert_eq!(filter.fingerprint(), other.fingerprint());
            prop_assert_eq!(filter.canonical(), other.canonical());
        }
    }

    #[test]
    fn different_filters_have_different_fingerprints(one in any::<u64>(), other in any::<u64>()) {
        let filter = |seed| Filter::parse(&Questions::new(&RECORDS, date!(2026 - 06 - 30), seed).filter());
        if let (Ok(one), Ok(other)) = (filter(one), filter(other)) {
            prop_assert_eq!(one == other, one.fingerprint() == other.fingerprint());
        }
    }

    #[test]
    fn any_text_is_a_cursor_or_refused(text in "[A-Za-z0-9_-]{0,60}") {
        prop_assert!(Cursor::parse(&text).is_err());
    }
}

#[test]
fn the_builder_says_what_a_query_string_says() {
    let id = |number| SignalId::new(number).expect("an id");
    let built = Query::builder()
        .keywords("robots -toys")
        .all("b a")
        .exact("head of")
        .any("x \"y z\"")
        .exclude("intern")
        .company("labs")
        .company_slug("acme")
        .companies(["acme", "Example, Inc."])
        .country("Germany")
        .industry("Robotics")
        .size(SizeBucket::From501)
        .days(Days::Thirty)
        .date_ranges([DateRange::Older, DateRange::Last(Days::Seven)])
        .date_from(date!(2026 - 01 - 01))
        .date_to(date!(2026 - 06 - 30))
        .categories(["funding", "hiring"])
        .hiring_types(["new"])
        .job_functions(["sales"])
        .seniorities(["senior"])
        .employment_types(["full-time"])
        .work_arrangements(["remote"])
        .funding_stage("Series A")
        .funding_currency(Currency::new("EUR").expect("a currency"))
        .funding_min(0.5)
        .funding_max(1e6)
        .ids([id(1), id(2)])
        .activity_ids([id(2)])
        .limit(20)
        .page(3)
        .build()
        .expect("a valid query");
    let parsed = Query::parse(
        "q=robots -toys&all=a+b&exact=head of&any=x \"y z\"&exclude=intern&company=labs&companySlug=acme\
         &companies=acme,\"Example, Inc.\"&country=germany&industry=robotics&size=501%2B&days=30\
         &dateRanges=7,older&dateFrom=2026-01-01&dateTo=2026-06-30&categories=hiring,funding\
         &hiringType=new&jobFunction=sales&seniority=senior&employmentType=full-time\
         &workArrangement=remote&fundingStage=series a&fundingCurrency=EUR&fundingMin=0.5\
         &fundingMax=1000000&ids=2,1&activityIds=2&limit=20&page=3",
    )
    .expect("a valid query");
    assert_eq!(built, parsed);
    assert_eq!(built.fingerprint(), parsed.fingerprint());
    assert_eq!(built.start(), &Start::Page(3));
    let again = built
        .clone()
        .into_builder()
        .build()
        .expect("it was valid before");
    assert_eq!(again, built);
}

#[test]
fn the_builder_reports_what_is_wrong_as_the_query_string_does() {
    let built = Query::builder()
        .country("")
        .limit(0)
        .funding_min(f64::NAN)
        .categories(["a", ""])
        .build();
    let faults = built.expect_err("four faults");
    let names: Vec<&str> = faults
        .faults()
        .iter()
        .map(|fault| fault.parameter.as_str())
        .collect();
    assert_eq!(names, ["country", "limit", "fundingMin", "categories"]);
    let oldest = Query::builder()
        .order(Order::OldestFirst)
        .build()
        .expect("a valid query");
    assert_eq!(oldest.order(), Order::OldestFirst);
    assert_ne!(
        oldest.fingerprint(),
        Query::parse("").expect("a valid query").fingerprint()
    );
}
