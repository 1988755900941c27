//! Webhooks in the state file, as operators see and change them; `webhook_queue` has what the deliverer writes.
//!
//! Invariants:
//! - A search is *current* if everything up to the one position in `webhook_feed` is delivered or matches nothing. So a commit
//!   without matches writes that position and no search. Any other search has a position of its own.
//! - No body is stored. A batch under way is the ids of its matches and the position after them.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::audit_store::AuditedRow;
use super::number::{number, size};
use super::{State, StateError};
use crate::actor::Actor;
use crate::corpus::FeedPosition;
use crate::instants::{milliseconds, of_milliseconds};
use crate::webhooks::{DeliveryAttempt, SearchStatus, WebhookSecret, WebhookUrl};

/// The position of a webhook: that of the feed while it is current.
macro_rules! position {
    () => {
        "CASE WHEN is_current THEN (SELECT position FROM webhook_feed) ELSE webhooks.position END"
    };
}

/// The columns of a search's webhook after those of the search, in the order of `search_store::read`.
pub(super) const COLUMNS: &str = concat!(
    "webhooks.url, webhooks.status, ",
    position!(),
    ", coalesce(json_array_length(batch, '$.matches'), 0), webhooks.delivered_at"
);

/// How long attempts are kept, in seconds.
const LOG_SECONDS: i64 = 7 * 24 * 3_600;
/// Attempts that are kept of a search.
const LOG_MAX: u32 = 100;

