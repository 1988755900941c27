//! The dashboard without a browser: who may pass, what its answers carry, what its forms change.
//!
//! What a person sees is tested in headless Chromium by `crates/server/tests/browser/run.sh`.

use std::net::SocketAddr;
use std::time::Duration;

use signaldex::{Company, Index, Signal, SignalId, sample};
use signaldex_server::{
    Admin, AdminSettings, AdminToken, Limits, Server, ServerLimits, Service, State, Today,
    serve_admin,
};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::client::{self, Response};

/// A dashboard, the API beside it, and the token that opens the dashboard.
pub(crate) struct Dashboard {
    pub(crate) address: SocketAddr,
    pub(crate) api: SocketAddr,
    pub(crate) service: Service,
    token: AdminToken,
    directory: TempDir,
    _runtime: Runtime,
}

/// The cookie of a session and the token of its forms.
pub(crate) struct Session {
    pub(crate) cookie: String,
    pub(crate) form_token: String,
}

impl Dashboard {
    pub(crate) fn start() -> Dashboard {
        Dashboard::with(Duration::from_secs(60), Limits::default())
    }

    pub(crate) fn with(session_time: Duration, limits: Limits) -> Dashboard {
        Dashboard::prepared(session_time, limits, |_| {})
    }

    pub(crate) fn prepared(
        session_time: Duration,
        limits: Limits,
        prepare: impl FnOnce(&State),
    ) -> Dashboard {
        let index = sample::index().expect("the sample corpus");
        Dashboard::over(index, session_time, limits, prepare)
    }

    pub(crate) fn over(
        index: Index,
        session_time: Duration,
        limits: Limits,
        prepare: impl FnOnce(&State),
    ) -> Dashboard {
        let directory = tempfile::tempdir().expect("a directory");
        let state = State::open(directory.path().join("state.db")).expect("a state");
        prepare(&state);
        let token = state
            .first_admin_token()
            .expect("a token")
            .expect("the first");
        let today = Today::Fixed(sample::AS_OF);
        let service = Service::new(index, state, today, limits).expect("a service");
        let settings = AdminSettings {
            session_time,
            ..AdminSettings::default()
        };
        let admin = Admin::new(service.clone(), settings);
        let runtime = Runtime::new().expect("a runtime");
        let listen = || {
            let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"));
            let listener = listener.expect("a listener");
            let address = listener.local_addr().expect("an address");
            (listener, address)
        };
        let (listener, address) = listen();
        runtime.spawn(serve_admin(listener, admin));
        let (listener, api) = listen();
        let server = Server::new(service.clone(), ServerLimits::default());
        runtime.spawn(server.run(listener, std::future::pending()));
        Dashboard {
            address,
            api,
            service,
            token,
            directory,
            _runtime: runtime,
        }
    }

    pub(crate) fn state(&self) -> State {
        State::open(self.state_path()).expect("the state")
    }

    pub(crate) fn state_path(&self) -> std::path::PathBuf {
        self.directory.path().join("state.db")
    }

    fn get(&self, target: &str, headers: &[(&str, &str)]) -> Response {
        client::request(self.address, "GET", target, headers)
    }

    /// Sends a request to the API.
    pub(crate) fn ask(&self, target: &str, key: &str) -> Response {
        let authorization = format!("Bearer {key}");
        let headers = [("authorization", authorization.as_str())];
        client::request(self.api, "GET", target, &headers)
    }

