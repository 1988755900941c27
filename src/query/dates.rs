//! Day numbers, and date filters as intervals of day numbers.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use smallvec::{SmallVec, smallvec};
use time::{Date, Month};

use super::{DateRange, Days, Filter, ParseDateRangeError, ParseDaysError};

/// Intervals of days since 1970-01-01, ascending, without overlap.
pub(crate) type DayIntervals = SmallVec<[RangeInclusive<i32>; 2]>;

/// The Julian day of 1970-01-01.
const EPOCH_JULIAN_DAY: i32 = 2_440_588;

/// A date as the number of days since 1970-01-01.
pub(crate) fn day_number(date: Date) -> i32 {
    date.to_julian_day() - EPOCH_JULIAN_DAY
}

/// The date of a number of days since 1970-01-01, if it is representable.
pub(crate) fn day_of_number(day: i32) -> Option<Date> {
    Date::from_julian_day(day.checked_add(EPOCH_JULIAN_DAY)?).ok()
}

/// Parses a calendar date `YYYY-MM-DD` in ASCII digits.
pub(crate) fn calendar_date(text: &str) -> Option<Date> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text.as_bytes() else {
        return None;
    };
    let year = digits(&[y1, y2, y3, y4])?;
    let month = Month::try_from(u8::try_from(digits(&[m1, m2])?).ok()?).ok()?;
    let day = u8::try_from(digits(&[d1, d2])?).ok()?;
    Date::from_calendar_date(i32::from(year), month, day).ok()
}

/// The number of up to four ASCII digits.
fn digits(bytes: &[u8]) -> Option<u16> {
    bytes.iter().try_fold(0, |number: u16, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u16::from(byte - b'0'))
    })
}

impl Days {
    /// The number of days.
    ///
    /// ```
    /// use signaldex::query::Days;
    ///
    /// assert_eq!("30".parse::<Days>()?.count(), 30);
    /// # Ok::<(), signaldex::query::ParseDaysError>(())
    /// ```
    pub fn count(self) -> i32 {
        match self {
            Days::Seven => 7,
            Days::Thirty => 30,
            Days::Ninety => 90,
        }
    }

    /// Whether a date is after `today` minus the days, and not after `today`.
    pub(super) fn contain(self, date: Date, today: Date) -> bool {
        let age_days = day_number(today) - day_number(date);
        (0..self.count()).contains(&age_days)
    }
}

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.count(), f)
    }
}

impl FromStr for Days {
    type Err = ParseDaysError;

    fn from_str(text: &str) -> Result<Self, ParseDaysError> {
        match text {
            "7" => Ok(Days::Seven),
            "30" => Ok(Days::Thirty),
            "90" => Ok(Days::Ninety),
            _ => Err(ParseDaysError),
        }
    }
}

impl FromStr for DateRange {
    type Err = ParseDateRangeError;

    fn from_str(text: &str) -> Result<Self, ParseDateRangeError> {
        match text {
            "older" => Ok(DateRange::Older),
            days => days
                .parse()
                .map(DateRange::Last)
                .map_err(|_| ParseDateRangeError),
        }
    }
}

impl fmt::Display for DateRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DateRange::Last(days) => write!(f, "{}", days.count()),
            DateRange::Older => f.write_str("older"),
        }
    }
}

impl DateRange {
    /// Whether a date is in the range.
    pub(super) fn contains(self, date: Date, today: Date) -> bool {
        match self {
            DateRange::Last(days) => days.contain(date, today),
            DateRange::Older => day_number(today) - day_number(date) >= Days::Ninety.count(),
        }
    }

    fn interval(self, today: i32) -> RangeInclusive<i32> {
        match self {
            DateRange::Last(days) => today - days.count() + 1..=today,
            DateRange::Older => i32::MIN..=today - Days::Ninety.count(),
        }
    }
}

impl Filter {
    /// The days on which a matching signal may be dated. `None` if dates are not filtered, so that undated
    /// signals match, too; empty if no day matches.
    pub(crate) fn date_intervals(&self, today: Date) -> Option<DayIntervals> {
        let today = day_number(today);
        let is_free = self.days.is_none()
            && self.date_ranges.is_empty()
            && self.date_from.is_none()
            && self.date_to.is_none();
        if is_free {
            return None;
        }
        let from = self.date_from.map_or(i32::MIN, day_number);
        let to = self.date_to.map_or(i32::MAX, day_number);
        let mut intervals: DayIntervals = smallvec![from..=to];
        if let Some(days) = self.days {
            intersect(&mut intervals, &[DateRange::Last(days).interval(today)]);
        }
        if !self.date_ranges.is_empty() {
            intersect(&mut intervals, &union(&self.date_ranges, today));
        }
        Some(intervals)
    }
}

/// The union of ranges. The ranges that end today contain each other, so only the longest matters; `older`
/// may be disjoint from it.
fn union(ranges: &[DateRange], today: i32) -> DayIntervals {
    let last = ranges
        .iter()
        .filter(|range| **range != DateRange::Older)
        .max();
    let mut intervals: DayIntervals = DayIntervals::new();
    if ranges.contains(&DateRange::Older) {
        intervals.push(DateRange::Older.interval(today));
    }
    intervals.extend(last.map(|range| range.interval(today)));
    intervals
}

fn intersect(intervals: &mut DayIntervals, others: &[RangeInclusive<i32>]) {
    *intervals = intervals
        .iter()
        .flat_map(|a| {
            others
                .iter()
                .map(|b| *a.start().max(b.start())..=*a.end().min(b.end()))
        })
        .filter(|interval| !interval.is_empty())
        .collect();
}

#[cfg(test)]
mod tests;
