//! What the deliverer of webhooks writes into the state: its lease, the position of the feed, batches and how they end.
//!
//! Invariants:
//! - A batch is stored in the transaction that charges it, and only at the position that it was found from. So of two
//!   deliverers one charges it, and no match is charged twice.
//! - An attempt ends the batch that it sent, and no other.

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use time::UtcDateTime;

use super::webhook_changes::last_change;
use super::webhook_store::{feed_position, log_attempt};
use super::{ChargeError, State, StateError, search_store};
use crate::corpus::FeedPosition;
use crate::instants::milliseconds;
use crate::saved_searches::SearchRecord;
use crate::webhooks::{DeliveryAttempt, SearchStatus, WebhookSecret};

/// The ids of the matches and of the removed signals of a batch, in the order of the feed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BatchIds {
    pub(crate) matches: Vec<String>,
    pub(crate) removed: Vec<String>,
}

/// A batch to store with its charge.
#[derive(Clone, Debug)]
pub(crate) struct NewBatch {
    /// The number of the search.
    pub(crate) search: i64,
    /// The position that it was found from.
    pub(crate) since: String,
    pub(crate) ids: BatchIds,
    /// The position after it.
    pub(crate) next: String,
    pub(crate) at: UtcDateTime,
}

/// A batch that was charged and not accepted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredBatch {
    pub(crate) ids: BatchIds,
    pub(crate) next: FeedPosition,
    pub(crate) at: UtcDateTime,
    /// As it is stored, by which the end of an attempt finds it.
    text: String,
}

/// A search whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DueSearch {
    pub(crate) search: i64,
    pub(crate) host: String,
    /// Whether its last attempt was accepted.
    pub(crate) answers: bool,
}

/// What the deliverer knows of a search when its turn comes.
#[derive(Clone, Debug)]
pub(crate) struct DueWork {
    pub(crate) number: i64,
    pub(crate) search: SearchRecord,
    pub(crate) secrets: Vec<WebhookSecret>,
    pub(crate) position: FeedPosition,
    pub(crate) batch: Option<StoredBatch>,
    /// Failed attempts of the batch.
    pub(crate) attempts: u32,
}

/// How the turn of a search ends.
#[derive(Clone, Debug)]
pub(crate) enum TurnEnd {
    /// Everything up to a position is delivered.
    Delivered(FeedPosition),
    /// There is nothing up to a position.
    Empty(FeedPosition),
    /// It goes on later, with a status; `failed` counts a failed attempt.
    Later {
        status: SearchStatus,
        at: UtcDateTime,
        failed: bool,
    },
    /// It does not go on by itself.
    Stopped(SearchStatus),
}

/// What the position of the feed is moved by.
pub(crate) struct FeedMove<'a> {
    /// [`State::webhook_changes`] when the searches were read.
    pub(crate) changes: i64,
    pub(crate) from: Option<&'a str>,
    pub(crate) to: &'a str,
    /// The numbers of searches that what lies between may match; `None` where no search is current.
    pub(crate) matched: Option<&'a [i64]>,
    pub(crate) at: UtcDateTime,
}

impl NewBatch {
    /// Stores the batch where its position still is the search's.
    pub(super) fn store(
        &self,
        connection: &Connection,
    ) -> rusqlite::Result<Result<(), ChargeError>> {
        let text = serde_json::to_string(&self.ids)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        let mut statement = connection.prepare_cached(
            "UPDATE webhooks SET batch = ?3, batch_at = ?4, next_position = ?5, attempts = 0, position = ?2 \
             WHERE search = ?1 AND batch IS NULL AND NOT is_current AND status <> 'paused' AND ?2 = coalesce(position, \
             (SELECT first_position FROM saved_searches WHERE number = ?1))",
        )?;
        let values = params![
            self.search,
            self.since,
            text,
            self.at.unix_timestamp(),
            self.next
        ];
        let is_stored = statement.execute(values)? == 1;
        Ok(is_stored.then_some(()).ok_or(ChargeError::BatchTaken))
    }
}

impl State {
    /// Takes the lease of webhooks for some milliseconds, or renews it. Returns whether the holder has it.
    pub(crate) fn take_webhook_lease(&self, holder: &str, time: i64) -> Result<bool, StateError> {
        let now = milliseconds(self.now());
        self.with(|connection| {
            let other = "SELECT count(*) FROM webhook_lease WHERE holder <> ?1 AND until > ?2";
            let is_free = |connection: &Connection| {
                let held: i64 =
                    connection.query_row(other, params![holder, now], |row| row.get(0))?;
                Ok::<bool, rusqlite::Error>(held == 0)
            };
            // Without the lock first: those that wait for the lease ask again and again.
            if !is_free(connection)? {
                return Ok(false);
            }
            let change = self.begin(connection)?;
            if !is_free(&change)? {
                return Ok(false);
            }
            change.execute("DELETE FROM webhook_lease", [])?;
            let values = params![holder, now.saturating_add(time)];
            change.execute("INSERT INTO webhook_lease VALUES (?1, ?2)", values)?;
            change.commit()?;
            Ok(true)
        })
    }

