//! Companies over HTTP: they are what the law says, their faults are named with their conditions, and each is charged.

use std::collections::{BTreeMap, HashMap};

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use signaldex::query::{CompanyOrder, CompanyQuery, MatchedCompany};
use signaldex::{Company, Signal, SizeBucket, Snapshot, sample};
use signaldex_server::{Limits, NewKey, Quotas, Scope};

use crate::client::{self, Response};
use crate::export::Numbers;
use crate::fixture::{Fixture, Settings};
use crate::overload::{hold_charges, with_limits};

const NAME: (&str, &str) = ("idempotency-key", "companies-4711");

fn ask(fixture: &Fixture, query: &str) -> Response {
    fixture.get(&format!("/api/v1/companies?{query}"))
}

/// The sample corpus, read by the law alone.
struct Model {
    companies: Vec<Company<'static>>,
    signals: HashMap<String, Vec<Signal<'static>>>,
    profiles: HashMap<String, MatchedCompany<'static>>,
}

impl Model {
    fn new() -> Model {
        let snapshot = sample::index().expect("the sample corpus").snapshot();
        let mut signals: HashMap<String, Vec<Signal<'static>>> = HashMap::new();
        for found in snapshot.scan() {
            let signal = found.expect("a record").signal.into_owned();
            let of_company = signals.entry(signal.company_slug.to_string());
            of_company.or_default().push(signal);
        }
        let profiles = profiles(&snapshot);
        Model {
            companies: profiles
                .iter()
                .map(|item| item.profile.company.clone())
                .collect(),
            profiles: profiles
                .into_iter()
                .map(|item| (item.profile.company.slug.to_string(), item))
                .collect(),
            signals,
        }
    }

    /// All companies that fulfil a query, in its order, as the law has them.
    fn find(&self, query: &CompanyQuery) -> Vec<MatchedCompany<'static>> {
        let mut found: Vec<MatchedCompany<'static>> = Vec::new();
        for company in &self.companies {
            let signals = self
                .signals
                .get(&*company.slug)
                .map_or(&[][..], Vec::as_slice);
            if query
                .filter()
                .matches(company, signals.iter(), sample::AS_OF)
            {
                let mut item = self.profiles[&*company.slug].clone();
                let conditions = query.filter().has().iter();
                item.matches = conditions
                    .map(|condition| condition.matches_of(company, signals.iter(), sample::AS_OF))
                    .collect();
                found.push(item);
            }
        }
        found.sort_by(|a, b| query.order().compare(a, b));
        found
    }
}

/// Every company with its summary.
fn profiles(snapshot: &Snapshot) -> Vec<MatchedCompany<'static>> {
    let query = CompanyQuery::builder()
        .limit(100_000)
        .build()
        .expect("a query");
    let page = snapshot.companies(&query, sample::AS_OF).expect("a page");
    let items = page.into_items().into_iter();
    items.map(MatchedCompany::into_owned).collect()
}

/// A random condition.
fn condition(numbers: &mut Numbers) -> String {
    const FILTERS: [&str; 16] = [
        "categories=funding",
        "categories=hiring",
        "categories=hiring,\"launch;es\",funding",
        "q=raises",
        "q=\"series a\" -crypto",
        "q=robot*",
        "any=hires opens",
        "hiringType=new-role",
        "days=30",
        "days=90",
        "dateRanges=older",
        "dateFrom=2026-01-15;dateTo=2026-05-01",
        "fundingMin=1000000",
        "fundingStage=series a",
        "country=\"Germany\"",
        "country=Korea",
    ];
    const BOUNDS: [&str; 7] = [
        "",
        "",
        "min=2",
        "min=0;max=1",
        "max=3",
        "min=3;max=6",
        "min=0",
    ];
    let mut pairs = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for _ in 0..numbers.below(3) {
        let pair = FILTERS[numbers.below(FILTERS.len() as u64) as usize];
        let name = pair.split('=').next().expect("a name");
        // A name twice would be an error.
        if !names.contains(&name) {
            names.push(name);
            pairs.push(pair);
        }
    }
    let bound = BOUNDS[numbers.below(BOUNDS.len() as u64) as usize];
    pairs.extend((!bound.is_empty()).then_some(bound));
    format!("({})", pairs.join(";"))
}

