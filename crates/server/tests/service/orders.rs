//! Orders over HTTP: pages and exports come as `Order::compare` says, and requests that cannot have them are refused.

use serde_json::Value;
use signaldex::query::Order;
use signaldex::{Currency, Funding, Index, Signal, SignalId};
use time::Duration;
use time::macros::date;

use crate::changes::{commit, service};
use crate::export::{export, id_of, lines, metered};
use crate::fixture::Fixture;

const SIGNALS: u64 = 60;
const NAME: (&str, &str) = ("idempotency-key", "largest-rounds");

/// A service over signals with few dates and amounts, some without.
fn serving() -> (Fixture, Index) {
    let (fixture, index) = service(metered(None));
    commit(&index, [(1, "Acme raises")].into_iter(), &[]);
    let mut writer = index.writer().expect("nobody else writes");
    for id in 1..=SIGNALS {
        let number = SignalId::new(id).expect("an id");
        let mut signal = Signal::new(number, "acme", "Acme raises");
        let day = (id * 7 % 11) as i64;
        signal.date = (day > 0).then(|| date!(2026 - 06 - 01) + Duration::days(day));
        signal.funding = Some(Funding {
            currency: Currency::new("USD"),
            amount: (id % 5 > 0).then_some((id * 3 % 7) as f64 * 1e6),
            ..Funding::default()
        });
        writer.upsert_signal(&signal).expect("a known company");
    }
    writer.commit().expect("committed");
    (fixture, index)
}

/// All signals as the definition of the order sorts them.
fn sorted(index: &Index, order: Order) -> Vec<Signal<'static>> {
    let snapshot = index.snapshot();
    let found = snapshot.scan().map(|found| found.expect("a record"));
    let mut signals: Vec<_> = found.map(|found| found.signal.into_owned()).collect();
    signals.sort_by(|a, b| order.compare(a, b));
    signals
}

fn ids(signals: &[Signal<'_>]) -> Vec<u64> {
    signals.iter().map(|signal| signal.id.get()).collect()
}

#[test]
fn pages_and_exports_come_in_every_order() {
    let (fixture, index) = serving();
    for order in Order::ALL {
        let expected = sorted(&index, order);
        let query = format!("fundingCurrency=USD&order={order}");
        let (mut walked, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = fixture.search(&format!("{query}&limit=7{cursor}")).json();
            let items = page["data"]["items"].as_array().expect("items").iter();
            walked.extend(items.map(|item| id_of(&item.to_string())));
            let Some(next) = page["data"]["nextCursor"].as_str() else {
                break;
            };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(walked, ids(&expected), "{order}");
        for resumed in [0, 1, 23, 59] {
            let after = match resumed {
                0 => String::new(),
                _ => format!(
                    "&after={}",
                    order.key_text(order.key_of(&expected[resumed - 1]))
                ),
            };
            let answer = export(&fixture, &format!("{query}{after}"), &[]);
            assert!(answer.is_whole, "{order}{after}");
            let lines: Vec<u64> = lines(&answer.body).into_iter().map(id_of).collect();
            fixture.note(lines.len() as u64);
            assert_eq!(lines, ids(&expected[resumed..]), "{order}{after}");
        }
    }
}

#[test]
fn a_named_export_is_bound_to_its_order() {
    let (fixture, _) = serving();
    let query = "fundingCurrency=USD&order=-amount";
    let answer = export(&fixture, query, &[NAME]);
    assert_eq!(
        (answer.status, lines(&answer.body).len() as u64),
        (200, SIGNALS)
    );
    fixture.note(SIGNALS);
    // Resumed, it is free.
    let answer = export(&fixture, &format!("{query}&after=,20"), &[NAME]);
    assert_eq!(answer.status, 200);
    let other = export(&fixture, "fundingCurrency=USD&order=amount", &[NAME]);
    assert_eq!(other.json()["code"], "idempotency_key_reused");
}

#[test]
fn requests_that_cannot_have_an_order_are_refused() {
    let (fixture, _) = serving();
    let cursor = fixture.search("order=date&limit=1").json();
    let cursor = cursor["data"]["nextCursor"]
        .as_str()
        .expect("more")
        .to_owned();
    for (target, parameter, code) in [
        (
            "signals?order=-amount".to_owned(),
            "order",
            "conflicting_parameters",
        ),
        (
            "export?order=amount".to_owned(),
            "order",
            "conflicting_parameters",
        ),
        ("signals?order=amounts".to_owned(), "order", "invalid_value"),
        ("signals?order=".to_owned(), "order", "empty_value"),
        (
            "signals?order=-date&countOnly=maybe".to_owned(),
            "countOnly",
            "invalid_value",
        ),
        (
            "signals?order=Date&countOnly=true".to_owned(),
            "order",
            "invalid_value",
        ),
        (
            format!("signals?cursor={cursor}"),
            "cursor",
            "cursor_mismatch",
        ),
        (
            format!("signals?order=-date&cursor={cursor}"),
            "cursor",
            "cursor_mismatch",
        ),
        (
            "export?order=date&after=5".to_owned(),
            "after",
            "invalid_value",
        ),
        (
            "export?after=2026-06-01,5".to_owned(),
            "after",
            "invalid_value",
        ),
        (
            "export?order=date&after=4700000,5".to_owned(),
            "after",
            "invalid_value",
        ),
        (
            "filter-options?order=date".to_owned(),
            "order",
            "unknown_parameter",
        ),
        (
            "changes?order=date".to_owned(),
            "order",
            "unknown_parameter",
        ),
    ] {
        let answer = fixture.send("GET", &format!("/api/v1/{target}"), &[]);
        assert_eq!(answer.status, 400, "{target}");
        let errors: Value = answer.json()["errors"].clone();
        assert_eq!(errors[0]["parameter"], parameter, "{target}: {errors}");
        assert_eq!(errors[0]["code"], code, "{target}: {errors}");
    }
    // The default is as if it were not given: also its cursor.
    let first = fixture.search("limit=1").json();
    let named = fixture.search("order=newest&limit=1").json();
    assert_eq!(first, named);
}
