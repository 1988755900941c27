//! The dashboard's table of keys where there are many: pages of bounded size, sorted and filtered over all.

use std::time::Duration;

use signaldex_server::{Limits, NewKey};

use crate::dashboard::{Dashboard, Session, text};

const KEYS: usize = 250;
/// The most bytes of a page, whatever the number of keys.
const PAGE_BYTES_MAX: usize = 250_000;

fn dashboard() -> Dashboard {
    Dashboard::prepared(Duration::from_secs(600), Limits::default(), |state| {
        for number in 0..KEYS {
            let name = format!("customer {:03}", (number * 7) % KEYS);
            state.create_key(&NewKey::named(&name)).expect("a key");
        }
    })
}

/// The names of the rows of a page.
fn names(dashboard: &Dashboard, session: &Session, query: &str) -> Vec<String> {
    let answer = dashboard.visit(session, &format!("/keys?{query}"));
    assert_eq!(answer.status, 200, "{query}");
    let page = text(&answer);
    assert!(page.len() < PAGE_BYTES_MAX, "{query}: {} bytes", page.len());
    let rows = page.split("<th scope=\"row\">").skip(1);
    rows.map(|row| row.split('<').next().expect("a name").to_owned())
        .collect()
}

fn numbered(numbers: impl Iterator<Item = usize>) -> Vec<String> {
    numbers
        .map(|number| format!("customer {number:03}"))
        .collect()
}

#[test]
fn many_keys_come_in_pages_sorted_over_all_of_them() {
    let (dashboard, keys) = (dashboard(), KEYS);
    let session = dashboard.sign_in();
    let ask = |query: &str| names(&dashboard, &session, query);
    assert_eq!(ask("sort=name"), numbered(0..100));
    assert_eq!(ask("sort=name&page=2"), numbered(100..200));
    assert_eq!(ask("sort=name&page=3"), numbered(200..keys));
    assert_eq!(ask("sort=name&order=desc"), numbered((150..keys).rev()));
    assert_eq!(ask("sort=name&find=CUSTOMER+24"), numbered(240..keys));
    assert!(ask("sort=name&find=nobody").is_empty());
    // A page past the end, or no number, shows one that there is.
    assert_eq!(ask("sort=name&page=9"), numbered(200..keys));
    for page in ["0", "-1", "x", "99999999999999999999"] {
        assert!(!ask(&format!("sort=name&page={page}")).is_empty(), "{page}");
    }
}

#[test]
fn pages_lead_to_each_other_and_keep_what_was_asked() {
    let dashboard = dashboard();
    let session = dashboard.sign_in();
    let page = |query: &str| text(&dashboard.visit(&session, &format!("/keys?{query}")));
    let first = page("sort=name&find=customer&status=active");
    let link = "/keys?status=active&#38;find=customer&#38;sort=name&#38;order=asc&#38;page=2#keys";
    assert!(first.contains(link), "{first}");
    assert!(first.contains("1 to 100 of 250 keys"), "{first}");
    assert!(!first.contains("Previous"));
    let last = page("sort=name&page=3");
    assert!(last.contains("201 to 250 of 250 keys"));
    assert!(last.contains("Previous") && !last.contains("Next</a>"));
    assert!(page("find=nobody").contains("0 of 250 keys"));
}

#[test]
fn other_pages_list_the_newest_keys_and_the_chosen_one() {
    let dashboard = dashboard();
    let session = dashboard.sign_in();
    let oldest = dashboard.state().keys().expect("keys")[0].id.clone();
    let visit = |path: &str| text(&dashboard.visit(&session, path));
    for path in ["/requests", "/usage"] {
        let options = |page: &str| {
            let list = page.split("<select id=\"key\"").nth(1).expect("a list");
            let list = list.split("</select>").next().expect("its end");
            list.matches("<option ").count() - 1
        };
        let all = visit(path);
        assert_eq!(options(&all), 100, "{path}");
        assert!(all.contains("find 150 more"), "{path}");
        let chosen = visit(&format!("{path}?key={oldest}"));
        assert_eq!(options(&chosen), 101, "{path}");
        let option = format!("<option value=\"{oldest}\" selected>");
        assert_eq!(chosen.matches(&option).count(), 1, "{path}");
        assert!(chosen.contains("find 149 more"), "{path}");
    }
    assert!(visit("/").contains("<dt>Active keys</dt><dd>250"));
}

/// A state of this many keys, each used in each of twelve months, today, and for 402 as well.
const MANY_KEYS: u64 = 100_000;
/// The most bytes of a page over them.
const MANY_KEYS_BYTES_MAX: usize = 200_000;
/// The most time of a page over them, in an optimised build.
const MANY_KEYS_TIME_MAX: Duration = Duration::from_millis(100);

fn fill(path: &std::path::Path) {
    let state = rusqlite::Connection::open(path).expect("the state");
    let now = time::UtcDateTime::now();
    let (year, month, day) = (
        now.year(),
        u8::from(now.month()),
        now.date().to_julian_day(),
    );
    let keys = format!(
        "BEGIN; WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {MANY_KEYS}) \
         INSERT INTO keys (id, hash, name, scopes, created_at, rate, burst, hint, quota_signals, quota_companies) \
         SELECT printf('key_%012d', n), randomblob(32), printf('Customer %d of the company Müller & Søn', n), \
         'signals:read,companies:read', 1700000000 + n, 50, 100, printf('sdx_%04d…dvBw', n % 10000), n * 10, n FROM numbers;"
    );
    state.execute_batch(&keys).expect("keys");
    for ago in 0..12 {
        let months = year * 12 + i32::from(month) - 1 - ago;
        let month = months.div_euclid(12) * 100 + months.rem_euclid(12) + 1;
        let usage = format!(
            "INSERT INTO usage SELECT number, {month}, number * 7919 % 9973, 7, 3, 1 FROM keys;"
        );
        state.execute_batch(&usage).expect("usage");
    }
    state
        .execute_batch(&format!(
            "INSERT INTO usage_days SELECT {day}, number, number * 7919 % 9973, 7, 3, 1 FROM keys;
             INSERT INTO requests SELECT {day}, number, 'search', 200, number * 31 % 977 FROM keys;
             INSERT INTO requests SELECT {day}, number, 'search', 402, number * 37 % 97 FROM keys;
             INSERT INTO usage_totals SELECT month, {day} - 40, sum(signals), sum(activities), sum(companies), 1
                 FROM usage GROUP BY month;
             INSERT INTO request_totals SELECT day, endpoint, status, sum(requests) FROM requests GROUP BY 1, 2, 3;
             COMMIT; ANALYZE;"
        ))
        .expect("totals");
}

#[test]
#[ignore = "fills a state with 100,000 keys"]
fn pages_over_100_000_keys_are_small_and_quick() {
    let dashboard = Dashboard::with(Duration::from_secs(600), Limits::default());
    fill(&dashboard.state_path());
    let session = dashboard.sign_in();
    for target in [
        "/",
        "/keys",
        "/keys?sort=signals&order=desc",
        "/keys?find=customer+77&page=3",
        "/usage",
        "/usage?by=day",
        "/usage?counter=companies&key=key_000000000777",
        "/requests",
        "/audit",
    ] {
        let (best, bytes) = dashboard.time_page(&session, target);
        assert!(bytes <= MANY_KEYS_BYTES_MAX, "{target}: {bytes} bytes");
        assert!(
            cfg!(debug_assertions) || best <= MANY_KEYS_TIME_MAX,
            "{target}: {best:?}"
        );
    }
}
