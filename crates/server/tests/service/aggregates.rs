//! Aggregates over HTTP: they are what the law says, their faults are named, and groups by company are charged.

use serde_json::Value;
use signaldex::json::AggregateAnswer;
use signaldex::query::ParameterSet;
use signaldex::{AggregateQuery, Found, Snapshot, sample};
use signaldex_server::{NewKey, Quotas, Scope};

use crate::client::Response;
use crate::fixture::{Fixture, Settings};

const NAME: (&str, &str) = ("idempotency-key", "companies-4711");

fn ask(fixture: &Fixture, query: &str) -> Response {
    fixture.get(&format!("/api/v1/aggregates?{query}"))
}

/// The groups of an answer.
fn groups(answer: &Response) -> Vec<Value> {
    let body = answer.json();
    body["data"]["groups"].as_array().expect("groups").clone()
}

/// What the law says of a query, as JSON.
fn law(snapshot: &Snapshot, query: &str) -> Value {
    let query = AggregateQuery::from_query_string(query, ParameterSet::FILTERS_WITHOUT_IDS);
    let query = query.expect("a query");
    let records: signaldex::Result<Vec<Found<'_>>> = snapshot.scan().collect();
    let records = records.expect("records");
    let records = records.iter().map(|found| (&found.signal, &found.company));
    let aggregates = query.of(records, sample::AS_OF);
    let answer = AggregateAnswer {
        query: &query,
        aggregates: &aggregates,
    };
    serde_json::from_slice(&answer.to_bytes()).expect("JSON")
}

#[test]
fn answers_agree_with_the_law() {
    let fixture = Fixture::start();
    let snapshot = sample::index().expect("the sample corpus").snapshot();
    for query in [
        "",
        "q=raises&measures=companies,sum,min,max,median,p25,p75",
        "by=day&measures=companies",
        "by=week&country=Germany",
        "by=month&measures=sum,median&order=-key&limit=5",
        "by=quarter,countries&measures=companies,p25,p75&fundingCurrency=EUR&order=-sum&limit=20",
        "by=year&order=-count",
        "by=countries,industries&measures=min,max&q=robot*",
        "by=sizes,fundingStages",
        "by=categories,month&limit=1000",
        "by=fundingCurrencies&measures=sum",
        "by=hiringTypes,seniorities",
        "by=jobFunctions",
        "by=employmentTypes,workArrangements",
        "by=company",
        "by=company&limit=1000&order=key&measures=sum,companies",
        "by=company&fundingCurrency=USD&measures=sum&order=-sum&limit=7",
        "by=month&country=Nowhere&measures=sum",
    ] {
        let answer = ask(&fixture, query);
        assert_eq!(answer.status, 200, "{query}");
        assert_eq!(answer.json(), law(&snapshot, query), "{query}");
        let names_companies = query.contains("by=company");
        let units = if names_companies {
            groups(&answer).len() as u64
        } else {
            0
        };
        assert_eq!(answer.charged(), units, "{query}");
        assert_eq!(
            answer.header("x-usage-charged"),
            Some(&*units.to_string()),
            "{query}"
        );
    }
}

#[test]
fn faults_of_parameters_are_named() {
    let fixture = Fixture::start();
    for (query, faults) in [
        ("ids=1", vec![("ids", "unknown_parameter")]),
        ("activityIds=1", vec![("activityIds", "unknown_parameter")]),
        (
            "cursor=a&page=1",
            vec![
                ("cursor", "unknown_parameter"),
                ("page", "unknown_parameter"),
            ],
        ),
        ("facets=sizes", vec![("facets", "unknown_parameter")]),
        ("by=", vec![("by", "empty_value")]),
        ("by=country", vec![("by", "invalid_value")]),
        ("by=month,month", vec![("by", "invalid_value")]),
        ("by=month,day", vec![("by", "conflicting_parameters")]),
        ("by=company,day", vec![("by", "conflicting_parameters")]),
        ("by=sizes,day,countries", vec![("by", "too_many_items")]),
        ("by=sizes&by=day", vec![("by", "repeated_parameter")]),
        ("measures=mean", vec![("measures", "invalid_value")]),
        ("order=count", vec![("order", "invalid_value")]),
        ("order=-sum", vec![("order", "conflicting_parameters")]),
        ("limit=0", vec![("limit", "invalid_value")]),
        ("limit=1001", vec![("limit", "invalid_value")]),
        (
            "country=&limit=05",
            vec![("country", "empty_value"), ("limit", "invalid_value")],
        ),
    ] {
        let answer = ask(&fixture, query);
        assert_eq!(answer.status, 400, "{query}");
        let errors = answer.json()["errors"].clone();
        let found: Vec<(&str, &str)> = errors
            .as_array()
            .expect("errors")
            .iter()
            .map(|error| {
                let text = |name: &str| error[name].as_str().expect("a text");
                (text("parameter"), text("code"))
            })
            .collect();
        assert_eq!(found, faults, "{query}");
    }
}