    pub(crate) fn post(&self, target: &str, form: &str, headers: &[(&str, &str)]) -> Response {
        let mut text = format!(
            "POST {target} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n",
            self.address,
            form.len()
        );
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("\r\n{form}"));
        client::parse(&client::raw(self.address, text.as_bytes()))
    }

    pub(crate) fn sign_in(&self) -> Session {
        self.sign_in_with(self.token.as_str())
    }

    pub(crate) fn sign_in_with(&self, token: &str) -> Session {
        let answer = self.post("/sign-in", &format!("token={token}"), &[]);
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
        let cookie = answer.header("set-cookie").expect("a cookie");
        let cookie = cookie.split(';').next().expect("a cookie").to_owned();
        let page = text(&self.get("/", &[("cookie", &cookie)]));
        let token = page
            .split("name=\"form_token\" value=\"")
            .nth(1)
            .expect("a form");
        Session {
            form_token: token.split('"').next().expect("a token").to_owned(),
            cookie,
        }
    }

    pub(crate) fn visit(&self, session: &Session, target: &str) -> Response {
        self.get(target, &[("cookie", &session.cookie)])
    }

    /// Asks for a page some times, and prints and returns the shortest time and the bytes.
    pub(crate) fn time_page(&self, session: &Session, target: &str) -> (Duration, usize) {
        let mut best = Duration::MAX;
        let mut bytes = 0;
        for _ in 0..5 {
            let started = std::time::Instant::now();
            let answer = self.visit(session, target);
            best = best.min(started.elapsed());
            assert_eq!(answer.status, 200, "{target}");
            bytes = answer.body.len();
        }
        println!(
            "{target}: {:.1} ms, {bytes} bytes",
            best.as_secs_f64() * 1e3
        );
        (best, bytes)
    }

    fn key_count(&self) -> usize {
        self.state().keys().expect("keys").len()
    }
}

pub(crate) fn text(response: &Response) -> String {
    String::from_utf8(response.body.clone()).expect("text")
}

fn shows_secret(response: &Response) -> bool {
    text(response).contains("id=\"new-key\"")
}

fn new_key(form_token: &str) -> String {
    format!("form_token={form_token}&name=mine&scope=signals%3Aread&rate=5&burst=5")
}

#[test]
fn every_page_asks_for_a_session_and_says_where_it_leads_back() {
    let dashboard = Dashboard::start();
    for target in [
        "/",
        "/search?q=raises",
        "/search/figures?q=raises",
        "/companies?has=()",
        "/keys",
        "/searches",
        "/usage",
        "/requests",
        "/slow",
        "/storage",
        "/people",
        "/people/edit?name=admin",
        "/audit",
    ] {
        for headers in [&[][..], &[("cookie", "signaldex_session=guessed")]] {
            let answer = dashboard.get(target, headers);
            assert_eq!(answer.status, 303, "{target}");
            let place = answer.header("location").expect("a place");
            assert!(place.starts_with("/sign-in?session="), "{place}");
        }
    }
    for target in [
        "/keys",
        "/searches",
        "/searches/edit",
        "/searches/delete",
        "/searches/pause",
        "/searches/resume",
        "/searches/rotate",
        "/searches/test",
        "/keys/edit",
        "/keys/rotate",
        "/keys/revoke",
        "/people",
        "/people/edit",
        "/people/revoke",
        "/sign-out",
    ] {
        assert_eq!(dashboard.post(target, "", &[]).status, 403, "{target}");
    }
    assert_eq!(dashboard.get("/metrics", &[]).status, 200);
    assert_eq!(dashboard.get("/nothing", &[]).status, 404);
    assert_eq!(dashboard.get("/assets/../Cargo.toml", &[]).status, 404);
}

#[test]
fn every_answer_is_sealed_with_a_nonce_of_its_own() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let mut policies = Vec::new();
    for target in [
        "/",
        "/search?limit=10",
        "/search/figures",
        "/companies?limit=10&has=(days%3D90)",
        "/keys",
        "/searches",
        "/usage",
        "/requests",
        "/slow",
        "/storage",
        "/people",
        "/audit",
        "/sign-in",
        "/nothing",
    ] {
        let answer = dashboard.visit(&session, target);
        let policy = answer
            .header("content-security-policy")
            .expect("a policy")
            .to_owned();
        for rule in [
            "default-src 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-frame-options"), Some("DENY"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let page = text(&answer);
        assert!(
            !page.contains(" style=") && !page.contains(" onclick="),
            "{target}"
        );
        for tag in page
            .split("<script")
            .skip(1)
            .chain(page.split("<link rel=\"stylesheet").skip(1))
        {
            let tag = tag.split('>').next().expect("a tag");
            let nonce = tag
                .split("nonce=\"")
                .nth(1)
                .and_then(|rest| rest.split('"').next());
            assert!(policy.contains(nonce.expect("a nonce")), "{tag}");
        }
        policies.push(policy);
    }
    policies.sort();
    policies.dedup();
    assert_eq!(policies.len(), 14, "no nonce serves twice");
}

