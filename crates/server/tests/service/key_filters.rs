//! Keys with a filter: every answer is that of a service over the visible signals and companies alone, and nothing hidden
//! is in any byte.
//!
//! `SIGNALDEX_KEY_REQUESTS` sets how many random requests are compared; `SIGNALDEX_SEED` is the first seed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use signaldex::query::KeyFilter;
use signaldex::{Company, Index, IndexBuilder, Signal, sample};
use signaldex_server::{NewKey, State};

use crate::changes::{commit, service};
use crate::client::Response;
use crate::fixture::{Fixture, Settings};

/// Stands in titles and slugs of what is hidden.
const CANARY: &str = "zxcanary";

/// Requests in the ordinary run.
const REQUESTS: u64 = 400;

/// Filters and exceptions, whatever the titles and slugs are.
const KEYS: [(&[&str], &[&str]); 6] = [
    (&["country=Germany"], &[]),
    (&["categories=funding", "size=1-49"], &["days=90"]),
    (&[], &["categories=hiring", "country=France"]),
    (&["dateRanges=30,90&categories=hiring"], &[]),
    (&["fundingMin=5000000"], &["fundingCurrency=EUR"]),
    (&["country=Atlantis"], &[]),
];

type Record = (Signal<'static>, Company<'static>);

/// The records of the sample.
fn records() -> Vec<Record> {
    let snapshot = sample::index().expect("the sample").snapshot();
    let found = snapshot.scan().map(|found| {
        let found = found.expect("a whole index").into_owned();
        (found.signal, found.company)
    });
    found.collect()
}

fn index_of(records: &[Record]) -> Index {
    let mut builder = IndexBuilder::in_memory();
    let companies: BTreeMap<&str, &Company<'_>> = records
        .iter()
        .map(|(_, company)| (&*company.slug, company))
        .collect();
    for company in companies.values() {
        builder.add_company(company).expect("a company");
    }
    for (signal, _) in records {
        builder.add_signal(signal).expect("a signal");
    }
    builder.finish().expect("memory")
}

/// Puts the canary into everything hidden.
fn marked(records: &[Record], key: &KeyFilter) -> Vec<Record> {
    let is_seen = |(signal, company): &&Record| key.matches(signal, company, sample::AS_OF);
    let seen = records.iter().filter(is_seen);
    let seen: BTreeSet<String> = seen.map(|(_, company)| company.slug.to_string()).collect();
    let mark = |record: &Record| {
        let (mut signal, mut company) = record.clone();
        if !seen.contains(&*company.slug) {
            company.slug = format!("{CANARY}-{}", company.slug).into();
            company.name = format!("{} {CANARY}", company.name).into();
            signal.company_slug = company.slug.clone();
        }
        if !is_seen(&record) {
            signal.title = format!("{} {CANARY}", signal.title).into();
            signal.slug = format!("{CANARY}-{}", signal.slug).into();
            signal.evidence = Some(CANARY.into());
        }
        (signal, company)
    };
    records.iter().map(mark).collect()
}

/// A service over everything, asked by a key with a filter, and one over what that key sees.
struct Twins {
    whole: Fixture,
    alone: Fixture,
    seen: Vec<Record>,
    hidden: Vec<Record>,
}

impl Twins {
    fn new(number: usize) -> Twins {
        let (filters, exceptions) = KEYS[number];
        let key = KeyFilter::parse(filters.iter().copied(), exceptions.iter().copied());
        let key = key.expect("valid filters");
        let all = marked(&records(), &key);
        let is_seen = |(signal, company): &Record| key.matches(signal, company, sample::AS_OF);
        let (seen, hidden): (Vec<_>, Vec<_>) = all.iter().cloned().partition(is_seen);
        let start = |records: &[Record], filter: Option<KeyFilter>| {
            let defaults = Settings::default();
            Fixture::with(Settings {
                index: Some(index_of(records)),
                key: NewKey {
                    filter: filter.map(Into::into),
                    ..defaults.key
                },
                ..defaults
            })
        };
        Twins {
            whole: start(&all, Some(key)),
            alone: start(&seen, None),
            seen,
            hidden,
        }
    }

