//! Exports over HTTP: every match once, paid once, and never a short file that looks whole.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use signaldex::query::{KeyFilter, Order};
use signaldex::{Filter, Index, Signal, SignalId, json};
use signaldex_server::{KeyRecord, NewKey, Quotas};
use time::macros::date;

use crate::changes::{commit, service};
use crate::client::{self, Response};
use crate::contract::next_month;
use crate::fixture::{Fixture, Settings};

const NAME: (&str, &str) = ("idempotency-key", "export-4711");
/// Several slices of 1,000.
const SIGNALS: u64 = 3500;

pub(crate) fn metered(quota: Option<u64>) -> NewKey {
    NewKey {
        rate: 10_000,
        burst: 10_000,
        quotas: Quotas {
            signals: quota,
            ..Quotas::default()
        },
        ..NewKey::named("export")
    }
}

/// A service over signals of which every third moves and the others hire.
fn exporting(quota: Option<u64>) -> (Fixture, Index) {
    let (fixture, index) = service(metered(quota));
    let title = |id| {
        if id % 3 == 0 {
            "Acme moves"
        } else {
            "Acme, \"hires\""
        }
    };
    commit(&index, (1..=SIGNALS).map(|id| (id, title(id))), &[]);
    commit(&index, [(7, "Acme moves")].into_iter(), &[9, 3000]);
    (fixture, index)
}

/// A service over signals so large that no socket holds them all.
fn exporting_large(quota: Option<u64>) -> (Fixture, Index) {
    let (fixture, index) = service(metered(quota));
    commit(&index, [(1, "Acme hires")].into_iter(), &[]);
    let evidence = "Acme hires in Lyon. ".repeat(400);
    let mut writer = index.writer().expect("nobody else writes");
    for id in 1..=4000 {
        let id = SignalId::new(id).expect("an id");
        let mut signal = Signal::new(id, "acme", "Acme hires");
        signal.evidence = Some(evidence.as_str().into());
        writer.upsert_signal(&signal).expect("a known company");
    }
    writer.commit().expect("committed");
    (fixture, index)
}

pub(crate) fn export(fixture: &Fixture, query: &str, headers: &[(&str, &str)]) -> Response {
    fixture.send("GET", &format!("/api/v1/export?{query}"), headers)
}

pub(crate) fn lines(body: &[u8]) -> Vec<&str> {
    let text = std::str::from_utf8(body).expect("UTF-8");
    text.lines().collect()
}

pub(crate) fn id_of(line: &str) -> u64 {
    let item: Value = serde_json::from_str(line).expect("a line is an object");
    let id = item["id"].as_str().expect("an id");
    id.parse().expect("a number")
}

/// The ids that a query matches, newest first.
fn matching(index: &Index, query: &str) -> Vec<u64> {
    let filter = Filter::from_query_string(query).expect("a valid query");
    let (snapshot, today) = (index.snapshot(), date!(2026 - 06 - 30));
    let matches = snapshot.matches(&filter, today, Order::NewestFirst);
    let id = |id: signaldex::Result<SignalId>| id.expect("a whole index").get();
    matches.ids().map(id).collect()
}

#[test]
fn an_export_has_the_items_of_all_pages() {
    let (fixture, index) = exporting(None);
    for query in ["", "q=hires", "exclude=hires", "q=nobody", "ids=3,7,9,3499"] {
        let answer = export(&fixture, query, &[]);
        assert_eq!(answer.status, 200);
        assert!(answer.is_whole);
        let media = answer.header("content-type");
        assert_eq!(media, Some("application/x-ndjson"));
        let lines = lines(&answer.body);
        fixture.note(lines.len() as u64);
        let mut items = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = fixture.search(&format!("{query}&limit=50{cursor}")).json();
            let found = page["data"]["items"].as_array().expect("items");
            items.extend(found.iter().map(ToString::to_string));
            let Some(next) = page["data"]["nextCursor"].as_str() else {
                break;
            };
            cursor = format!("&cursor={next}");
        }
        let parsed = lines.iter().map(|line| {
            let item: Value = serde_json::from_str(line).expect("an object");
            item.to_string()
        });
        assert_eq!(parsed.collect::<Vec<_>>(), items, "{query}");
        assert_eq!(items.len(), matching(&index, query).len());
    }
}

