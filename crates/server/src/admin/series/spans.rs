//! The spans of a series that pages show: the last hour, two days, 30 days, 13 months.

use std::ops::Range;

use time::{Date, UtcDateTime};

use crate::admin::figures;
use crate::metering::Month;
use crate::state::SeriesStep;

/// Months shown: that of a year ago, too.
const MONTHS: usize = 13;
const DAY: i64 = SeriesStep::Day.minutes();

/// How far back a series is shown, and in which steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeriesSpan {
    LastHour,
    TwoDays,
    ThirtyDays,
    Months,
}

impl SeriesSpan {
    const ALL: [SeriesSpan; 4] = [
        SeriesSpan::LastHour,
        SeriesSpan::TwoDays,
        SeriesSpan::ThirtyDays,
        SeriesSpan::Months,
    ];

    /// The spans of all keys or of one, which has no minutes.
    pub(super) fn all(is_of_key: bool) -> impl Iterator<Item = SeriesSpan> {
        let spans = SeriesSpan::ALL.into_iter();
        spans.filter(move |span| span.step().days_kept(is_of_key) > 0)
    }

    pub(super) fn of_name(name: &str, is_of_key: bool) -> SeriesSpan {
        let known = SeriesSpan::all(is_of_key).find(|span| span.as_str() == name);
        known.unwrap_or(SeriesSpan::TwoDays)
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            SeriesSpan::LastHour => "hour",
            SeriesSpan::TwoDays => "2-days",
            SeriesSpan::ThirtyDays => "30-days",
            SeriesSpan::Months => "13-months",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            SeriesSpan::LastHour => "Last hour",
            SeriesSpan::TwoDays => "48 hours",
            SeriesSpan::ThirtyDays => "30 days",
            SeriesSpan::Months => "13 months",
        }
    }

    pub(super) const fn unit(self) -> &'static str {
        match self {
            SeriesSpan::LastHour => "minute",
            SeriesSpan::TwoDays => "hour",
            SeriesSpan::ThirtyDays => "day",
            SeriesSpan::Months => "month",
        }
    }

    /// The steps that the span is read in.
    pub(super) const fn step(self) -> SeriesStep {
        match self {
            SeriesSpan::LastHour => SeriesStep::Minute,
            SeriesSpan::TwoDays => SeriesStep::Hour,
            SeriesSpan::ThirtyDays | SeriesSpan::Months => SeriesStep::Day,
        }
    }

    /// The minutes of the span that ends now.
    pub(super) fn minutes(self, now: i64) -> Range<i64> {
        let starts = self.starts(now);
        starts.first().copied().unwrap_or(now)..now + 1
    }

    /// The first minutes of what the span shows, oldest first.
    pub(super) fn starts(self, now: i64) -> Vec<i64> {
        let count = match self {
            SeriesSpan::LastHour => 60,
            SeriesSpan::TwoDays => 48,
            SeriesSpan::ThirtyDays => 30,
            SeriesSpan::Months => return months(now),
        };
        let (last, length) = (self.step().start_of(now), self.step().minutes());
        (0..count).rev().map(|ago| last - ago * length).collect()
    }

    /// The step that begins with a minute, in words.
    pub(super) fn label_of(self, start: i64) -> String {
        let moment = figures::moment(instant(start));
        // 2026-06-30 14:05:09 up to what the steps differ in.
        let length = match self {
            SeriesSpan::LastHour | SeriesSpan::TwoDays => 16,
            SeriesSpan::ThirtyDays => 10,
            SeriesSpan::Months => 7,
        };
        moment.chars().take(length).collect()
    }
}

fn months(now: i64) -> Vec<i64> {
    let before = |month: &Month| Some(month.before());
    let months = std::iter::successors(Some(Month::of(instant(now))), before);
    let days = months.take(MONTHS).filter_map(Month::first_day);
    let mut starts: Vec<i64> = days.map(start_of_day).collect();
    starts.reverse();
    starts
}

fn start_of_day(day: Date) -> i64 {
    let since = day.to_julian_day() - UtcDateTime::UNIX_EPOCH.date().to_julian_day();
    i64::from(since) * DAY
}

/// A minute since 1970 as an instant.
pub(super) fn instant(minute: i64) -> UtcDateTime {
    let seconds = minute.saturating_mul(60);
    UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::UNIX_EPOCH)
}