#[test]
fn the_cookie_has_what_keeps_it_in() {
    let dashboard = Dashboard::start();
    let form = format!("token={}&next=//evil.example", dashboard.token.as_str());
    let answer = dashboard.post("/sign-in", &form, &[]);
    assert_eq!(
        answer.header("location"),
        Some("/"),
        "nobody is led elsewhere"
    );
    let cookie = answer.header("set-cookie").expect("a cookie").to_owned();
    assert!(
        cookie.ends_with("; Path=/; Max-Age=60; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    let answer = dashboard.post("/sign-in", &form, &[("x-forwarded-proto", "https")]);
    assert!(
        answer
            .header("set-cookie")
            .expect("a cookie")
            .ends_with("; Secure")
    );
}

#[test]
fn a_wrong_token_opens_nothing() {
    let dashboard = Dashboard::start();
    let right = dashboard.token.as_str();
    for wrong in [
        "",
        "sdxadmin_",
        &right[..right.len() - 1],
        &format!("{right}x"),
    ] {
        let answer = dashboard.post("/sign-in", &format!("token={wrong}"), &[]);
        assert_eq!(
            (answer.status, answer.header("set-cookie")),
            (401, None),
            "{wrong}"
        );
    }
    let form = format!("token={right}");
    let answer = dashboard.post("/sign-in", &form, &[("origin", "http://evil.example")]);
    assert_eq!(answer.status, 401, "nobody is signed in by another site");
    let long = format!("token={}", "x".repeat(20_000));
    assert_eq!(dashboard.post("/sign-in", &long, &[]).status, 401);
}

#[test]
fn only_a_form_of_the_session_makes_or_revokes_a_key() {
    let dashboard = Dashboard::start();
    let (session, other) = (dashboard.sign_in(), dashboard.sign_in());
    let own = [("cookie", session.cookie.as_str())];
    let host = format!("http://{}", dashboard.address);
    for forged in ["", "x", &other.form_token] {
        let answer = dashboard.post("/keys", &new_key(forged), &own);
        assert_eq!(answer.status, 403, "{forged}");
    }
    let form = new_key(&session.form_token);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1"] {
        let answer = dashboard.post("/keys", &form, &[own[0], ("origin", origin)]);
        assert_eq!(answer.status, 403, "{origin}");
    }
    assert_eq!(dashboard.key_count(), 0);
    let answer = dashboard.post("/keys", &form, &[own[0], ("origin", &host)]);
    assert_eq!((answer.status, dashboard.key_count()), (303, 1));

    let id = dashboard.state().keys().expect("keys")[0].id.clone();
    assert_eq!(
        dashboard
            .post("/keys/revoke", &format!("id={id}"), &own)
            .status,
        403
    );
    let form = format!("id={id}&form_token={}", session.form_token);
    assert_eq!(dashboard.post("/keys/revoke", &form, &own).status, 303);
    assert!(
        dashboard.state().keys().expect("keys")[0]
            .revoked_at
            .is_some()
    );
}

#[test]
fn a_new_key_is_shown_once_and_to_its_maker_alone() {
    let dashboard = Dashboard::start();
    let (session, other) = (dashboard.sign_in(), dashboard.sign_in());
    dashboard.post(
        "/keys",
        &new_key(&session.form_token),
        &[("cookie", &session.cookie)],
    );
    let shows = |session: &Session| shows_secret(&dashboard.visit(session, "/keys"));
    assert!(!shows(&other));
    assert!(shows(&session));
    assert!(!shows(&session));
}

#[test]
fn a_key_gets_no_name_that_cannot_be_seen() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let cookie = ("cookie", session.cookie.as_str());
    let form = new_key(&session.form_token);
    assert!(form.contains("name=mine"), "{form}");
    for name in [
        "",
        "+",
        "a%00b",
        "a%1B%5B31mb",
        "a%E2%80%AEb",
        "%C2%ADab",
        &"a".repeat(181),
    ] {
        let form = form.replace("name=mine", &format!("name={name}"));
        let refused = dashboard.post("/keys", &form, &[cookie]);
        assert_eq!(refused.status, 400, "{name}");
    }
    assert!(dashboard.state().keys().expect("keys").is_empty());
}

