//! The steps of each span, and what is added up in them.

use super::spans::{SeriesSpan, instant};
use super::*;

/// 2026-03-01 00:30.
const NOW: i64 = 29_538_750;

fn line(start: i64, endpoint: &str, requests: u64) -> SeriesLine {
    SeriesLine {
        start,
        endpoint: endpoint.to_owned(),
        figures: SeriesFigures {
            requests,
            ..SeriesFigures::default()
        },
    }
}

#[test]
fn spans_end_with_the_present_step_and_have_no_gap() {
    assert_eq!(figures::moment(instant(NOW)), "2026-03-01 00:30:00");
    for (span, steps, first, last) in [
        (
            SeriesSpan::LastHour,
            60,
            "2026-02-28 23:31",
            "2026-03-01 00:30",
        ),
        (
            SeriesSpan::TwoDays,
            48,
            "2026-02-27 01:00",
            "2026-03-01 00:00",
        ),
        (SeriesSpan::ThirtyDays, 30, "2026-01-31", "2026-03-01"),
        (SeriesSpan::Months, 13, "2025-03", "2026-03"),
    ] {
        let rows = step_rows(span, NOW, &[]);
        let labels: Vec<&str> = rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!((labels.len(), labels[0]), (steps, last));
        assert_eq!(labels.last(), Some(&first));
    }
    let of_key: Vec<SeriesSpan> = SeriesSpan::all(true).collect();
    assert!(!of_key.contains(&SeriesSpan::LastHour));
    assert_eq!(SeriesSpan::of_name("hour", true), SeriesSpan::TwoDays);
}

#[test]
fn days_add_up_to_months_and_steps_to_endpoints() {
    let day = crate::state::SeriesStep::Day.minutes();
    let today = NOW - 30;
    let lines = [
        line(today - day, "search", 3),
        line(today - day, "signal", 4),
        line(today, "search", 5),
    ];
    let rows = step_rows(SeriesSpan::Months, NOW, &lines);
    let requests: Vec<&str> = rows.iter().map(|row| row.requests.as_str()).collect();
    assert_eq!(requests[..3], ["5", "7", "0"]);
    assert_eq!((rows[0].share, rows[1].share), (71, 100));
    let endpoints = endpoint_rows(&lines);
    let found: Vec<(&str, &str)> = endpoints
        .iter()
        .map(|row| (row.label.as_str(), row.requests.as_str()))
        .collect();
    assert_eq!(found, [("search", "8"), ("signal", "4")]);
}
