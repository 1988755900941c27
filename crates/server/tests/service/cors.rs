//! Cross-origin requests: nothing by default, and what an allowed origin gets.

use signaldex_server::NewKey;

use crate::client::Response;
use crate::fixture::{Fixture, Settings};

const SIGNALS: &str = "/api/v1/signals?limit=1";
const PREFLIGHT: (&str, &str) = ("access-control-request-method", "GET");
const APP: (&str, &str) = ("origin", "https://app.example");
const OTHER: (&str, &str) = ("origin", "https://other.example");

fn allowing(origins: &[&str]) -> Fixture {
    let origins = origins
        .iter()
        .map(|origin| origin.parse().expect("an origin"));
    Fixture::with(Settings {
        origins: origins.collect(),
        ..Settings::default()
    })
}

fn allowed(answer: &Response) -> Option<&str> {
    answer.header("access-control-allow-origin")
}

#[test]
fn nothing_is_allowed_by_default() {
    let fixture = Fixture::start();
    let answer = fixture.send("GET", SIGNALS, &[APP]);
    assert_eq!((answer.status, allowed(&answer)), (200, None));
    assert_eq!(answer.header("vary"), Some("Authorization"));
    let preflight = fixture.send_as_is("OPTIONS", SIGNALS, &[APP, PREFLIGHT]);
    assert_eq!((preflight.status, allowed(&preflight)), (405, None));
}

#[test]
fn a_preflight_of_an_allowed_origin_needs_no_key_and_costs_nothing() {
    let fixture = allowing(&["https://app.example", "http://localhost:3000"]);
    for (origin, path) in [
        (APP, SIGNALS),
        (
            ("origin", "http://localhost:3000"),
            "/api/v1/companies/pomelora",
        ),
    ] {
        let headers = [
            origin,
            PREFLIGHT,
            (
                "access-control-request-headers",
                "authorization,idempotency-key",
            ),
        ];
        let answer = fixture.send_as_is("OPTIONS", path, &headers);
        assert_eq!(
            (answer.status, allowed(&answer)),
            (204, Some(origin.1)),
            "{path}"
        );
        assert_eq!(
            answer.header("access-control-allow-methods"),
            Some("GET, HEAD")
        );
        let names = answer
            .header("access-control-allow-headers")
            .expect("names");
        for name in ["Authorization", "Idempotency-Key", "If-None-Match"] {
            assert!(names.contains(name), "{names}");
        }
        assert_eq!(answer.header("access-control-max-age"), Some("7200"));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
        assert_eq!(
            (answer.header("vary"), answer.body.len()),
            (Some("Origin"), 0)
        );
    }
    let unknown = fixture.send_as_is("OPTIONS", "/nowhere", &[APP, PREFLIGHT]);
    assert_eq!(unknown.status, 404);
}

#[test]
fn another_origin_gets_no_permission() {
    let fixture = allowing(&["https://app.example"]);
    for origin in [
        "https://other.example",
        "https://app.example:8443",
        "http://app.example",
        "null",
    ] {
        let origin = ("origin", origin);
        let preflight = fixture.send_as_is("OPTIONS", SIGNALS, &[origin, PREFLIGHT]);
        assert_eq!(
            (preflight.status, allowed(&preflight)),
            (405, None),
            "{origin:?}"
        );
        let answer = fixture.send("GET", SIGNALS, &[origin]);
        assert_eq!((answer.status, allowed(&answer)), (200, None), "{origin:?}");
    }
    let bare = fixture.send_as_is("OPTIONS", SIGNALS, &[APP]);
    assert_eq!(bare.status, 405, "this is no preflight");
}

#[test]
fn every_answer_to_an_allowed_origin_can_be_read_with_its_headers() {
    let key = NewKey {
        rate: 1,
        burst: 4,
        ..NewKey::named("poor")
    };
    let settings = Settings {
        key,
        origins: vec!["https://app.example".parse().expect("an origin")],
        ..Settings::default()
    };
    let fixture = Fixture::with(settings);
    let found = fixture.send("GET", SIGNALS, &[APP]);
    let tag = found.header("etag").expect("a tag").to_owned();
    let unchanged = fixture.send("GET", SIGNALS, &[APP, ("if-none-match", &tag)]);
    let invalid = fixture.send("GET", "/api/v1/signals?limit=0", &[APP]);
    let head = fixture.send("HEAD", SIGNALS, &[APP]);
    let limited = fixture.send("GET", SIGNALS, &[APP]);
    let without_key = fixture.send_as_is("GET", SIGNALS, &[APP]);
    for (status, answer) in [
        (200, &found),
        (304, &unchanged),
        (400, &invalid),
        (200, &head),
        (429, &limited),
        (401, &without_key),
    ] {
        assert_eq!(
            (answer.status, allowed(answer)),
            (status, Some("https://app.example"))
        );
        let exposed = answer
            .header("access-control-expose-headers")
            .expect("names");
        for name in [
            "ETag",
            "Idempotency-Replayed",
            "RateLimit",
            "RateLimit-Policy",
            "Retry-After",
            "X-Hints",
            "X-Request-Id",
            "X-Usage-Charged",
            "X-Usage-Remaining",
        ] {
            assert!(exposed.split(", ").any(|known| known == name), "{name}");
        }
    }
}

#[test]
fn a_star_allows_every_origin() {
    let fixture = allowing(&["*"]);
    for origin in [APP, OTHER, ("origin", "null")] {
        let answer = fixture.send("GET", SIGNALS, &[origin]);
        assert_eq!(allowed(&answer), Some("*"), "{origin:?}");
        let preflight = fixture.send_as_is("OPTIONS", SIGNALS, &[origin, PREFLIGHT]);
        assert_eq!((preflight.status, allowed(&preflight)), (204, Some("*")));
    }
    assert_eq!(allowed(&fixture.get(SIGNALS)), None, "without an origin");
}
