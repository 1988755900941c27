//! What the dashboard says of requests: today's figures, the last of each key, usage by day.

use std::time::Duration;

use signaldex_server::{Limits, NewKey};

use crate::dashboard::{Dashboard, text};

const SESSION: Duration = Duration::from_secs(60);

fn shown(dashboard: &Dashboard, target: &str) -> String {
    let session = dashboard.sign_in();
    let answer = dashboard.visit(&session, target);
    assert_eq!(answer.status, 200, "{target}");
    text(&answer)
}

/// The value that a page shows under a name.
fn fact(page: &str, name: &str) -> String {
    let start = format!("<dt>{name}</dt><dd>");
    let rest = page.split(&start).nth(1).expect(name);
    rest.split('<').next().expect("a value").to_owned()
}

#[test]
fn the_overview_counts_todays_requests_and_errors_by_key() {
    let dashboard = Dashboard::start();
    let page = shown(&dashboard, "/");
    assert!(page.contains("Three steps to start"));
    assert_eq!(fact(&page, "Median time"), "–");

    let named = NewKey::named("shop <b>");
    let (record, key) = dashboard.state().create_key(&named).expect("a key");
    for target in ["?limit=3", "?limit=4", "?contry=x", "/18446744073709551616"] {
        dashboard.ask(&format!("/api/v1/signals{target}"), key.as_str());
    }
    dashboard.ask("/api/v1/signals", "sdx_unknown");
    dashboard.ask("/healthz", "");
    let page = shown(&dashboard, "/");
    assert!(!page.contains("Three steps to start"));
    assert_eq!(fact(&page, "Requests today"), "5");
    assert_eq!(fact(&page, "Refused today"), "3");
    assert_eq!(fact(&page, "Failed today"), "0");
    assert_eq!(fact(&page, "Health"), "ready");
    assert!(fact(&page, "Median time").ends_with('s'));
    assert_eq!(fact(&page, "Signals"), "7");
    let row = format!(
        "<a href=\"/requests?key={}\">shop &#60;b&#62;</a></th><td class=\"number\">4</td>\
         <td class=\"number\">2</td><td class=\"number\">0</td>",
        record.id
    );
    assert!(page.contains(&row), "{page}");
    assert!(page.contains("no valid key"));
}

#[test]
fn recent_requests_have_the_id_that_the_client_was_told() {
    let dashboard = Dashboard::start();
    let new = NewKey::named("shop");
    let (record, key) = dashboard.state().create_key(&new).expect("a key");
    let answer = dashboard.ask("/api/v1/signals?q=secretword&limit=3", key.as_str());
    let id = answer.header("x-request-id").expect("an id").to_owned();
    let refused = dashboard.ask("/api/v1/companies/nobody", key.as_str());
    let refused = refused.header("x-request-id").expect("an id").to_owned();

    let all = shown(&dashboard, "/requests");
    let hint = record.hint.expect("a hint");
    for expected in [id.as_str(), &refused, &hint, "not_found"] {
        assert!(all.contains(expected), "{expected}");
    }
    assert!(!all.contains("secretword"), "no values of parameters");
    let errors = shown(&dashboard, "/requests?outcome=errors");
    assert!(errors.contains(&refused) && !errors.contains(&id));
    let found = shown(&dashboard, &format!("/requests?find={id}"));
    assert!(found.contains(&format!("<code>{id}</code>")) && !found.contains(&refused));
    let of_key = shown(&dashboard, &format!("/requests?key={}", record.id));
    assert!(of_key.contains(&id));
}

#[test]
fn query_strings_are_shown_where_the_operator_wants_them() {
    let limits = Limits {
        show_parameters: true,
        ..Limits::default()
    };
    let dashboard = Dashboard::with(SESSION, limits);
    let (_, key) = dashboard
        .state()
        .create_key(&NewKey::named("shop"))
        .expect("a key");
    dashboard.ask("/api/v1/signals?q=secretword&limit=3", key.as_str());
    assert!(shown(&dashboard, "/requests").contains("q=secretword"));
}

