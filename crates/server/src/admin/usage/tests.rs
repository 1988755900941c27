//! Usage by months, days and keys, with bars, and by endpoint.

use time::macros::date;

use super::*;
use crate::state::RequestTotal;

fn line(key: &str, signals: u64) -> KeyUsage {
    KeyUsage {
        key_id: key.to_owned(),
        name: String::new(),
        counts: [signals, 0, 0, 0],
    }
}

/// The usage of keys in a month, most first, and how many further keys there are.
fn usage(lines: Vec<KeyUsage>, total: u64, keys: u64) -> SpanUsage {
    SpanUsage {
        period: "2026-03".to_owned(),
        total: [total, 0, 0, 0],
        lines,
        keys,
    }
}

const TODAY: time::Date = date!(2026 - 03 - 05);

fn names(period: Period) -> Vec<String> {
    let spans = period.spans(TODAY);
    spans.iter().map(Span::to_string).collect()
}

#[test]
fn a_year_ends_with_this_month() {
    let months = names(Period::Month);
    assert_eq!(months.len(), periods::MONTHS);
    assert_eq!(months[..4], ["2026-03", "2026-02", "2026-01", "2025-12"]);
    assert_eq!(months[11], "2025-04");
    assert_eq!(Period::Month.from(TODAY), date!(2025 - 04 - 01));
}

#[test]
fn thirty_days_end_with_today() {
    let days = names(Period::Day);
    assert_eq!(
        (days.len(), days[0].as_str()),
        (periods::DAYS, "2026-03-05")
    );
    assert_eq!(days[29], "2026-02-04");
    assert_eq!(Period::Day.from(TODAY), date!(2026 - 02 - 04));
}

#[test]
fn the_longest_bar_is_that_of_the_greatest_number() {
    let totals = [1000, 0, 250].map(|signals| ("a month".to_owned(), [signals, 0, 0, 0]));
    let bars = bars(by_period(&totals, Counter::Signals));
    let shown: Vec<_> = bars
        .iter()
        .map(|bar| (bar.total.as_str(), bar.share))
        .collect();
    assert_eq!(shown, [("1,000", 100), ("0", 0), ("250", 25)]);
    assert!(by_period(&totals, Counter::Companies).is_empty());
}

#[test]
fn keys_beyond_the_first_share_a_row() {
    let lines: Vec<KeyUsage> = (1..=8)
        .rev()
        .map(|number| line(&format!("key{number}"), number))
        .collect();
    let all = usage(lines, 36, 8);
    let keys = by_key(&all, Counter::Signals);
    let totals: Vec<u64> = keys.iter().map(|(_, total)| *total).collect();
    assert_eq!(
        (totals, keys[5].0.as_str()),
        (vec![8, 7, 6, 5, 4, 3 + 2 + 1], OTHERS)
    );
    let six = usage(all.lines[..6].to_vec(), 33, 6);
    let six = by_key(&six, Counter::Signals);
    assert!(six.len() == 6 && six.iter().all(|(name, _)| name != OTHERS));
    assert!(by_key(&all, Counter::Companies).is_empty());
    let huge = usage(vec![line("key9", u64::MAX), line("key1", 1)], u64::MAX, 2);
    let bars = bars(by_key(&huge, Counter::Signals));
    assert_eq!((bars[0].share, bars[1].share), (100, 0));
}

#[test]
fn a_table_has_a_hundred_keys_and_the_totals_of_all() {
    let lines = (51..=150)
        .rev()
        .map(|number| line(&format!("key{number}"), number));
    let table = PeriodTable::of(usage(lines.collect(), 11_325, 150));
    assert_eq!(table.lines.len(), ROWS_MAX);
    assert_eq!(table.lines[0].counts[0], "150");
    assert_eq!(
        (table.totals[0].as_str(), table.others.as_str()),
        ("11,325", "50")
    );
}

#[test]
fn requests_are_added_up_by_endpoint_and_status() {
    let line = |endpoint: &str, status: u16, requests: u64| RequestTotal {
        endpoint: endpoint.to_owned(),
        status,
        requests,
    };
    let all = Requests::of(&[
        line("search", 200, 1000),
        line("search", 402, 3),
        line("search", 429, 5),
        line("signal", 401, 7),
    ]);
    assert_eq!(all.statuses, [200, 401, 402, 429]);
    assert_eq!(all.rows[0].counts, ["1,000", "0", "3", "5", "1,008"]);
    assert_eq!(all.totals, ["1,000", "7", "3", "5", "1,015"]);
    assert_eq!(
        (all.over_quota.as_str(), all.over_rate.as_str()),
        ("3", "5")
    );
}
