//! Saved searches in the state file: what each searches for, and where it begins.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};
use time::UtcDateTime;

use super::audit_store::AuditedRow;
use super::{State, StateError};
use crate::actor::Actor;
use crate::corpus::FeedPosition;
use crate::keys::random_text;
use crate::saved_searches::{NewSearch, SearchRecord, SearchSettings};

/// The columns of a search, in the order of [`read`].
const COLUMNS: &str = "saved_searches.id, saved_searches.key, keys.id, saved_searches.name, query, only_new, removals, \
                       first_position, saved_searches.created_at";
const TABLES: &str = "saved_searches JOIN keys ON keys.number = saved_searches.key";
/// Random bytes of a search's id.
const ID_BYTES: usize = 12;
/// Searches of a key.
const KEY_MAX: i64 = 1_000;
/// Searches of all keys.
const ALL_MAX: i64 = 100_000;

impl State {
    /// Saves a search for a key, and returns it.
    ///
    /// ```
    /// use signaldex::Filter;
    /// use signaldex_server::{NewKey, NewSearch, SearchSettings, State};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// let (key, _) = state.create_key(&NewKey::named("Acme"))?;
    /// let settings = SearchSettings::new("robots", Filter::from_query_string("q=robotics")?);
    /// let search = state.create_search(&key.id, &NewSearch::of(settings))?;
    /// assert!(search.id.starts_with("srch_") && search.first_position.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// There is no such key, or it is revoked; the name or the query is refused, or the key has a search of that name; the
    /// key, or all keys together, have as many as they may have; or the state cannot be written.
    pub fn create_search(&self, key: &str, new: &NewSearch) -> Result<SearchRecord, StateError> {
        new.settings.check()?;
        let id = format!("srch_{}", random_text::<ID_BYTES>()?);
        let settings = &new.settings;
        self.with(|connection| {
            let change = self.begin(connection)?;
            let number = key_number(&change, key)?;
            check_room(&change, number)?;
            check_name_is_free(&change, number, &settings.name, &id)?;
            let by = (Actor::of_process(), "searches.create");
            self.audited(&change, by, AuditedRow::Search(&id), || {
                Ok(change.execute(
                    "INSERT INTO saved_searches \
                 (id, key, name, query, only_new, removals, first_position, created_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                    params![
                        id,
                        number,
                        settings.name,
                        settings.filter.to_string(),
                        settings.only_new,
                        settings.removals,
                        new.since.as_ref().map(ToString::to_string),
                        self.now().unix_timestamp(),
                    ],
                )?)
            })?;
            let record = one(&change, &id)?;
            change.commit()?;
            record.ok_or_else(|| StateError::invalid("the search is missing"))
        })
    }

    /// The saved searches of a key, or of all keys, oldest first.
    ///
    /// ```
    /// # use signaldex_server::State;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// assert!(state.searches(None)?.is_empty());
    /// assert!(state.searches(Some("key_none"))?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn searches(&self, key: Option<&str>) -> Result<Vec<SearchRecord>, StateError> {
        self.with(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM {TABLES} WHERE ?1 IS NULL OR keys.id = ?1 \
                 ORDER BY saved_searches.number"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([key], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The saved searches of a key's number, oldest first.
    pub(crate) fn searches_of_key(&self, key: i64) -> Result<Vec<SearchRecord>, StateError> {
        self.with(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM {TABLES} WHERE saved_searches.key = ?1 \
                 ORDER BY saved_searches.number"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([key], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// A saved search; `None` if there is no search of that id.
    ///
    /// ```
    /// # use signaldex_server::State;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// assert!(state.search("srch_none")?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn search(&self, id: &str) -> Result<Option<SearchRecord>, StateError> {
        self.with(|connection| Ok(one(connection, id)?))
    }

    /// Changes the settings of a saved search, and returns it; `None` if there is no search of that id. It goes on where it
    /// was.
    ///
    /// ```
    /// # use signaldex_server::State;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// let edited = state.edit_search("srch_none", |settings| settings.only_new = true)?;
    /// assert!(edited.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The name or the query is refused, the key has another search of that name, or the state cannot be written.
    pub fn edit_search(
        &self,
        id: &str,
        edit: impl FnOnce(&mut SearchSettings),
    ) -> Result<Option<SearchRecord>, StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            let Some(mut record) = one(&change, id)? else {
                return Ok(None);
            };
            edit(&mut record.settings);
            let settings = &record.settings;
            settings.check()?;
            check_name_is_free(&change, record.key, &settings.name, id)?;
            let by = (Actor::of_process(), "searches.edit");
            self.audited(&change, by, AuditedRow::Search(id), || {
                Ok(change.execute(
                "UPDATE saved_searches SET name = ?2, query = ?3, only_new = ?4, removals = ?5 WHERE id = ?1",
                params![
                    id,
                    settings.name,
                    settings.filter.to_string(),
                    settings.only_new,
                    settings.removals
                ],
            )?)
            })?;
            change.commit()?;
            Ok(Some(record))
        })
    }

    /// Deletes a saved search. Returns whether there was one of that id.
    ///
    /// ```
    /// # use signaldex_server::State;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// assert!(!state.delete_search("srch_none")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn delete_search(&self, id: &str) -> Result<bool, StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            let by = (Actor::of_process(), "searches.delete");
            let deleted = self.audited(&change, by, AuditedRow::Search(id), || {
                Ok(change.execute("DELETE FROM saved_searches WHERE id = ?1", [id])?)
            })?;
            change.commit()?;
            Ok(deleted == 1)
        })
    }

    /// Lets the searches that no service has seen begin at a position, which is asked for once such searches are known, so
    /// that it is not before any of them.
    pub(crate) fn begin_searches(
        &self,
        position: impl FnOnce() -> FeedPosition,
    ) -> Result<(), StateError> {
        self.with(|connection| {
            let sql = "SELECT max(number) FROM saved_searches WHERE first_position IS NULL";
            let mut statement = connection.prepare_cached(sql)?;
            let newest: Option<i64> = statement.query_row([], |row| row.get(0))?;
            drop(statement);
            let Some(newest) = newest else {
                return Ok(());
            };
            let position = position().to_string();
            let change = self.begin(connection)?;
            change.execute(
                "UPDATE saved_searches SET first_position = ?1 \
                 WHERE first_position IS NULL AND number <= ?2",
                params![position, newest],
            )?;
            Ok(change.commit()?)
        })
    }
}

