//! Units of time: the periods of the calendar that aggregates group by.

use std::fmt;

use time::{Date, Month};

use super::dates::{day_number, day_of_number};

/// A unit of time that [aggregates](super::AggregateQuery) group by.
///
/// ```
/// use signaldex::query::TimeUnit;
/// use time::macros::date;
///
/// let periods = TimeUnit::ALL.map(|unit| unit.period(date!(2026 - 03 - 15)).to_string());
/// assert_eq!(periods, ["2026-03-15", "2026-03-09", "2026-03", "2026-Q1", "2026"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum TimeUnit {
    /// `day`
    Day,
    /// `week`: ISO weeks, which begin on Monday.
    Week,
    /// `month`
    Month,
    /// `quarter`
    Quarter,
    /// `year`
    Year,
}

/// A day, week, month, quarter or year of the calendar, without a time zone. Periods of one unit are ordered by time.
///
/// `Display` writes the key of a group: `2026-03-15`, the Monday of a week, `2026-03`, `2026-Q1`, `2026`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CalendarPeriod {
    unit: TimeUnit,
    first: Date,
}

impl TimeUnit {
    /// Every unit, shortest first.
    pub const ALL: [TimeUnit; 5] = [
        TimeUnit::Day,
        TimeUnit::Week,
        TimeUnit::Month,
        TimeUnit::Quarter,
        TimeUnit::Year,
    ];

    /// The name in a query string.
    ///
    /// ```
    /// assert_eq!(signaldex::query::TimeUnit::Quarter.as_str(), "quarter");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            TimeUnit::Day => "day",
            TimeUnit::Week => "week",
            TimeUnit::Month => "month",
            TimeUnit::Quarter => "quarter",
            TimeUnit::Year => "year",
        }
    }

    /// The period that a day is in. The two days before the first Monday of the year 0 are a week of their own, which
    /// begins with that year.
    ///
    /// ```
    /// use signaldex::query::TimeUnit;
    /// use time::macros::date;
    ///
    /// // The week over New Year begins in the old year.
    /// assert_eq!(TimeUnit::Week.period(date!(2026 - 01 - 01)).to_string(), "2025-12-29");
    /// assert_eq!(TimeUnit::Week.period(date!(0000 - 01 - 02)).to_string(), "0000-01-01");
    /// ```
    pub fn period(self, day: Date) -> CalendarPeriod {
        let first = match self {
            TimeUnit::Day => day,
            TimeUnit::Week => monday(day),
            TimeUnit::Month => day.replace_day(1).unwrap_or(day),
            TimeUnit::Quarter => {
                let month = day.month() as u8;
                first_of_month(day.year(), month - (month - 1) % 3)
            }
            TimeUnit::Year => first_of_month(day.year(), 1),
        };
        CalendarPeriod { unit: self, first }
    }
}

/// The Monday of a day's week, or the first day that a record may have.
fn monday(day: Date) -> Date {
    let before = i32::from(day.weekday().number_days_from_monday());
    let monday = day_of_number(day_number(day) - before).unwrap_or(Date::MIN);
    if monday.year() < 0 && day.year() >= 0 {
        return first_of_month(0, 1);
    }
    monday
}

fn first_of_month(year: i32, month: u8) -> Date {
    let month = Month::try_from(month).unwrap_or(Month::January);
    // The year is that of a date, and each month has a first day.
    Date::from_calendar_date(year, month, 1).unwrap_or(Date::MIN)
}

impl CalendarPeriod {
    /// The unit.
    ///
    /// ```
    /// use signaldex::query::TimeUnit;
    /// use time::macros::date;
    ///
    /// assert_eq!(TimeUnit::Year.period(date!(2026 - 03 - 15)).unit(), TimeUnit::Year);
    /// ```
    pub fn unit(self) -> TimeUnit {
        self.unit
    }

    /// The first day.
    ///
    /// ```
    /// use signaldex::query::TimeUnit;
    /// use time::macros::date;
    ///
    /// let quarter = TimeUnit::Quarter.period(date!(2026 - 06 - 30));
    /// assert_eq!(quarter.first_day(), date!(2026 - 04 - 01));
    /// ```
    pub fn first_day(self) -> Date {
        self.first
    }
}

impl fmt::Display for CalendarPeriod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month) = (self.first.year(), self.first.month() as u8);
        match self.unit {
            TimeUnit::Day | TimeUnit::Week => {
                write!(f, "{year:04}-{month:02}-{:02}", self.first.day())
            }
            TimeUnit::Month => write!(f, "{year:04}-{month:02}"),
            TimeUnit::Quarter => write!(f, "{year:04}-Q{}", month.div_ceil(3)),
            TimeUnit::Year => write!(f, "{year:04}"),
        }
    }
}

#[cfg(test)]
mod tests;
