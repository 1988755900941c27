//! Searching as a key in the dashboard: every page shows what the key sees, as the API would answer it, for free.

use serde_json::Value;
use signaldex::query::KeyFilter;
use signaldex::{Query, SignalId, sample};
use signaldex_server::{ApiKey, Counter, NewKey};

use crate::client::Response;
use crate::dashboard::{Dashboard, Session, text};

/// A dashboard, and a key that sees a part of the sample.
struct Searching {
    dashboard: Dashboard,
    session: Session,
    filter: KeyFilter,
    id: String,
    key: ApiKey,
}

impl Searching {
    fn new() -> Searching {
        let dashboard = Dashboard::start();
        let session = dashboard.sign_in();
        let filter = KeyFilter::parse(["country=Germany"], ["categories=hiring"]);
        let filter = filter.expect("valid filters");
        let new = NewKey {
            filter: Some(filter.clone().into()),
            ..NewKey::named("DACH <b>")
        };
        let (record, key) = dashboard.state().create_key(&new).expect("a key");
        Searching {
            dashboard,
            session,
            filter,
            id: record.id,
            key,
        }
    }

    /// A page, as the key.
    fn visit(&self, path: &str, query: &str) -> Response {
        let target = format!("{path}?key={}{query}", self.id);
        self.dashboard.visit(&self.session, &target)
    }

    /// What the API answers to the key.
    fn ask(&self, target: &str) -> Value {
        let target = format!("/api/v1/{target}");
        let answer = self.dashboard.ask(&target, self.key.as_str());
        assert_eq!(answer.status, 200, "{target}");
        serde_json::from_slice(&answer.body).expect("JSON")
    }

    /// A signal that the key sees, and one of a company that it does not see.
    fn seen_and_hidden(&self) -> [(SignalId, String); 2] {
        let snapshot = sample::index().expect("the sample").snapshot();
        let visible = snapshot.narrowed(&self.filter, sample::AS_OF);
        let visible = visible.expect("a narrowed snapshot");
        let all = Query::from_query_string("country=France&limit=1").expect("a query");
        let own = Query::from_query_string("limit=1").expect("a query");
        [(visible, own), (snapshot, all)].map(|(snapshot, query)| {
            let page = snapshot.search(&query, sample::AS_OF).expect("a page");
            let id = page.ids().next().expect("a signal");
            let found = snapshot.signal(id).expect("a record").expect("a signal");
            (id, found.company.slug.to_string())
        })
    }
}

#[test]
fn each_page_shows_what_the_key_sees_for_free() {
    let searching = Searching::new();
    let count = searching.ask("signals?countOnly=true")["data"]["count"].clone();
    let count = count.as_u64().expect("a number");
    for query in [
        "&limit=10",
        "&q=raises&limit=10",
        "&country=France&limit=10",
    ] {
        assert_eq!(searching.visit("/search", query).status, 200, "{query}");
    }
    let page = text(&searching.visit("/search", "&limit=10"));
    assert!(page.contains(&format!("<span id=\"count\">{count}</span>")));
    assert!(page.contains("DACH &#60;b&#62;") && page.contains("Nothing is charged to it"));
    let field = format!(
        "<input type=\"hidden\" name=\"key\" value=\"{}\">",
        searching.id
    );
    assert!(page.contains(&field), "the form keeps the key");
    let countries = page.split("name=\"country\" value=\"").skip(1);
    assert!(countries.count() <= 1, "options are of what the key sees");
    let csv = text(&searching.visit("/search.csv", ""));
    assert_eq!(csv.matches("\r\n").count() as u64, count + 1);
    let lines = text(&searching.visit("/search.ndjson", ""));
    assert_eq!(lines.lines().count() as u64, count);
    let figures = text(&searching.visit("/search/figures", ""));
    assert!(figures.contains(&format!("<h1>Figures of {count} signals</h1>")));
    let companies = text(&searching.visit("/companies", "&limit=10"));
    let found = &searching.ask("companies?countOnly=true")["data"]["count"];
    assert!(companies.contains(&format!("<span id=\"count\">{found}</span>")));
    let usage = searching.dashboard.state().usage(None).expect("usage");
    let billed = Counter::ALL
        .into_iter()
        .filter(|counter| counter.is_billed());
    let billed: Vec<usize> = billed.map(|counter| counter as usize).collect();
    let units = usage
        .iter()
        .flat_map(|line| billed.iter().map(|&counter| line.counts[counter]));
    assert_eq!(units.sum::<u64>(), 0);
}