#[test]
fn head_and_prefetch_leave_a_new_key_to_be_shown() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let cookie = ("cookie", session.cookie.as_str());
    let form = new_key(&session.form_token);
    dashboard.post("/keys", &form, &[cookie]);
    let head = client::request(dashboard.address, "HEAD", "/keys", &[cookie]);
    assert_eq!((head.status, head.body.len()), (200, 0));
    for header in ["sec-purpose", "purpose", "x-moz"] {
        let prefetched = dashboard.get("/keys", &[cookie, (header, "prefetch")]);
        assert!(!shows_secret(&prefetched), "{header}");
    }
    let refused = dashboard.post("/keys", &form.replace("rate=5", "rate=0"), &[cookie]);
    assert_eq!(refused.status, 400);
    assert!(!shows_secret(&refused), "a form that was refused");
    assert!(shows_secret(&dashboard.visit(&session, "/keys")));
}

#[test]
fn sessions_end_with_their_time_and_with_the_token() {
    let brief = Dashboard::with(Duration::from_millis(300), Limits::default());
    let session = brief.sign_in();
    std::thread::sleep(Duration::from_millis(400));
    let answer = brief.visit(&session, "/");
    assert_eq!(
        answer.header("location"),
        Some("/sign-in?session=ended&next=%2F")
    );

    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    assert_eq!(dashboard.visit(&session, "/").status, 200);
    let new = dashboard.state().new_admin_token().expect("a token");
    assert_ne!(new.as_str(), dashboard.token.as_str());
    assert_eq!(dashboard.visit(&session, "/").status, 303);
    let answer = dashboard.post(
        "/sign-in",
        &format!("token={}", dashboard.token.as_str()),
        &[],
    );
    assert_eq!(answer.status, 401);
}

#[test]
fn the_token_is_made_once_and_kept_as_a_hash() {
    let dashboard = Dashboard::start();
    assert!(
        dashboard
            .state()
            .first_admin_token()
            .expect("a state")
            .is_none()
    );
    assert_eq!(format!("{:?}", dashboard.token), "AdminToken(hidden)");
    for entry in std::fs::read_dir(dashboard.directory.path()).expect("a directory") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
        let token = dashboard.token.as_str().as_bytes();
        assert!(!bytes.windows(token.len()).any(|window| window == token));
    }
}

#[test]
fn what_is_in_records_and_queries_stays_text() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let attack = "%22%3E%3Cscript%3Ealert(1)%3C/script%3E";
    let targets = [
        format!("/search?q={attack}&limit=10"),
        format!("/search?country={attack}&limit=10"),
        format!("/search?{attack}=1&limit=10"),
        format!("/usage?key={attack}"),
        format!("/search/figures?q={attack}"),
        format!("/companies?city={attack}&has=(q={attack})"),
        format!("/companies?has1.q={attack}&has1.{attack}=1&hasNot1.country={attack}"),
    ];
    for target in targets {
        let mut answer = dashboard.visit(&session, &target);
        if let Some(place) = answer.header("location").map(str::to_owned) {
            answer = dashboard.visit(&session, &place);
        }
        assert!(matches!(answer.status, 200 | 400), "{target}");
        assert!(!text(&answer).contains("<script>alert"), "{target}");
    }
}

