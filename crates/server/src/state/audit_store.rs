//! The audit in the state file: who changed which key, person or saved search, from where, and how.
//!
//! Invariants:
//! - An entry is written in the transaction of its change, so neither is there without the other.
//! - An entry never has a secret: hashes are BLOBs, and a BLOB is left out.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, Transaction, named_params, params};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime, UtcDateTime};

use super::{State, StateError};
use crate::actor::Actor;

/// How long entries are kept and shown.
const KEPT: Duration = Duration::days(400);
/// Entries that are read at once.
const READ_MAX: u32 = 1000;

/// What entries show of a saved search.
const SEARCH: &str = "SELECT keys.id AS key, saved_searches.name, query, only_new, removals, first_position, \
                      url AS webhook, status, position, webhooks.former_until \
                      FROM saved_searches JOIN keys ON keys.number = saved_searches.key \
                      LEFT JOIN webhooks ON search = saved_searches.number WHERE saved_searches.id = ?1";

/// A change of a key, of a person or of a saved search, as the audit has it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AuditEntry {
    /// Ascends with time.
    #[serde(skip)]
    pub number: i64,
    /// When the change was made.
    #[serde(serialize_with = "rfc3339")]
    pub at: UtcDateTime,
    /// Who made it: `person:NAME` in the dashboard, or `cli:USER` on the command line and in a host.
    pub actor: String,
    /// The address of the browser, or the name of the machine.
    pub from: Option<String>,
    /// What was done, such as `keys.edit`.
    pub action: String,
    /// The id of the key or of the search, or `person:NAME`.
    pub target: String,
    /// The settings that have changed, with their values before the change; null for what is new.
    pub before: Value,
    /// The same after the change.
    pub after: Value,
}

/// The row that a change concerns.
#[derive(Clone, Copy, Debug)]
pub(super) enum AuditedRow<'a> {
    Key(&'a str),
    Person(&'a str),
    Search(&'a str),
}

/// Which entries a page of the dashboard shows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AuditWanted<'a> {
    /// Only entries before this number.
    pub(crate) before: Option<i64>,
    /// A part of the actor, the action or the target, in any case; every entry has the empty text.
    pub(crate) find: &'a str,
    pub(crate) rows: u64,
}

impl State {
    /// The changes of keys, people and saved searches since an instant, of one target or of all: oldest first, and at most 1,000 with
    /// numbers greater than `after`. None is older than 400 days.
    ///
    /// Cost: an index look-up, and the memory of the entries.
    ///
    /// ```
    /// use signaldex_server::{NewKey, State};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let state = State::open(path)?;
    /// let (key, _) = state.create_key(&NewKey::named("shop"))?;
    /// let entries = state.audit(None, Some(&key.id), 0)?;
    /// assert_eq!(entries[0].action, "keys.create");
    /// assert_eq!(entries[0].after["name"], "shop");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn audit(
        &self,
        since: Option<UtcDateTime>,
        target: Option<&str>,
        after: i64,
    ) -> Result<Vec<AuditEntry>, StateError> {
        let oldest = self.oldest_entry();
        let since = since.map_or(oldest, |since| since.unix_timestamp().max(oldest));
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT * FROM audit WHERE at >= ?1 AND (?2 IS NULL OR target = ?2) AND number > ?3 \
                 ORDER BY number LIMIT ?4",
            )?;
            let entries = statement.query_map(params![since, target, after, READ_MAX], read)?;
            Ok(entries.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// A page of entries, newest first.
    pub(crate) fn audit_page(
        &self,
        wanted: &AuditWanted<'_>,
    ) -> Result<Vec<AuditEntry>, StateError> {
        let (oldest, find) = (self.oldest_entry(), wanted.find.to_lowercase());
        let before = wanted.before.unwrap_or(i64::MAX);
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT * FROM audit WHERE at >= :oldest AND number < :before \
                 AND (:find = '' OR has_text(:find, target, actor, action)) \
                 ORDER BY number DESC LIMIT :rows",
            )?;
            let known = named_params! {
                ":oldest": oldest, ":before": before, ":find": find,
                ":rows": i64::try_from(wanted.rows).unwrap_or(i64::MAX)
            };
            let entries = statement.query_map(known, read)?;
            Ok(entries.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Changes a row and writes what has changed. Nothing is written if the row is the same as before.
    pub(super) fn audited<T>(
        &self,
        transaction: &Transaction<'_>,
        (by, action): (&Actor, &str),
        row: AuditedRow<'_>,
        change: impl FnOnce() -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let before = row.settings(transaction)?;
        let changed = change()?;
        let after = row.settings(transaction)?;
        if before != after {
            let (before, after) = differences(before, after);
            transaction.execute(
                "INSERT INTO audit (at, actor, origin, action, target, before, after) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                params![
                    self.now().unix_timestamp(),
                    by.name,
                    by.from,
                    action,
                    row.target(),
                    before.to_string(),
                    after.to_string(),
                ],
            )?;
            let oldest = self.oldest_entry();
            transaction.execute("DELETE FROM audit WHERE at < ?1", [oldest])?;
        }
        Ok(changed)
    }

    /// The oldest second of which entries are kept.
    fn oldest_entry(&self) -> i64 {
        self.now().saturating_sub(KEPT).unix_timestamp()
    }
}

impl AuditedRow<'_> {
    /// The name of the row in entries.
    fn target(self) -> String {
        match self {
            AuditedRow::Key(id) | AuditedRow::Search(id) => id.to_owned(),
            AuditedRow::Person(name) => format!("person:{name}"),
        }
    }

    /// The columns of the row by the names of the command line, without BLOBs; `None` if there is no row.
    fn settings(self, connection: &Connection) -> rusqlite::Result<Option<Map<String, Value>>> {
        let (sql, name) = match self {
            AuditedRow::Key(id) => ("SELECT * FROM keys WHERE id = ?1", id),
            AuditedRow::Person(name) => ("SELECT * FROM people WHERE name = ?1", name),
            AuditedRow::Search(id) => (SEARCH, id),
        };
        let mut statement = connection.prepare_cached(sql)?;
        let columns: Vec<String> = statement
            .column_names()
            .into_iter()
            .map(camel_case)
            .collect();
        let mut rows = statement.query([name])?;
        let Some(row) = rows.next()? else {
            return Ok(None);
        };
        let mut settings = Map::new();
        for (index, column) in columns.into_iter().enumerate() {
            if column == "keyFilter" {
                settings.extend(filters(row.get(index)?));
            } else if let Some(value) = shown(&column, row.get_ref(index)?) {
                settings.insert(column, value);
            }
        }
        Ok(Some(settings))
    }
}

