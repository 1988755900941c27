//! The pages of the API reference: each says what its endpoint does, and its examples work.

use std::process::Command;

use axum::Router;
use serde_json::Value;
use signaldex_server::Service;

use crate::client;
use crate::fixture::{Fixture, Settings};

/// Path of a page, its endpoint in the OpenAPI document, and the request of its example.
const PAGES: [[&str; 3]; 9] = [
    [
        "/docs/search-signals",
        "/api/v1/signals",
        "/api/v1/signals?q=%22series+a%22&country=Germany&limit=1",
    ],
    [
        "/docs/get-signal",
        "/api/v1/signals/{id}",
        "/api/v1/signals/7477456168553964859",
    ],
    [
        "/docs/get-company",
        "/api/v1/companies/{slug}",
        "/api/v1/companies/sao-bento-agro",
    ],
    [
        "/docs/find-companies",
        "/api/v1/companies",
        "/api/v1/companies?country=Germany&has=(categories=hiring;min=2),(categories=funding)&order=-matches&limit=1",
    ],
    [
        "/docs/get-filter-options",
        "/api/v1/filter-options",
        "/api/v1/filter-options?companySlug=sao-bento-agro",
    ],
    [
        "/docs/get-changes",
        "/api/v1/changes",
        "/api/v1/changes?country=Germany",
    ],
    [
        "/docs/export-signals",
        "/api/v1/export",
        "/api/v1/export?q=%22series+a%22&country=Germany&maxItems=1",
    ],
    [
        "/docs/aggregate-signals",
        "/api/v1/aggregates",
        "/api/v1/aggregates?fundingCurrency=EUR&by=month&measures=companies,sum,median&order=-key&limit=3",
    ],
    [
        "/docs/list-saved-searches",
        "/api/v1/saved-searches",
        "/api/v1/saved-searches",
    ],
];

fn page(fixture: &Fixture, path: &str) -> String {
    let answer = fixture.send_as_is("GET", path, &[]);
    assert_eq!(answer.status, 200, "{path}");
    let policy = answer.header("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    String::from_utf8(answer.body).expect("text")
}

/// The code that stands under a heading, as a person copies it.
fn code(page: &str, heading: &str) -> String {
    let block = page
        .split(&format!("<h3>{heading}</h3>\n<pre>"))
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next())
        .expect("a block of code");
    block
        .replace("&quot;", "\"")
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&")
}

/// An answer without the position that each index has of its own.
pub(crate) fn without_position(mut answer: Value) -> Value {
    if let Some(next) = answer["data"].get_mut("next") {
        let length = next.as_str().expect("a position").len();
        *next = length.into();
    }
    answer
}

#[test]
fn each_example_is_what_the_service_answers() {
    let fixture = Fixture::start();
    let index = page(&fixture, "/docs");
    for [path, endpoint, request] in PAGES {
        let page = page(&fixture, path);
        assert!(!page.contains("src="), "{path}");
        let link = path.strip_prefix('/').expect("a path");
        assert!(index.contains(&format!("href=\"{link}\"")), "{path}");
        assert!(
            page.contains(&format!("<code>GET {endpoint}</code>")),
            "{path}"
        );
        let shown: Value = serde_json::from_str(&code(&page, "Answer")).expect("JSON");
        let answer = fixture.get(request).json();
        // An export does not say in advance what it charges.
        fixture.note(u64::from(endpoint == "/api/v1/export"));
        assert_eq!(without_position(answer), without_position(shown), "{path}");
        for language in ["curl", "Python", "JavaScript"] {
            assert!(code(&page, language).contains(request), "{path} {language}");
        }
    }
}

/// The policy names the script by its hash, so no other script runs.
#[test]
fn each_page_has_a_form_with_the_values_of_the_example() {
    let fixture = Fixture::start();
    for [path, endpoint, _] in PAGES {
        let answer = fixture.send_as_is("GET", path, &[]);
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.contains("; script-src 'sha256-"), "{policy}");
        assert!(policy.contains("; connect-src 'self'; base-uri 'none'; form-action 'none'"));
        let page = String::from_utf8(answer.body.clone()).expect("text");
        assert_eq!(page.matches("<script>").count(), 1, "{path}");
        assert!(page.contains("<section id=\"try\" hidden>"), "{path}");
        assert!(
            page.contains(&format!("data-path=\"..{endpoint}\"")),
            "{path}"
        );
    }
    for (path, input) in [
        (
            "/docs/search-signals",
            "name=\"q\" data-in=\"query\" value=\"&quot;series a&quot;\"",
        ),
        (
            "/docs/get-signal",
            "name=\"id\" data-in=\"path\" value=\"7477456168553964859\"",
        ),
        (
            "/docs/export-signals",
            "name=\"Idempotency-Key\" data-in=\"header\" value=\"\"",
        ),
    ] {
        let page = page(&fixture, path);
        assert_eq!(page.matches(input).count(), 1, "{path} {input}");
    }
}

