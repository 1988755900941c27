//! What calls are charged: as the same questions to the API are, whatever the quota, and once however
//! often they are repeated.

use serde_json::{Value, json};
use signaldex_server::{ApiKey, Counter, Counts, Limits, NewKey, Quotas, Scope};

use super::{call, content, error_text, headers_of};
use crate::client::{self, Response};
use crate::fixture::Fixture;
use crate::overload::with_limits;

/// Tools with their arguments, and the same questions to the API.
fn questions() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        (
            "search",
            json!({"q": "\"series a\"", "limit": 3}),
            "signals?q=%22series+a%22&limit=3",
        ),
        (
            "search",
            json!({"q": "nothinglikethis"}),
            "signals?q=nothinglikethis",
        ),
        (
            "search",
            json!({"companies": ["sao-bento-agro"], "limit": 50.0}),
            "signals?companies=sao-bento-agro",
        ),
        ("search", json!({"limit": 0}), "signals?limit=0"),
        (
            "count",
            json!({"country": "Germany"}),
            "signals?country=Germany&countOnly=true",
        ),
        (
            "options",
            json!({"facets": ["sizes"]}),
            "filter-options?facets=sizes",
        ),
        (
            "signal",
            json!({"id": "7477456168553964859"}),
            "signals/7477456168553964859",
        ),
        ("signal", json!({"id": "1"}), "signals/1"),
        (
            "company",
            json!({"slug": "sao-bento-agro"}),
            "companies/sao-bento-agro",
        ),
        ("company", json!({"slug": "no such"}), "companies/no%20such"),
        ("changes", json!({}), "changes"),
        (
            "changes",
            json!({"since": "start", "limit": 4}),
            "changes?since=start&limit=4",
        ),
        ("changes", json!({"since": "never"}), "changes?since=never"),
        (
            "aggregate",
            json!({"by": ["month"], "measures": ["sum"]}),
            "aggregates?by=month&measures=sum",
        ),
        (
            "aggregate",
            json!({"by": ["company"], "country": "Germany", "limit": 3}),
            "aggregates?by=company&country=Germany&limit=3",
        ),
        (
            "aggregate",
            json!({"by": ["company", "month"]}),
            "aggregates?by=company,month",
        ),
        (
            "companies",
            json!({"has": [{"categories": ["hiring"], "min": 2}], "limit": 3}),
            "companies?has=(categories=hiring;min=2)&limit=3",
        ),
        (
            "companies",
            json!({"has": [{}], "countOnly": true}),
            "companies?has=()&countOnly=true",
        ),
        (
            "companies",
            json!({"has": [{"days": 8}]}),
            "companies?has=(days=8)",
        ),
    ]
}

/// Calls a tool under another key of the fixture.
fn call_as(fixture: &Fixture, key: &ApiKey, tool: &str, arguments: Value) -> Response {
    let message = call(tool, arguments);
    let authorization = format!("Bearer {}", key.as_str());
    let headers = headers_of(&message);
    let mut headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    headers.push(("authorization", &authorization));
    let answer = client::post(
        fixture.address,
        "/mcp",
        &headers,
        message.to_string().as_bytes(),
    );
    fixture.note(answer.charged());
    answer
}

fn ask_as(fixture: &Fixture, key: &ApiKey, target: &str) -> Response {
    let authorization = format!("Bearer {}", key.as_str());
    let target = format!("/api/v1/{target}");
    fixture.send_as_is("GET", &target, &[("authorization", &authorization)])
}

/// What is recorded of a key, the free answers of the last second left out.
fn recorded(fixture: &Fixture, name: &str) -> Counts {
    let usage = fixture.state().usage(None).expect("usage");
    let line = usage.iter().find(|line| line.name == name);
    let mut counts = line.map_or(Counts::default(), |line| line.counts);
    counts[Counter::FreeAnswers as usize] = 0;
    counts
}

