//! Typical mistakes over HTTP, each with its answer: what is wrong, what is allowed, and the next step.

use std::fmt::Write;

use signaldex_server::{NewKey, Quotas, Scopes};
use time::{Duration, UtcDateTime};

use crate::client::{self, Response};
use crate::contract::next_month;
use crate::errors::assert_golden;
use crate::fixture::Fixture;

/// Mistakes in a request with a valid key.
const TARGETS: [&str; 22] = [
    "/api/v1/signals?contry=Germany",
    "/api/v1/signals?categories=fundng&days=31",
    "/api/v1/signals?limit=100",
    "/api/v1/signals?country=Germany&country=France",
    "/api/v1/signals?q=AT&T",
    "/api/v1/signals?dateFrom=30.06.2026",
    "/api/v1/signals?cursor=abc",
    "/api/v1/filter-options?limit=10",
    "/api/v1/aggregates?by=country&measures=average&limit=1001&order=count",
    "/api/v1/aggregates?by=month,year",
    "/api/v1/aggregates?by=company,countries",
    "/api/v1/aggregates?by=sizes,sizes,&measures=&ids=1",
    "/api/v1/aggregates?by=countries&measures=sum&order=-sum",
    "/api/v1/aggregates?by=month,countries,sizes&activityIds=2&cursor=a&limit=0",
    "/api/v1/companies?categories=funding&hasnot=()&facets=sizes",
    "/api/v1/companies?has=(days=8;min=3;max=2;cuntry=France),(ids=1)",
    "/api/v1/companies?has=(categories=funding&min=2)",
    "/api/v1/companies?has=categories=funding&order=matches&foundedFrom=98&foundedTo=97",
    "/api/v1/signals/acme",
    "/api/v1/signals/7",
    "/api/v1/companies/Acme",
    "/api/v1/signal",
];

/// The text of the golden file.
#[derive(Default)]
struct Record {
    text: String,
}

impl Record {
    fn add(&mut self, mistake: &str, answer: &Response) {
        let body = answer.json();
        let (status, title, detail) = (answer.status, &body["title"], &body["detail"]);
        let (title, detail) = (title.as_str(), detail.as_str());
        let (title, detail) = (title.expect("a title"), detail.expect("a detail"));
        let detail = detail.replace(&next_month(), "<day>");
        writeln!(self.text, "{mistake}\n[{status}] {title}: {detail}").expect("memory");
        for error in body["errors"].as_array().into_iter().flatten() {
            let (name, message) = (error["parameter"].as_str(), error["message"].as_str());
            let (name, message) = (name.expect("a name"), message.expect("a message"));
            writeln!(self.text, "  {name}: {message}").expect("memory");
        }
        self.text.push('\n');
    }
}

#[test]
fn typical_mistakes_get_the_answers_on_record() {
    let fixture = Fixture::start();
    let mut record = Record::default();
    for target in TARGETS {
        record.add(&format!("GET {target}"), &fixture.get(target));
    }
    let post = fixture.send("POST", "/api/v1/signals", &[]);
    record.add("POST /api/v1/signals", &post);
    mistakes_with_keys(&fixture, &mut record);
    assert_golden("http-mistakes.txt", &record.text);
}

fn mistakes_with_keys(fixture: &Fixture, record: &mut Record) {
    let search = |key: Option<&str>| {
        let authorization = key.map(|key| format!("Bearer {key}"));
        let headers: Vec<(&str, &str)> = authorization
            .iter()
            .map(|value| ("authorization", value.as_str()))
            .collect();
        client::request(fixture.address, "GET", "/api/v1/signals?limit=1", &headers)
    };
    record.add("no key", &search(None));
    let in_query = format!("/api/v1/signals?key={}", fixture.key.as_str());
    let in_query = fixture.send_as_is("GET", &in_query, &[]);
    record.add("a key in the query", &in_query);
    let basic = fixture.send_as_is("GET", "/api/v1/signals", &[("authorization", "Basic YTpi")]);
    record.add("another scheme", &basic);
    let half = &fixture.key.as_str()[..20];
    record.add("half of a key", &search(Some(half)));
    let unknown = format!("sdx_{}", "A".repeat(fixture.key.as_str().len() - 4));
    record.add("a key of another service", &search(Some(&unknown)));

    let yesterday = UtcDateTime::now() - Duration::days(1);
    let expired = fixture.other_key(&NewKey {
        expires_at: Some(yesterday),
        ..NewKey::named("expired")
    });
    record.add("an expired key", &search(Some(expired.as_str())));
    let (revoked, secret) = fixture
        .state()
        .create_key(&NewKey::named("revoked"))
        .expect("a key");
    assert!(fixture.state().revoke_key(&revoked.id).expect("revoked"));
    record.add("a revoked key", &search(Some(secret.as_str())));

    let narrow = fixture.other_key(&NewKey {
        scopes: Scopes::parse("companies:read").expect("a scope"),
        ..NewKey::named("narrow")
    });
    record.add("a key without the scope", &search(Some(narrow.as_str())));
    let poor = fixture.other_key(&NewKey {
        quotas: Quotas {
            signals: Some(0),
            ..Quotas::default()
        },
        ..NewKey::named("poor")
    });
    record.add("a quota used up", &search(Some(poor.as_str())));
    let slow = fixture.other_key(&NewKey {
        rate: 1,
        burst: 1,
        ..NewKey::named("slow")
    });
    // On a busy machine a second may pass between two requests, after which one more is allowed.
    let refused = loop {
        let answer = search(Some(slow.as_str()));
        if answer.status != 200 {
            break answer;
        }
        fixture.note(answer.charged());
    };
    record.add("too many requests", &refused);
}