/// A random query, as pairs.
fn query(numbers: &mut Numbers) -> BTreeMap<&'static str, String> {
    const OF_COMPANY: [(&str, &str); 10] = [
        ("country", "germany"),
        ("industry", "Robotics"),
        ("size", "101-500"),
        ("company", "a"),
        ("city", "berlin"),
        ("foundedFrom", "2005"),
        ("foundedTo", "2018"),
        ("employeesMin", "50"),
        ("employeesMax", "1000"),
        ("companies", "cpp-foundry,sao-bento-agro"),
    ];
    let mut pairs = BTreeMap::new();
    for _ in 0..numbers.below(3) {
        let (name, value) = OF_COMPANY[numbers.below(OF_COMPANY.len() as u64) as usize];
        pairs.insert(name, value.to_owned());
    }
    for name in ["has", "hasNot"] {
        let conditions: Vec<String> = (0..numbers.below(3)).map(|_| condition(numbers)).collect();
        if !conditions.is_empty() {
            pairs.insert(name, conditions.join(","));
        }
    }
    let order = CompanyOrder::ALL[numbers.below(3) as usize];
    pairs.insert("order", order.to_string());
    pairs
}

fn text_of(pairs: &BTreeMap<&'static str, String>) -> String {
    let encoded = |value: &str| utf8_percent_encode(value, NON_ALPHANUMERIC).to_string();
    let pairs = pairs.iter();
    let pairs: Vec<String> = pairs
        .map(|(name, value)| format!("{name}={}", encoded(value)))
        .collect();
    pairs.join("&")
}

#[test]
fn answers_to_random_queries_agree_with_the_law() {
    let (fixture, model) = (Fixture::start(), Model::new());
    let mut numbers = Numbers(1);
    let mut found_some = 0;
    for _ in 0..300 {
        let pairs = query(&mut numbers);
        let text = text_of(&pairs);
        let expected = model.find(&CompanyQuery::from_query_string(&text).expect(&text));
        let limit = 1 + numbers.below(50) as usize;
        let answer = ask(&fixture, &format!("{text}&limit={limit}"));
        assert_eq!(answer.status, 200, "{text}");
        let shown = &expected[..expected.len().min(limit)];
        let items: Vec<Value> = shown
            .iter()
            .map(|item| serde_json::from_slice(&signaldex::json::company_item(item)).expect("JSON"))
            .collect();
        assert_eq!(answer.records(), items, "{text}");
        assert_eq!(answer.charged(), items.len() as u64, "{text}");
        let has_more = expected.len() > limit;
        let next = answer.json()["data"]["nextCursor"].clone();
        assert_eq!(next.is_string(), has_more, "{text}");
        let count = ask(&fixture, &format!("{text}&countOnly=true"));
        let expected_count =
            json!({"data": {"items": [], "nextCursor": null, "count": expected.len()}});
        assert_eq!(count.json(), expected_count, "{text}");
        found_some += usize::from(!items.is_empty());
    }
    assert!(found_some > 100, "{found_some}");
}

#[test]
fn a_walk_by_cursor_or_number_has_each_company_once() {
    let (fixture, model) = (Fixture::start(), Model::new());
    for order in CompanyOrder::ALL {
        let text = format!("has=(categories=hiring)&order={order}");
        let expected = model.find(&CompanyQuery::from_query_string(&text).expect("a query"));
        let expected: Vec<String> = expected
            .iter()
            .map(|item| item.profile.company.slug.to_string())
            .collect();
        let mut walked = Vec::new();
        let mut next = String::new();
        // Each turn reads a page.
        loop {
            let answer = ask(&fixture, &format!("{text}&limit=7{next}"));
            walked.extend(answer.items());
            match answer.json()["data"]["nextCursor"].as_str() {
                Some(cursor) => next = format!("&cursor={cursor}"),
                None => break,
            }
        }
        assert_eq!(walked, expected, "{order}");
        let third = ask(&fixture, &format!("{text}&limit=7&page=3"));
        assert_eq!(
            third.items(),
            expected[14..expected.len().min(21)],
            "{order}"
        );
    }
}

