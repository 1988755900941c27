//! Counters, months and quotas. The counts themselves are in the state.

use time::{Date, UtcDateTime};

/// The counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Counter {
    /// One unit per item of a search.
    Signals,
    /// One unit per signal detail.
    Activities,
    /// One unit per company, also as a group of aggregates.
    Companies,
    /// One per count, and per answer of filter options or aggregates. Not billed.
    FreeAnswers,
}

/// A count per [`Counter`].
pub type Counts = [u64; Counter::ALL.len()];

impl Counter {
    /// Every counter, in the order of [`Counts`].
    pub const ALL: [Counter; 4] = [
        Counter::Signals,
        Counter::Activities,
        Counter::Companies,
        Counter::FreeAnswers,
    ];

    /// Whether units of the counter are billed.
    pub const fn is_billed(self) -> bool {
        !matches!(self, Counter::FreeAnswers)
    }

    /// The name of the counter in records and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Counter::Signals => "signals",
            Counter::Activities => "activities",
            Counter::Companies => "companies",
            Counter::FreeAnswers => "freeAnswers",
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// Maximum units per month of each counter; `None` means unlimited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quotas {
    /// Of [`Counter::Signals`].
    pub signals: Option<u64>,
    /// Of [`Counter::Activities`].
    pub activities: Option<u64>,
    /// Of [`Counter::Companies`].
    pub companies: Option<u64>,
    /// Of [`Counter::FreeAnswers`]. Processes that share a state may together exceed it by the answers of
    /// one second.
    pub free_answers: Option<u64>,
}

impl Quotas {
    /// The quota of a counter.
    pub const fn of(&self, counter: Counter) -> Option<u64> {
        match counter {
            Counter::Signals => self.signals,
            Counter::Activities => self.activities,
            Counter::Companies => self.companies,
            Counter::FreeAnswers => self.free_answers,
        }
    }
}

/// A calendar month in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Month(u32);

impl Month {
    /// The month of an instant.
    pub fn of(instant: UtcDateTime) -> Month {
        Month(instant.year().unsigned_abs() * 100 + u32::from(u8::from(instant.month())))
    }

    /// Reads `YYYY-MM`.
    pub fn parse(text: &str) -> Option<Month> {
        let (year, month) = text.split_once('-')?;
        let digits =
            |text: &str, length| text.len() == length && text.bytes().all(|b| b.is_ascii_digit());
        if !digits(year, 4) || !digits(month, 2) {
            return None;
        }
        let (year, month): (u32, u32) = (year.parse().ok()?, month.parse().ok()?);
        (1..=12)
            .contains(&month)
            .then_some(Month(year * 100 + month))
    }

    /// The month as it is stored: 202611 for November 2026.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    pub(crate) fn of_number(number: u32) -> Month {
        Month(number)
    }

    /// The first day of the month.
    pub(crate) fn first_day(self) -> Option<Date> {
        let year = i32::try_from(self.0 / 100).ok()?;
        let month = u8::try_from(self.0 % 100).ok()?;
        Date::from_calendar_date(year, time::Month::try_from(month).ok()?, 1).ok()
    }

    /// The month of the year, from 1 to 12.
    pub(crate) fn in_year(self) -> usize {
        (self.0 % 100) as usize
    }

    /// The day on which the next month begins; `None` at the end of the calendar.
    pub(crate) fn end(self) -> Option<Date> {
        let first = self.first_day()?;
        let days = first.month().length(first.year());
        first.checked_add(time::Duration::days(days.into()))
    }

    /// The previous month.
    pub(crate) fn before(self) -> Month {
        match self.in_year() {
            1 => Month(self.0.saturating_sub(89)),
            _ => Month(self.0 - 1),
        }
    }
}

/// A text is not a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ParseMonthError;

impl std::fmt::Display for ParseMonthError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a month is written as YYYY-MM")
    }
}

impl std::error::Error for ParseMonthError {}

impl std::str::FromStr for Month {
    type Err = ParseMonthError;

    /// As [`parse`](Self::parse).
    fn from_str(text: &str) -> Result<Month, ParseMonthError> {
        Month::parse(text).ok_or(ParseMonthError)
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.0 / 100, self.0 % 100)
    }
}

impl serde::Serialize for Month {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Month {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Month, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