#[test]
fn a_form_leads_to_the_query_string_of_the_interface() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let form = "q=series+a&all=&categories=funding&categories=hiring&country=&limit=10";
    let answer = dashboard.visit(&session, &format!("/search?{form}"));
    let place = answer.header("location").expect("a place").to_owned();
    assert_eq!(
        place,
        "/search?q=series+a&categories=funding,hiring&limit=10"
    );
    let page = text(&dashboard.visit(&session, &place));
    let query = place.trim_start_matches("/search?");
    assert!(page.contains(&format!("/api/v1/signals?{}", query.replace('&', "&#38;"))));
}

/// The exact numbers of a chart, by period.
fn bars(page: &str) -> Vec<(String, u64)> {
    let hidden = |part: &str| {
        let texts = part.split("<span class=\"hidden\">").skip(1);
        let texts = texts.map(|rest| rest.split('<').next().unwrap_or_default().to_owned());
        texts.collect::<Vec<String>>()
    };
    let chart = page
        .split("<table class=\"chart\"")
        .nth(1)
        .expect("a chart");
    let (head, rest) = chart.split_once("</thead>").expect("a head");
    let body = rest.split("</table>").next().expect("a body");
    let counts = hidden(body).into_iter().skip(1);
    let counts = counts.map(|count| count.replace(',', "").parse().expect("a number"));
    hidden(head).into_iter().zip(counts).collect()
}

#[test]
fn the_chart_has_the_figures_of_the_api() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let new = signaldex_server::NewKey::named("shop");
    let (_, key) = dashboard.state().create_key(&new).expect("a key");
    for (query, unit) in [
        ("categories=funding", "month"),
        ("days=30", "day"),
        ("q=raises&fundingCurrency=EUR", "month"),
    ] {
        let search = text(&dashboard.visit(&session, &format!("/search?{query}&limit=10")));
        let link = format!("/search/figures?{query}&limit=10").replace('&', "&#38;");
        assert!(
            search.contains(&format!("data-figures=\"{link}\"")),
            "{link}"
        );
        let page = text(&dashboard.visit(&session, &format!("/search/figures?{query}")));
        let target = format!("/api/v1/aggregates?{query}&by={unit}&measures=sum,median");
        let answer = dashboard.ask(&target, key.as_str());
        let answer: serde_json::Value = serde_json::from_slice(&answer.body).expect("JSON");
        let groups = answer["data"]["groups"].as_array().expect("groups");
        let groups = groups.iter().filter_map(|group| {
            let period = group["key"][unit].as_str()?;
            Some((period.to_owned(), group["count"].as_u64()?))
        });
        let shown = bars(&page).into_iter().filter(|(_, count)| *count > 0);
        assert_eq!(
            shown.collect::<Vec<_>>(),
            groups.collect::<Vec<_>>(),
            "{query}"
        );
        for amounts in answer["data"]["totals"]["amounts"]
            .as_array()
            .expect("amounts")
        {
            let currency = amounts["currency"].as_str().unwrap_or("no currency");
            let row = page
                .split(&format!("<th scope=\"row\">{currency}</th>"))
                .nth(1);
            let row = row
                .and_then(|row| row.split("</tr>").next())
                .expect(currency);
            let row = row.replace(',', "");
            for figure in ["count", "sum"] {
                let figure = amounts[figure].as_f64().expect("a number").trunc();
                assert!(
                    row.contains(&format!(">{figure}")),
                    "{currency} {figure}: {row}"
                );
            }
        }
    }
    let invalid = dashboard.visit(&session, "/search/figures?contry=x");
    assert_eq!(invalid.status, 400);
}