/// The number of a key that is not revoked.
fn key_number(connection: &Connection, id: &str) -> Result<i64, StateError> {
    let sql = "SELECT number FROM keys WHERE id = ?1 AND revoked_at IS NULL";
    let number = connection.query_row(sql, [id], |row| row.get(0));
    number.optional()?.ok_or_else(|| {
        StateError::invalid(format!(
            "there is no key {id:?}, or it is revoked; `signaldex keys list` shows all"
        ))
    })
}

fn check_room(connection: &Connection, key: i64) -> Result<(), StateError> {
    let count = |sql: &str, key: &[&dyn rusqlite::ToSql]| -> rusqlite::Result<i64> {
        connection.query_row(sql, key, |row| row.get(0))
    };
    let of_key = count(
        "SELECT count(*) FROM saved_searches WHERE key = ?1",
        &[&key],
    )?;
    if of_key >= KEY_MAX {
        return Err(StateError::invalid(format!(
            "the key has {KEY_MAX} saved searches, which is the most; delete one first"
        )));
    }
    let all = count("SELECT count(*) FROM saved_searches", &[])?;
    if all >= ALL_MAX {
        return Err(StateError::invalid(format!(
            "there are {ALL_MAX} saved searches, which is the most; delete one first"
        )));
    }
    Ok(())
}

fn check_name_is_free(
    connection: &Connection,
    key: i64,
    name: &str,
    id: &str,
) -> Result<(), StateError> {
    let sql = "SELECT id FROM saved_searches WHERE key = ?1 AND name = ?2 AND id <> ?3";
    let other = connection.query_row(sql, params![key, name, id], |row| row.get::<_, String>(0));
    match other.optional()? {
        None => Ok(()),
        Some(other) => Err(StateError::invalid(format!(
            "the key has a search of that name, {other}; choose another name, or edit that search"
        ))),
    }
}

fn one(connection: &Connection, id: &str) -> rusqlite::Result<Option<SearchRecord>> {
    let sql = format!("SELECT {COLUMNS} FROM {TABLES} WHERE saved_searches.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_row([id], read).optional()
}

fn read(row: &Row<'_>) -> rusqlite::Result<SearchRecord> {
    let settings = SearchSettings {
        name: row.get(3)?,
        filter: parsed(row, 4)?,
        only_new: row.get(5)?,
        removals: row.get(6)?,
    };
    let first: Option<String> = row.get(7)?;
    let created = UtcDateTime::from_unix_timestamp(row.get(8)?);
    Ok(SearchRecord {
        id: row.get(0)?,
        key: row.get(1)?,
        key_id: row.get(2)?,
        settings,
        first_position: first.map(|_| parsed(row, 7)).transpose()?,
        created_at: created.unwrap_or(UtcDateTime::UNIX_EPOCH),
    })
}

/// A stored text that is parsed. One that cannot be is an error: another search would be answered.
fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
where
    T: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(column)?;
    text.parse().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error))
    })
}

#[cfg(test)]
mod tests;