#[test]
fn facets_count_companies_under_everything_but_their_own_filter() {
    let (fixture, model) = (Fixture::start(), Model::new());
    let answer = ask(
        &fixture,
        "country=Germany&has=(categories=hiring)&countOnly=true&facets=sizes,countries",
    );
    assert_eq!((answer.status, answer.charged()), (200, 0));
    let facets = answer.json()["data"]["facets"].clone();
    let names: Vec<&String> = facets.as_object().expect("lists").keys().collect();
    assert_eq!(names, ["countries", "sizes"]);
    for (name, query) in [
        ("countries", "has=(categories=hiring)"),
        ("sizes", "country=Germany&has=(categories=hiring)"),
    ] {
        let found = model.find(&CompanyQuery::from_query_string(query).expect("a query"));
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for item in &found {
            let company = &item.profile.company;
            let label = match name {
                "countries" => company.country.as_deref().map(str::to_owned),
                _ => {
                    let size = company.employees.and_then(SizeBucket::of);
                    size.map(|size| size.to_string())
                }
            };
            if let Some(label) = label {
                *counts.entry(label).or_default() += 1;
            }
        }
        let list = facets[name].as_array().expect("a list").iter();
        let answered: BTreeMap<String, u64> = list
            .map(|entry| {
                let value = entry["value"].as_str().expect("a value");
                (value.to_owned(), entry["count"].as_u64().expect("a count"))
            })
            .collect();
        assert_eq!(answered, counts, "{name}");
    }
}

/// The errors of an answer: parameter, code and message.
fn errors(answer: &Response) -> Vec<(String, String, String)> {
    let errors = answer.json()["errors"].clone();
    let errors = errors.as_array().expect("errors").iter();
    errors
        .map(|error| {
            let text = |name: &str| error[name].as_str().expect("a text").to_owned();
            (text("parameter"), text("code"), text("message"))
        })
        .collect()
}

#[test]
fn faults_of_conditions_are_named_with_their_number_and_code() {
    let fixture = Fixture::start();
    for (conditions, faults) in [
        ("", vec![("empty_value", "has is empty")]),
        (
            "x",
            vec![("invalid_value", "condition 1: does not begin with a (")],
        ),
        (
            "(q=a",
            vec![("invalid_value", "condition 1: is not closed")],
        ),
        (
            "(q=\"a)",
            vec![(
                "invalid_value",
                "condition 1: has a quote that is not closed",
            )],
        ),
        (
            "(q=a(b)",
            vec![("invalid_value", "condition 1: has a ( outside of quotes")],
        ),
        (
            "()()",
            vec![(
                "invalid_value",
                "condition 1: is followed by other text than a comma",
            )],
        ),
        (
            "(),",
            vec![("invalid_value", "condition 2: does not begin with a (")],
        ),
        (
            "(),(),(),(),()",
            vec![("too_many_items", "has has 5 conditions; at most 4")],
        ),
        (
            "(q)",
            vec![("invalid_value", "condition 1: \"q\" has no =")],
        ),
        ("(),(q=)", vec![("empty_value", "condition 2: q is empty")]),
        (
            "(ids=1)",
            vec![("unknown_parameter", "condition 1: \"ids\"")],
        ),
        (
            "(activityIds=1)",
            vec![("unknown_parameter", "condition 1: \"activityIds\"")],
        ),
        (
            "(limit=1)",
            vec![("unknown_parameter", "condition 1: \"limit\"")],
        ),
        (
            "(cuntry=a)",
            vec![("unknown_parameter", "did you mean country?")],
        ),
        ("(q=a;q=b)", vec![("repeated_parameter", "condition 1: q")]),
        ("(days=8)", vec![("invalid_value", "condition 1: days")]),
        ("(size=2)", vec![("invalid_value", "condition 1: size")]),
        ("(q=!)", vec![("unsearchable_text", "condition 1: q")]),
        ("(q=ro*)", vec![("unsearchable_text", "condition 1: q")]),
        (
            "(dateFrom=2026-02-30)",
            vec![("invalid_value", "condition 1: dateFrom")],
        ),
        (
            "(dateFrom=2026-02-03;dateTo=2026-02-01)",
            vec![("conflicting_parameters", "condition 1: dateFrom")],
        ),
        (
            "(fundingMin=2;fundingMax=1)",
            vec![("conflicting_parameters", "condition 1: fundingMin")],
        ),
        (
            "(min=3;max=2)",
            vec![("conflicting_parameters", "condition 1: min 3 is over max 2")],
        ),
        (
            "(max=0)",
            vec![("conflicting_parameters", "condition 1: min 1 is over max 0")],
        ),
        ("(min=05)", vec![("invalid_value", "condition 1: min")]),
        (
            "(max=1000000000)",
            vec![("invalid_value", "condition 1: max")],
        ),
        (
            "(country=\"a\"b)",
            vec![("invalid_value", "condition 1: country")],
        ),
        (
            "(days=8;min=x),(size=2)",
            vec![
                ("invalid_value", "condition 1: days"),
                ("invalid_value", "condition 1: min"),
                ("invalid_value", "condition 2: size"),
            ],
        ),
    ] {
        for name in ["has", "hasNot"] {
            let encoded = utf8_percent_encode(conditions, NON_ALPHANUMERIC);
            let answer = ask(&fixture, &format!("{name}={encoded}"));
            assert_eq!(answer.status, 400, "{conditions}");
            let found = errors(&answer);
            assert_eq!(found.len(), faults.len(), "{conditions}: {found:?}");
            for ((parameter, code, message), (expected, part)) in found.iter().zip(&faults) {
                assert_eq!((&**parameter, &**code), (name, *expected), "{conditions}");
                let part = match *part {
                    "has is empty" => format!("{name} is empty"),
                    part => part.replace("has has", &format!("{name} has")),
                };
                assert!(
                    message.starts_with(name) && message.contains(&part),
                    "{message}"
                );
            }
        }
    }
}

