//! What the specification and the interface promise, rule by rule.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use serde_json::{Value, json};
use signaldex::query::PARAMETERS;
use signaldex::{Query, sample};
use signaldex_server::{NewKey, Quotas, Scopes, Today};

use crate::client::{self, Response};
use crate::fixture::{Fixture, Settings};

const ITEM_FIELDS: [&str; 15] = [
    "activityUrl",
    "authorName",
    "authorTitle",
    "authorUrl",
    "category",
    "companyName",
    "companySlug",
    "date",
    "evidence",
    "funding",
    "id",
    "publishedAt",
    "slug",
    "title",
    "updatedAt",
];
const PROFILE_FIELDS: [&str; 9] = [
    "about",
    "city",
    "country",
    "employees",
    "foundedYear",
    "industry",
    "linkedinUrl",
    "logoUrl",
    "tagline",
];

fn fields(object: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = object
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    names
}

fn code(response: &Response) -> String {
    response.json()["code"].as_str().expect("a code").to_owned()
}

fn first_error(response: &Response) -> (String, String) {
    let error = &response.json()["errors"][0];
    let text = |name: &str| error[name].as_str().expect("text").to_owned();
    (text("parameter"), text("code"))
}

/// Counts under an id would show for nothing what a record holds.
#[test]
fn filter_options_take_no_ids() {
    let fixture = Fixture::start();
    for parameter in ["ids", "activityIds"] {
        let answer = fixture.get(&format!("/api/v1/filter-options?{parameter}=1"));
        assert_eq!(answer.status, 400, "{parameter}");
        let error = &answer.json()["errors"][0];
        assert_eq!(error["code"], "unknown_parameter");
        assert_eq!(error["parameter"], parameter);
    }
    let document = fixture.get("/openapi.json").json();
    let parameters = &document["paths"]["/api/v1/filter-options"]["get"]["parameters"];
    let parameters = parameters.as_array().expect("parameters");
    assert!(parameters.iter().any(|known| known["name"] == "country"));
    let is_of_ids = |known: &Value| known["name"] == "ids" || known["name"] == "activityIds";
    assert!(!parameters.iter().any(is_of_ids));
    let filter = signaldex::Filter::from_query_string("ids=1").expect("the library keeps them");
    assert!(!filter.is_empty());
}

/// A day later at each request, and how often it was asked for.
fn passing_days() -> (Today, Arc<AtomicI32>) {
    let asked = Arc::new(AtomicI32::new(0));
    let counter = Arc::clone(&asked);
    let source = move || {
        let days = counter.fetch_add(1, Ordering::Relaxed);
        sample::AS_OF + time::Duration::days(days.into())
    };
    (Today::Source(Arc::new(source)), asked)
}

#[test]
fn today_is_asked_for_once_a_request() {
    let (today, asked) = passing_days();
    let quotas = Quotas {
        signals: Some(5),
        ..Quotas::default()
    };
    let fixture = Fixture::with(Settings {
        today,
        key: NewKey {
            quotas,
            ..Settings::default().key
        },
        ..Settings::default()
    });
    let targets = [
        "signals?days=90&limit=2",
        "signals?days=90&countOnly=true",
        "filter-options?days=90",
        // The quota leaves three: the answer is cut, with a cursor and a tag of its own.
        "signals?days=90&limit=50",
    ];
    for target in targets {
        let before = asked.load(Ordering::Relaxed);
        let answer = fixture.get(&format!("/api/v1/{target}"));
        assert_eq!(answer.status, 200, "{target}");
        assert_eq!(asked.load(Ordering::Relaxed) - before, 1, "{target}");
    }
}

#[test]
fn a_search_wraps_items_and_cursor_in_data() {
    let fixture = Fixture::start();
    let answer = fixture.search("limit=2");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let body = answer.json();
    assert_eq!(fields(&body), ["data"]);
    assert_eq!(fields(&body["data"]), ["items", "nextCursor"]);
    assert_eq!(fields(&body["data"]["items"][0]), ITEM_FIELDS);
}

#[test]
fn a_search_returns_50_signals_unless_limited() {
    let fixture = Fixture::start();
    assert_eq!(fixture.search("").items().len(), 50);
    assert_eq!(fixture.search("limit=1").items().len(), 1);
    assert_eq!(fixture.search("limit=50").items().len(), 50);
    for limit in ["0", "51", "-1", "1.0", "x"] {
        assert_eq!(
            fixture.search(&format!("limit={limit}")).status,
            400,
            "{limit}"
        );
    }
}

