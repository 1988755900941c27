//! Usage by months, days and keys, with bars, and by endpoint.

use time::macros::date;

use super::*;
use crate::state::RequestLine;

fn line(key: &str, period: &str, signals: u64) -> PeriodUsage {
    PeriodUsage {
        key_id: key.to_owned(),
        name: String::new(),
        period: period.to_owned(),
        counts: [signals, 0, 0, 0],
    }
}

const TODAY: time::Date = date!(2026 - 03 - 05);

#[test]
fn a_year_ends_with_this_month() {
    let (months, first) = Period::Month.shown(TODAY);
    assert_eq!(months.len(), periods::MONTHS);
    assert_eq!(months[..4], ["2026-03", "2026-02", "2026-01", "2025-12"]);
    assert_eq!(
        (months[11].as_str(), first),
        ("2025-04", date!(2025 - 04 - 01))
    );
}

#[test]
fn thirty_days_end_with_today() {
    let (days, first) = Period::Day.shown(TODAY);
    assert_eq!(
        (days.len(), days[0].as_str()),
        (periods::DAYS, "2026-03-05")
    );
    assert_eq!(
        (days[29].as_str(), first),
        ("2026-02-04", date!(2026 - 02 - 04))
    );
}

#[test]
fn the_longest_bar_is_that_of_the_greatest_number() {
    let all = [
        line("a", "2026-03", 400),
        line("b", "2026-03", 600),
        line("a", "2026-01", 250),
        line("a", "2024-01", 9_000),
    ];
    let lines: Vec<&PeriodUsage> = all.iter().collect();
    let (months, _) = Period::Month.shown(TODAY);
    let bars = bars(by_period(&lines, &months, Counter::Signals));
    let shown: Vec<_> = bars
        .iter()
        .map(|bar| (bar.total.as_str(), bar.share))
        .collect();
    assert_eq!(
        shown[..4],
        [("1,000", 100), ("0", 0), ("250", 25), ("0", 0)]
    );
    assert!(by_period(&lines, &months, Counter::Companies).is_empty());
}

#[test]
fn keys_beyond_the_first_share_a_row() {
    let all: Vec<PeriodUsage> = (1..=8)
        .map(|number| line(&format!("key{number}"), "2026-03", number))
        .collect();
    let lines: Vec<&PeriodUsage> = all.iter().collect();
    let (months, _) = Period::Month.shown(TODAY);
    let keys = by_key(&lines, &months, Counter::Signals);
    let totals: Vec<u64> = keys.iter().map(|(_, total)| *total).collect();
    assert_eq!(
        (totals, keys[5].0.as_str()),
        (vec![8, 7, 6, 5, 4, 3 + 2 + 1], OTHERS)
    );
    let six = by_key(&lines[..6], &months, Counter::Signals);
    assert!(six.iter().all(|(name, _)| name != OTHERS));
    let huge = line("key9", "2026-03", u64::MAX);
    let with_huge = [&lines[..], &[&huge, &huge]].concat();
    let bars = bars(by_key(&with_huge, &months, Counter::Signals));
    assert_eq!((bars[0].share, bars[1].share), (100, 0));
}

#[test]
fn a_table_has_a_hundred_keys_and_the_totals_of_all() {
    let all: Vec<PeriodUsage> = (1..=150)
        .map(|number| line(&format!("key{number}"), "2026-03", number))
        .collect();
    let lines: Vec<&PeriodUsage> = all.iter().collect();
    let tables = tables(&lines, Counter::Signals);
    assert_eq!((tables.len(), tables[0].lines.len()), (1, ROWS_MAX));
    assert_eq!(tables[0].lines[0].counts[0], "150");
    assert_eq!(
        (tables[0].totals[0].as_str(), tables[0].others.as_str()),
        ("11,325", "50")
    );
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