#[test]
fn a_tool_is_charged_as_the_api_is() {
    let fixture = Fixture::start();
    for quota in [None, Some(0), Some(2), Some(100)] {
        let named = |front: &str| NewKey {
            quotas: Quotas {
                signals: quota,
                activities: quota,
                companies: quota,
                ..Quotas::default()
            },
            rate: 100_000,
            burst: 100_000,
            ..NewKey::named(format!("{front} {quota:?}"))
        };
        let (tools, api) = (named("tools"), named("api"));
        let (tool_key, api_key) = (fixture.other_key(&tools), fixture.other_key(&api));
        for (tool, arguments, target) in questions() {
            let asked = ask_as(&fixture, &api_key, target);
            let called = call_as(&fixture, &tool_key, tool, arguments);
            let result = &called.json()["result"];
            assert_eq!(called.charged(), asked.charged(), "{quota:?} {target}");
            assert_eq!(
                result["isError"] == true,
                asked.status >= 400,
                "{quota:?} {target}: {result}"
            );
            if asked.status >= 400 {
                let code = &result["structuredContent"]["error"]["code"];
                assert_eq!(*code, asked.json()["code"], "{target}");
                continue;
            }
            let usage = &content(result)["usage"];
            assert_eq!(usage["charged"], asked.charged(), "{target}");
            if let Some(remaining) = asked.header("x-usage-remaining") {
                assert_eq!(usage["remaining"].to_string(), remaining, "{target}");
            }
            assert_eq!(
                usage.get("remaining").is_some(),
                quota.is_some(),
                "{target}: {usage}"
            );
        }
        assert_eq!(
            recorded(&fixture, &tools.name),
            recorded(&fixture, &api.name),
            "{quota:?}"
        );
    }
}

#[test]
fn a_call_whose_answer_cannot_be_kept_is_refused() {
    let fixture = with_limits(Limits {
        kept_bytes_per_key: 1,
        ..Limits::default()
    });
    let named = json!({"limit": 2, "idempotencyKey": "retry-4711"});
    let text = error_text(&fixture.call("search", named));
    assert!(text.starts_with("rate_limited: "), "{text}");
    let unnamed = content(&fixture.call("search", json!({"limit": 2})));
    assert_eq!(unnamed["usage"]["charged"], 2);
}

#[test]
fn a_repeated_call_pays_once() {
    let fixture = Fixture::start();
    let arguments = json!({"q": "raises", "limit": 4, "idempotencyKey": "retry-4711"});
    let first = content(&fixture.call("search", arguments.clone()));
    let again = content(&fixture.call("search", arguments));
    assert_eq!(first["usage"], json!({"charged": 4, "unit": "signals"}));
    assert_eq!(
        again["usage"],
        json!({"charged": 0, "unit": "signals", "replayed": true})
    );
    assert_eq!(again["signals"], first["signals"]);
    assert_eq!(again["nextCursor"], first["nextCursor"]);

    let other = fixture.call(
        "search",
        json!({"q": "hires", "idempotencyKey": "retry-4711"}),
    );
    let text = error_text(&other);
    assert!(
        text.starts_with("idempotency_key_reused: This idempotencyKey was used"),
        "{text}"
    );

    let changes = json!({"since": "start", "limit": 2, "idempotencyKey": "retry-4712"});
    assert_eq!(
        content(&fixture.call("changes", changes.clone()))["usage"]["charged"],
        2
    );
    assert_eq!(
        content(&fixture.call("changes", changes))["usage"]["charged"],
        0
    );

    // The API's header and the argument name the same.
    let name = ("idempotency-key", "retry-4713");
    let asked = fixture.send("GET", "/api/v1/signals?limit=2", &[name]);
    let called = content(&fixture.call("search", json!({"limit": 2, "idempotencyKey": name.1})));
    assert_eq!(
        (asked.charged(), &called["usage"]["replayed"]),
        (2, &json!(true))
    );
}

#[test]
fn a_quota_that_is_used_up_is_told_in_words() {
    let fixture = Fixture::start();
    let key = NewKey {
        quotas: Quotas {
            signals: Some(3),
            ..Quotas::default()
        },
        ..NewKey::named("poor")
    };
    let key = fixture.other_key(&key);
    let result = |tool: &str, arguments: Value| {
        call_as(&fixture, &key, tool, arguments).json()["result"].clone()
    };
    let counted = content(&result("count", json!({})));
    assert_eq!(
        counted["usage"],
        json!({"charged": 0, "unit": "signals", "remaining": 3})
    );
    let page = content(&result("search", json!({"limit": 50})));
    assert_eq!(page["signals"].as_array().map(Vec::len), Some(3));
    assert_eq!(
        page["usage"],
        json!({"charged": 3, "unit": "signals", "remaining": 0})
    );
    let text = error_text(&result("search", json!({})));
    assert!(
        text.starts_with("quota_exceeded: The key has used its quota of signals"),
        "{text}"
    );
    assert!(text.ends_with("Nothing was charged."), "{text}");
}

#[test]
fn a_scope_that_is_lacking_is_told_in_words() {
    let fixture = Fixture::start();
    let key = NewKey {
        scopes: [Scope::SignalsRead].into_iter().collect(),
        ..NewKey::named("signals only")
    };
    let key = fixture.other_key(&key);
    let answer = call_as(&fixture, &key, "company", json!({"slug": "sao-bento-agro"}));
    let text = error_text(&answer.json()["result"]);
    assert!(
        text.starts_with("forbidden: The key lacks the scope companies:read"),
        "{text}"
    );
}
