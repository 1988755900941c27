//! The service inside a host: below any path, beside other routes, with the host's own authentication.

use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use signaldex_server::{
    ApiKey, Counter, Limits, NewKey, Principal, Quotas, Scopes, Service, State, Today,
};

use crate::client;
use crate::fixture::{Fixture, Settings};

/// How long a test waits for what happens within a second.
const WAIT_MAX: Duration = Duration::from_secs(60);

fn hosted(host: fn(&Service) -> Router) -> Fixture {
    Fixture::with(Settings {
        host: Some(host),
        ..Settings::default()
    })
}

/// The body of a host's own page.
fn text(response: &client::Response) -> String {
    String::from_utf8_lossy(&response.body).into_owned()
}

/// Sends a request whose answer need not be of the service.
fn ask(fixture: &Fixture, target: &str, user: &str) -> client::Response {
    let answer = client::request(fixture.address, "GET", target, &[("x-user", user)]);
    fixture.note(answer.charged());
    answer
}

#[test]
fn links_documents_and_problems_follow_the_path_of_the_host() {
    let fixture = hosted(|service| {
        let own = Router::new().route("/", get(async || "the host"));
        own.nest("/data/signals", service.router())
            .fallback(async || "nothing here")
    });
    let key = format!("Bearer {}", fixture.key.as_str());
    let base = "/data/signals";
    let headers = [("authorization", key.as_str())];
    let send = |target: &str| fixture.send_as_is("GET", &format!("{base}{target}"), &headers);

    let found = send("/api/v1/signals?limit=2");
    assert_eq!((found.status, found.items().len()), (200, 2));
    let detail = send(&format!("/api/v1/signals/{}", found.items()[0]));
    assert_eq!(detail.status, 200);
    let invalid = send("/api/v1/signals?limit=0").json();
    assert_eq!(invalid["type"], "/data/signals/docs#invalid_request");

    let document = send("/openapi.json").json();
    assert_eq!(document["servers"], json!([{"url": base}]));
    let own = &document["paths"]["/openapi.json"]["get"]["description"];
    assert!(
        own.as_str()
            .is_some_and(|text| text.contains("`/data/signals/docs`"))
    );
    let problem = &document["components"]["responses"]["Problem401"]["content"]["application/problem+json"]
        ["examples"]["unauthorized"]["value"];
    assert_eq!(problem["type"], "/data/signals/docs#unauthorized");

    for path in ["/docs", "/docs/search-signals"] {
        let page = send(path);
        assert_eq!(page.status, 200, "{path}");
        let page = text(&page);
        assert!(
            !page.contains("href=\"/"),
            "{path} has links that leave the host's path"
        );
        let url = format!("export SIGNALDEX_URL=http://{}{base}\n", fixture.address);
        assert!(page.contains(&url), "{path} names {url}");
    }
    for path in ["/", "/elsewhere"] {
        let own = ask(&fixture, path, "");
        assert!(
            ["the host", "nothing here"].contains(&text(&own).as_str()),
            "{path}"
        );
    }
    assert_eq!(
        text(&ask(&fixture, "/data/signals/unknown", "")),
        "nothing here"
    );
}

#[test]
fn beside_other_routes_unknown_paths_are_the_hosts() {
    let fixture = hosted(|service| {
        let own = Router::new().route("/", get(async || "the host"));
        let own = own.route("/api/v1/orders", get(async || "orders"));
        own.merge(service.router())
            .fallback(async || "nothing here")
    });
    assert_eq!(fixture.search("limit=1").status, 200);
    for (path, expected) in [
        ("/", "the host"),
        ("/api/v1/orders", "orders"),
        ("/api/v1/unknown", "nothing here"),
        ("/api/v1/signals/1/2", "nothing here"),
        ("/unknown", "nothing here"),
    ] {
        assert_eq!(text(&ask(&fixture, path, "")), expected, "{path}");
    }
    let problem = fixture.send("POST", "/api/v1/signals", &[]);
    assert_eq!(
        (problem.status, problem.header("allow")),
        (405, Some("GET, HEAD"))
    );
}

#[test]
fn the_router_that_catches_all_answers_unknown_paths_below_its_own() {
    let fixture = hosted(|service| Router::new().nest("/s", service.catch_all_router()));
    let unknown = fixture.send_as_is("GET", "/s/unknown", &[]);
    assert_eq!(
        (unknown.status, &unknown.json()["type"]),
        (404, &Value::from("/s/docs#not_found"))
    );
    let root = fixture.send_as_is("GET", "/s", &[]);
    assert_eq!(
        (root.status, root.header("location")),
        (303, Some("/s/docs"))
    );
}