#[test]
fn usage_by_day_agrees_with_usage_by_month() {
    let dashboard = Dashboard::start();
    let (record, key) = dashboard
        .state()
        .create_key(&NewKey::named("=shop"))
        .expect("a key");
    for target in ["signals?limit=3", "signals?limit=4", "signals?contry=x"] {
        dashboard.ask(&format!("/api/v1/{target}"), key.as_str());
    }
    let session = dashboard.sign_in();
    let download = |target: &str| {
        let answer = dashboard.visit(&session, target);
        let disposition = answer.header("content-disposition").expect("a name");
        assert!(disposition.starts_with("attachment"), "{disposition}");
        text(&answer)
    };
    let (by_month, by_day) = (download("/usage.csv"), download("/usage.csv?by=day"));
    let line = format!(",{},\"'=shop\",7,0,0,0\r\n", record.id);
    for csv in [&by_month, &by_day] {
        assert!(csv.ends_with(&line), "{csv}");
        assert_eq!(csv.lines().count(), 2);
    }
    assert!(by_month.starts_with("month,keyId,name,signals,activities,companies,freeAnswers\r\n"));
    assert_eq!(download("/usage.csv?key=other").lines().count(), 1);
    let requests = download("/requests.csv?by=day");
    for line in [",search,200,2\r\n", ",search,400,1\r\n"] {
        assert!(requests.contains(line), "{requests}");
    }
    let page = shown(&dashboard, &format!("/usage?by=day&key={}", record.id));
    assert!(page.contains("Signals by day") && page.contains("<td class=\"number\">7</td>"));
    let page = shown(&dashboard, "/usage");
    assert!(page.contains("Requests by endpoint and status"));
}

#[test]
fn a_quota_is_shown_for_its_key_and_refusals_are_counted() {
    let dashboard = Dashboard::start();
    let mut new = NewKey::named("shop");
    new.quotas.signals = Some(5);
    let (record, key) = dashboard.state().create_key(&new).expect("a key");
    for _ in 0..3 {
        dashboard.ask("/api/v1/signals?limit=5", key.as_str());
    }
    let page = shown(&dashboard, &format!("/usage?key={}", record.id));
    assert!(page.contains("quota 5 a month"));
    let month = page.split("Table of usage").nth(1).expect("a table");
    let month = month.split("</tr>").nth(1).expect("this month");
    assert!(month.contains("<td class=\"number\">5</td>"), "{month}");
    assert!(
        month.contains("class=\"bar-part\" width=\"100\""),
        "{month}"
    );
    assert!(page.contains("Refused: 2 over a quota (402)"));
    assert!(page.contains("<td class=\"number\">5</td><td class=\"number\">5</td>"));
    assert!(!shown(&dashboard, "/usage").contains("a month"));
}

#[test]
fn series_have_successes_apart_from_refusals_by_endpoint_and_key() {
    let dashboard = Dashboard::start();
    let new = NewKey::named("shop");
    let (record, key) = dashboard.state().create_key(&new).expect("a key");
    for target in ["signals?limit=3", "signals?limit=4", "signals?contry=x"] {
        dashboard.ask(&format!("/api/v1/{target}"), key.as_str());
    }
    dashboard.ask("/api/v1/filter-options", key.as_str());
    dashboard.ask("/api/v1/signals", "sdx_unknown");
    let series = |query: &str| -> serde_json::Value {
        serde_json::from_str(&shown(&dashboard, &format!("/series.json?{query}"))).expect("JSON")
    };
    for step in ["minute", "hour", "day"] {
        let all = series(&format!("step={step}"));
        let points = all["points"].as_array().expect("points");
        let sum = |figure: &str| -> u64 {
            let figures = points.iter().map(|point| point[figure].as_u64());
            figures.map(|figure| figure.expect("a number")).sum()
        };
        let figures = ["requests", "succeeded", "refused", "failed", "units"].map(sum);
        assert_eq!(figures, [5, 3, 2, 0, 7], "{step}: {all}");
        let is_timed = |point: &serde_json::Value| point["medianSeconds"].as_f64() > Some(0.0);
        assert!(points.iter().any(is_timed), "{all}");
    }
    let of_key = series(&format!("key={}", record.id));
    let requests = of_key["points"].as_array().expect("points").iter();
    let requests: u64 = requests
        .filter_map(|point| point["requests"].as_u64())
        .sum();
    assert_eq!((requests, &of_key["key"]), (4, &record.id.clone().into()));

    let session = dashboard.sign_in();
    let wrong = "/series.json?from=yesterday&step=week&key=key_none";
    let refused = dashboard.visit(&session, wrong);
    assert_eq!(refused.status, 400);
    for field in ["from:", "step:", "key:"] {
        assert!(text(&refused).contains(field), "{field}");
    }
    let long = dashboard.visit(&session, "/series.json?from=2020-01-01T00:00:00Z");
    assert!(long.status == 400 && text(&long).contains("at most 2880 steps"));
    let by_minute = format!("/series.json?step=minute&key={}", record.id);
    assert_eq!(dashboard.visit(&session, &by_minute).status, 400);
}