#[test]
fn a_page_is_byte_for_byte_the_answer_to_the_key() {
    let searching = Searching::new();
    let mut query = "categories=funding&limit=5".to_owned();
    for _ in 0..3 {
        let ours = searching.visit("/search.json", &format!("&{query}"));
        let theirs = searching
            .dashboard
            .ask(&format!("/api/v1/signals?{query}"), searching.key.as_str());
        assert_eq!(text(&ours), text(&theirs), "{query}");
        let body: Value = serde_json::from_slice(&ours.body).expect("JSON");
        let Some(cursor) = body["data"]["nextCursor"].as_str() else {
            break;
        };
        query = format!("categories=funding&limit=5&cursor={cursor}");
    }
    assert!(query.contains("cursor="), "more than a page");
    let wide = searching
        .dashboard
        .visit(&searching.session, &format!("/search.json?{query}"));
    assert_eq!(wide.status, 400, "the cursor is the key's");
    let unknown = searching.visit("/search.json", "&contry=x");
    assert_eq!(unknown.status, 400);
}

#[test]
fn what_the_key_does_not_see_is_not_there() {
    let searching = Searching::new();
    let [(seen, own), (hidden, other)] = searching.seen_and_hidden();
    let status = |path: &str| searching.visit(path, "").status;
    assert_eq!(status(&format!("/signals/{seen}")), 200);
    assert_eq!(status(&format!("/companies/{own}")), 200);
    assert_eq!(status(&format!("/signals/{hidden}")), 404);
    assert_eq!(status(&format!("/companies/{other}")), 404);
    let everything = |path: String| searching.dashboard.visit(&searching.session, &path).status;
    assert_eq!(everything(format!("/signals/{hidden}")), 200);
    let page = text(&searching.visit(&format!("/companies/{own}"), ""));
    let link = format!("?key={}\">", searching.id);
    assert!(page.contains(&link), "cards lead on as the key: {page}");
    let news = searching.visit("/search/new", "");
    let first = news.header("location").expect("the position").to_owned();
    assert!(first.contains(&format!("key={}", searching.id)), "{first}");
    assert_eq!(everything(first.clone()), 200);
    let wide = first.replace(&format!("key={}&", searching.id), "");
    assert_eq!(everything(wide), 400, "the position is the key's");
}

#[test]
fn the_page_of_a_key_leads_to_its_searches() {
    let searching = Searching::new();
    let path = format!("/keys/edit?id={}", searching.id);
    let page = text(&searching.dashboard.visit(&searching.session, &path));
    let link = format!(
        "<a href=\"/search?key={}\">search as this key</a>",
        searching.id
    );
    assert!(page.contains(&link), "{page}");
    for path in [
        "/search?key=key_nobody&limit=10",
        "/search.csv?key=key_nobody",
    ] {
        let answer = searching.dashboard.visit(&searching.session, path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(text(&answer).contains("no key with this id"));
    }
    let (all, _) = searching
        .dashboard
        .state()
        .create_key(&NewKey::named("all"))
        .expect("a key");
    let [as_all, as_operator] = [format!("key={}&", all.id), String::new()].map(|key| {
        let target = format!("/search.json?{key}limit=20");
        text(&searching.dashboard.visit(&searching.session, &target))
    });
    assert_eq!(
        as_all, as_operator,
        "a key without a filter sees everything"
    );
}

/// A filter of nearly 8,000 bytes.
fn long_filter(number: usize) -> String {
    let items = (0..44).map(|item| format!("{number:02}-{item:02}-{}", "x".repeat(170)));
    format!("companies={}", items.collect::<Vec<_>>().join(","))
}

#[test]
fn the_form_takes_as_many_filters_as_a_key_may_have() {
    let dashboard = Dashboard::start();
    let session = dashboard.sign_in();
    let lines = |from: usize| (from..from + 16).map(long_filter).collect::<Vec<_>>();
    let (filters, exceptions) = (lines(0), lines(16));
    assert!(
        filters
            .iter()
            .all(|filter| (7_500..=8_000).contains(&filter.len()))
    );
    let field = |lines: &[String]| {
        let text = lines.join("\r\n");
        text.replace('%', "%25")
            .replace('=', "%3D")
            .replace("\r\n", "%0D%0A")
    };
    let form = |filters: &[String]| {
        format!(
            "form_token={}&name=plan&scope=signals%3Aread&rate=5&burst=5&filters={}&exceptions={}",
            session.form_token,
            field(filters),
            field(&exceptions)
        )
    };
    let cookie = ("cookie", session.cookie.as_str());
    let answer = dashboard.post("/keys", &form(&filters), &[cookie]);
    assert_eq!(answer.status, 303, "{}", text(&answer));
    let stored = dashboard.state().keys().expect("keys").remove(0);
    let filter = stored.settings.filter.expect("a filter");
    assert_eq!([filter.filters().len(), filter.exceptions().len()], [16; 2]);
    let more = [filters, vec!["q=robots".to_owned()]].concat();
    let refused = dashboard.post("/keys", &form(&more), &[cookie]);
    assert_eq!(refused.status, 400);
    assert!(text(&refused).contains("filters are 17; at most 16 are allowed"));
}