#[test]
fn there_are_no_other_pages() {
    let fixture = Fixture::start();
    for path in ["/docs/", "/docs/nothing", "/docs/get-signal/1"] {
        assert_eq!(fixture.send_as_is("GET", path, &[]).status, 404, "{path}");
    }
    let answer = fixture.send_as_is("GET", "/docs/get-signal?x=1", &[]);
    assert_eq!(answer.status, 400);
}

#[test]
#[ignore = "needs curl, Python and Node.js"]
fn the_examples_run() {
    let fixture = Fixture::start();
    for [path, _, _] in PAGES {
        let page = page(&fixture, path);
        for (language, program) in [
            ("curl", ["sh", "-c"]),
            ("Python", ["python3", "-c"]),
            ("JavaScript", ["node", "--input-type=module"]),
        ] {
            let mut command = Command::new(program[0]);
            command.arg(program[1]);
            if language == "JavaScript" {
                command.arg("-e");
            }
            let output = command
                .arg(code(&page, language))
                .env("SIGNALDEX_URL", format!("http://{}", fixture.address))
                .env("SIGNALDEX_KEY", fixture.key.as_str())
                .output()
                .expect("the program runs");
            let text = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{path} {language}: {errors}");
            let expected = match path {
                "/docs/search-signals" => "eastermoor-school",
                "/docs/export-signals" => "Eastermoor School",
                "/docs/get-changes" => "next",
                "/docs/aggregate-signals" => "truncated",
                "/docs/find-companies" => "Fennmark Mutual",
                "/docs/list-saved-searches" => "searches",
                _ => "Brazil",
            };
            assert!(text.contains(expected), "{path} {language}: {text}");
        }
    }
    fixture.note(fixture.recorded());
}

#[test]
fn the_reference_names_the_address_that_was_asked() {
    let fixture = Fixture::start();
    let named = |headers: &[(&str, &str)]| {
        let mut text = "GET /docs/search-signals HTTP/1.1\r\nconnection: close\r\n".to_owned();
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        let answer = client::parse(&client::raw(fixture.address, text.as_bytes()));
        assert_eq!(answer.status, 200);
        let page = String::from_utf8(answer.body).expect("text");
        let url = page
            .split("export SIGNALDEX_URL=")
            .nth(1)
            .expect("the address");
        url.split('\n').next().expect("a line").to_owned()
    };
    let host = |host| ("host", host);
    assert_eq!(named(&[host("api.example")]), "http://api.example");
    assert_eq!(named(&[host("[::1]:8080")]), "http://[::1]:8080");
    let proxied = ("x-forwarded-proto", "https");
    assert_eq!(
        named(&[host("api.example"), proxied]),
        "https://api.example"
    );
    // A line to paste into a shell has no host that a shell would run.
    for odd in ["$(reboot)", "a;reboot", "a&b", "'x'"] {
        assert_eq!(named(&[host(odd)]), "http://127.0.0.1:8080", "{odd}");
    }
}

#[test]
fn the_reference_of_a_host_shows_its_address_and_its_way_to_sign_in() {
    fn host(service: &Service) -> Router {
        service.set_public_url("https://host.example/signals");
        service.set_sign_in("Cookie: session=");
        Router::new().nest("/signals", service.router())
    }
    let fixture = Fixture::with(Settings {
        host: Some(host),
        ..Settings::default()
    });
    for path in ["/signals/docs", "/signals/docs/get-signal"] {
        let page = page(&fixture, path);
        assert!(
            page.contains("export SIGNALDEX_URL=https://host.example/signals\n"),
            "{path}"
        );
        assert!(
            page.contains("curl -H &quot;Cookie: session=$SIGNALDEX_KEY&quot;"),
            "{path}"
        );
        for other in ["Bearer", "sdx_", "HEADER_", "CREDENTIAL_"] {
            assert!(!page.contains(other), "{path}: {other}");
        }
    }
    let page = page(&fixture, "/signals/docs/get-signal");
    for (language, expected) in [
        ("Python", "{\"Cookie\": \"session=\" + os.environ"),
        ("JavaScript", "{ \"Cookie\": `session=${process.env"),
    ] {
        assert!(code(&page, language).contains(expected), "{language}");
    }
    assert!(page.contains("data-header=\"Cookie\" data-start=\"session=\""));
}