#[test]
fn faults_of_parameters_are_named_all_at_once() {
    let fixture = Fixture::start();
    for (query, faults) in [
        ("ids=1", vec![("ids", "unknown_parameter")]),
        (
            "categories=funding",
            vec![("categories", "unknown_parameter")],
        ),
        ("measures=sum", vec![("measures", "unknown_parameter")]),
        ("has=()&has=()", vec![("has", "repeated_parameter")]),
        ("city=", vec![("city", "empty_value")]),
        ("foundedFrom=10000", vec![("foundedFrom", "invalid_value")]),
        (
            "foundedFrom=2001&foundedTo=2000",
            vec![("foundedFrom", "conflicting_parameters")],
        ),
        (
            "employeesMin=2&employeesMax=1",
            vec![("employeesMin", "conflicting_parameters")],
        ),
        (
            "employeesMax=1000000000000000",
            vec![("employeesMax", "invalid_value")],
        ),
        ("employeesMax=-1", vec![("employeesMax", "invalid_value")]),
        ("order=newest", vec![("order", "invalid_value")]),
        ("limit=0", vec![("limit", "invalid_value")]),
        ("limit=51", vec![("limit", "invalid_value")]),
        ("page=101", vec![("page", "invalid_value")]),
        ("cursor=x", vec![("cursor", "invalid_cursor")]),
        ("facets=sizes", vec![("facets", "conflicting_parameters")]),
        (
            "facets=categories&countOnly=true",
            vec![("facets", "invalid_value")],
        ),
        (
            "page=1&countOnly=true",
            vec![("page", "conflicting_parameters")],
        ),
        (
            "city=&has=(days=8)&hasNot=x&limit=05&q=a",
            vec![
                ("q", "unknown_parameter"),
                ("limit", "invalid_value"),
                ("city", "empty_value"),
                ("has", "invalid_value"),
                ("hasNot", "invalid_value"),
            ],
        ),
    ] {
        let answer = ask(&fixture, query);
        assert_eq!(answer.status, 400, "{query}");
        let found = errors(&answer);
        let mut found: Vec<(&str, &str)> = found
            .iter()
            .map(|(parameter, code, _)| (&**parameter, &**code))
            .collect();
        let mut faults = faults.clone();
        found.sort_unstable();
        faults.sort_unstable();
        assert_eq!(found, faults, "{query}");
    }
    // Where a filter of signals belongs.
    let answer = ask(&fixture, "categories=funding");
    assert!(
        errors(&answer)[0].2.contains("has=(categories="),
        "{}",
        errors(&answer)[0].2
    );
}