#[test]
fn a_form_of_conditions_leads_to_the_query_string_of_the_interface() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let form =
        "country=Germany&city=&has1.categories=hiring&has1.min=2&has2.q=&hasNot1.days=7&limit=10";
    let answer = dashboard.visit(&session, &format!("/companies?{form}"));
    let place = answer.header("location").expect("a place").to_owned();
    assert_eq!(
        place,
        "/companies?country=Germany&limit=10&has=(categories%3Dhiring;min%3D2)&hasNot=(days%3D7)"
    );
    let answer = dashboard.visit(&session, &place);
    assert_eq!(answer.status, 200);
    let page = text(&answer);
    let query = place.trim_start_matches("/companies?");
    assert!(page.contains(&format!(
        "/api/v1/companies?{}",
        query.replace('&', "&#38;")
    )));
    let broken_out = dashboard.visit(&session, "/companies?has1.q=a),(q%3Db&limit=10");
    assert_eq!(broken_out.status, 400);
    assert!(
        text(&broken_out).contains("value=\"a),(q=b\""),
        "what was typed stays"
    );
}

#[test]
fn slow_aggregates_have_a_plan_and_lead_to_their_matches() {
    let limits = Limits {
        slow_query_time: Duration::ZERO,
        ..Limits::default()
    };
    let dashboard = Dashboard::with(Duration::from_secs(60), limits);
    let session = dashboard.sign_in();
    let new = signaldex_server::NewKey::named("shop");
    let (_, key) = dashboard.state().create_key(&new).expect("a key");
    dashboard.ask("/api/v1/aggregates?q=raises&by=month", key.as_str());
    let page = text(&dashboard.visit(&session, "/slow?plan=0"));
    assert!(page.contains("one pass over all matches"), "{page}");
    assert!(page.contains("href=\"/search?q=raises\""), "{page}");
}

#[test]
fn the_search_page_names_values_that_no_signal_has() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let target = "/search?categories=foundng,funding&companies=nobody&limit=10";
    let page = text(&dashboard.visit(&session, target));
    for (name, value) in [("categories", "foundng"), ("companies", "nobody")] {
        let note = format!("no signal has {name} &#34;{value}&#34;");
        assert!(page.contains(&note), "{note}");
    }
    assert!(!page.contains("&#34;funding&#34;"));
}

#[test]
fn a_key_is_edited_and_rotated_and_the_service_follows_at_once() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let cookie = ("cookie", session.cookie.as_str());
    let form = new_key(&session.form_token).replace("burst=5", "burst=1");
    dashboard.post("/keys", &form.replace("rate=5", "rate=1"), &[cookie]);
    let page = text(&dashboard.visit(&session, "/keys"));
    let secret = |page: &str| {
        let rest = page.split("aria-label=\"The new key\">").nth(1);
        rest.and_then(|rest| rest.split('<').next())
            .expect("a key")
            .to_owned()
    };
    let key = secret(&page);
    let statuses =
        |key: &str| [(); 3].map(|()| dashboard.ask("/api/v1/signals?limit=1", key).status);
    assert_eq!(statuses(&key)[1..], [429, 429]);

    let id = dashboard.state().keys().expect("keys")[0].id.clone();
    let edit = format!("{}&id={id}&quota_signals=9", new_key(&session.form_token));
    let edit = edit
        .replace("burst=5", "burst=50")
        .replace("name=mine", "name=yours");
    let answer = dashboard.post("/keys/edit", &edit, &[cookie]);
    let saved = format!("/keys/edit?id={id}&saved=yes");
    assert_eq!(answer.header("location"), Some(saved.as_str()));
    assert_eq!(statuses(&key), [200; 3]);
    let page = text(&dashboard.visit(&session, &saved));
    assert!(page.contains("value=\"yours\"") && page.contains("Saved."));
    let refused = dashboard.post("/keys/edit", &edit.replace("rate=5", "rate=0"), &[cookie]);
    assert_eq!(refused.status, 400);
    assert!(text(&refused).contains("Nothing was saved"));

    let own = format!("form_token={}&id={id}", session.form_token);
    let hint = dashboard.state().keys().expect("keys").remove(0).hint;
    for overlap in [
        "",
        "&overlap=",
        "&overlap=2",
        "&overlap=-1",
        "&overlap=%3Cb%3E",
    ] {
        let refused = dashboard.post("/keys/rotate", &format!("{own}{overlap}"), &[cookie]);
        assert_eq!(refused.status, 400, "{overlap}");
        let page = text(&refused);
        assert!(
            page.contains("<p class=\"error\" id=\"overlap-error\">overlap is "),
            "{page}"
        );
        assert!(page.contains("no choice of hours: 0, 1, 24, 168.") && !page.contains("<b>"));
    }
    assert_eq!(dashboard.state().keys().expect("keys")[0].hint, hint);
    let own = format!("{own}&overlap=0");
    let answer = dashboard.post("/keys/rotate", &own, &[cookie]);
    assert_eq!(answer.header("location"), Some("/keys#created"));
    let page = text(&dashboard.visit(&session, "/keys"));
    assert!(page.contains("New secret for yours"));
    assert_eq!(statuses(&key), [401; 3]);
    assert_eq!(statuses(&secret(&page)), [200; 3]);
    let record = dashboard.state().keys().expect("keys").remove(0);
    assert_eq!(record.settings.quotas.signals, Some(9));
    assert!(secret(&page).starts_with(&record.hint.expect("a hint")[..8]));

    dashboard.post("/keys/revoke", &own, &[cookie]);
    let page = text(&dashboard.visit(&session, "/keys"));
    assert!(page.contains("yours") && page.contains("badge-revoked"));
    for target in ["/keys/edit", "/keys/rotate"] {
        assert_eq!(
            dashboard
                .post(target, &format!("{edit}&id={id}&overlap=0"), &[cookie])
                .status,
            404
        );
    }
    assert_eq!(
        dashboard.visit(&session, "/keys/edit?id=nothing").status,
        404
    );
}