#[test]
fn every_parameter_is_served_as_the_library_understands_it() {
    let fixture = Fixture::start();
    let snapshot = sample::index().expect("the sample corpus").snapshot();
    for known in PARAMETERS
        .iter()
        .filter(|known| known.parameter.is_filter())
    {
        let query = format!(
            "{}={}",
            known.name,
            known
                .example
                .replace('+', "%2B")
                .replace(' ', "%20")
                .replace('"', "%22")
        );
        let wanted = Query::from_query_string(&query).expect("a valid example");
        let page = snapshot
            .search(&wanted, sample::AS_OF)
            .expect("a whole index");
        let expected: Vec<String> = page.ids().map(|id| id.to_string()).collect();
        let answer = fixture.search(&query);
        assert_eq!(answer.status, 200, "{query}");
        assert_eq!(answer.items(), expected, "{query}");
        let count = fixture.search(&format!("{query}&countOnly=true")).json();
        let expected = snapshot
            .count(wanted.filter(), sample::AS_OF)
            .expect("a whole index");
        assert_eq!(
            count,
            json!({"data": {"items": [], "nextCursor": null, "count": expected}}),
            "{query}"
        );
    }
}

#[test]
fn filters_combine_and_a_walk_sees_each_match_once() {
    let fixture = Fixture::start();
    let filter = "categories=funding&fundingCurrency=EUR";
    let count =
        fixture.search(&format!("{filter}&countOnly=true")).json()["data"]["count"].as_u64();
    let mut seen: Vec<String> = Vec::new();
    let mut target = format!("{filter}&limit=7");
    loop {
        let answer = fixture.search(&target);
        seen.extend(answer.items());
        match answer.json()["data"]["nextCursor"].as_str() {
            Some(cursor) => target = format!("{filter}&limit=7&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(Some(seen.len() as u64), count);
    let ids: Vec<u64> = seen
        .iter()
        .map(|id| id.parse().expect("a number"))
        .collect();
    assert!(
        ids.windows(2).all(|pair| pair[0] > pair[1]),
        "newest first, none twice"
    );
}

#[test]
fn a_cursor_is_refused_with_other_filters() {
    let fixture = Fixture::start();
    let cursor = fixture.search("limit=1").json()["data"]["nextCursor"]
        .as_str()
        .expect("a cursor")
        .to_owned();
    assert!(cursor.len() <= 512);
    assert_eq!(
        fixture.search(&format!("cursor={cursor}")).status,
        200,
        "another limit is no other filter"
    );
    let answer = fixture.search(&format!("q=raises&cursor={cursor}"));
    assert_eq!(
        (answer.status, first_error(&answer)),
        (400, ("cursor".into(), "cursor_mismatch".into()))
    );
}

#[test]
fn a_page_is_the_page_of_that_number() {
    let fixture = Fixture::start();
    let all = fixture.search("limit=9").items();
    let pages: Vec<String> = (1..=3)
        .flat_map(|page| fixture.search(&format!("limit=3&page={page}")).items())
        .collect();
    assert_eq!(pages, all);
}

#[test]
fn unknown_and_repeated_parameters_are_refused_on_every_endpoint() {
    let fixture = Fixture::start();
    let id = fixture.search("limit=1").items().remove(0);
    let signal = format!("/api/v1/signals/{id}");
    for path in [
        "/api/v1/signals",
        &signal,
        "/api/v1/companies/pomelora",
        "/api/v1/filter-options",
        "/api/v1/aggregates",
        "/api/v1/companies",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/",
        "/docs",
    ] {
        let answer = fixture.get(&format!("{path}?unheardOf=1"));
        assert_eq!(answer.status, 400, "{path}");
        assert_eq!(
            first_error(&answer),
            ("unheardOf".into(), "unknown_parameter".into()),
            "{path}"
        );
    }
    for path in [
        "/api/v1/signals",
        "/api/v1/filter-options",
        "/api/v1/aggregates",
    ] {
        let answer = fixture.get(&format!("{path}?days=7&days=7"));
        assert_eq!(
            first_error(&answer),
            ("days".into(), "repeated_parameter".into()),
            "{path}"
        );
    }
    for name in ["limit", "cursor", "page", "countOnly"] {
        let answer = fixture.get(&format!("/api/v1/filter-options?{name}=1"));
        assert_eq!(
            first_error(&answer),
            (name.into(), "unknown_parameter".into())
        );
    }
}

#[test]
fn a_signal_has_its_company_and_costs_one_activity() {
    let fixture = Fixture::start();
    let id = fixture.search("limit=1").items().remove(0);
    let answer = fixture.get(&format!("/api/v1/signals/{id}"));
    assert_eq!((answer.status, answer.charged()), (200, 1));
    let signal = &answer.json()["data"];
    assert_eq!(fields(&signal["company"]), PROFILE_FIELDS);
    assert_eq!(
        signal.as_object().map(serde_json::Map::len),
        Some(ITEM_FIELDS.len() + 1)
    );
    assert_eq!(fixture.get("/api/v1/signals/007").status, 400);
    assert_eq!(
        fixture.get("/api/v1/signals/99999999999999999999").status,
        400
    );
    assert_eq!(fixture.get("/api/v1/signals/1").status, 404);
}

#[test]
fn a_company_needs_its_scope_and_costs_one_company() {
    let fixture = Fixture::start();
    let answer = fixture.get("/api/v1/companies/pomelora");
    assert_eq!((answer.status, answer.charged()), (200, 1));
    let profile = &answer.json()["data"];
    let expected = [
        &PROFILE_FIELDS[..],
        &[
            "latestSignalDate",
            "name",
            "signalCount",
            "slug",
            "updatedAt",
        ],
    ]
    .concat();
    assert_eq!(
        profile.as_object().map(serde_json::Map::len),
        Some(expected.len())
    );
    assert!(expected.iter().all(|field| profile.get(field).is_some()));
    let count =
        fixture.search("companySlug=pomelora&countOnly=true").json()["data"]["count"].clone();
    assert_eq!(profile["signalCount"], count);
    assert_eq!(fixture.get("/api/v1/companies/no-such-company").status, 404);

    let scopes = Scopes::parse("signals:read").expect("a scope");
    let key = fixture.other_key(&NewKey {
        scopes,
        ..NewKey::named("signals alone")
    });
    let bearer = format!("Bearer {}", key.as_str());
    let answer = fixture.send_as_is(
        "GET",
        "/api/v1/companies/pomelora",
        &[("authorization", &bearer)],
    );
    assert_eq!((answer.status, code(&answer)), (403, "forbidden".into()));
    let answer = fixture.send_as_is(
        "GET",
        "/api/v1/signals?limit=1",
        &[("authorization", &bearer)],
    );
    assert_eq!(answer.status, 200);
}

#[test]
fn filter_options_lift_each_list_from_its_own_filter() {
    let fixture = Fixture::start();
    let all = fixture.get("/api/v1/filter-options").json();
    let filtered = fixture
        .get("/api/v1/filter-options?categories=funding")
        .json();
    assert_eq!(all["data"]["categories"], filtered["data"]["categories"]);
    let count = fixture
        .search("categories=funding&country=Germany&countOnly=true")
        .json()["data"]["count"]
        .clone();
    let germany = filtered["data"]["countries"]
        .as_array()
        .expect("a list")
        .iter()
        .find(|c| c["value"] == "Germany");
    assert_eq!(germany.map(|germany| germany["count"].clone()), Some(count));
}

#[test]
fn filter_options_list_the_facets_that_are_asked_for() {
    let fixture = Fixture::start();
    let all = fixture
        .get("/api/v1/filter-options?q=raises&country=germany")
        .json();
    for asked in [
        "sizes,countries",
        "countries,%20sizes",
        "%63ountries,sizes,countries",
    ] {
        let target = format!("/api/v1/filter-options?q=raises&facets={asked}&country=germany");
        let some = fixture.get(&target).json();
        let lists = some["data"].as_object().expect("an object");
        assert_eq!(lists.keys().collect::<Vec<_>>(), ["countries", "sizes"]);
        for (name, list) in lists {
            assert_eq!(*list, all["data"][name], "{asked}: {name}");
        }
    }
}

#[test]
fn facets_are_names_of_lists() {
    let fixture = Fixture::start();
    let cases = [
        (
            "facets=",
            "facets is empty; give it a value or leave it out",
        ),
        (
            "facets=sizes&f%61cets=countries",
            "facets is given more than once; give it once",
        ),
        (
            "facets=sizes,contries",
            "facets has the item \"contries\" (did you mean countries?); allowed are categories, \
             countries, industries, sizes, fundingStages, fundingCurrencies, hiringTypes, \
             jobFunctions, seniorities, employmentTypes, workArrangements",
        ),
        (
            "facets=sizes,,countries",
            "facets has no text in item 2; separate items by single commas",
        ),
        (
            "facets=sizes,sizes,sizes,sizes,sizes,sizes,sizes,sizes,sizes,sizes,sizes,sizes",
            "facets has 12 items; at most 11 are allowed",
        ),
    ];
    for (query, message) in cases {
        let answer = fixture.get(&format!("/api/v1/filter-options?{query}"));
        assert_eq!(answer.status, 400, "{query}");
        let error = &answer.json()["errors"][0];
        assert_eq!(error["parameter"], "facets");
        assert_eq!(error["message"], message);
    }
    let search = fixture.search("facets=sizes");
    assert_eq!(
        first_error(&search),
        ("facets".into(), "unknown_parameter".into())
    );
}

#[test]
fn only_keys_that_are_known_and_valid_are_let_in() {
    let fixture = Fixture::start();
    let expired = NewKey {
        expires_at: Some(time::UtcDateTime::UNIX_EPOCH),
        ..NewKey::named("expired")
    };
    let expired = format!("Bearer {}", fixture.other_key(&expired).as_str());
    let unknown = format!("Bearer sdx_{}", "A".repeat(43));
    let own = format!("Bearer {}", fixture.key.as_str());
    let no_key: &[(&str, &str)] = &[];
    let cases = [
        no_key,
        &[("authorization", "Bearer nonsense")],
        &[("authorization", "Basic abc")],
        &[("authorization", &unknown)],
        &[("authorization", &expired)],
        &[("authorization", &own), ("authorization", &own)],
    ];
    for headers in cases {
        let answer = fixture.send_as_is("GET", "/api/v1/signals", headers);
        assert_eq!(
            (answer.status, answer.header("www-authenticate")),
            (401, Some("Bearer")),
            "{headers:?}"
        );
    }
}

#[test]
fn a_revoked_key_is_refused_while_the_service_runs() {
    let fixture = Fixture::start();
    let (record, key) = fixture
        .state()
        .create_key(&NewKey::named("short-lived"))
        .expect("a key");
    let bearer = format!("Bearer {}", key.as_str());
    let ask = || {
        fixture
            .send_as_is(
                "GET",
                "/api/v1/signals?limit=1",
                &[("authorization", &bearer)],
            )
            .status
    };
    assert_eq!(ask(), 200, "a new key is known at once");
    assert_eq!(fixture.state().revoke_key(&record.id).ok(), Some(true));
    let revoked = std::time::Instant::now();
    while ask() != 401 {
        assert!(revoked.elapsed() < client::WAIT_MAX, "it is not refused");
    }
    assert_eq!(fixture.state().revoke_key(&record.id).ok(), Some(false));
}

#[test]
fn the_rate_limit_of_a_key_is_kept_and_told() {
    let key = NewKey {
        rate: 1,
        burst: 3,
        ..NewKey::named("slow")
    };
    let fixture = Fixture::with(Settings {
        key,
        ..Settings::default()
    });
    let answers: Vec<Response> = (0..4).map(|_| fixture.search("limit=1")).collect();
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
    assert_eq!(answers[3].header("retry-after"), Some("1"));
    assert_eq!(answers[0].header("ratelimit"), Some("\"key\";r=2;t=3"));
    assert!(
        answers
            .iter()
            .all(|answer| answer.header("ratelimit-policy") == Some("\"key\";q=3;w=3"))
    );
}

/// The day from which quotas are full again.
pub(crate) fn next_month() -> String {
    let now = time::UtcDateTime::now();
    let (year, month) = (now.year(), u8::from(now.month()));
    match month {
        12 => format!("{}-01-01", year + 1),
        _ => format!("{year}-{:02}-01", month + 1),
    }
}

#[test]
fn a_quota_gives_what_is_left_and_then_402() {
    let quotas = Quotas {
        signals: Some(7),
        activities: Some(1),
        companies: Some(0),
        ..Quotas::default()
    };
    let key = NewKey {
        quotas,
        rate: 1000,
        burst: 1000,
        ..NewKey::named("poor")
    };
    let fixture = Fixture::with(Settings {
        key,
        ..Settings::default()
    });
    let all = fixture.search("limit=5");
    assert_eq!(
        (all.items().len(), all.header("x-usage-remaining")),
        (5, Some("2"))
    );
    let rest = fixture.search("limit=5");
    assert_eq!(
        (rest.items(), rest.header("x-usage-remaining")),
        (all.items()[..2].to_vec(), Some("0"))
    );
    let cursor = rest.json()["data"]["nextCursor"]
        .as_str()
        .expect("more matches")
        .to_owned();
    let refused = fixture.search(&format!("cursor={cursor}"));
    assert_eq!(
        (refused.status, code(&refused)),
        (402, "quota_exceeded".into())
    );
    let end = format!("until {}", next_month());
    let detail = |refused: &Response| refused.json()["detail"].to_string();
    assert!(detail(&refused).contains(&end), "{}", detail(&refused));
    assert_eq!(
        fixture.search("countOnly=true").status,
        200,
        "a count is free"
    );
    let signal = format!("/api/v1/signals/{}", all.items()[0]);
    assert_eq!(
        [fixture.get(&signal).status, fixture.get(&signal).status],
        [200, 402]
    );
    let company = fixture.get("/api/v1/companies/pomelora");
    assert_eq!(company.status, 402);
    assert!(detail(&company).contains(&end), "{}", detail(&company));
}

#[test]
fn what_the_client_has_is_not_sent_and_not_charged_again() {
    let fixture = Fixture::start();
    let id = fixture.search("limit=1").items().remove(0);
    for target in [
        "/api/v1/signals?limit=3".to_owned(),
        format!("/api/v1/signals/{id}"),
        "/api/v1/companies/pomelora".to_owned(),
    ] {
        let first = fixture.get(&target);
        let tag = first.header("etag").expect("a tag").to_owned();
        assert!(tag.starts_with("W/\""));
        let held = fixture.send("GET", &target, &[("if-none-match", &tag)]);
        assert_eq!(
            (held.status, held.body.len(), held.header("etag")),
            (304, 0, Some(tag.as_str())),
            "{target}"
        );
        let other = fixture.other_key(&NewKey::named("other"));
        let bearer = format!("Bearer {}", other.as_str());
        let theirs = fixture.send_as_is("GET", &target, &[("authorization", &bearer)]);
        assert_eq!(
            theirs.header("etag"),
            Some(tag.as_str()),
            "a tag does not depend on the key"
        );
    }
    let tag = fixture.search("limit=3").header("etag").map(str::to_owned);
    assert_ne!(
        fixture.search("limit=2").header("etag").map(str::to_owned),
        tag
    );
}

#[test]
fn head_is_get_without_a_body_and_free() {
    let fixture = Fixture::start();
    let id = fixture.search("limit=1").items().remove(0);
    let signal = format!("/api/v1/signals/{id}");
    for target in [
        "/api/v1/signals?limit=2",
        &signal,
        "/api/v1/companies/pomelora",
        "/api/v1/filter-options",
        "/api/v1/aggregates?by=month&measures=sum",
        "/api/v1/aggregates?by=company&limit=3",
        "/api/v1/companies?has=(categories=hiring)&limit=3",
        "/api/v1/companies?countOnly=true&facets=sizes",
        "/healthz",
        "/readyz",
        "/openapi.json",
        "/docs",
        "/api/v1/signals?limit=0",
        "/nowhere",
    ] {
        let (get, head) = (fixture.get(target), fixture.send("HEAD", target, &[]));
        assert_eq!((head.status, head.body.len()), (get.status, 0), "{target}");
        for name in ["content-type", "etag"] {
            assert_eq!(head.header(name), get.header(name), "{target} {name}");
        }
        assert_eq!(
            head.header("content-length"),
            Some(get.body.len().to_string().as_str()),
            "{target}"
        );
    }
}

#[test]
fn other_methods_are_refused_with_the_allowed_ones() {
    let fixture = Fixture::start();
    for path in [
        "/api/v1/signals",
        "/api/v1/signals/1",
        "/api/v1/companies/x",
        "/api/v1/filter-options",
        "/healthz",
        "/docs",
    ] {
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            let answer = fixture.send(method, path, &[]);
            assert_eq!(
                (answer.status, answer.header("allow")),
                (405, Some("GET, HEAD")),
                "{method} {path}"
            );
        }
    }
    for path in [
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v1/signals/",
        "/api/v1/signals/1/2",
        "/api/v2/signals",
        "/metrics",
    ] {
        assert_eq!(fixture.get(path).status, 404, "{path}");
    }
}

#[test]
fn the_bare_address_leads_to_the_api_reference() {
    let fixture = Fixture::start();
    let answer = fixture.send_as_is("GET", "/", &[]);
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some("/docs"))
    );
}

#[test]
fn pages_without_a_key_load_nothing_from_elsewhere() {
    let fixture = Fixture::start();
    let docs = fixture.send_as_is("GET", "/docs", &[]);
    let page = String::from_utf8(docs.body.clone()).expect("text");
    assert_eq!(docs.status, 200);
    assert!(
        docs.header("content-security-policy")
            .is_some_and(|policy| policy.starts_with("default-src 'none'"))
    );
    assert!(!page.contains("https://") && !page.contains("src=") && !page.contains("<script"));
    assert!(
        PARAMETERS
            .iter()
            .all(|known| page.contains(&format!("<code>{}</code>", known.name)))
    );
    assert_eq!(
        fixture.send_as_is("GET", "/healthz", &[]).json(),
        json!({"status": "ok"})
    );
    assert_eq!(fixture.send_as_is("GET", "/readyz", &[]).status, 200);
}