#[test]
fn each_bound_holds_at_its_end_and_not_one_past_it() {
    let fixture = Fixture::start();
    let long = |chars: usize| "a".repeat(chars);
    for (pair, status) in [
        (format!("city={}", long(180)), 200),
        (format!("city={}", long(181)), 400),
        ("foundedTo=9999".to_owned(), 200),
        ("foundedTo=10000".to_owned(), 400),
        ("employeesMin=999999999999999".to_owned(), 200),
        ("employeesMin=1000000000000000".to_owned(), 400),
        ("has=(),(),(),()".to_owned(), 200),
        ("has=(),(),(),(),()".to_owned(), 400),
        ("has=(min=999999999)".to_owned(), 200),
        ("has=(min=1000000000)".to_owned(), 400),
        ("has=(min=0)".to_owned(), 200),
        ("has=(min=0;max=0)".to_owned(), 200),
        ("limit=1".to_owned(), 200),
        ("limit=50".to_owned(), 200),
        ("limit=51".to_owned(), 400),
        ("page=100".to_owned(), 200),
        ("page=101".to_owned(), 400),
        (format!("cursor={}", long(2049)), 400),
    ] {
        assert_eq!(
            ask(&fixture, &pair).status,
            status,
            "{}",
            &pair[..pair.len().min(60)]
        );
    }
    let too_long = format!("has=({})", " ".repeat(7999));
    let found = errors(&ask(&fixture, &utf8_percent_encode_value(&too_long)));
    assert_eq!(found[0].1, "too_long");
    let longest = format!("has=({})", " ".repeat(7998));
    assert_eq!(
        ask(&fixture, &utf8_percent_encode_value(&longest)).status,
        200
    );
    for (chars, code) in [(2048, "invalid_cursor"), (2049, "too_long")] {
        let found = errors(&ask(&fixture, &format!("cursor={}", long(chars))));
        assert_eq!(found[0].1, code, "{chars}");
    }
}

/// Encodes the value of a pair.
fn utf8_percent_encode_value(pair: &str) -> String {
    let (name, value) = pair.split_once('=').expect("a pair");
    format!("{name}={}", utf8_percent_encode(value, NON_ALPHANUMERIC))
}

#[test]
fn cursors_are_bound_to_filters_and_order() {
    let fixture = Fixture::start();
    let first = ask(&fixture, "has=(categories=hiring)&limit=2");
    let cursor = first.json()["data"]["nextCursor"]
        .as_str()
        .expect("a cursor")
        .to_owned();
    let code = |query: &str| {
        errors(&ask(&fixture, &format!("{query}&cursor={cursor}")))[0]
            .1
            .clone()
    };
    assert_eq!(
        ask(
            &fixture,
            &format!("has=(+categories=hiring+)&limit=9&cursor={cursor}")
        )
        .status,
        200
    );
    for other in [
        "has=(categories=funding)",
        "",
        "has=(categories=hiring)&order=-latest",
        "has=(categories=hiring)&city=Berlin",
    ] {
        assert_eq!(code(other), "cursor_mismatch", "{other}");
    }
    let conflict = format!("has=(categories=hiring)&page=1&cursor={cursor}");
    assert_eq!(
        errors(&ask(&fixture, &conflict))[0].1,
        "conflicting_parameters"
    );
    // A cursor of signals is none of companies.
    let signals = fixture.search("limit=1").json()["data"]["nextCursor"]
        .as_str()
        .expect("a cursor")
        .to_owned();
    assert_eq!(
        errors(&ask(&fixture, &format!("cursor={signals}")))[0].1,
        "invalid_cursor"
    );
}

#[test]
fn what_the_client_has_is_neither_sent_nor_counted_nor_charged_again() {
    let fixture = Fixture::start();
    for query in [
        "has=(categories=hiring)&limit=4",
        "has=()&countOnly=true&facets=sizes",
    ] {
        let first = ask(&fixture, query);
        let tag = first.header("etag").expect("a tag").to_owned();
        let target = format!("/api/v1/companies?{query}");
        let again = fixture.send("GET", &target, &[("if-none-match", &tag)]);
        assert_eq!((again.status, again.charged()), (304, 0), "{query}");
        let head = fixture.send("HEAD", &target, &[]);
        assert_eq!(head.header("etag"), Some(&*tag), "{query}");
        assert_eq!((head.charged(), head.body.len()), (0, 0), "{query}");
        let same = fixture.get(&format!("{target}&order=slug"));
        assert_eq!(same.header("etag"), Some(&*tag), "{query}");
        let other = ask(&fixture, &format!("{query}&city=Berlin"));
        assert_ne!(other.header("etag"), Some(&*tag), "{query}");
    }
}

fn with_quota(companies: u64) -> Fixture {
    let quotas = Quotas {
        companies: Some(companies),
        ..Quotas::default()
    };
    Fixture::with(Settings {
        key: NewKey {
            quotas,
            ..Settings::default().key
        },
        ..Settings::default()
    })
}