    /// Gives the lease back, so that another process need not wait for its end.
    pub(crate) fn drop_webhook_lease(&self, holder: &str) -> Result<(), StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            change.execute("DELETE FROM webhook_lease WHERE holder = ?1", [holder])?;
            Ok(change.commit()?)
        })
    }

    /// The position of the feed, and whether any search is current there.
    pub(crate) fn webhook_feed(&self) -> Result<(Option<String>, bool), StateError> {
        self.with(|connection| {
            let position = feed_position(connection)?;
            Ok((position, has_current(connection)?))
        })
    }

    /// Moves the position of the feed. Current searches that may match get the former one and their turn. Returns `false`, and
    /// changes nothing, if searches or the position have changed meanwhile.
    pub(crate) fn move_webhook_feed(&self, by: &FeedMove<'_>) -> Result<bool, StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            let position = feed_position(&change)?;
            if last_change(&change)? != by.changes || position.as_deref() != by.from {
                return Ok(false);
            }
            if by.matched.is_none() && has_current(&change)? {
                return Ok(false);
            }
            if let Some(matched) = by.matched.filter(|matched| !matched.is_empty()) {
                let matched = serde_json::to_string(matched).unwrap_or_default();
                change.execute(
                    "UPDATE webhooks SET is_current = 0, position = ?1, due_at = ?2 \
                     WHERE is_current AND search IN (SELECT value FROM json_each(?3))",
                    params![by.from, milliseconds(by.at), matched],
                )?;
            }
            set_feed(&change, by.to)?;
            change.commit()?;
            Ok(true)
        })
    }

    /// Begins the feed anew at a position, because the former one is forgotten: so is that of all current searches.
    pub(crate) fn restart_webhook_feed(&self, from: &str, to: &str) -> Result<(), StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            if feed_position(&change)?.as_deref() != Some(from) {
                return Ok(());
            }
            change.execute(
                "UPDATE webhooks SET is_current = 0, position = ?1, due_at = NULL, status = ?2 WHERE is_current",
                params![from, SearchStatus::Expired.as_str()],
            )?;
            set_feed(&change, to)?;
            Ok(change.commit()?)
        })
    }

    /// The searches whose turn has come, those that wait longest first, as long as `take` wants more.
    pub(crate) fn due_webhooks(
        &self,
        mut take: impl FnMut(DueSearch) -> bool,
    ) -> Result<(), StateError> {
        let now = milliseconds(self.now());
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT search, host, answers FROM webhooks WHERE due_at <= ?1 ORDER BY due_at",
            )?;
            let mut rows = statement.query([now])?;
            while let Some(row) = rows.next()? {
                let due = DueSearch {
                    search: row.get(0)?,
                    host: row.get(1)?,
                    answers: row.get(2)?,
                };
                if !take(due) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// What is known of a search whose turn has come; `None` if it has not begun, is current, or was deleted or paused.
    pub(crate) fn due_work(&self, number: i64) -> Result<Option<DueWork>, StateError> {
        let now = self.now();
        self.with(|connection| {
            let change = connection.unchecked_transaction()?;
            let sql = search_store::select("saved_searches.number = ?1 AND due_at IS NOT NULL");
            let mut statement = change.prepare_cached(&sql)?;
            let search = statement.query_row([number], |row| search_store::read(row, now));
            let Some(search) = search.optional()? else {
                return Ok(None);
            };
            let Some(position) = search
                .webhook
                .as_ref()
                .and_then(|hook| hook.position.clone())
            else {
                return Ok(None);
            };
            let mut statement = change.prepare_cached(
                "SELECT attempts, batch, batch_at, next_position FROM webhooks WHERE search = ?1",
            )?;
            let work = statement.query_row([number], |row| {
                let text: Option<String> = row.get(1)?;
                let batch = text.map(|text| {
                    let at = UtcDateTime::from_unix_timestamp(row.get(2)?);
                    Ok::<_, rusqlite::Error>(StoredBatch {
                        ids: serde_json::from_str(&text).map_err(|error| {
                            let kind = rusqlite::types::Type::Text;
                            rusqlite::Error::FromSqlConversionFailure(1, kind, error.into())
                        })?,
                        next: search_store::parsed(row, 3)?,
                        at: at.unwrap_or(UtcDateTime::UNIX_EPOCH),
                        text,
                    })
                });
                Ok(DueWork {
                    number,
                    search,
                    secrets: secrets(&change, number, now)?,
                    position,
                    batch: batch.transpose()?,
                    attempts: row.get(0)?,
                })
            })?;
            Ok(Some(work))
        })
    }

    /// The secrets that events of a search are signed with now.
    pub(crate) fn webhook_secrets(&self, id: &str) -> Result<Vec<WebhookSecret>, StateError> {
        let now = self.now();
        self.with(|connection| {
            let sql = "SELECT number FROM saved_searches WHERE id = ?1";
            let number = connection
                .query_row(sql, [id], |row| row.get(0))
                .optional()?;
            let found = number.map(|number| secrets(connection, number, now));
            Ok(found.transpose()?.unwrap_or_default())
        })
    }

    /// Stores a batch that costs nothing. Returns `false` if the search has moved on.
    pub(crate) fn store_free_batch(&self, batch: &NewBatch) -> Result<bool, StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            let stored = batch.store(&change)?;
            change.commit()?;
            Ok(stored.is_ok())
        })
    }

    /// Ends the turn of a search, and logs its attempt. Nothing is changed if the search has moved on meanwhile.
    pub(crate) fn end_turn(
        &self,
        work: &DueWork,
        attempt: Option<&DeliveryAttempt>,
        end: &TurnEnd,
    ) -> Result<(), StateError> {
        let now = self.now();
        self.with(|connection| {
            let change = self.begin(connection)?;
            let sql = "SELECT 1 FROM webhooks WHERE search = ?1 AND NOT is_current AND batch IS ?2 \
                       AND ?3 = coalesce(position, (SELECT first_position FROM saved_searches WHERE number = ?1))";
            let batch = work.batch.as_ref().map(|batch| &batch.text);
            let values = params![work.number, batch, work.position.to_string()];
            let is_same = change.query_row(sql, values, |_| Ok(())).optional()?;
            if is_same.is_none() {
                return Ok(());
            }
            if let Some(attempt) = attempt {
                log_attempt(&change, work.number, attempt)?;
            }
            apply(&change, work.number, end, now)?;
            Ok(change.commit()?)
        })
    }
}

