//! Usage in the state file, by key and month and by key and day.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use time::Date;

use super::number::{Number, counts, number};
use super::{State, StateError};
use crate::metering::{Counter, Counts, Month};

/// The usage of a key in a month.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageLine {
    /// The key's public id.
    pub key_id: String,
    /// The key's name.
    pub name: String,
    /// The month, in UTC.
    pub month: Month,
    /// Units by counter.
    pub counts: Counts,
}

/// The usage of a key on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DayUsage {
    pub(crate) key_id: String,
    pub(crate) name: String,
    /// The day, in UTC.
    pub(crate) day: Date,
    pub(crate) counts: Counts,
}

/// The usage of a key in some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyUsage {
    pub(crate) key_id: String,
    pub(crate) name: String,
    pub(crate) counts: Counts,
}

impl State {
    /// Usage by key and month, oldest first, of one month or of all.
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn usage(&self, month: Option<Month>) -> Result<Vec<UsageLine>, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare(
                "SELECT id, name, month, signals, activities, companies, free_answers \
                 FROM usage JOIN keys ON number = key \
                 WHERE ?1 IS NULL OR month = ?1 ORDER BY month, number",
            )?;
            let lines = statement.query_map([month.map(Month::number)], |row| {
                Ok(UsageLine {
                    key_id: row.get(0)?,
                    name: row.get(1)?,
                    month: Month::of_number(row.get(2)?),
                    counts: counts(row, 3)?,
                })
            })?;
            Ok(lines.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Usage by key and day since a day, oldest first.
    pub(crate) fn usage_by_day(&self, from: Date) -> Result<Vec<DayUsage>, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT id, name, day, signals, activities, companies, free_answers \
                 FROM usage_days JOIN keys ON number = key WHERE day >= ?1 ORDER BY day, number",
            )?;
            let lines = statement.query_map([from.to_julian_day()], |row| {
                Ok(DayUsage {
                    key_id: row.get(0)?,
                    name: row.get(1)?,
                    day: super::day_of(row.get(2)?),
                    counts: counts(row, 3)?,
                })
            })?;
            Ok(lines.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The units that all keys have used in a month.
    pub(crate) fn month_total(&self, month: Month) -> Result<Counts, StateError> {
        self.total("month = ?1", i64::from(month.number()))
    }

    /// The units that all keys have used on a day.
    pub(crate) fn day_total(&self, day: Date) -> Result<Counts, StateError> {
        self.total("day = ?1", i64::from(day.to_julian_day()))
    }

    /// Cost: one pass over a row for each day of 400.
    fn total(&self, wanted: &str, value: i64) -> Result<Counts, StateError> {
        let sql = format!(
            "SELECT coalesce(sum(signals), 0), coalesce(sum(activities), 0), \
             coalesce(sum(companies), 0), coalesce(sum(free_answers), 0) FROM usage_totals \
             WHERE {wanted}"
        );
        self.with(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            Ok(statement.query_row([value], |row| counts(row, 0))?)
        })
    }

    /// The keys with the most units of a counter in a month, most first, with their units.
    pub(crate) fn top_of_month(
        &self,
        month: Month,
        by: Counter,
        rows: usize,
    ) -> Result<Vec<KeyUsage>, StateError> {
        self.top("usage", "month", i64::from(month.number()), by, rows)
    }

    /// The same for a day.
    pub(crate) fn top_of_day(
        &self,
        day: Date,
        by: Counter,
        rows: usize,
    ) -> Result<Vec<KeyUsage>, StateError> {
        self.top(
            "usage_days",
            "day",
            i64::from(day.to_julian_day()),
            by,
            rows,
        )
    }

    /// Cost: one pass over the keys with usage in that time.
    fn top(
        &self,
        table: &str,
        column: &str,
        value: i64,
        by: Counter,
        rows: usize,
    ) -> Result<Vec<KeyUsage>, StateError> {
        let by = match by {
            Counter::Signals => "signals",
            Counter::Activities => "activities",
            Counter::Companies => "companies",
            Counter::FreeAnswers => "free_answers",
        };
        let sql = format!(
            "SELECT id, name, signals, activities, companies, free_answers FROM \
             (SELECT * FROM {table} WHERE {column} = ?1 ORDER BY {by} DESC, key LIMIT ?2) AS top \
             JOIN keys ON number = top.key ORDER BY {by} DESC, number"
        );
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        self.with(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let lines = statement.query_map([value, rows], |row| {
                Ok(KeyUsage {
                    key_id: row.get(0)?,
                    name: row.get(1)?,
                    counts: counts(row, 2)?,
                })
            })?;
            Ok(lines.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The number of keys with usage in a month.
    pub(crate) fn keys_of_month(&self, month: Month) -> Result<u64, StateError> {
        self.count(
            "SELECT count(*) FROM usage WHERE month = ?1",
            i64::from(month.number()),
        )
    }

    /// The same for a day.
    pub(crate) fn keys_of_day(&self, day: Date) -> Result<u64, StateError> {
        let day = i64::from(day.to_julian_day());
        self.count("SELECT count(*) FROM usage_days WHERE day = ?1", day)
    }

    fn count(&self, sql: &str, value: i64) -> Result<u64, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(sql)?;
            Ok(statement.query_row([value], |row| number(row, 0))?)
        })
    }