    /// Sends a request to both and compares everything but what is opaque.
    fn compare(&self, method: &str, target: &str) -> Response {
        let found = self.whole.send(method, target, &[]);
        let expected = self.alone.send(method, target, &[]);
        assert_eq!(found.status, expected.status, "{target}");
        assert_eq!(comparable(&found), comparable(&expected), "{target}");
        for name in ["x-hints", "x-usage-charged", "content-type"] {
            assert_eq!(found.header(name), expected.header(name), "{target}");
        }
        assert_no_canary(&found, target);
        found
    }

    /// Follows the cursor of each to its end, three pages at most.
    fn compare_walk(&self, endpoint: &str, query: &str) {
        let (mut cursors, mut page) = ([String::new(), String::new()], 0);
        while page < 3 {
            let targets = cursors
                .each_ref()
                .map(|cursor| format!("/api/v1/{endpoint}?{query}&limit=7{cursor}"));
            let found = self.whole.get(&targets[0]);
            let expected = self.alone.get(&targets[1]);
            assert_eq!(comparable(&found), comparable(&expected), "{}", targets[1]);
            assert_no_canary(&found, &targets[0]);
            let next = |answer: &Response| {
                let next = answer.json()["data"]["nextCursor"].clone();
                next.as_str().map(|next| format!("&cursor={next}"))
            };
            let (Some(one), Some(other)) = (next(&found), next(&expected)) else {
                return;
            };
            (cursors, page) = ([one, other], page + 1);
        }
    }

    fn compare_tool(&self, tool: &str, arguments: Value) {
        let [found, expected] = [&self.whole, &self.alone].map(|fixture| {
            let mut result = fixture.call(tool, arguments.clone());
            if result["isError"] == false {
                // The text says what the structured content does.
                result["content"] = Value::Null;
            }
            without_opaque(result)
        });
        assert_eq!(found, expected, "{tool} {arguments}");
        assert!(!found.to_string().contains(CANARY), "{tool} {arguments}");
    }
}

/// The body of an answer without what is opaque.
fn comparable(response: &Response) -> Value {
    match serde_json::from_slice(&response.body) {
        Ok(body) => without_opaque(body),
        Err(_) => Value::String(String::from_utf8_lossy(&response.body).into_owned()),
    }
}

fn without_opaque(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            for (name, member) in members {
                let is_opaque = ["nextCursor", "next", "requestId"].contains(&name.as_str());
                *member = match member.take() {
                    Value::String(_) if is_opaque => json!("opaque"),
                    other => without_opaque(other),
                };
            }
        }
        Value::Array(items) => {
            for item in items {
                *item = without_opaque(item.take());
            }
        }
        _ => {}
    }
    value
}

fn assert_no_canary(response: &Response, target: &str) {
    let asks = target.to_ascii_lowercase().contains(CANARY);
    let bytes = String::from_utf8_lossy(&response.body).to_ascii_lowercase();
    // What was asked for may be repeated in a message.
    assert!(asks || !bytes.contains(CANARY), "{target}: {bytes}");
    for (name, value) in response.headers() {
        let has_canary = value.to_ascii_lowercase().contains(CANARY);
        assert!(asks || !has_canary, "{target}: {name}: {value}");
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn pick<'s, T>(&mut self, from: &'s [T]) -> &'s T {
        &from[self.below(from.len())]
    }
}