impl State {
    /// Pauses a saved search with a webhook: nothing is delivered, and its position stays. Returns whether there is one.
    ///
    /// ```
    /// # use signaldex_server::State;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// assert!(!state.pause_search("srch_none")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn pause_search(&self, id: &str) -> Result<bool, StateError> {
        self.pause_search_by(Actor::of_process(), id)
    }

    pub(crate) fn pause_search_by(&self, by: &Actor, id: &str) -> Result<bool, StateError> {
        let sql = concat!(
            "UPDATE webhooks SET status = 'paused', due_at = NULL, is_current = 0, position = ",
            position!(),
            " WHERE search = ?1"
        );
        self.change_webhook(id, (by, "searches.pause"), |change, number| {
            Ok(change.execute(sql, [number])?)
        })
        .map(|changed| changed.is_some())
    }

    /// Goes on with a saved search where it was, whether it was paused, disabled or failing. Returns whether there is one with
    /// a webhook.
    ///
    /// ```
    /// # use signaldex_server::State;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// assert!(!state.resume_search("srch_none")?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn resume_search(&self, id: &str) -> Result<bool, StateError> {
        self.resume_search_by(Actor::of_process(), id)
    }

    pub(crate) fn resume_search_by(&self, by: &Actor, id: &str) -> Result<bool, StateError> {
        let sql = "UPDATE webhooks SET status = 'active', attempts = 0, \
                   due_at = CASE WHEN is_current THEN NULL ELSE 0 END WHERE search = ?1";
        self.change_webhook(id, (by, "searches.resume"), |change, number| {
            Ok(change.execute(sql, [number])?)
        })
        .map(|changed| changed.is_some())
    }

    /// Goes on with a saved search at the last commit that a deliverer has seen, and drops the batch under way. Returns the
    /// number of commits that it skips; inside, `None` if its position was of another index or had not begun.
    ///
    /// ```
    /// # use signaldex_server::State;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// assert!(state.resume_search_from_now("srch_none")?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// No service has delivered from this state yet, or it cannot be written.
    pub fn resume_search_from_now(&self, id: &str) -> Result<Option<Option<u64>>, StateError> {
        self.resume_search_from_now_by(Actor::of_process(), id)
    }

    pub(crate) fn resume_search_from_now_by(
        &self,
        by: &Actor,
        id: &str,
    ) -> Result<Option<Option<u64>>, StateError> {
        self.change_webhook(id, (by, "searches.resume"), |change, number| {
            let now = feed_position(change)?.ok_or_else(|| {
                StateError::refused("no service has delivered from this state yet; start one first")
            })?;
            let sql = "SELECT coalesce(position, first_position) FROM webhooks \
                       JOIN saved_searches ON number = search WHERE search = ?1";
            let position: Option<String> = change.query_row(sql, [number], |row| row.get(0))?;
            change.execute(
                "UPDATE webhooks SET status = 'active', attempts = 0, due_at = NULL, is_current = 1, \
                 position = NULL, batch = NULL, next_position = NULL WHERE search = ?1",
                [number],
            )?;
            Ok(position.map_or(Some(0), |position| skipped(&position, &now)))
        })
    }

    /// Gives the webhook of a saved search another secret, and returns it. Events have signatures of both until the overlap
    /// ends. `None` if there is no search of that id with a webhook.
    ///
    /// ```
    /// # use signaldex_server::State;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// let secret = state.rotate_webhook_secret("srch_none", std::time::Duration::from_secs(24 * 3_600))?;
    /// assert!(secret.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The operating system has no random bytes, or the state cannot be written.
    pub fn rotate_webhook_secret(
        &self,
        id: &str,
        overlap: Duration,
    ) -> Result<Option<WebhookSecret>, StateError> {
        self.rotate_webhook_secret_by(Actor::of_process(), id, overlap)
    }

    pub(crate) fn rotate_webhook_secret_by(
        &self,
        by: &Actor,
        id: &str,
        overlap: Duration,
    ) -> Result<Option<WebhookSecret>, StateError> {
        let secret = WebhookSecret::generate()?;
        let until = self
            .now()
            .saturating_add(time::Duration::try_from(overlap).unwrap_or(time::Duration::ZERO));
        let rotated = self.change_webhook(id, (by, "searches.rotate"), |change, number| {
            let sql = "UPDATE webhooks SET former_secret = secret, former_until = ?2, secret = ?3 WHERE search = ?1";
            let values = params![number, until.unix_timestamp(), secret.bytes()];
            Ok(change.execute(sql, values)?)
        })?;
        Ok(rotated.map(|_| secret))
    }

    /// The last attempts to deliver events of a saved search, newest first: at most 100, and none older than 7 days.
    ///
    /// ```
    /// # use signaldex_server::State;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// let state = State::open(directory.path().join("signaldex.db"))?;
    /// assert!(state.deliveries("srch_none")?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn deliveries(&self, id: &str) -> Result<Vec<DeliveryAttempt>, StateError> {
        let oldest = milliseconds(self.now()) - 1_000 * LOG_SECONDS;
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT at, event, attempt, webhook_attempts.status, reason, milliseconds, matches \
                 FROM webhook_attempts JOIN saved_searches ON number = search \
                 WHERE id = ?1 AND at >= ?2 ORDER BY at DESC, webhook_attempts.rowid DESC LIMIT ?3",
            )?;
            let attempts = statement.query_map(params![id, oldest, LOG_MAX], |row| {
                Ok(DeliveryAttempt {
                    at: of_milliseconds(row.get(0)?),
                    id: row.get(1)?,
                    attempt: row.get(2)?,
                    status: row.get(3)?,
                    reason: row.get(4)?,
                    milliseconds: number(row, 5)?,
                    matches: size(row, 6)?,
                })
            })?;
            Ok(attempts.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Changes the webhook of a search in an audited transaction; `None` if there is none.
    fn change_webhook<T>(
        &self,
        id: &str,
        by: (&Actor, &str),
        change: impl FnOnce(&Transaction<'_>, i64) -> Result<T, StateError>,
    ) -> Result<Option<T>, StateError> {
        self.with(|connection| {
            let transaction = self.begin(connection)?;
            let sql =
                "SELECT number FROM saved_searches JOIN webhooks ON search = number WHERE id = ?1";
            let number = transaction.query_row(sql, [id], |row| row.get(0));
            let Some(number) = number.optional()? else {
                return Ok(None);
            };
            let changed = self.audited(&transaction, by, AuditedRow::Search(id), || {
                change(&transaction, number)
            })?;
            transaction.commit()?;
            Ok(Some(changed))
        })
    }
}

/// Adds the webhook of a search that was just saved.
pub(super) fn insert(
    connection: &Connection,
    search: i64,
    url: &WebhookUrl,
    secret: &WebhookSecret,
    position: Option<&FeedPosition>,
) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO webhooks (search, url, host, secret, status, is_current, position, attempts, due_at, answers) \
         VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, 0, 0, 0)",
        params![
            search,
            url.as_str(),
            url.host(),
            secret.bytes(),
            SearchStatus::Active.as_str(),
            position.map(ToString::to_string),
        ],
    )?;
    Ok(())
}

