//! Pages and batches of large records: they end early with their cursor, and what is charged is what
//! was delivered.

use std::time::Duration;

use serde_json::json;
use signaldex::Index;
use signaldex_server::{Limits, NewKey, Quotas};

use crate::client::Response;
use crate::dashboard::Dashboard;
use crate::fixture::{Fixture, Settings};
use crate::large_signals::index_of;
use crate::mcp::content;

/// The bound of a page and of a batch of changes.
const PAGE_BYTES_MAX: usize = 8 << 20;

fn service(lengths: &[usize]) -> Fixture {
    service_with(index_of(lengths), None)
}

fn service_with(index: Index, quota: Option<u64>) -> Fixture {
    Fixture::with(Settings {
        index: Some(index),
        key: NewKey {
            quotas: Quotas {
                signals: quota,
                ..Quotas::default()
            },
            ..Settings::default().key
        },
        ..Settings::default()
    })
}

/// Records of a megabyte, of which eight fit on a page.
const MEGABYTES: [usize; 20] = [1_000_000; 20];

impl Fixture {
    /// What a call of a tool shows.
    fn called(&self, tool: &str, arguments: serde_json::Value) -> serde_json::Value {
        content(&self.call(tool, arguments))
    }
}

fn next_cursor(page: &Response) -> Option<String> {
    let cursor = &page.json()["data"]["nextCursor"];
    cursor.as_str().map(str::to_owned)
}

/// Follows the cursors from a query on; the ids of each page.
fn walk(fixture: &Fixture, query: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = fixture.search(&format!("{query}{cursor}"));
        assert_eq!(page.status, 200, "{}", String::from_utf8_lossy(&page.body));
        let items = page.items();
        assert!(items.len() == 1 || page.body.len() <= PAGE_BYTES_MAX);
        pages.push(items);
        match next_cursor(&page) {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return pages,
        }
    }
}

#[test]
fn a_page_ends_before_8_mib_and_its_cursor_goes_on() {
    let fixture = service(&MEGABYTES);
    let pages = walk(&fixture, "limit=50");
    let lengths: Vec<usize> = pages.iter().map(Vec::len).collect();
    assert_eq!(lengths, [8, 8, 4]);
    let expected: Vec<String> = (1..=20).rev().map(|id| id.to_string()).collect();
    assert_eq!(pages.concat(), expected);
    // A limit that fits is as ever.
    let page = fixture.search("limit=8");
    assert_eq!((page.items().len(), page.charged()), (8, 8));
}

#[test]
fn a_record_above_8_mib_is_a_page_of_its_own() {
    let fixture = service(&[10, 9 << 20, 10, 10]);
    let pages = walk(&fixture, "limit=50");
    assert_eq!(pages, [vec!["4", "3"], vec!["2"], vec!["1"]]);
}

/// Two records that fill a page to the byte, and one byte more.
#[test]
fn a_page_has_at_most_8_mib_and_no_less_than_it_can() {
    /// Kept for the end of an answer, with the longest cursor.
    const END: usize = 1536;
    let small = service(&[1000, 1000]).search("limit=50").body.len();
    let rest = PAGE_BYTES_MAX - (small - 1000);
    for (length, items) in [(rest - END, 2), (rest + 1, 1)] {
        let fixture = service(&[length, 1000]);
        let page = fixture.search("limit=50");
        assert_eq!(page.items().len(), items, "{length}");
        assert!(page.body.len() <= PAGE_BYTES_MAX);
        assert_eq!(next_cursor(&page).is_some(), items == 1);
    }
}

#[test]
fn a_numbered_page_that_would_end_early_is_refused_at_limit() {
    let fixture = service(&MEGABYTES);
    for (query, status) in [
        ("limit=50&page=1", 400),
        ("limit=9&page=2", 400),
        ("limit=8&page=2", 200),
        ("limit=50&page=2", 200),
    ] {
        let answer = fixture.search(query);
        assert_eq!(answer.status, status, "{query}");
        if status == 400 {
            let error = &answer.json()["errors"][0];
            assert_eq!(error["parameter"], "limit");
            let message = error["message"].as_str().expect("a message");
            assert!(
                message.contains("8 MiB") && message.contains("at most 8"),
                "{message}"
            );
        }
    }
    let head = fixture.send("HEAD", "/api/v1/signals?limit=50&page=1", &[]);
    assert_eq!(head.status, 400);
}

#[test]
fn a_page_that_ended_early_is_repeated_revalidated_and_told_by_head() {
    let fixture = service(&MEGABYTES);
    let target = "/api/v1/signals?limit=50";
    let name = ("idempotency-key", "large-4711");
    let first = fixture.send("GET", target, &[name]);
    let second = fixture.send("GET", target, &[name]);
    assert_eq!((first.charged(), second.charged()), (8, 0));
    assert!(first.body == second.body);
    let tag = first.header("etag").expect("a tag").to_owned();
    let revalidated = fixture.send("GET", target, &[("if-none-match", &tag)]);
    assert_eq!((revalidated.status, revalidated.charged()), (304, 0));
    let head = fixture.send("HEAD", target, &[]);
    let length = head.header("content-length").map(str::to_owned);
    assert_eq!(length, Some(first.body.len().to_string()));
}