fn encoded(text: &str) -> String {
    let bytes = text.bytes().map(|byte| {
        if byte.is_ascii_alphanumeric() {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    });
    bytes.collect()
}

/// The parameters of a filter made of a record, seen or hidden.
fn random_filter(record: &Record, random: &mut Random) -> String {
    let (signal, company) = record;
    let word = signal.title.split(' ').next().unwrap_or_default();
    let text = |value: &Option<std::borrow::Cow<'_, str>>| encoded(value.as_deref().unwrap_or("x"));
    match random.below(11) {
        0 => String::new(),
        1 => format!("q={}", encoded(&word.replace(['"', '*', '-'], "x"))),
        2 => format!("country={}", text(&company.country)),
        3 => format!("categories={}", text(&signal.category)),
        4 => format!("companySlug={}", encoded(&company.slug)),
        5 => format!(
            "companies={}",
            encoded(&company.name.replace([',', '"'], " "))
        ),
        6 => format!("industry={}&days=90", text(&company.industry)),
        7 => format!("dateRanges=7,older&country={}", text(&company.country)),
        8 => "q=zxcan%2A".to_owned(),
        9 => "fundingMin=1000000&fundingCurrency=USD".to_owned(),
        _ => format!("size=1-49&categories={}", text(&signal.category)),
    }
}

fn compare_one(twins: &Twins, random: &mut Random) {
    let source = if twins.seen.is_empty() || random.below(2) == 0 {
        &twins.hidden
    } else {
        &twins.seen
    };
    let record = random.pick(source);
    let (signal, company) = record;
    let filter = random_filter(record, random);
    let method = ["GET", "GET", "GET", "HEAD"][random.below(4)];
    let companies = match filter.as_str() {
        "" => String::new(),
        filter => format!("has=({})", filter.replace('&', ";")),
    };
    let target = match random.below(14) {
        0 => format!("signals/{}", signal.id),
        1 => format!("companies/{}", encoded(&company.slug)),
        2 => format!("signals?{filter}&limit=9"),
        3 => format!("signals?{filter}&countOnly=true"),
        4 => format!("filter-options?{filter}"),
        5 => format!("aggregates?{filter}&by=month,countries&measures=companies,sum,median"),
        6 => format!("aggregates?{filter}&by=company&limit=5"),
        7 => format!("companies?{companies}&limit=6&order=-matches"),
        8 => format!("companies?{companies}&countOnly=true&facets=countries,industries,sizes"),
        9 => format!("export?{filter}"),
        10 => format!("changes?{filter}"),
        11 => format!("changes?{filter}&since=start&limit=50"),
        12 => return twins.compare_walk("signals", &filter),
        _ => return twins.compare_walk("companies", &companies),
    };
    if target.starts_with("export") {
        return compare_export(twins, &target);
    }
    let target = format!("/api/v1/{}", target.replace("?&", "?"));
    twins.compare(method, &target);
}

/// Exports are charged slice by slice, which the fixture does not see in the answer.
fn compare_export(twins: &Twins, target: &str) {
    let target = format!("/api/v1/{target}");
    let [found, expected] = [&twins.whole, &twins.alone].map(|fixture| {
        let before = fixture.recorded();
        let answer = fixture.get(&target);
        fixture.note(fixture.recorded() - before);
        answer
    });
    assert_eq!(found.body, expected.body, "{target}");
    assert_eq!(
        found.header("x-hints"),
        expected.header("x-hints"),
        "{target}"
    );
    assert_no_canary(&found, &target);
}

fn compare_tools(twins: &Twins, random: &mut Random) {
    let source = if twins.seen.is_empty() {
        &twins.hidden
    } else {
        &twins.seen
    };
    let record = [random.pick(&twins.hidden), random.pick(source)][random.below(2)];
    let (signal, company) = record;
    let country = company.country.as_deref().unwrap_or("x");
    let (tool, arguments) = match random.below(8) {
        0 => ("search", json!({"country": country, "limit": 5})),
        1 => ("count", json!({"country": country})),
        2 => ("options", json!({"facets": ["countries", "categories"]})),
        3 => ("signal", json!({"id": signal.id.to_string()})),
        4 => ("company", json!({"slug": company.slug})),
        5 => ("changes", json!({"since": "start", "limit": 5})),
        6 => (
            "aggregate",
            json!({"by": ["countries"], "measures": ["companies"]}),
        ),
        _ => ("companies", json!({"country": country, "limit": 5})),
    };
    twins.compare_tool(tool, arguments);
}

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().expect("a number"))
}