/// Gives a search the webhook of its settings, or takes it away: of a search with one, the URL counts from the next attempt
/// on; of a search without, it comes with a secret, and the search begins anew. The key pulls on where a webhook was.
pub(super) fn set(
    connection: &Connection,
    id: &str,
    webhook: (Option<&WebhookUrl>, Option<&WebhookSecret>),
) -> rusqlite::Result<()> {
    let sql = "SELECT number FROM saved_searches WHERE id = ?1";
    let number: i64 = connection.query_row(sql, [id], |row| row.get(0))?;
    match webhook {
        (Some(url), Some(secret)) => {
            let sql = "UPDATE saved_searches SET first_position = NULL WHERE number = ?1";
            connection.execute(sql, [number])?;
            insert(connection, number, url, secret, None)
        }
        (Some(url), None) => {
            let sql = "UPDATE webhooks SET url = ?2, host = ?3, answers = 0 WHERE search = ?1 AND url <> ?2";
            connection.execute(sql, params![number, url.as_str(), url.host()])?;
            Ok(())
        }
        (None, _) => remove(connection, number),
    }
}

/// Takes the webhook of a search away, if it has one.
fn remove(connection: &Connection, search: i64) -> rusqlite::Result<()> {
    connection.execute(
        concat!(
            "UPDATE saved_searches SET first_position = coalesce((SELECT ",
            position!(),
            " FROM webhooks WHERE search = number), first_position) WHERE number = ?1"
        ),
        [search],
    )?;
    connection.execute("DELETE FROM webhooks WHERE search = ?1", [search])?;
    Ok(())
}

/// The position up to which all current searches are delivered; `None` before the first deliverer.
pub(super) fn feed_position(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare_cached("SELECT position FROM webhook_feed")?;
    statement.query_row([], |row| row.get(0)).optional()
}

/// Adds an attempt to the log of a search, and removes what it no longer keeps.
pub(super) fn log_attempt(
    connection: &Connection,
    search: i64,
    attempt: &DeliveryAttempt,
) -> rusqlite::Result<()> {
    let at = milliseconds(attempt.at);
    let mut insert = connection.prepare_cached(
        "INSERT INTO webhook_attempts (search, at, event, attempt, status, reason, milliseconds, matches) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    insert.execute(params![
        search,
        at,
        attempt.id,
        attempt.attempt,
        attempt.status,
        attempt.reason,
        i64::try_from(attempt.milliseconds).unwrap_or(i64::MAX),
        i64::try_from(attempt.matches).unwrap_or(i64::MAX),
    ])?;
    let mut remove = connection.prepare_cached(
        "DELETE FROM webhook_attempts WHERE search = ?1 AND (at < ?2 OR rowid IN \
         (SELECT rowid FROM webhook_attempts WHERE search = ?1 ORDER BY at DESC LIMIT -1 OFFSET ?3))",
    )?;
    remove.execute(params![search, at - 1_000 * LOG_SECONDS, LOG_MAX])?;
    Ok(())
}

/// The number of commits between two stored positions of one index.
fn skipped(from: &str, to: &str) -> Option<u64> {
    let (from, to): (FeedPosition, FeedPosition) = (from.parse().ok()?, to.parse().ok()?);
    from.commits_until(&to)
}

#[cfg(test)]
mod tests;