#[test]
fn an_export_as_csv_has_a_row_for_each_match() {
    let (fixture, index) = exporting(None);
    let filter = Filter::from_query_string("q=hires").expect("a valid query");
    let (snapshot, today) = (index.snapshot(), date!(2026 - 06 - 30));
    let mut expected = Vec::new();
    json::write_csv_header(&mut expected);
    let header = expected.len();
    for item in snapshot.matches(&filter, today, Order::NewestFirst) {
        let item = item.expect("a record");
        json::write_csv_item(&mut expected, &item.signal, &item.company_name);
    }
    let accepting = [("accept", "text/csv")];
    for (query, headers) in [("q=hires&format=csv", &[][..]), ("q=hires", &accepting)] {
        let answer = export(&fixture, query, headers);
        assert_eq!((answer.status, answer.is_whole), (200, true));
        let media = answer.header("content-type");
        assert_eq!(media, Some("text/csv; charset=utf-8"));
        assert_eq!(answer.body, expected);
        fixture.note(matching(&index, "q=hires").len() as u64);
    }
    // A file that is continued has its header.
    let continued = export(&fixture, "q=hires&format=csv&after=4000", &[]);
    assert_eq!(continued.body, &expected[header..]);
    fixture.note(matching(&index, "q=hires").len() as u64);
}

#[test]
fn an_export_begins_after_an_id_and_ends_at_a_number() {
    let (fixture, index) = exporting(None);
    let all = matching(&index, "q=hires");
    for (after, max) in [
        (3499, 1),
        (2000, 1000),
        (1999, 1001),
        (50, 400),
        (1, 5),
        (0, 2500),
    ] {
        let query = match after {
            0 => format!("q=hires&maxItems={max}"),
            _ => format!("q=hires&maxItems={max}&after={after}"),
        };
        let answer = export(&fixture, &query, &[]);
        assert!(answer.is_whole);
        let found: Vec<u64> = lines(&answer.body).into_iter().map(id_of).collect();
        let expected = all.iter().copied().filter(|&id| after == 0 || id < after);
        assert_eq!(found, expected.take(max).collect::<Vec<_>>(), "{query}");
        fixture.note(found.len() as u64);
    }
}

#[test]
fn bad_parameters_are_named() {
    let (fixture, _) = exporting(None);
    let cases = [
        ("limit=5", "limit", "unknown_parameter"),
        ("cursor=abc", "cursor", "unknown_parameter"),
        ("maxitems=5", "maxitems", "unknown_parameter"),
        ("maxItems=0", "maxItems", "invalid_value"),
        ("maxItems=-1", "maxItems", "invalid_value"),
        ("maxItems=", "maxItems", "empty_value"),
        ("after=x", "after", "invalid_value"),
        ("after=1&after=2", "after", "repeated_parameter"),
        ("format=json", "format", "invalid_value"),
        ("category=nothing", "category", "unknown_parameter"),
    ];
    for (query, parameter, code) in cases {
        let refused = export(&fixture, query, &[]);
        assert_eq!(refused.status, 400, "{query}");
        let error = &refused.json()["errors"][0];
        assert_eq!(error["parameter"], parameter, "{error}");
        assert_eq!(error["code"], code, "{error}");
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains(parameter), "{message}");
    }
}

#[test]
fn a_head_is_free_and_says_no_length() {
    let (fixture, _) = exporting(None);
    let head = fixture.send("HEAD", "/api/v1/export?q=hires", &[NAME]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-length"), None);
    assert_eq!(head.header("cache-control"), Some("private, no-store"));
}

#[test]
fn http_1_0_is_refused_since_it_cannot_tell_a_short_file() {
    let (fixture, _) = exporting(None);
    let request = format!(
        "GET /api/v1/export HTTP/1.0\r\nauthorization: Bearer {}\r\n\r\n",
        fixture.key.as_str()
    );
    let answer = client::parse(&client::raw(fixture.address, request.as_bytes()));
    assert_eq!(answer.status, 400);
    let detail = answer.json()["detail"].to_string();
    assert!(detail.contains("HTTP/1.1"), "{detail}");
}

#[test]
fn an_export_beyond_the_quota_is_refused_before_its_first_byte() {
    let (fixture, _) = exporting(Some(2600));
    let refused = export(&fixture, "", &[NAME]);
    assert_eq!(refused.status, 402);
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("2600"), "{detail}");
    let end = format!("until {}", next_month());
    assert!(detail.contains(&end), "{detail}");
    // What is asked for counts, and not all that matches.
    for query in ["maxItems=2000", "after=2", "after=500&maxItems=100"] {
        let (before, answer) = (fixture.recorded(), export(&fixture, query, &[]));
        assert_eq!((answer.status, answer.is_whole), (200, true), "{query}");
        let delivered = lines(&answer.body).len() as u64;
        assert_eq!(fixture.recorded() - before, delivered);
        fixture.note(delivered);
    }
    let refused = export(&fixture, "after=600", &[]);
    assert_eq!(refused.status, 402);
    assert_eq!(export(&fixture, "q=nobody", &[]).status, 200);
}

