//! Query strings: any text is read or refused, and what is typed differently means the same.

use std::sync::LazyLock;

use proptest::prelude::*;
use signaldex::query::{Cursor, DateRange, Days, Order, PARAMETERS, Start};
use signaldex::{
    Company, Currency, Facet, Filter, Hiring, IndexBuilder, Query, Signal, SignalId, SizeBucket,
};
use signaldex_synthetic::Corpus;
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
        "([a-c]{2,4}[*＊\" -]{1,2}){1,3}",
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
        for errors in [
            Query::from_query_string(&text).err(),
            Filter::from_query_string(&text).err(),
        ].into_iter().flatten() {
            prop_assert!(!errors.errors().is_empty());
            for error in errors.errors() {
                prop_assert!(!error.message.is_empty());
                prop_assert!(!error.message.contains(char::is_control), "{:?}", error.message);
                prop_assert!(error.message.chars().count() < 600, "{}", error.message);
            }
        }
    }

    #[test]
    fn what_is_valid_means_the_same_in_any_order(seed in any::<u64>(), rotation in 0_usize..8) {
        let text = Questions::new(&RECORDS, date!(2026 - 06 - 30), seed).filter();
        if let Ok(filter) = Filter::from_query_string(&text) {
            let mut pairs: Vec<&str> = text.split('&').collect();
            let middle = rotation % pairs.len();
            pairs.rotate_left(middle);
            let other = Filter::from_query_string(&pairs.join("&")).expect("the same parameters");
            prop_assert_eq!(&filter, &other);
            prop_assert_eq!(filter.fingerprint(), other.fingerprint());
            prop_assert_eq!(filter.to_string(), other.to_string());
        }
    }

    #[test]
    fn different_filters_have_different_fingerprints(one in any::<u64>(), other in any::<u64>()) {
        let filter = |seed| Filter::from_query_string(&Questions::new(&RECORDS, date!(2026 - 06 - 30), seed).filter());
        if let (Ok(one), Ok(other)) = (filter(one), filter(other)) {
            prop_assert_eq!(one == other, one.fingerprint() == other.fingerprint());
        }
    }

    #[test]
    fn a_query_is_read_as_it_was_written(text in near_misses(), seed in any::<u64>(), order in prop::sample::select(&Order::ALL)) {
        let questions = Questions::new(&RECORDS, date!(2026 - 06 - 30), seed).filter();
        for text in [text, questions] {
            let Ok(query) = Query::from_query_string(&text) else { continue };
            let has_currency = query.filter().chosen(Facet::FundingCurrency).next().is_some();
            let order = if order.needs_currency() && !has_currency { Order::LatestDate } else { order };
            let query = query.into_builder().order(order).build().expect("no cursor");
            prop_assert_eq!(query.to_string().parse::<Query>(), Ok(query.clone()), "{}", query);
            let filter = query.filter();
            prop_assert_eq!(filter.to_string().parse(), Ok(filter.clone()), "{}", filter);
            for (signal, company) in RECORDS.iter().take(50) {
                let again: Filter = filter.to_string().parse().expect("it was written");
                let today = date!(2026 - 06 - 30);
                prop_assert_eq!(
                    again.matches(signal, company, today),
                    filter.matches(signal, company, today)
                );
            }
        }
    }

    #[test]
    fn awkward_words_are_read_as_they_were_written(
        words in "[a-c*＊\"'.+#א-גéßﬁ\u{FDFA}\u{301}\u{93F}\u{AD}\u{200D}\u{202F}&S -]{0,16}",
        others in any::<String>(),
        name in prop::sample::select(vec!["q", "all", "exact", "any", "exclude", "company", "companySlug", "country", "categories", "companies", "seniority", "fundingStage"]),
    ) {
        for text in [words, others] {
            let query = Query::builder();
            let query = match name {
                "q" => query.keywords(&text),
                "all" => query.all(&text),
                "exact" => query.exact(&text),
                "any" => query.any(&text),
                "exclude" => query.exclude(&text),
                "company" => query.company(&text),
                "companySlug" => query.company_slug(&text),
                "country" => query.country(&text),
                "categories" => query.categories([text.as_str(), "b"]),
                "companies" => query.companies([text.as_str(), "b"]),
                "seniority" => query.seniorities([text.as_str()]),
                _ => query.funding_stage(&text),
            };
            if let Ok(query) = query.build() {
                prop_assert_eq!(query.to_string().parse::<Query>(), Ok(query.clone()), "{:?} {}", text, query);
            }
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
    let parsed = Query::from_query_string(
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
    assert_eq!(built.to_string().parse(), Ok(built));
}

#[test]
fn folded_text_is_read_back_though_it_is_longer_than_may_be_typed() {
    let query = Query::builder()
        .all("\u{FDFA}".repeat(1_000))
        .company("R&D");
    let query = query
        .exact("\u{FDFA} x ".repeat(36))
        .build()
        .expect("a query");
    let text = query.to_string();
    assert!(
        Query::from_query_string(&text).is_err(),
        "too long to be typed"
    );
    assert_eq!(text.parse(), Ok(query));
}

#[cfg(feature = "json")]
#[test]
fn a_cursor_is_read_back_with_its_query() {
    let query = Query::from_query_string("country=germany&limit=7").expect("a query");
    let snapshot = signaldex::sample::index().expect("the sample").snapshot();
    let page = snapshot
        .search(&query, date!(2026 - 06 - 30))
        .expect("a whole index");
    let next = query
        .into_builder()
        .after(page.next_cursor().expect("a second page"));
    let next = next.build().expect("a query");
    assert_eq!(next.to_string().parse(), Ok(next));
}

#[test]
fn the_longest_query_is_read_back() {
    let long = |letter: &str, chars: usize| letter.repeat(chars);
    let mut query = Query::builder().keywords(long("\u{FDFA}", 1_000));
    query = query
        .all(long("\u{FDFA}", 1_000))
        .any(long("\u{FDFA}", 1_000));
    query = query
        .exclude(long("\u{FDFA}", 1_000))
        .exact(long("\u{FDFA}", 180));
    query = query
        .company(long("\u{FDFA}", 180))
        .country(long("\u{FDFA}", 180));
    query = query
        .industry(long("\u{FDFA}", 180))
        .funding_stage(long("\u{FDFA}", 180));
    let item = |number: usize| format!("{}{number:02}", long("\u{1F600}", 178));
    query = query
        .companies((0..50).map(item))
        .categories((0..30).map(item));
    let query = query.build().expect("a query");
    assert_eq!(query.to_string().parse(), Ok(query));
}

#[test]
fn the_builder_reports_what_is_wrong_as_the_query_string_does() {
    let built = Query::builder()
        .exact("…")
        .limit(0)
        .funding_min(f64::NAN)
        .categories(["a", ""])
        .build();
    let errors = built.expect_err("four errors");
    let names: Vec<&str> = errors
        .errors()
        .iter()
        .map(|error| error.parameter.as_str())
        .collect();
    assert_eq!(names, ["exact", "limit", "fundingMin", "categories"]);
    let oldest = Query::builder()
        .order(Order::OldestFirst)
        .build()
        .expect("a valid query");
    assert_eq!(oldest.order(), Order::OldestFirst);
    assert_ne!(
        oldest.fingerprint(),
        Query::from_query_string("")
            .expect("a valid query")
            .fingerprint()
    );
}

/// The parameters that are wrong.
fn wrong_parameters(text: &str) -> Vec<String> {
    let Err(invalid) = Query::from_query_string(text) else {
        return Vec::new();
    };
    let errors = invalid.errors().iter();
    errors.map(|error| error.parameter.clone()).collect()
}

#[test]
fn numbers_are_written_as_json_writes_them() {
    for text in [
        "limit=05",
        "page=007",
        "days=07",
        "dateRanges=030",
        "ids=012",
        "fundingMin=007",
        "fundingMax=-0",
        "fundingMin=00.5",
        "fundingMin=01e3",
    ] {
        let name = text.split('=').next().expect("a name");
        assert_eq!(wrong_parameters(text), [name], "{text}");
    }
    for text in [
        "limit=5",
        "page=70",
        "fundingMin=0",
        "fundingMin=0.5",
        "fundingMax=1e-3",
    ] {
        assert!(wrong_parameters(text).is_empty(), "{text}");
    }
    let built = Query::builder().funding_min(-0.0).build();
    assert_eq!(built, Query::from_query_string("fundingMin=0"));
}

#[test]
fn white_space_around_an_item_is_not_part_of_it() {
    for (spaced, plain) in [
        ("categories= funding ,\thiring", "categories=funding,hiring"),
        (
            "companies=acme, \"Example, Inc.\" ",
            "companies=acme,\"Example, Inc.\"",
        ),
        ("ids=1, 2", "ids=1,2"),
        ("dateRanges=7, older", "dateRanges=7,older"),
        ("seniority= senior", "seniority=senior"),
    ] {
        assert_eq!(
            Query::from_query_string(spaced),
            Query::from_query_string(plain),
            "{spaced}"
        );
    }
    assert_eq!(wrong_parameters("categories=a, ,b"), ["categories"]);
    let built = Query::builder()
        .companies([" a slug, with spaces "])
        .build();
    let kept = Query::from_query_string("companies=\" a slug, with spaces \"");
    assert_eq!(built, kept, "quotes keep white space");
}

#[test]
fn a_count_takes_the_limit_that_generated_clients_send() {
    let query = Query::from_query_string("countOnly=true&limit=50").expect("no conflict");
    assert!(query.count_only());
    assert_eq!(wrong_parameters("countOnly=true&limit=51"), ["limit"]);
    assert_eq!(wrong_parameters("countOnly=true&page=1"), ["page"]);
    let again = query.clone().into_builder().build().expect("valid before");
    assert_eq!(again, query);
}

#[test]
fn values_fold_as_titles_do() -> Result<(), Box<dyn std::error::Error>> {
    let mut company = Company::new("cacao", "Cacaoyère d’Abidjan");
    company.country = Some("Côte d’Ivoire".into());
    let mut signal = Signal::new(SignalId::MIN, "cacao", "New plant");
    signal.category = Some("Funding".into());
    signal.hiring = Some(Hiring {
        seniority: Some("Senior".into()),
        ..Hiring::default()
    });
    let mut builder = IndexBuilder::in_memory();
    builder.add_company(&company)?;
    builder.add_signal(&signal)?;
    let snapshot = builder.finish()?.snapshot();
    let today = date!(2026 - 06 - 30);
    for text in [
        "country=Cote d'Ivoire",
        "country=CÔTE D’IVOIRE",
        "companies=cacaoyere d'abidjan",
        "categories=funding",
        "categories=FUNDING,hiring",
        "seniority=SENIOR",
    ] {
        let filter = Filter::from_query_string(text)?;
        assert!(filter.matches(&signal, &company, today), "{text}");
        assert_eq!(
            snapshot.count(&filter, today).expect("a whole index"),
            1,
            "{text}"
        );
        let facets = snapshot.facets(&filter, today).expect("a whole index");
        assert_eq!(
            facets.values(Facet::Category)[0].label(),
            "Funding",
            "{text}"
        );
    }
    assert_eq!(
        snapshot
            .count(&Filter::from_query_string("companies=CACAO")?, today)
            .expect("a whole index"),
        0,
        "slugs are exact"
    );
    Ok(())
}