/// As a host's middleware does after it has looked up the session.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let user = request.headers().get("x-user");
    let user = user.and_then(|user| user.to_str().ok()).unwrap_or_default();
    let principal = match user {
        "customer" => {
            let quotas = Quotas {
                signals: Some(3),
                ..Quotas::default()
            };
            Some(Principal::new(user).name("A customer").quotas(quotas))
        }
        "reader" => Scopes::parse("signals:read").map(|scopes| Principal::new(user).scopes(scopes)),
        "hasty" => Some(Principal::new(user).rate(1, 2)),
        "colleague" => Some(Principal::new(user).unmetered()),
        _ => None,
    };
    if let Some(principal) = principal {
        request.extensions_mut().insert(principal);
    }
    next.run(request).await
}

fn with_users() -> Fixture {
    hosted(|service| {
        let routes = service.router().layer(from_fn(authenticate));
        Router::new().merge(routes)
    })
}

#[test]
fn a_principal_of_the_host_stands_for_a_key() {
    let fixture = with_users();
    let target = "/api/v1/signals?limit=2";
    assert_eq!(ask(&fixture, target, "nobody").status, 401);
    let with_key = fixture.search("limit=1");
    assert_eq!(
        with_key.charged(),
        1,
        "keys of the state file go on working"
    );

    let charged = |user| {
        let answer = ask(&fixture, target, user);
        let remaining = answer.header("x-usage-remaining").map(str::to_owned);
        (answer.status, answer.charged(), remaining)
    };
    assert_eq!(charged("customer"), (200, 2, Some("1".into())));
    assert_eq!(charged("customer"), (200, 1, Some("0".into())));
    assert_eq!(charged("customer"), (402, 0, None));
    let company = "/api/v1/companies/pomelora";
    assert_eq!(ask(&fixture, company, "reader").status, 403);
    assert_eq!(ask(&fixture, company, "customer").status, 200);
    let hasty: Vec<u16> = (0..3)
        .map(|_| ask(&fixture, target, "hasty").status)
        .collect();
    assert_eq!(hasty, [200, 200, 429]);

    let usage = fixture.state().usage(None).expect("usage");
    let line = usage.iter().find(|line| line.key_id == "host:customer");
    let line = line.expect("the usage of the customer");
    assert_eq!(
        (line.name.as_str(), line.counts[0], line.counts[2]),
        ("A customer", 3, 1)
    );
}

#[test]
fn an_unmetered_principal_is_charged_nothing() {
    let fixture = with_users();
    for target in [
        "/api/v1/signals?limit=5",
        "/api/v1/companies/pomelora",
        "/api/v1/filter-options",
        "/api/v1/signals?countOnly=true",
    ] {
        let answer = ask(&fixture, target, "colleague");
        assert_eq!((answer.status, answer.charged()), (200, 0), "{target}");
    }
    assert_eq!(fixture.recorded(), 0);
}

/// A key that was guessed from what the state holds of a principal would let its finder in.
#[test]
fn a_principal_has_no_key_that_lets_anybody_in() {
    let fixture = with_users();
    assert_eq!(
        ask(&fixture, "/api/v1/signals?limit=1", "customer").status,
        200
    );
    let keys = fixture.state().keys().expect("keys");
    let key = keys
        .iter()
        .find(|key| key.id == "host:customer")
        .expect("a row");
    assert!(key.revoked_at.is_some() && key.hint.is_none());
    assert!(!fixture.state().revoke_key("host:customer").expect("asked"));
}

/// Asks a mounted service as a client does.
fn status_of(service: &Service, key: &ApiKey, target: &str) -> u16 {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let router = TowerToHyperService::new(service.router());
    let request = Request::get(target)
        .header("host", "test")
        .header("authorization", format!("Bearer {}", key.as_str()))
        .body(Body::empty())
        .expect("a request");
    let response = runtime.block_on(router.call(request)).expect("an answer");
    response.status().as_u16()
}

#[test]
fn a_mounted_service_is_maintained_until_its_guard_is_dropped() {
    let directory = tempfile::tempdir().expect("a directory");
    let open = || State::open(directory.path().join("state.db")).expect("a state");
    let (record, key) = open().create_key(&NewKey::named("host")).expect("a key");
    let index = signaldex::sample::index().expect("the sample");
    let service = Service::new(index, open(), Today::Clock, Limits::default()).expect("a service");
    let maintenance = service.maintain().expect("a thread");
    for _ in 0..5 {
        let count = "/api/v1/signals?countOnly=true";
        assert_eq!(status_of(&service, &key, count), 200);
    }
    let search = "/api/v1/signals?limit=1";
    assert_eq!(status_of(&service, &key, search), 200);
    // As another process does.
    assert!(open().revoke_key(&record.id).expect("revoked"));
    let started = Instant::now();
    while status_of(&service, &key, search) != 401 {
        assert!(started.elapsed() < WAIT_MAX, "the key is not followed");
    }
    drop(maintenance);
    let usage = open().usage(None).expect("usage");
    assert_eq!(usage[0].counts[Counter::FreeAnswers as usize], 5);
    let (_, other) = open().create_key(&NewKey::named("late")).expect("a key");
    assert_eq!(
        status_of(&service, &other, search),
        503,
        "the service is closed"
    );
}