#[test]
fn what_is_found_leads_to_its_page_and_is_marked() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let visit = |target: &str| dashboard.visit(&session, target);
    let page = text(&visit("/search?q=raises&limit=10"));
    assert!(page.contains("<mark>"));
    let link = |page: &str, start: &str| {
        let rest = page.split(start).nth(1).expect(start);
        format!("{start}{}", rest.split('"').next().expect("a link"))
    };
    let signal = link(&page, "/signals/").replace("href=\"", "");
    let company = link(&page, "/companies/");
    let page = text(&visit(&signal));
    assert!(page.contains(&company) && page.contains("Over HTTP"));
    let page = text(&visit(&company));
    assert!(page.contains("Latest signals") && page.contains("/search?companySlug="));
    for target in [
        "/signals/1",
        "/signals/x",
        "/companies/nobody",
        "/companies/%FF",
    ] {
        assert_eq!(visit(target).status, 404, "{target}");
    }
}

#[test]
fn a_search_is_given_as_the_api_answers_it_and_as_csv() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let new = signaldex_server::NewKey::named("shop");
    let (_, key) = dashboard.state().create_key(&new).expect("a key");
    for query in [
        "q=raises&limit=10",
        "country=Germany&countOnly=true",
        "limit=3&page=2",
    ] {
        let ours = dashboard.visit(&session, &format!("/search.json?{query}"));
        let theirs = dashboard.ask(&format!("/api/v1/signals?{query}"), key.as_str());
        assert_eq!(ours.header("content-type"), Some("application/json"));
        assert_eq!(text(&ours), text(&theirs), "{query}");
    }
    let csv = dashboard.visit(&session, "/search.csv?categories=funding&limit=10");
    let count = dashboard.ask(
        "/api/v1/signals?categories=funding&countOnly=true",
        key.as_str(),
    );
    let count: serde_json::Value = serde_json::from_slice(&count.body).expect("JSON");
    let rows = text(&csv).matches("\r\n").count() as u64;
    assert_eq!(Some(rows - 1), count["data"]["count"].as_u64());
    let lines = dashboard.visit(&session, "/search.ndjson?categories=funding");
    assert!(csv.is_whole && lines.is_whole);
    assert_eq!(text(&lines).lines().count() as u64, rows - 1);
    for kind in ["json", "csv", "ndjson"] {
        let answer = dashboard.visit(&session, &format!("/search.{kind}?contry=x"));
        assert_eq!(answer.status, 400);
    }
}