#[test]
fn companies_are_charged_as_a_search_is() {
    let fixture = with_quota(10);
    let target = |limit: u32| {
        format!("/api/v1/companies?has=(categories=hiring)&order=-matches&limit={limit}")
    };
    let first = fixture.send("GET", &target(4), &[NAME]);
    assert_eq!((first.charged(), first.items().len()), (4, 4));
    assert_eq!(first.header("x-usage-remaining"), Some("6"));
    // A repetition is free, and bound to its parameters.
    let again = fixture.send("GET", &target(4), &[NAME]);
    assert_eq!((again.charged(), &again.body), (0, &first.body));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    for other in [
        &target(5),
        "/api/v1/companies?limit=4",
        "/api/v1/signals?limit=4",
    ] {
        let other = fixture.send("GET", other, &[NAME]);
        assert_eq!(other.json()["code"], "idempotency_key_reused");
    }
    assert_eq!(fixture.get(&target(1)).charged(), 1);
    // What is left is given, with the cursor after it, and then nothing.
    let name = ("idempotency-key", "companies-4712");
    let cut = fixture.send("GET", &target(50), &[name]);
    assert_eq!((cut.charged(), cut.items().len()), (5, 5));
    assert_eq!(cut.header("x-usage-remaining"), Some("0"));
    assert_eq!(cut.items()[..4], first.items()[..]);
    let again = fixture.send("GET", &target(50), &[name]);
    assert_eq!((again.charged(), &again.body), (0, &cut.body));
    let refused = fixture.get(&target(1));
    assert_eq!(
        (refused.status, refused.json()["code"].as_str()),
        (402, Some("quota_exceeded"))
    );
    assert_eq!(ask(&fixture, "countOnly=true").status, 200);
    assert_eq!(fixture.send("HEAD", &target(1), &[]).status, 402);
    // The walk goes on where the quota cut it.
    let other = fixture.other_key(&Settings::default().key);
    let key = format!("Bearer {}", other.as_str());
    let cursor = cut.json()["data"]["nextCursor"]
        .as_str()
        .expect("a cursor")
        .to_owned();
    let as_other = |target: &str| fixture.send_as_is("GET", target, &[("authorization", &key)]);
    let rest = as_other(&format!("{}&cursor={cursor}", target(50)));
    let all = as_other(&target(50)).items();
    let joined = [cut.items(), rest.items()].concat();
    assert_eq!(joined[..all.len()], all[..]);
}

#[test]
fn a_page_without_a_company_is_free() {
    let fixture = with_quota(1);
    let name = ("idempotency-key", "companies-4713");
    for _ in 0..2 {
        let none = fixture.send("GET", "/api/v1/companies?country=Nowhere", &[name]);
        assert_eq!((none.status, none.charged()), (200, 0));
        assert_eq!(none.header("idempotency-replayed"), None);
    }
}

#[test]
fn what_could_not_be_charged_is_not_answered() {
    let fixture = with_limits(Limits {
        request_time: std::time::Duration::from_millis(600),
        ..Limits::default()
    });
    let blocker = hold_charges(&fixture);
    let refused = ask(&fixture, "limit=3");
    assert_eq!((refused.status, refused.charged()), (503, 0));
    drop(blocker);
    assert_eq!(ask(&fixture, "limit=3").charged(), 3);
}

#[test]
fn companies_need_their_scope() {
    let fixture = Fixture::start();
    let scoped = |scope: Scope| {
        let key = NewKey {
            scopes: [scope].into_iter().collect(),
            ..NewKey::named(scope.as_str())
        };
        format!("Bearer {}", fixture.other_key(&key).as_str())
    };
    for (scope, status) in [(Scope::SignalsRead, 403), (Scope::CompaniesRead, 200)] {
        let key = scoped(scope);
        for target in [
            "/api/v1/companies?limit=1",
            "/api/v1/companies?countOnly=true",
        ] {
            let headers = [("authorization", &*key)];
            assert_eq!(
                fixture.send_as_is("GET", target, &headers).status,
                status,
                "{target}"
            );
        }
    }
}

#[test]
fn quotes_and_parentheses_may_be_sent_bare_or_encoded() {
    let fixture = Fixture::start();
    let bare = ask(&fixture, "has=(q=%22series+a%22;min=1)&limit=3");
    let encoded = ask(&fixture, "has=%28q%3D%22series%20a%22%3Bmin%3D1%29&limit=3");
    assert_eq!((bare.status, &bare.body), (200, &encoded.body));
    assert!(!bare.items().is_empty());
    let address = fixture.address;
    let without_key = client::request(address, "GET", "/api/v1/companies", &[]);
    assert_eq!(without_key.status, 401);
}
