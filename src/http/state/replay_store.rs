//! Answers to be repeated, in the state file.
//!
//! The body is kept whole and compressed. Keeping only ids would be smaller (about 0.5 KB instead
//! of some 3 to 10 KB for a page of 50), but a record that changed or went would then change the
//! answer, and a client that retries could not get what it paid for.

use rusqlite::{Connection, OptionalExtension, params};

use super::{State, StateError};

/// How long an answer can be repeated, in seconds.
pub(super) const LIFETIME_SECONDS: i64 = 24 * 60 * 60;
/// Expired answers removed at a time, so that no commit is held up by the removal.
const REMOVED_AT_ONCE: u32 = 256;
/// The fastest level: bodies are small, and requests wait for it.
const COMPRESSION_LEVEL: i32 = 1;
/// More than any body; guards the memory of reading a damaged record.
const MAX_BODY_BYTES: usize = 8 << 20;

/// An answer to be kept.
pub(crate) struct NewReplay {
    /// The `Idempotency-Key`.
    pub(crate) name: String,
    /// What identifies the parameters.
    pub(crate) parameters: [u8; 32],
    pub(crate) etag: String,
    /// As [`compress`](NewReplay::compress) made it.
    body: Vec<u8>,
}

/// An answer that was kept.
pub(crate) struct StoredReplay {
    pub(crate) parameters: [u8; 32],
    pub(crate) etag: String,
    pub(crate) body: Vec<u8>,
}

impl NewReplay {
    pub(crate) fn compress(
        name: String,
        parameters: [u8; 32],
        etag: String,
        body: &[u8],
    ) -> std::io::Result<NewReplay> {
        let body = zstd::bulk::compress(body, COMPRESSION_LEVEL)?;
        Ok(NewReplay {
            name,
            parameters,
            etag,
            body,
        })
    }

    /// Keeps the answer; `false` where another one of that name is still kept.
    pub(super) fn insert(
        &self,
        connection: &Connection,
        key: i64,
        now: i64,
    ) -> rusqlite::Result<bool> {
        let mut statement = connection.prepare_cached(
            "INSERT INTO replays (key, name, parameters, answered_at, etag, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET \
             parameters = excluded.parameters, answered_at = excluded.answered_at, \
             etag = excluded.etag, body = excluded.body WHERE answered_at <= ?7",
        )?;
        let expired = now - LIFETIME_SECONDS;
        let values = params![
            key,
            self.name,
            self.parameters,
            now,
            self.etag,
            self.body,
            expired
        ];
        Ok(statement.execute(values)? == 1)
    }
}

impl State {
    /// The answer kept under a name for a key at an instant.
    pub(crate) fn replay(
        &self,
        key: i64,
        name: &str,
        now: i64,
    ) -> Result<Option<StoredReplay>, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT parameters, etag, body FROM replays \
                 WHERE key = ?1 AND name = ?2 AND answered_at > ?3",
            )?;
            let oldest = now - LIFETIME_SECONDS;
            let stored = statement
                .query_row(params![key, name, oldest], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get::<_, Vec<u8>>(2)?))
                })
                .optional()?;
            let Some((parameters, etag, compressed)) = stored else {
                return Ok(None);
            };
            let body = zstd::bulk::decompress(&compressed, MAX_BODY_BYTES)
                .map_err(|_| StateError::invalid("a kept answer is damaged"))?;
            Ok(Some(StoredReplay {
                parameters,
                etag,
                body,
            }))
        })
    }
}

/// Removes some of the answers that have expired.
pub(super) fn remove_expired(connection: &Connection, now: i64) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "DELETE FROM replays WHERE rowid IN \
         (SELECT rowid FROM replays WHERE answered_at <= ?1 ORDER BY answered_at LIMIT ?2)",
    )?;
    statement.execute(params![now - LIFETIME_SECONDS, REMOVED_AT_ONCE])?;
    Ok(())
}