#[test]
fn a_quota_cuts_what_8_mib_leave() {
    let fixture = service_with(index_of(&MEGABYTES), Some(11));
    let first = fixture.search("limit=50");
    assert_eq!((first.items().len(), first.charged()), (8, 8));
    let cursor = next_cursor(&first).expect("more");
    let second = fixture.search(&format!("limit=50&cursor={cursor}"));
    assert_eq!(second.items(), ["12", "11", "10"]);
    let cursor = next_cursor(&second).expect("more");
    let third = fixture.search(&format!("limit=50&cursor={cursor}"));
    assert_eq!(third.status, 402);
}

#[test]
fn a_batch_of_changes_ends_before_8_mib_and_goes_on() {
    let fixture = service(&[&MEGABYTES[..], &[9 << 20, 10, 10]].concat());
    let (mut since, mut ids, mut batches) = ("start".to_owned(), Vec::new(), Vec::new());
    loop {
        let answer = fixture.get(&format!("/api/v1/changes?limit=50&since={since}"));
        assert_eq!(answer.status, 200);
        let data = answer.json()["data"].clone();
        let changes = data["changes"].as_array().expect("changes");
        assert!(changes.len() == 1 || answer.body.len() <= PAGE_BYTES_MAX);
        assert_eq!(answer.charged(), changes.len() as u64);
        let of_batch = changes
            .iter()
            .map(|change| change["signal"]["id"].to_string());
        ids.extend(of_batch);
        batches.push(changes.len());
        since = data["next"].as_str().expect("a position").to_owned();
        if data["more"] == false {
            break;
        }
    }
    assert_eq!(batches, [8, 8, 4, 1, 2]);
    let expected: Vec<String> = (1..=23).map(|id| format!("\"{id}\"")).collect();
    assert_eq!(ids, expected);
}

/// A tool shows at most 1,280 bytes of each signal, so none of these pages has to end early.
#[test]
fn a_tool_renders_what_it_shows() {
    let fixture = service(&MEGABYTES);
    let answer = fixture.called("search", json!({"limit": 50}));
    assert_eq!(answer["signals"].as_array().map(Vec::len), Some(20));
    assert_eq!(answer["usage"]["charged"], 20);
    assert!(answer["note"].is_string());
    let answer = fixture.called("changes", json!({"limit": 50, "since": "start"}));
    assert_eq!(answer["changes"].as_array().map(Vec::len), Some(20));
    assert_eq!(answer["usage"]["charged"], 20);
    assert_eq!(answer["more"], false);
    // A numbered page skips nothing here.
    let answer = fixture.called("search", json!({"limit": 9, "page": 2}));
    assert_eq!(answer["signals"].as_array().map(Vec::len), Some(9));
}

/// Under a name the API's answer is kept, which either of the two repeats.
#[test]
fn a_tool_keeps_under_a_name_what_the_api_repeats() {
    let fixture = service(&MEGABYTES);
    let name = "large-4712";
    let called = fixture.called("search", json!({"limit": 50, "idempotencyKey": name}));
    assert_eq!(called["signals"].as_array().map(Vec::len), Some(8));
    assert_eq!(called["usage"]["charged"], 8);
    let header = [("idempotency-key", name)];
    let asked = fixture.send("GET", "/api/v1/signals?limit=50", &header);
    assert_eq!((asked.charged(), asked.items().len()), (0, 8));
    assert_eq!(called["nextCursor"], asked.json()["data"]["nextCursor"]);
    let unnamed = fixture.called("search", json!({"limit": 8}));
    assert_eq!(called["signals"], unnamed["signals"]);
}

#[test]
fn pages_of_the_dashboard_end_early_as_well() {
    let (limits, session_time) = (Limits::default(), Duration::from_secs(60));
    let dashboard = Dashboard::over(index_of(&MEGABYTES), session_time, limits, |_| {});
    let session = dashboard.sign_in();
    for target in [
        "/search.json?limit=50",
        "/search?limit=50",
        "/search/new?since=start",
    ] {
        let page = dashboard.visit(&session, target);
        assert_eq!(page.status, 200, "{target}");
        assert!(
            page.body.len() <= PAGE_BYTES_MAX,
            "{target}: {}",
            page.body.len()
        );
    }
    for target in ["/search.json?limit=50&page=1", "/search?limit=50&page=1"] {
        assert_eq!(dashboard.visit(&session, target).status, 400, "{target}");
    }
}