#[test]
fn every_answer_is_that_of_a_service_over_what_is_visible() {
    let requests = setting("SIGNALDEX_KEY_REQUESTS", REQUESTS);
    let mut random = Random(setting("SIGNALDEX_SEED", 1));
    for number in 0..KEYS.len() {
        let twins = Twins::new(number);
        for step in 0..requests / KEYS.len() as u64 {
            compare_one(&twins, &mut random);
            if step % 8 == 0 {
                compare_tools(&twins, &mut random);
            }
        }
    }
}

#[test]
fn what_is_hidden_is_answered_as_what_does_not_exist() {
    let twins = Twins::new(0);
    let (signal, _) = &twins.hidden[0];
    let hidden = twins.compare("GET", &format!("/api/v1/signals/{}", signal.id));
    assert_eq!(hidden.status, 404);
    let known: BTreeSet<_> = twins
        .seen
        .iter()
        .map(|(_, company)| &company.slug)
        .collect();
    let mut companies = twins.hidden.iter().map(|(_, company)| &company.slug);
    let company = companies
        .find(|slug| !known.contains(slug))
        .expect("a hidden company");
    let target = format!("/api/v1/companies/{company}");
    assert_eq!(twins.compare("GET", &target).status, 404);
    let options = twins.compare(
        "GET",
        "/api/v1/filter-options?country=France&facets=countries",
    );
    let countries = options.json()["data"]["countries"].clone();
    assert_eq!(countries.as_array().map(Vec::len), Some(1), "{countries}");
}

/// A service over two kinds of signals, and another key of it with a filter.
fn mixed(filter: &str) -> (Fixture, Index, String) {
    let (fixture, index) = service(Settings::default().key);
    commit(
        &index,
        [(1, "Acme hires"), (2, "Acme moves"), (3, "Acme hires")].into_iter(),
        &[],
    );
    let key = fixture.other_key(&NewKey {
        filter: Some(KeyFilter::parse([filter], []).expect("a filter").into()),
        ..Settings::default().key
    });
    let bearer = format!("Bearer {}", key.as_str());
    (fixture, index, bearer)
}

fn ask(fixture: &Fixture, bearer: &str, target: &str, headers: &[(&str, &str)]) -> Response {
    let headers = [&[("authorization", bearer)], headers].concat();
    fixture.send_as_is("GET", &format!("/api/v1/{target}"), &headers)
}