/// A column's value as an entry shows it; `None` for what it leaves out.
fn shown(column: &str, value: ValueRef<'_>) -> Option<Value> {
    match value {
        // Use is no change, though it may be recorded while one is made.
        _ if matches!(column, "number" | "usedAt") => None,
        ValueRef::Integer(seconds) if column.ends_with("At") || column == "formerUntil" => {
            Some(instant(seconds).into())
        }
        ValueRef::Integer(number) => Some(number.into()),
        ValueRef::Real(number) => Some(number.into()),
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text).into()),
        ValueRef::Null => Some(Value::Null),
        ValueRef::Blob(_) => None,
    }
}

/// The lists of filters and exceptions of a key, each null if it is empty.
fn filters(text: Option<String>) -> [(String, Value); 2] {
    let text = text.unwrap_or_default();
    [("filters", "filter "), ("exceptions", "except ")].map(|(name, prefix)| {
        let lines = text.lines().filter_map(|line| line.strip_prefix(prefix));
        let lines: Vec<&str> = lines.collect();
        let list = if lines.is_empty() {
            Value::Null
        } else {
            lines.into()
        };
        (name.to_owned(), list)
    })
}

/// The members that differ; all that are set where there is nothing to compare them with.
fn differences(
    before: Option<Map<String, Value>>,
    after: Option<Map<String, Value>>,
) -> (Value, Value) {
    let whole = |settings: Option<Map<String, Value>>| {
        let mut settings = settings.unwrap_or_default();
        settings.retain(|_, value| !value.is_null());
        Value::Object(settings)
    };
    match (before, after) {
        (Some(mut before), Some(mut after)) => {
            let same: Vec<String> = before
                .iter()
                .filter(|(name, value)| after.get(*name) == Some(value))
                .map(|(name, _)| name.clone())
                .collect();
            for name in same {
                before.remove(&name);
                after.remove(&name);
            }
            (before.into(), after.into())
        }
        (before @ Some(_), None) => (whole(before), Value::Null),
        (None, after) => (Value::Null, whole(after)),
    }
}

/// `quota_signals` as `quotaSignals`.
fn camel_case(column: &str) -> String {
    let mut words = column.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let initial = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &initial.into_iter().chain(letters).collect::<String>()
    })
}

fn read(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    let json = |column| {
        let text: String = row.get(column)?;
        Ok::<Value, rusqlite::Error>(serde_json::from_str(&text).unwrap_or_default())
    };
    let at = UtcDateTime::from_unix_timestamp(row.get(1)?);
    Ok(AuditEntry {
        number: row.get(0)?,
        at: at.unwrap_or(UtcDateTime::UNIX_EPOCH),
        actor: row.get(2)?,
        from: row.get(3)?,
        action: row.get(4)?,
        target: row.get(5)?,
        before: json(6)?,
        after: json(7)?,
    })
}

/// An instant in the form of RFC 3339, or the number of seconds where that form cannot say it.
fn instant(seconds: i64) -> String {
    let at = OffsetDateTime::from_unix_timestamp(seconds).ok();
    let text = at.and_then(|at| at.format(&Rfc3339).ok());
    text.unwrap_or_else(|| seconds.to_string())
}

fn rfc3339<S: Serializer>(at: &UtcDateTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&instant(at.unix_timestamp()))
}

#[cfg(test)]
mod tests;