#[test]
fn what_was_paid_under_a_key_is_free_for_a_day() {
    let (fixture, _) = exporting(Some(SIGNALS));
    let first = export(&fixture, "q=moves&maxItems=500", &[NAME]);
    fixture.note(500);
    assert_eq!(lines(&first.body).len(), 500);
    let whole = export(&fixture, "q=moves", &[NAME]);
    let signals = lines(&whole.body).len() as u64;
    fixture.note(signals - 500);
    assert_eq!(fixture.recorded(), signals);
    // Nothing is left, and nothing is needed.
    let others = fixture.search("q=hires&limit=50");
    assert_eq!(others.charged(), 50);
    let rest = SIGNALS - signals - 50;
    let rest = export(&fixture, &format!("q=hires&maxItems={rest}"), &[]);
    fixture.note(lines(&rest.body).len() as u64);
    assert_eq!(fixture.recorded(), SIGNALS);
    let again = export(&fixture, "q=moves", &[NAME]);
    assert_eq!((again.status, &again.body), (200, &whole.body));
    let as_csv = export(&fixture, "q=moves&format=csv&after=1500", &[NAME]);
    assert_eq!(as_csv.status, 200);
    for other in ["/api/v1/export?q=hires", "/api/v1/signals?q=moves"] {
        let refused = fixture.send("GET", other, &[NAME]);
        assert_eq!(refused.status, 422, "{other}");
    }
}

/// Sends a request for an export and reads nothing yet.
fn begin(fixture: &Fixture, query: &str, headers: &[(&str, &str)]) -> TcpStream {
    let authorization = format!("Bearer {}", fixture.key.as_str());
    let headers = [&[("authorization", authorization.as_str())], headers].concat();
    let mut socket = client::connect(fixture.address);
    let target = format!("/api/v1/export?{query}");
    let request = client::text_of(fixture.address, "GET", &target, &headers);
    socket.write_all(&request).expect("sent");
    socket
}

/// Waits until no more is charged: the export waits for its client.
fn stalled(fixture: &Fixture) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut recorded = fixture.recorded();
    while Instant::now() < deadline {
        thread::sleep(Duration::from_millis(600));
        let now = fixture.recorded();
        if now == recorded && now > 0 {
            return now;
        }
        recorded = now;
    }
    panic!("nothing is charged, or ever more: {recorded}");
}

#[test]
fn an_export_whose_quota_runs_out_is_broken_off() {
    let (fixture, _) = exporting_large(Some(4000));
    let mut socket = begin(&fixture, "", &[]);
    let charged = stalled(&fixture);
    assert!(
        charged < 3900,
        "the client's sockets hold {charged} signals"
    );
    assert_eq!(fixture.search("limit=50").charged(), 50);
    let answer = client::parse(&client::read_to_end(&mut socket));
    assert_eq!((answer.status, answer.is_whole), (200, false));
    let delivered = lines(&answer.body).len() as u64;
    assert_eq!(fixture.recorded(), delivered + 50);
    assert!(delivered >= charged);
    fixture.note(delivered);
}

#[test]
fn a_client_that_goes_pays_for_little_that_it_did_not_get() {
    let (fixture, _) = exporting_large(None);
    let mut socket = begin(&fixture, "", &[]);
    socket.read_exact(&mut [0; 100]).expect("the answer begins");
    drop(socket);
    let charged = stalled(&fixture);
    assert!(charged < 3900, "{charged}");
    fixture.note(charged);
}

#[test]
fn an_export_of_a_key_that_is_revoked_is_broken_off() {
    let (fixture, _) = exporting_large(None);
    let mut socket = begin(&fixture, "", &[]);
    stalled(&fixture);
    let state = fixture.state();
    let KeyRecord { id, .. } = &state.keys().expect("keys")[0];
    state.revoke_key(id).expect("revoked");
    thread::sleep(Duration::from_secs(3));
    let answer = client::parse(&client::read_to_end(&mut socket));
    assert!(!answer.is_whole);
    fixture.note(fixture.recorded());
}