#[test]
fn what_was_handed_out_under_one_filter_is_refused_under_another() {
    let (fixture, _, bearer) = mixed("q=hires");
    let wide = fixture.search("limit=1");
    let cursor = wide.json()["data"]["nextCursor"]
        .as_str()
        .expect("more")
        .to_owned();
    let refused = ask(
        &fixture,
        &bearer,
        &format!("signals?limit=1&cursor={cursor}"),
        &[],
    );
    let fault = refused.json()["errors"][0].clone();
    assert_eq!(fault["code"], "cursor_mismatch");
    let told = fault["message"].as_str().expect("a message");
    assert!(told.contains("a key with another filter"), "{told}");
    let tag = wide.header("etag").expect("a tag").to_owned();
    let narrow = ask(
        &fixture,
        &bearer,
        "signals?limit=1",
        &[("if-none-match", &tag)],
    );
    assert_eq!(narrow.status, 200, "another entity");
    let own = narrow.header("etag").expect("a tag").to_owned();
    let again = ask(
        &fixture,
        &bearer,
        "signals?limit=1",
        &[("if-none-match", &own)],
    );
    assert_eq!(again.status, 304);
    let own = narrow.json()["data"]["nextCursor"]
        .as_str()
        .expect("more")
        .to_owned();
    let next = ask(
        &fixture,
        &bearer,
        &format!("signals?limit=1&cursor={own}"),
        &[],
    );
    assert_eq!(next.items(), ["1"]);
    assert_eq!(fixture.search(&format!("limit=1&cursor={own}")).status, 400);
    let position = fixture.get("/api/v1/changes").json()["data"]["next"].clone();
    let position = position.as_str().expect("a position");
    let expired = ask(&fixture, &bearer, &format!("changes?since={position}"), &[]);
    assert_eq!(
        (expired.status, &expired.json()["code"]),
        (410, &json!("position_expired"))
    );
    let told = expired.json()["detail"].clone();
    let told = told.as_str().expect("a reason");
    assert!(told.contains("of a key with another filter"), "{told}");
    assert_eq!(
        ask(&fixture, &bearer, "changes?since=start", &[]).status,
        200
    );
    let wide = fixture.get("/api/v1/companies?limit=1&has=()");
    assert_eq!(wide.records()[0]["signalCount"], 3);
    let narrow = ask(&fixture, &bearer, "companies?limit=1&has=()", &[]);
    assert_eq!(narrow.records()[0]["signalCount"], 2);
}

#[test]
fn an_edit_takes_effect_and_binds_idempotency_keys() {
    let (fixture, _, bearer) = mixed("q=hires");
    let name = ("idempotency-key", "filter-4711");
    let first = ask(&fixture, &bearer, "signals?limit=5", &[name]);
    assert_eq!(first.items(), ["3", "1"]);
    let again = ask(&fixture, &bearer, "signals?limit=5", &[name]);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let state = fixture.state();
    let keys = state.keys().expect("keys");
    let id = &keys[1].id;
    let filter = KeyFilter::parse(["q=moves"], []).expect("a filter");
    state
        .edit_key(id, |key| key.filter = Some(filter.into()))
        .expect("edited");
    let deadline = std::time::Instant::now() + crate::client::WAIT_MAX;
    while ask(&fixture, &bearer, "signals?countOnly=true", &[]).json()["data"]["count"] != 1 {
        assert!(std::time::Instant::now() < deadline, "an edit takes effect");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let reused = ask(&fixture, &bearer, "signals?limit=5", &[name]);
    assert_eq!(reused.json()["code"], "idempotency_key_reused");
    let copy = tempfile::tempdir().expect("a directory");
    let copy = State::open(copy.path().join("copy.db")).expect("a state");
    copy.copy_keys(&state).expect("copied");
    let copied = copy.keys().expect("keys");
    let stored = state.keys().expect("keys");
    assert_eq!(copied[1].settings, stored[1].settings);
    assert!(copied[1].settings.filter.is_some());
}

#[test]
fn a_signal_that_leaves_what_a_key_sees_is_a_removal() {
    let (fixture, index, bearer) = mixed("q=hires");
    let start = ask(&fixture, &bearer, "changes", &[]);
    let since = start.json()["data"]["next"]
        .as_str()
        .expect("a position")
        .to_owned();
    commit(
        &index,
        [(3, "Acme moves"), (2, "Acme hires")].into_iter(),
        &[1],
    );
    let changes = ask(&fixture, &bearer, &format!("changes?since={since}"), &[]);
    let changes = changes.json()["data"]["changes"].clone();
    let told: Vec<String> = changes
        .as_array()
        .expect("changes")
        .iter()
        .map(|change| {
            let id = if change["op"] == "remove" {
                &change["id"]
            } else {
                &change["signal"]["id"]
            };
            format!(
                "{} {}",
                change["op"].as_str().unwrap_or_default(),
                id.as_str().unwrap_or_default()
            )
        })
        .collect();
    assert_eq!(told, ["remove 1", "upsert 2", "remove 3"]);
}