#[test]
fn what_is_new_since_a_page_was_shown_is_a_link_away() {
    let index = Index::in_memory().expect("memory");
    let mut writer = index.writer().expect("nobody else writes");
    let acme = Company::new("acme", "Acme");
    writer.upsert_company(&acme).expect("a slug");
    let id = |id| SignalId::new(id).expect("an id");
    let mut commit = |signals: &[(u64, &str)], deleted: &[u64]| {
        for &(number, title) in signals {
            let signal = Signal::new(id(number), "acme", title);
            writer.upsert_signal(&signal).expect("a known company");
        }
        for &number in deleted {
            writer.delete_signal(id(number)).expect("a whole index");
        }
        writer.commit().expect("committed");
    };
    commit(&[(1, "Acme hires one"), (2, "Acme hires two")], &[]);
    let time = Duration::from_secs(60);
    let dashboard = Dashboard::over(index, time, Limits::default(), |_| {});
    let session = dashboard.sign_in();
    let search = text(&dashboard.visit(&session, "/search?q=hires&limit=10"));
    let link = search
        .split("href=\"")
        .find(|part| part.starts_with("/search/new?"));
    let link = link
        .and_then(|part| part.split('"').next())
        .expect("a link");
    let link = link.replace("&amp;", "&").replace("&#38;", "&");
    assert!(text(&dashboard.visit(&session, &link)).contains("Nothing is new yet"));
    commit(
        &[
            (2, "Acme hires again"),
            (3, "Acme hires three"),
            (4, "Acme moves"),
        ],
        &[1],
    );
    let page = text(&dashboard.visit(&session, &link));
    for part in [
        "again</a>",
        "three</a>",
        ">New<",
        ">Changed<",
        "2 shown; 1 deleted",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("moves"), "{page}");
    let start = dashboard.visit(&session, "/search/new?q=hires");
    assert_eq!(start.status, 303);
    for invalid in ["since=nonsense", "contry=x"] {
        let answer = dashboard.visit(&session, &format!("/search/new?{invalid}"));
        assert_eq!(answer.status, 400, "{invalid}");
    }
}

#[test]
fn the_key_of_a_trial_is_offered_what_can_be_done_with_it() {
    let dashboard = Dashboard::prepared(Duration::from_secs(60), Limits::default(), |state| {
        state.create_trial_key().expect("a key");
    });
    let session = dashboard.sign_in();
    let page = text(&dashboard.visit(&session, "/keys/edit?id=key_trial"));
    assert!(page.contains("cannot be edited or rotated"), "{page}");
    for action in ["/keys/edit", "/keys/rotate"] {
        assert!(!page.contains(&format!("action=\"{action}\"")), "{action}");
    }
    assert!(page.contains("action=\"/keys/revoke\""));
}

#[test]
fn charts_have_the_nonce_and_their_licence() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let page = dashboard.visit(&session, "/");
    let policy = page.header("content-security-policy").expect("a policy");
    let nonce = policy.split("'nonce-").nth(1).expect("a nonce");
    let nonce = nonce.split('\'').next().expect("a nonce");
    let page = text(&page);
    for (asset, holds) in [
        ("uplot.js", "Copyright (c) 2022 Leon Sorokin"),
        ("uplot.css", "(v1.6.32), MIT"),
        ("charts.js", "data-plotted"),
    ] {
        let address = page
            .split(&format!("/assets/{asset}?"))
            .nth(1)
            .expect(asset);
        let (version, after) = address.split_once('"').expect("a version");
        assert!(after.starts_with(&format!(" nonce=\"{nonce}\"")), "{asset}");
        let answer = dashboard.get(&format!("/assets/{asset}?{version}"), &[]);
        assert!(
            answer.status == 200 && text(&answer).contains(holds),
            "{asset}"
        );
    }
    let other = text(&dashboard.visit(&session, "/keys"));
    assert!(!other.contains("uplot"), "only pages with charts load them");
}
