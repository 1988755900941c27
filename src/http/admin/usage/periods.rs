//! Usage by month or by day, in one form for chart, tables and download.

use time::{Date, UtcDateTime};

use crate::http::metering::{Counts, Month};
use crate::http::state::{State, StateError};

/// Months in the chart: a year.
pub(super) const MONTHS: usize = 12;
/// Days in the chart.
pub(super) const DAYS: usize = 30;
/// Every nth day has a label; more labels would overlap on a phone.
const LABELLED: usize = 6;

const MONTH_NAMES: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The period over which usage is added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    Month,
    Day,
}

/// A month or a day of the chart.
#[derive(Debug)]
pub(super) struct Slot {
    /// `2026-11` or `2026-11-23`.
    pub(super) period: String,
    /// The label in the chart; empty if there is no room.
    pub(super) label: String,
}

/// The usage of a key in a month or on a day.
#[derive(Clone, Debug)]
pub(super) struct Usage {
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

    /// The slots of a chart that ends today, and the first day of the first slot.
    pub(super) fn slots(self, today: Date) -> (Vec<Slot>, Date) {
        match self {
            Period::Month => months(today),
            Period::Day => days(today),
        }
    }

    /// Usage of all keys, oldest first: of all months, or of the days of the chart.
    pub(super) fn usage(self, state: &State, from: Date) -> Result<Vec<Usage>, StateError> {
        Ok(match self {
            Period::Month => {
                let lines = state.usage(None)?.into_iter();
                let usage = lines.map(|line| Usage {
                    period: line.month.to_string(),
                    key_id: line.key_id,
                    name: line.name,
                    counts: line.counts,
                });
                usage.collect()
            }
            Period::Day => {
                let lines = state.usage_by_day(from)?.into_iter();
                let usage = lines.map(|line| Usage {
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

/// Twelve months ending with the current one.
fn months(today: Date) -> (Vec<Slot>, Date) {
    let mut months = vec![Month::of(UtcDateTime::new(today, time::Time::MIDNIGHT))];
    while months.len() < MONTHS {
        months.push(months[months.len() - 1].before());
    }
    months.reverse();
    let slot = |month: &Month| Slot {
        period: month.to_string(),
        label: MONTH_NAMES[month.in_year() - 1].to_owned(),
    };
    let first = months[0].first_day().unwrap_or(Date::MIN);
    (months.iter().map(slot).collect(), first)
}

/// The days ending with today.
fn days(today: Date) -> (Vec<Slot>, Date) {
    let day = |ago: usize| today.saturating_sub(time::Duration::days(ago as i64));
    let slot = |ago: usize| {
        let day = day(ago);
        let month = MONTH_NAMES[usize::from(u8::from(day.month())) - 1];
        let label = if ago.is_multiple_of(LABELLED) {
            format!("{} {month}", day.day())
        } else {
            String::new()
        };
        let period = day.to_string();
        Slot { period, label }
    };
    let slots = (0..DAYS).rev().map(slot).collect();
    (slots, day(DAYS - 1))
}
