//! Usage in one month or on one day, of a key or of all, without reading all keys.

use std::fmt;

use time::Date;

use super::ROWS_MAX;
use crate::keys::KeyRecord;
use crate::metering::{Counter, Counts, Month};
use crate::state::{KeyUsage, State, StateError};

/// A month or a day of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Month(Month),
    Day(Date),
}

/// Whose usage the page shows.
#[derive(Clone, Copy, Debug)]
pub(super) enum Whose<'a> {
    All,
    Key(&'a KeyRecord),
    /// A key that does not exist.
    Nobody,
}

/// The usage by key in a span.
pub(super) struct SpanUsage {
    pub(super) period: String,
    pub(super) total: Counts,
    /// The keys with the most usage, most first.
    pub(super) lines: Vec<KeyUsage>,
    /// The number of all keys with usage.
    pub(super) keys: u64,
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Span::Month(month) => month.fmt(f),
            Span::Day(day) => day.fmt(f),
        }
    }
}

impl Span {
    pub(super) fn first_day(&self) -> Date {
        match self {
            Span::Month(month) => month.first_day().unwrap_or(Date::MIN),
            Span::Day(day) => *day,
        }
    }
}

impl Whose<'_> {
    /// The usage in a span.
    pub(super) fn total(self, state: &State, span: &Span) -> Result<Counts, StateError> {
        match (self, *span) {
            (Whose::All, Span::Month(month)) => state.month_total(month),
            (Whose::All, Span::Day(day)) => state.day_total(day),
            (Whose::Key(key), Span::Month(month)) => state.counts(key.number, month),
            (Whose::Key(key), Span::Day(day)) => state.day_counts(key.number, day),
            (Whose::Nobody, _) => Ok(Counts::default()),
        }
    }

    /// The usage in a span by key.
    pub(super) fn table(
        self,
        state: &State,
        span: &Span,
        by: Counter,
    ) -> Result<SpanUsage, StateError> {
        let total = self.total(state, span)?;
        let (lines, keys) = match (self, *span) {
            (Whose::All, Span::Month(month)) => (
                state.top_of_month(month, by, ROWS_MAX)?,
                state.keys_of_month(month)?,
            ),
            (Whose::All, Span::Day(day)) => (
                state.top_of_day(day, by, ROWS_MAX)?,
                state.keys_of_day(day)?,
            ),
            (Whose::Key(key), _) if total != Counts::default() => {
                let line = KeyUsage {
                    key_id: key.id.clone(),
                    name: key.settings.name.clone(),
                    counts: total,
                };
                (vec![line], 1)
            }
            (Whose::Key(_) | Whose::Nobody, _) => (Vec::new(), 0),
        };
        Ok(SpanUsage {
            period: span.to_string(),
            total,
            lines,
            keys,
        })
    }
}
