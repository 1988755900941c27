//! Saved searches in the state file: what each searches for, and where it begins.

use rusqlite::types::{Type, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};
use time::UtcDateTime;

use super::audit_store::AuditedRow;
use super::number::size;
use super::{State, StateError, webhook_store};
use crate::actor::Actor;
use crate::corpus::FeedPosition;
use crate::keys::random_text;
use crate::saved_searches::{NewSearch, SearchRecord, SearchSettings};
use crate::webhooks::{SearchStatus, WebhookRecord, WebhookSecret, WebhookUrl};

/// The columns of a search, in the order of [`read`].
const COLUMNS: &str = "saved_searches.id, saved_searches.key, keys.id, saved_searches.name, query, only_new, removals, \
                       first_position, saved_searches.created_at, keys.revoked_at, keys.expires_at";
const TABLES: &str = "saved_searches JOIN keys ON keys.number = saved_searches.key \
                      LEFT JOIN webhooks ON webhooks.search = saved_searches.number";
/// The first column of a search's webhook, its URL, and that of its status.
const URL: usize = 11;
const STATUS: usize = URL + 1;
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
        self.create_search_by(Actor::of_process(), key, new)
    }

    pub(crate) fn create_search_by(
        &self,
        by: &Actor,
        key: &str,
        new: &NewSearch,
    ) -> Result<SearchRecord, StateError> {
        new.settings.check()?;
        if new.settings.webhook.is_some() != new.secret.is_some() {
            return Err(StateError::invalid(
                "a search has both a webhook and a secret, or neither",
            ));
        }
        let id = format!("srch_{}", random_text::<ID_BYTES>()?);
        let settings = &new.settings;
        self.with(|connection| {
            let change = self.begin(connection)?;
            let number = key_number(&change, key)?;
            check_room(&change, number)?;
            check_name_is_free(&change, number, &settings.name, &id)?;
            let by = (by, "searches.create");
            self.audited(&change, by, AuditedRow::Search(&id), || {
                change.execute(
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
                )?;
                let number = change.last_insert_rowid();
                let webhook = settings.webhook.as_ref().zip(new.secret.as_ref());
                let added = webhook.map(|(url, secret)| {
                    webhook_store::insert(&change, number, url, secret, new.since.as_ref())
                });
                Ok(added.transpose()?)
            })?;
            let record = one(&change, &id, self.now())?;
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
            let sql = select("?1 IS NULL OR keys.id = ?1 ORDER BY saved_searches.number");
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([key], |row| read(row, self.now()))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The saved searches of a key's number, oldest first.
    pub(crate) fn searches_of_key(&self, key: i64) -> Result<Vec<SearchRecord>, StateError> {
        self.with(|connection| {
            let sql = select("saved_searches.key = ?1 ORDER BY saved_searches.number");
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([key], |row| read(row, self.now()))?;
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
        self.with(|connection| Ok(one(connection, id, self.now())?))
    }

    /// Changes the settings of a saved search, and returns it, with the secret of a webhook that it had not before; `None` if
    /// there is no search of that id. It goes on where it was, but begins anew with a webhook that it had not. The key pulls on
    /// where a webhook that is taken away was; a batch under way is dropped.
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
    ) -> Result<Option<(SearchRecord, Option<WebhookSecret>)>, StateError> {
        self.edit_search_by(Actor::of_process(), id, edit)
    }

    pub(crate) fn edit_search_by(
        &self,
        by: &Actor,
        id: &str,
        edit: impl FnOnce(&mut SearchSettings),
    ) -> Result<Option<(SearchRecord, Option<WebhookSecret>)>, StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            let Some(mut record) = one(&change, id, self.now())? else {
                return Ok(None);
            };
            edit(&mut record.settings);
            let settings = &record.settings;
            settings.check()?;
            check_name_is_free(&change, record.key, &settings.name, id)?;
            let is_added = settings.webhook.is_some() && record.webhook.is_none();
            let secret = is_added.then(WebhookSecret::generate).transpose()?;
            let row = AuditedRow::Search(id);
            self.audited(&change, (by, "searches.edit"), row, || {
                change.execute(
                    "UPDATE saved_searches SET name = ?2, query = ?3, only_new = ?4, removals = ?5 WHERE id = ?1",
                    params![
                        id,
                        settings.name,
                        settings.filter.to_string(),
                        settings.only_new,
                        settings.removals
                    ],
                )?;
                let webhook = (settings.webhook.as_ref(), secret.as_ref());
                Ok(webhook_store::set(&change, id, webhook)?)
            })?;
            let edited = one(&change, id, self.now())?;
            change.commit()?;
            Ok(edited.map(|search| (search, secret)))
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
        self.delete_search_by(Actor::of_process(), id)
    }

    pub(crate) fn delete_search_by(&self, by: &Actor, id: &str) -> Result<bool, StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            let row = AuditedRow::Search(id);
            let deleted = self.audited(&change, (by, "searches.delete"), row, || {
                Ok(change.execute("DELETE FROM saved_searches WHERE id = ?1", [id])?)
            })?;
            change.commit()?;
            Ok(deleted == 1)
        })
    }

    /// Lets the searches that no service has seen begin at a position, which is asked for once such searches are known, so
    /// that it is not before any of them. Without one, none begins.
    pub(crate) fn begin_searches(
        &self,
        position: impl FnOnce() -> Option<FeedPosition>,
    ) -> Result<(), StateError> {
        self.with(|connection| {
            let sql = "SELECT max(number) FROM saved_searches WHERE first_position IS NULL";
            let mut statement = connection.prepare_cached(sql)?;
            let newest: Option<i64> = statement.query_row([], |row| row.get(0))?;
            drop(statement);
            let Some((newest, position)) = newest.and_then(|newest| Some((newest, position()?)))
            else {
                return Ok(());
            };
            let position = position.to_string();
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
        StateError::refused(format!(
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
        return Err(StateError::refused(format!(
            "the key has {KEY_MAX} saved searches, which is the most; delete one first"
        )));
    }
    let all = count("SELECT count(*) FROM saved_searches", &[])?;
    if all >= ALL_MAX {
        return Err(StateError::refused(format!(
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
        Some(other) => Err(StateError::refused(format!(
            "the key has a search of that name, {other}; choose another name, or edit that search"
        ))),
    }
}

fn one(
    connection: &Connection,
    id: &str,
    now: UtcDateTime,
) -> rusqlite::Result<Option<SearchRecord>> {
    let sql = select("saved_searches.id = ?1");
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_row([id], |row| read(row, now));
    found.optional()
}

/// The statement for the searches under a condition, whose columns [`read`] takes.
pub(super) fn select(condition: &str) -> String {
    let webhook = webhook_store::COLUMNS;
    format!("SELECT {COLUMNS}, {webhook} FROM {TABLES} WHERE {condition}")
}

/// Reads a search, with its status at an instant.
pub(super) fn read(row: &Row<'_>, now: UtcDateTime) -> rusqlite::Result<SearchRecord> {
    let webhook = webhook(row)?;
    let (revoked, expires): (Option<i64>, Option<i64>) = (row.get(9)?, row.get(10)?);
    let has_ended = revoked.is_some() || expires.is_some_and(|end| end <= now.unix_timestamp());
    let stored = row.get::<_, Option<String>>(STATUS)?;
    let stored = stored.and_then(|name| SearchStatus::parse(&name));
    let status = match stored {
        Some(SearchStatus::Paused) => SearchStatus::Paused,
        _ if has_ended => SearchStatus::KeyEnded,
        // The deliverer has not looked since the key was extended.
        Some(SearchStatus::KeyEnded) | None => SearchStatus::Active,
        Some(stored) => stored,
    };
    let settings = SearchSettings {
        name: row.get(3)?,
        filter: parsed(row, 4)?,
        only_new: row.get(5)?,
        removals: row.get(6)?,
        webhook: webhook.as_ref().map(|webhook| webhook.url.clone()),
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
        status,
        webhook,
    })
}

/// The webhook of a search, if it has one.
fn webhook(row: &Row<'_>) -> rusqlite::Result<Option<WebhookRecord>> {
    let Some(url) = row.get::<_, Option<String>>(URL)? else {
        return Ok(None);
    };
    let url = WebhookUrl::of_stored(&url);
    let column = if row.get_ref(URL + 2)? == ValueRef::Null {
        7
    } else {
        URL + 2
    };
    let position: Option<String> = row.get(column)?;
    let delivered: Option<i64> = row.get(URL + 4)?;
    Ok(Some(WebhookRecord {
        url: url.map_err(|error| {
            rusqlite::Error::FromSqlConversionFailure(URL, Type::Text, Box::new(error))
        })?,
        position: position.map(|_| parsed(row, column)).transpose()?,
        pending: size(row, URL + 3)?,
        delivered_at: delivered.and_then(|at| UtcDateTime::from_unix_timestamp(at).ok()),
    }))
}

/// A stored text that is parsed. One that cannot be is an error: another search would be answered.
pub(super) fn parsed<T>(row: &Row<'_>, column: usize) -> rusqlite::Result<T>
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
