//! The bodies of all errors, compared with the ones that are kept.

use std::path::Path;

use serde_json::Value;
use signaldex_server::{Limits, NewKey, Quotas, Scopes};

use crate::client::Response;
use crate::contract::next_month;
use crate::fixture::{Fixture, Settings};
use crate::overload;

/// Set to write the golden file anew.
const UPDATE: &str = "SIGNALDEX_BLESS";

/// Compares text with a golden file.
pub(crate) fn assert_golden(name: &str, text: &str) {
    assert_kept(&format!("data/golden/{name}"), text);
}

/// Compares text with a file of the repository.
fn assert_kept(path: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    if std::env::var_os(UPDATE).is_some() {
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == expected,
        "{} differs; set {UPDATE}=1 to write it anew",
        path.display()
    );
}

fn shown(target: &str, answer: &Response) -> String {
    let mut body = answer.json();
    assert_eq!(
        answer.header("content-type"),
        Some("application/problem+json"),
        "{target}"
    );
    assert_eq!(body["status"], answer.status, "{target}");
    assert_eq!(
        body["requestId"].as_str(),
        answer.header("x-request-id"),
        "{target}"
    );
    body["requestId"] = "<id>".into();
    let detail = body["detail"].as_str().expect("a detail");
    body["detail"] = detail.replace(&next_month(), "<day>").into();
    let target: String = target.chars().take(100).collect();
    format!(
        "{target}\n{}\n\n",
        serde_json::to_string_pretty(&body).expect("JSON")
    )
}

#[test]
fn every_error_reads_as_it_did() {
    let mut text = String::new();
    let fixture = Fixture::start();
    let long = "x".repeat(1001);
    let many = vec!["1"; 51].join(",");
    let cursor = fixture.search("limit=1").json()["data"]["nextCursor"]
        .as_str()
        .expect("a cursor")
        .to_owned();
    for query in [
        "unheardOf=1",
        "days=7&days=7",
        "country=",
        "limit=51",
        &format!("q={long}"),
        &format!("ids={many}"),
        "fundingMin=2&fundingMax=1",
        "dateFrom=2026-02-01&dateTo=2026-01-01",
        "q=%21%21",
        "q=%ff",
        "q=%zz",
        "cursor=nonsense",
        &format!("q=raises&cursor={cursor}"),
        &format!("page=1&cursor={cursor}"),
        "countOnly=true&page=1",
        "page=0&days=8&size=2&fundingCurrency=CHF&ids=007",
    ] {
        let query = query.to_owned();
        text.push_str(&shown(&query, &fixture.search(&query)));
    }
    for target in [
        "/nowhere",
        "/api/v1/signals/1",
        "/api/v1/signals/x",
        "/api/v1/companies/none",
        "/api/v1/companies/%ff",
        "/healthz?x=1",
    ] {
        text.push_str(&shown(target, &fixture.get(target)));
    }
    text.push_str(&shown(
        "POST /api/v1/signals",
        &fixture.send("POST", "/api/v1/signals", &[]),
    ));
    text.push_str(&shown(
        "no key",
        &fixture.send_as_is("GET", "/api/v1/signals", &[]),
    ));
    text.push_str(&shown(
        "short Idempotency-Key",
        &fixture.send("GET", "/api/v1/signals", &[("idempotency-key", "short")]),
    ));
    let name = ("idempotency-key", "golden-4711");
    fixture.send("GET", "/api/v1/signals?limit=1", &[name]);
    text.push_str(&shown(
        "reused Idempotency-Key",
        &fixture.send("GET", "/api/v1/signals?limit=2", &[name]),
    ));
    text.push_str(&shown(
        "a damaged position",
        &fixture.get("/api/v1/changes?since=AAAA"),
    ));
    let position = Fixture::start().get("/api/v1/changes").json()["data"]["next"].clone();
    let position = position.as_str().expect("a position");
    text.push_str(&shown(
        "a position of another index",
        &fixture.get(&format!("/api/v1/changes?since={position}")),
    ));
    text.push_str(&shown(
        "a cursor of the search for changes",
        &fixture.get("/api/v1/changes?cursor=x&countOnly=true"),
    ));
    text.push_str(&shown(
        "what an export does not take",
        &fixture.get("/api/v1/export?limit=5&maxItems=0&after=x&format=xlsx"),
    ));
    text.push_str(&shown("URI too long", &fixture.search(&"&".repeat(64_000))));
    text.push_str(&errors_of_a_poor_key());
    let fixture = Fixture::with(Settings {
        limits: Limits {
            in_flight: 0,
            ..Limits::default()
        },
        ..Settings::default()
    });
    text.push_str(&shown("overload", &fixture.search("")));
    text.push_str(&shown(
        "Idempotency-Key under way",
        &overload::request_in_progress(),
    ));
    text.push_str(&shown("a damaged record", &overload::damaged_record()));
    assert_golden("errors.txt", &text);
    let problems = serde_json::to_string_pretty(&problems_of(&text)).expect("JSON");
    assert_kept(
        "crates/server/src/openapi/problems.json",
        &(problems + "\n"),
    );
}

/// The errors that the OpenAPI document shows: by what they follow in the golden file, their status and name.
const DOCUMENTED: [[&str; 3]; 17] = [
    ["unheardOf=1", "400", "unknown_parameter"],
    [
        "page=0&days=8&size=2&fundingCurrency=CHF&ids=007",
        "400",
        "several",
    ],
    ["cursor=nonsense", "400", "invalid_cursor"],
    ["no key", "401", "unauthorized"],
    ["quota", "402", "quota_exceeded"],
    ["scope", "403", "forbidden"],
    ["/api/v1/signals/1", "404", "signal"],
    ["/api/v1/companies/none", "404", "company"],
    ["Idempotency-Key under way", "409", "request_in_progress"],
    ["URI too long", "414", "uri_too_long"],
    ["reused Idempotency-Key", "422", "idempotency_key_reused"],
    ["rate", "429", "rate_limited"],
    ["a damaged record", "500", "internal"],
    ["overload", "503", "overloaded"],
    ["short Idempotency-Key", "400", "idempotency_key"],
    ["a damaged position", "400", "invalid_position"],
    ["a position of another index", "410", "position_expired"],
];

fn problems_of(golden: &str) -> Value {
    let mut problems = Value::Object(serde_json::Map::new());
    for [title, status, name] in DOCUMENTED {
        let entry = golden.split("\n\n").find_map(|entry| {
            let (first, body) = entry.split_once('\n')?;
            (first == title).then_some(body)
        });
        let body = entry.unwrap_or_else(|| panic!("{title} is in the golden file"));
        let body = body.replace("<id>", "5d0c3f1a0000000017");
        let body = body.replace("<day>", "2026-12-01");
        problems[status][name] = serde_json::from_str(&body).expect("JSON");
    }
    problems
}

fn errors_of_a_poor_key() -> String {
    let quotas = Quotas {
        signals: Some(0),
        ..Quotas::default()
    };
    let scopes = Scopes::parse("signals:read").expect("a scope");
    let key = NewKey {
        quotas,
        scopes,
        rate: 1,
        burst: 2,
        ..NewKey::named("poor")
    };
    let fixture = Fixture::with(Settings {
        key,
        ..Settings::default()
    });
    let quota = shown("quota", &fixture.search(""));
    let scope = shown("scope", &fixture.get("/api/v1/companies/pomelora"));
    quota + &scope + &shown("rate", &fixture.search(""))
}