/// Applies the end of a turn. A search that was paused meanwhile stays paused.
fn apply(
    connection: &Connection,
    search: i64,
    end: &TurnEnd,
    now: UtcDateTime,
) -> rusqlite::Result<()> {
    match end {
        TurnEnd::Delivered(next) | TurnEnd::Empty(next) => {
            let next = next.to_string();
            let is_current = feed_position(connection)?.as_deref() == Some(next.as_str());
            let delivered = matches!(end, TurnEnd::Delivered(_)).then(|| now.unix_timestamp());
            let sql = "UPDATE webhooks SET batch = NULL, next_position = NULL, attempts = 0, \
                       answers = ?5 IS NOT NULL OR answers, delivered_at = coalesce(?5, delivered_at), \
                       is_current = ?3 AND status <> 'paused', \
                       position = CASE WHEN ?3 AND status <> 'paused' THEN NULL ELSE ?2 END, \
                       due_at = CASE WHEN ?3 OR status = 'paused' THEN NULL ELSE ?4 END, \
                       status = CASE WHEN status = 'paused' THEN status ELSE 'active' END WHERE search = ?1";
            let values = params![search, next, is_current, milliseconds(now), delivered];
            connection.execute(sql, values)?;
        }
        TurnEnd::Later { status, at, failed } => {
            let sql = "UPDATE webhooks SET status = ?2, due_at = ?3, attempts = attempts + ?4, \
                       answers = answers AND NOT ?4 WHERE search = ?1 AND status <> 'paused'";
            let values = params![search, status.as_str(), milliseconds(*at), failed];
            connection.execute(sql, values)?;
        }
        TurnEnd::Stopped(status) => {
            let sql = "UPDATE webhooks SET status = ?2, due_at = NULL, answers = 0 \
                       WHERE search = ?1 AND status <> 'paused'";
            connection.execute(sql, params![search, status.as_str()])?;
        }
    }
    Ok(())
}

fn set_feed(connection: &Connection, to: &str) -> rusqlite::Result<()> {
    if connection.execute("UPDATE webhook_feed SET position = ?1", [to])? == 0 {
        connection.execute("INSERT INTO webhook_feed VALUES (?1)", [to])?;
    }
    Ok(())
}

fn has_current(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT EXISTS (SELECT 1 FROM webhooks WHERE is_current)";
    connection
        .prepare_cached(sql)?
        .query_row([], |row| row.get(0))
}

/// The secrets of a search that are valid at an instant, the present one first.
fn secrets(
    connection: &Connection,
    search: i64,
    now: UtcDateTime,
) -> rusqlite::Result<Vec<WebhookSecret>> {
    let sql = "SELECT secret, CASE WHEN former_until > ?2 THEN former_secret END FROM webhooks WHERE search = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let secrets = statement.query_row(params![search, now.unix_timestamp()], |row| {
        Ok([row.get::<_, Option<Vec<u8>>>(0)?, row.get(1)?])
    });
    let secrets = secrets.optional()?.into_iter().flatten().flatten();
    Ok(secrets.map(WebhookSecret::of_stored).collect())
}