#[test]
fn pages_show_series_as_tables_with_bars() {
    let dashboard = Dashboard::start();
    let new = NewKey::named("shop");
    let (record, key) = dashboard.state().create_key(&new).expect("a key");
    let address = format!("/keys/edit?id={}", record.id);
    assert!(shown(&dashboard, &address).contains("No requests in this time."));
    for target in ["signals?limit=3", "signals?contry=x"] {
        dashboard.ask(&format!("/api/v1/{target}"), key.as_str());
    }
    for (page, rows) in [
        ("/?", 48),
        ("/?span=hour", 60),
        ("/?span=30-days", 30),
        ("/?span=13-months", 13),
        (&format!("{address}&"), 48),
        (&format!("{address}&span=hour"), 48),
    ] {
        let page = shown(&dashboard, page);
        let tables = page.split("<table class=\"sections series\">").skip(1);
        let counts: Vec<usize> = tables
            .map(|table| table.matches("<tr data-").count())
            .collect();
        assert_eq!(counts, [rows, 1]);
        assert!(page.contains("<td class=\"number\">2</td>"));
        assert!(page.contains("class=\"bar bar-actual\""));
    }
}

#[test]
fn a_quota_that_is_nearly_used_or_used_up_is_told() {
    let dashboard = Dashboard::start();
    let mut new = NewKey::named("shop <b>");
    new.quotas.signals = Some(10);
    let (record, key) = dashboard.state().create_key(&new).expect("a key");
    let ask = |limit: u32| dashboard.ask(&format!("/api/v1/signals?limit={limit}"), key.as_str());
    let told = |percent: u32| {
        let labels = format!("counter=\"signals\",percent=\"{percent}\"");
        format!("signaldex_quota_alerts_total{{{labels}}} 1\n")
    };
    let metrics = || text(&dashboard.visit(&dashboard.sign_in(), "/metrics"));
    ask(7);
    assert!(!shown(&dashboard, "/").contains("quota-alerts"));
    ask(1);
    let page = shown(&dashboard, "/");
    let line = "shop &#60;b&#62;</a> <code>";
    assert!(
        page.contains("class=\"notice quota-alerts\"") && page.contains(line),
        "{page}"
    );
    assert!(page.contains("has used 80 % of its quota of signals: 8 of 10"));
    assert!(metrics().contains(&told(80)) && !metrics().contains(&told(100)));
    assert!(shown(&dashboard, "/keys").contains("bar-near"));
    ask(2);
    let page = shown(&dashboard, "/");
    assert!(page.contains("quota-alerts is-used-up") && page.contains("has used up its quota"));
    assert!(metrics().contains(&told(80)) && metrics().contains(&told(100)));
    for page in ["/keys", &format!("/usage?key={}", record.id)] {
        assert!(shown(&dashboard, page).contains("bar-full"), "{page}");
    }
}

#[test]
fn the_log_of_requests_has_pages_of_100_and_is_kept_beside_the_state() {
    let dashboard = Dashboard::start();
    let new = NewKey::named("shop");
    let (record, key) = dashboard.state().create_key(&new).expect("a key");
    for _ in 0..100 {
        dashboard.ask("/api/v1/filter-options", "sdx_unknown");
    }
    for _ in 0..5 {
        dashboard.ask("/api/v1/signals?limit=1", key.as_str());
    }
    let rows = |target: &str| {
        shown(&dashboard, target)
            .matches("<td class=\"together\">")
            .count()
    };
    let first = shown(&dashboard, "/requests");
    assert_eq!(rows("/requests"), 100);
    let older = first
        .split("rel=\"next\" href=\"")
        .nth(1)
        .expect("a next page");
    let older = older
        .split('"')
        .next()
        .expect("a link")
        .replace("&#38;", "&");
    assert_eq!(rows(&older), 5);
    assert_eq!(rows(&format!("/requests?key={}", record.id)), 5);
    assert_eq!(
        rows("/requests?endpoint=filter-options&outcome=refused"),
        100
    );
    assert_eq!(rows("/requests?outcome=failed"), 0);
    assert_eq!(rows("/requests?to=2020-01-01T00:00"), 0);
    assert_eq!(rows("/requests?from=2020-01-01T00:00&outcome=answered"), 5);
    assert!(shown(&dashboard, "/requests?from=yesterday").contains("role=\"alert\""));
    let file = dashboard.state_path().with_file_name("state.db-requests");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&file.metadata().expect("a file").permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn no_log_of_requests_is_kept_where_the_operator_wants_none() {
    let limits = Limits {
        request_log_days: 0,
        ..Limits::default()
    };
    let dashboard = Dashboard::with(SESSION, limits);
    dashboard.ask("/api/v1/signals", "sdx_unknown");
    assert!(shown(&dashboard, "/requests").contains("--request-log-days 0"));
    assert!(
        !dashboard
            .state_path()
            .with_file_name("state.db-requests")
            .exists()
    );
}
