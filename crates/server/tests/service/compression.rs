//! gzip: the same answers, tags and charges, in fewer bytes, for the clients that ask for it.

use std::io::Read;

use flate2::read::GzDecoder;

use crate::changes::{commit, service};
use crate::client::Response;
use crate::export::metered;
use crate::fixture::Fixture;

const GZIP: (&str, &str) = ("accept-encoding", "gzip");
/// A page of well over 8 KB.
const PAGE: &str = "/api/v1/signals?limit=50";

fn is_compressed(answer: &Response) -> bool {
    match answer.header("content-encoding") {
        None => false,
        Some(coding) => {
            assert_eq!(coding, "gzip");
            true
        }
    }
}

fn inflated(answer: &Response) -> Vec<u8> {
    assert!(is_compressed(answer));
    let mut body = Vec::new();
    let whole = GzDecoder::new(&answer.body[..]).read_to_end(&mut body);
    whole.expect("a whole file");
    body
}

fn varies_by_encoding(answer: &Response) -> bool {
    let all = answer.headers_named("vary");
    all.contains(&"Accept-Encoding")
}

#[test]
fn a_page_is_the_same_in_fewer_bytes() {
    let fixture = Fixture::start();
    let plain = fixture.get(PAGE);
    let answer = fixture.send("GET", PAGE, &[GZIP]);
    assert!(!is_compressed(&plain) && plain.body.len() > 8192);
    assert_eq!(inflated(&answer), plain.body);
    assert!(answer.body.len() * 2 < plain.body.len());
    let length = answer.body.len().to_string();
    assert_eq!(answer.header("content-length"), Some(length.as_str()));
    assert_eq!((answer.charged(), plain.charged()), (50, 50));
}

#[test]
fn what_is_small_or_not_wanted_or_an_error_is_plain() {
    let fixture = Fixture::start();
    for wanted in ["identity", "br, zstd", "gzip;q=0", "*;q=0, identity", ""] {
        let answer = fixture.send("GET", PAGE, &[("accept-encoding", wanted)]);
        assert!(
            !is_compressed(&answer) && varies_by_encoding(&answer),
            "{wanted}"
        );
    }
    let small = fixture.send("GET", "/api/v1/signals?limit=1", &[GZIP]);
    assert!(!is_compressed(&small) && varies_by_encoding(&small));
    let names: String = (0..40).map(|name| format!("unknown{name}=1&")).collect();
    let refused = fixture.send("GET", &format!("/api/v1/signals?{names}"), &[GZIP]);
    assert!(refused.status == 400 && !is_compressed(&refused));
    assert!(refused.body.len() > 8192 && !varies_by_encoding(&refused));
    // Documents are large, and the same for everyone.
    for path in ["/openapi.json", "/docs", "/docs/search-signals"] {
        let plain = fixture.send_as_is("GET", path, &[]);
        let answer = fixture.send_as_is("GET", path, &[GZIP]);
        assert_eq!(inflated(&answer), plain.body, "{path}");
    }
}

#[test]
fn tags_and_head_do_not_depend_on_it() {
    let fixture = Fixture::start();
    let plain = fixture.get(PAGE);
    let answer = fixture.send("GET", PAGE, &[GZIP]);
    let tag = plain.header("etag").expect("a tag");
    assert!(tag.starts_with("W/\""), "{tag}");
    assert_eq!(answer.header("etag"), Some(tag));
    let head = fixture.send("HEAD", PAGE, &[GZIP]);
    for name in [
        "content-encoding",
        "content-length",
        "etag",
        "content-type",
        "vary",
    ] {
        assert_eq!(
            head.headers_named(name),
            answer.headers_named(name),
            "{name}"
        );
    }
    assert!(head.body.is_empty());
    let current = fixture.send("GET", PAGE, &[GZIP, ("if-none-match", tag)]);
    assert_eq!((current.status, current.body.len()), (304, 0));
    assert!(!is_compressed(&current) && varies_by_encoding(&current));
}

#[test]
fn what_is_kept_is_plain() {
    let fixture = Fixture::start();
    let name = ("idempotency-key", "nightly-4711");
    let first = fixture.send("GET", PAGE, &[GZIP, name]);
    let plain = fixture.send("GET", PAGE, &[name]);
    let again = fixture.send("GET", PAGE, &[GZIP, name]);
    for replay in [&plain, &again] {
        assert_eq!(replay.header("idempotency-replayed"), Some("true"));
    }
    assert!(!is_compressed(&plain));
    assert_eq!(inflated(&first), plain.body);
    assert_eq!(inflated(&again), plain.body);
}

#[test]
fn exports_and_changes_are_compressed() {
    let (fixture, index) = service(metered(None));
    commit(
        &index,
        (1..=3500).map(|id| (id, "Acme hires engineers")),
        &[],
    );
    for (target, units) in [
        ("/api/v1/export", 3500),
        ("/api/v1/export?format=csv", 3500),
        ("/api/v1/changes?since=start&limit=50", 0),
    ] {
        let plain = fixture.get(target);
        let answer = fixture.send("GET", target, &[GZIP]);
        assert!(plain.is_whole && answer.is_whole, "{target}");
        assert_eq!(inflated(&answer), plain.body, "{target}");
        assert!(answer.body.len() * 2 < plain.body.len(), "{target}");
        assert!(varies_by_encoding(&answer) && varies_by_encoding(&plain));
        let head = fixture.send("HEAD", target, &[GZIP]);
        assert_eq!(head.header("content-encoding"), Some("gzip"), "{target}");
        // An export does not say in advance what it charges.
        fixture.note(2 * units);
    }
    let head = fixture.send("HEAD", "/api/v1/export", &[GZIP]);
    assert_eq!(head.header("content-length"), None);
}