#[test]
fn what_the_client_has_is_neither_sent_nor_counted_nor_charged_again() {
    let fixture = Fixture::start();
    for query in ["by=month&measures=sum", "by=company&limit=4"] {
        let first = ask(&fixture, query);
        let tag = first.header("etag").expect("a tag").to_owned();
        let target = format!("/api/v1/aggregates?{query}");
        let again = fixture.send("GET", &target, &[("if-none-match", &tag)]);
        assert_eq!((again.status, again.charged()), (304, 0), "{query}");
        let head = fixture.send("HEAD", &target, &[]);
        assert_eq!(head.header("etag"), Some(&*tag), "{query}");
        let other = ask(&fixture, &format!("{query}&q=raises"));
        assert_ne!(other.header("etag"), Some(&*tag), "{query}");
    }
}

#[test]
fn groups_by_company_are_charged_as_a_search_is() {
    let quotas = Quotas {
        companies: Some(10),
        ..Quotas::default()
    };
    let fixture = Fixture::with(Settings {
        key: NewKey {
            quotas,
            ..Settings::default().key
        },
        ..Settings::default()
    });
    let first = fixture.send("GET", "/api/v1/aggregates?by=company&limit=4", &[NAME]);
    assert_eq!((first.charged(), groups(&first).len()), (4, 4));
    assert_eq!(first.header("x-usage-remaining"), Some("6"));
    // A repetition is free, and bound to its parameters.
    let again = fixture.send("GET", "/api/v1/aggregates?by=company&limit=4", &[NAME]);
    assert_eq!((again.charged(), &again.body), (0, &first.body));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    for other in ["aggregates?by=company&limit=5", "aggregates", "signals"] {
        let other = fixture.send("GET", &format!("/api/v1/{other}"), &[NAME]);
        assert_eq!(other.json()["code"], "idempotency_key_reused");
    }
    // What is left is given, and then nothing.
    let whole = ask(&fixture, "by=company&limit=1");
    assert_eq!(whole.charged(), 1);
    let cut = fixture.send(
        "GET",
        "/api/v1/aggregates?by=company&limit=50",
        &[("idempotency-key", "companies-4712")],
    );
    assert_eq!((cut.charged(), groups(&cut).len()), (5, 5));
    assert_eq!(cut.header("x-usage-remaining"), Some("0"));
    assert_eq!(cut.json()["data"]["truncated"], true);
    assert_eq!(groups(&cut)[..4], groups(&first)[..]);
    let again = fixture.send(
        "GET",
        "/api/v1/aggregates?by=company&limit=50",
        &[("idempotency-key", "companies-4712")],
    );
    assert_eq!((again.charged(), &again.body), (0, &cut.body));
    let refused = ask(&fixture, "by=company&limit=1");
    assert_eq!(
        (refused.status, refused.json()["code"].as_str()),
        (402, Some("quota_exceeded"))
    );
    // What is free is not kept, and needs no units.
    for _ in 0..2 {
        let free = fixture.send(
            "GET",
            "/api/v1/aggregates?by=month",
            &[("idempotency-key", "months-4711")],
        );
        assert_eq!((free.status, free.charged()), (200, 0));
        assert_eq!(free.header("idempotency-replayed"), None);
    }
}

#[test]
fn groups_by_company_need_the_scope_of_companies() {
    let fixture = Fixture::start();
    let scoped = |scope: Scope| {
        let key = NewKey {
            scopes: [scope].into_iter().collect(),
            ..NewKey::named(scope.as_str())
        };
        format!("Bearer {}", fixture.other_key(&key).as_str())
    };
    let (signals, companies) = (scoped(Scope::SignalsRead), scoped(Scope::CompaniesRead));
    for (key, query, status) in [
        (&signals, "by=month", 200),
        (&signals, "by=company", 403),
        (&companies, "by=month", 403),
        (&companies, "by=company", 403),
    ] {
        let target = format!("/api/v1/aggregates?{query}");
        let answer = fixture.send_as_is("GET", &target, &[("authorization", key)]);
        assert_eq!(answer.status, status, "{query}");
    }
}
