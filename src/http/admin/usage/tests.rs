//! Usage in slots of months and days, in the colours of keys, and by endpoint.

use time::macros::date;

use super::*;
use crate::http::state::RequestLine;

fn line(key: &str, period: &str, signals: u64) -> Usage {
    Usage {
        key_id: key.to_owned(),
        name: String::new(),
        period: period.to_owned(),
        counts: [signals, 0, 0, 0],
    }
}

fn slots(period: Period) -> Vec<Slot> {
    period.slots(date!(2026 - 03 - 05)).0
}

#[test]
fn a_year_ends_with_this_month() {
    let slots = slots(Period::Month);
    let texts: Vec<&str> = slots.iter().map(|slot| slot.period.as_str()).collect();
    assert_eq!((texts.len(), texts[0]), (periods::MONTHS, "2025-04"));
    assert_eq!(texts[8..], ["2025-12", "2026-01", "2026-02", "2026-03"]);
    assert_eq!(slots[11].label, "Mar");
    let (_, first) = Period::Month.slots(date!(2026 - 03 - 05));
    assert_eq!(first, date!(2025 - 04 - 01));
}

#[test]
fn thirty_days_end_with_today() {
    let slots = slots(Period::Day);
    assert_eq!(slots.len(), periods::DAYS);
    assert_eq!(slots[29].period, "2026-03-05");
    assert_eq!(slots[29].label, "5 Mar");
    assert_eq!(slots[0].period, "2026-02-04");
    let (_, first) = Period::Day.slots(date!(2026 - 03 - 05));
    assert_eq!(first, date!(2026 - 02 - 04));
}

#[test]
fn keys_beyond_the_colours_share_the_last_one() {
    let all: Vec<Usage> = (1..=8)
        .map(|number| line(&format!("key{number}"), "2026-03", number))
        .collect();
    let lines: Vec<&Usage> = all.iter().collect();
    let slots = slots(Period::Month);
    let ranked = ranked(&lines, &slots, Counter::Signals);
    assert_eq!(ranked[0].0.key_id, "key8");
    let bars = bars(&lines, &slots, Counter::Signals, &ranked);
    assert_eq!(bars[11].parts, [8, 7, 6, 5, 4, 3 + 2 + 1]);
    assert_eq!(bars[10].parts.iter().sum::<u64>(), 0);
    let series = series(&ranked);
    assert_eq!((series.len(), series[5].name.as_str()), (6, OTHERS));
    assert_eq!(series[5].total, "6");
    assert!(is_within_reach(144, &bars) && !is_within_reach(145, &bars));
}

#[test]
fn requests_are_added_up_by_endpoint_and_status() {
    let line = |key: Option<&str>, endpoint: &str, status: u16, requests: u64| RequestLine {
        day: date!(2026 - 03 - 05),
        key: key.map(|id| (id.to_owned(), String::new())),
        endpoint: endpoint.to_owned(),
        status,
        requests,
    };
    let lines = [
        line(Some("a"), "search", 200, 1000),
        line(Some("a"), "search", 402, 3),
        line(Some("b"), "search", 429, 5),
        line(None, "signal", 401, 7),
    ];
    let all = Requests::of(&lines, "");
    assert_eq!(all.statuses, [200, 401, 402, 429]);
    assert_eq!(all.rows[0].counts, ["1,000", "0", "3", "5", "1,008"]);
    assert_eq!(all.totals, ["1,000", "7", "3", "5", "1,015"]);
    assert_eq!(
        (all.over_quota.as_str(), all.over_rate.as_str()),
        ("3", "5")
    );
    let one = Requests::of(&lines, "b");
    assert_eq!((one.statuses.as_slice(), one.rows.len()), (&[429][..], 1));
}