#[test]
fn an_export_of_a_key_whose_filter_is_edited_is_broken_off() {
    let (fixture, _) = exporting_large(None);
    let mut socket = begin(&fixture, "", &[]);
    stalled(&fixture);
    let state = fixture.state();
    let KeyRecord { id, .. } = &state.keys().expect("keys")[0];
    let filter = KeyFilter::parse(["q=moves"], []).expect("a valid filter");
    let edited = state.edit_key(id, |key| key.filter = Some(filter.into()));
    edited.expect("edited");
    thread::sleep(Duration::from_secs(3));
    let answer = client::parse(&client::read_to_end(&mut socket));
    assert!(!answer.is_whole);
    fixture.note(fixture.recorded());
}

#[test]
fn a_key_has_four_exports_at_once() {
    let (fixture, _) = exporting_large(None);
    let sockets: Vec<TcpStream> = (0..4).map(|_| begin(&fixture, "", &[])).collect();
    stalled(&fixture);
    let refused = export(&fixture, "", &[]);
    assert_eq!(refused.status, 429);
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(fixture.get("/api/v1/filter-options").status, 200);
    drop(sockets);
    let deadline = Instant::now() + Duration::from_secs(20);
    while export(&fixture, "maxItems=1", &[]).status != 200 {
        assert!(Instant::now() < deadline, "exports end with their clients");
        thread::sleep(Duration::from_millis(50));
    }
    stalled(&fixture);
    fixture.note(fixture.recorded());
}

#[test]
fn an_idempotency_key_is_one_export_at_a_time() {
    let (fixture, _) = exporting_large(None);
    let mut socket = begin(&fixture, "", &[NAME]);
    stalled(&fixture);
    assert_eq!(export(&fixture, "", &[NAME]).status, 409);
    let answer = client::parse(&client::read_to_end(&mut socket));
    assert!(answer.is_whole);
    assert_eq!(lines(&answer.body).len(), 4000);
    fixture.note(4000);
}

/// Pseudo-random numbers (splitmix64), the same in each run.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Reads at most that number of bytes of an answer, and hangs up.
fn cut(socket: TcpStream, bytes: u64) -> Vec<u8> {
    let mut answer = Vec::new();
    // A reset ends the answer as a close does.
    let _ = socket.take(bytes).read_to_end(&mut answer);
    answer
}

#[test]
fn a_download_that_is_cut_and_resumed_has_each_signal_once_paid_once() {
    let (fixture, index) = exporting(None);
    let all = matching(&index, "q=hires");
    let mut numbers = Numbers(27);
    let (mut cuts, mut downloads) = (0, 0);
    while cuts < 200 {
        let name = format!("download-{downloads}");
        let mut got: Vec<u64> = Vec::new();
        loop {
            let query = match got.last() {
                None => "q=hires".to_owned(),
                Some(last) => format!("q=hires&after={last}"),
            };
            let socket = begin(&fixture, &query, &[("idempotency-key", &name)]);
            let answer = cut(socket, numbers.below(100_000));
            cuts += 1;
            if !answer.windows(4).any(|window| window == b"\r\n\r\n") {
                continue;
            }
            let response = client::parse(&answer);
            if response.status == 409 {
                // The service has not noticed yet that the client before has gone.
                thread::sleep(Duration::from_millis(2));
                continue;
            }
            assert_eq!(response.status, 200, "{response:?}");
            let whole = response.body.iter().rposition(|&byte| byte == b'\n');
            let whole = whole.map_or(0, |end| end + 1);
            got.extend(lines(&response.body[..whole]).into_iter().map(id_of));
            if response.is_whole {
                break;
            }
        }
        assert_eq!(got, all);
        downloads += 1;
        fixture.note(all.len() as u64);
        assert_eq!(fixture.recorded(), downloads * all.len() as u64);
    }
    println!(
        "{cuts} cuts in {downloads} downloads of {} signals",
        all.len()
    );
}

#[test]
fn an_export_tells_of_one_moment() {
    let (fixture, index) = exporting_large(None);
    let mut socket = begin(&fixture, "", &[]);
    stalled(&fixture);
    let deleted: Vec<u64> = (1..4000).collect();
    commit(&index, [(5000, "Acme hires")].into_iter(), &deleted);
    let answer = client::parse(&client::read_to_end(&mut socket));
    assert!(answer.is_whole);
    let ids: Vec<u64> = lines(&answer.body).into_iter().map(id_of).collect();
    assert_eq!(ids, (1..=4000).rev().collect::<Vec<_>>());
    fixture.note(4000);
}

#[test]
fn the_number_of_exports_is_bounded() {
    let limits = signaldex_server::Limits {
        exports: 0,
        ..Default::default()
    };
    let fixture = Fixture::with(Settings {
        limits,
        ..Settings::default()
    });
    let refused = export(&fixture, "", &[]);
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["code"], "overloaded");
}
