//! Usage by month or by day, in one form for the page and its download.

use time::{Date, UtcDateTime};

use super::spans::Span;
use crate::metering::{Counts, Month};
use crate::state::{State, StateError};

/// Months on the page: a year.
pub(super) const MONTHS: usize = 12;
/// Days on the page.
pub(super) const DAYS: usize = 30;

/// The period over which usage is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    Month,
    Day,
}

/// The usage of a key in a month or on a day.
#[derive(Clone, Debug)]
pub(super) struct PeriodUsage {
    /// `2026-11` or `2026-11-23`.
    pub(super) period: String,
    pub(super) key_id: String,
    pub(super) name: String,
    pub(super) counts: Counts,
}

impl Period {
    pub(super) const ALL: [Period; 2] = [Period::Month, Period::Day];

    /// The period of a form; months by default.
    pub(super) fn of_name(name: &str) -> Period {
        match name {
            "day" => Period::Day,
            _ => Period::Month,
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Period::Month => "month",
            Period::Day => "day",
        }
    }

    /// The months or days of the page, newest first.
    pub(super) fn spans(self, today: Date) -> Vec<Span> {
        match self {
            Period::Month => {
                let month = Month::of(UtcDateTime::new(today, time::Time::MIDNIGHT));
                let months = std::iter::successors(Some(month), |month| Some(month.before()));
                months.take(MONTHS).map(Span::Month).collect()
            }
            Period::Day => {
                let day = |ago: usize| today.saturating_sub(time::Duration::days(ago as i64));
                (0..DAYS).map(|ago| Span::Day(day(ago))).collect()
            }
        }
    }

    /// The first day of the page.
    pub(super) fn from(self, today: Date) -> Date {
        self.spans(today).last().map_or(today, Span::first_day)
    }

    /// Usage of all keys, oldest first: of all months, or of the days of the page.
    pub(super) fn usage(self, state: &State, from: Date) -> Result<Vec<PeriodUsage>, StateError> {
        Ok(match self {
            Period::Month => {
                let lines = state.usage(None)?.into_iter();
                let usage = lines.map(|line| PeriodUsage {
                    period: line.month.to_string(),
                    key_id: line.key_id,
                    name: line.name,
                    counts: line.counts,
                });
                usage.collect()
            }
            Period::Day => {
                let lines = state.usage_by_day(from)?.into_iter();
                let usage = lines.map(|line| PeriodUsage {
                    period: line.day.to_string(),
                    key_id: line.key_id,
                    name: line.name,
                    counts: line.counts,
                });
                usage.collect()
            }
        })
    }
}