    /// The units that a key has used on a day.
    pub(crate) fn day_counts(&self, key: i64, day: Date) -> Result<Counts, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT signals, activities, companies, free_answers FROM usage_days \
                 WHERE day = ?1 AND key = ?2",
            )?;
            let line = params![day.to_julian_day(), key];
            let found = statement.query_row(line, |row| counts(row, 0)).optional()?;
            Ok(found.unwrap_or_default())
        })
    }

    /// The units that a key has used in a month.
    pub(crate) fn counts(&self, key: i64, month: Month) -> Result<Counts, StateError> {
        self.with(|connection| Ok(read(connection, key, month)?))
    }
}

/// The usage rows that a transaction touches, each read and written once.
pub(super) struct UsageBatch<'t> {
    transaction: &'t Transaction<'t>,
    rows: HashMap<(i64, Month), Counts>,
    /// Units that the batch adds to days.
    days: HashMap<(i64, Date), Counts>,
    /// Units that it adds over all keys.
    totals: HashMap<(Month, Date), Counts>,
}

impl<'t> UsageBatch<'t> {
    pub(super) fn new(transaction: &'t Transaction<'t>) -> UsageBatch<'t> {
        UsageBatch {
            transaction,
            rows: HashMap::new(),
            days: HashMap::new(),
            totals: HashMap::new(),
        }
    }

    /// Adds units to the day on which they were used, and to the totals of that day.
    pub(super) fn add_to_day(
        &mut self,
        key: i64,
        (month, day): (Month, Date),
        counter: Counter,
        units: u64,
    ) {
        let of_key = self.days.entry((key, day)).or_default();
        let of_all = self.totals.entry((month, day)).or_default();
        for added in [of_key, of_all] {
            let added = &mut added[counter.index()];
            *added = added.saturating_add(units);
        }
    }

    /// The counts of a key in a month, including the batch so far.
    pub(super) fn counts(&mut self, key: i64, month: Month) -> rusqlite::Result<&mut Counts> {
        use std::collections::hash_map::Entry;
        match self.rows.entry((key, month)) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => Ok(entry.insert(read(self.transaction, key, month)?)),
        }
    }

    pub(super) fn write(self) -> rusqlite::Result<()> {
        let mut statement = self.transaction.prepare_cached(
            "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
             signals = excluded.signals, activities = excluded.activities, \
             companies = excluded.companies, free_answers = excluded.free_answers",
        )?;
        // What was refused, or free of charge, leaves no row of zeros.
        let is_used = |counts: &Counts| counts.iter().any(|&count| count > 0);
        let rows = self.rows.into_iter();
        for ((key, month), counts) in rows.filter(|(_, counts)| is_used(counts)) {
            let month = month.number();
            let [signals, activities, companies, free] = counts.map(Number);
            statement.execute(params![key, month, signals, activities, companies, free])?;
        }
        let mut statement = self.transaction.prepare_cached(
            "INSERT INTO usage_days VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
             signals = signals + excluded.signals, activities = activities + excluded.activities, \
             companies = companies + excluded.companies, \
             free_answers = free_answers + excluded.free_answers",
        )?;
        let days = self.days.into_iter();
        for ((key, day), counts) in days.filter(|(_, counts)| is_used(counts)) {
            let day = day.to_julian_day();
            let [signals, activities, companies, free] = counts.map(Number);
            statement.execute(params![day, key, signals, activities, companies, free])?;
        }
        let mut statement = self.transaction.prepare_cached(
            "INSERT INTO usage_totals VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
             signals = signals + excluded.signals, activities = activities + excluded.activities, \
             companies = companies + excluded.companies, \
             free_answers = free_answers + excluded.free_answers",
        )?;
        let totals = self.totals.into_iter();
        for ((month, day), counts) in totals.filter(|(_, counts)| is_used(counts)) {
            let (month, day) = (month.number(), day.to_julian_day());
            let [signals, activities, companies, free] = counts.map(Number);
            statement.execute(params![month, day, signals, activities, companies, free])?;
        }
        Ok(())
    }
}

fn read(connection: &Connection, key: i64, month: Month) -> rusqlite::Result<Counts> {
    let mut statement = connection.prepare_cached(
        "SELECT signals, activities, companies, free_answers FROM usage \
         WHERE key = ?1 AND month = ?2",
    )?;
    let counts = statement
        .query_row(params![key, month.number()], |row| counts(row, 0))
        .optional()?;
    Ok(counts.unwrap_or_default())
}

#[cfg(test)]
mod tests;
