//! Answers stored under idempotency keys, in the state file.
//!
//! The whole body is stored, compressed. Storing only ids would be smaller (about 0.5 KB instead of 3 to
//! 10 KB for a page of 50), but a changed or deleted record would then change the answer, and a client that
//! retries could not get what it paid for.

use std::io::Read;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, params};

use super::{State, StateError};

/// How long an answer can be repeated, in seconds.
pub(super) const LIFETIME_SECONDS: i64 = 24 * 60 * 60;
/// The fastest level: bodies are small, and requests wait for it.
const COMPRESSION_LEVEL: i32 = 1;
/// Maximum compressed bytes of an answer: SQLite's rows have at most 10^9 bytes. A larger answer is
/// refused and not charged.
const STORED_BYTES_MAX: usize = 900_000_000;

/// An answer to store.
pub(crate) struct NewReplay {
    /// The `Idempotency-Key`.
    pub(crate) name: String,
    /// The hash of the parameters.
    pub(crate) parameters: [u8; 32],
    pub(crate) etag: String,
    /// Uncompressed bytes.
    length: u64,
    /// The compressed body.
    body: Vec<u8>,
}

/// A stored answer.
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
        let length = body.len() as u64;
        let body = zstd::bulk::compress(body, COMPRESSION_LEVEL)?;
        if body.len() > STORED_BYTES_MAX {
            let reason = "the answer is too large to be kept for its repetition";
            return Err(std::io::Error::new(
                std::io::ErrorKind::FileTooLarge,
                reason,
            ));
        }
        Ok(NewReplay {
            name,
            parameters,
            etag,
            length,
            body,
        })
    }

    /// Bytes in the file.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.body.len() as u64
    }

    /// Stores the answer; `false` if another answer is still stored under the same key.
    pub(super) fn insert(
        &self,
        connection: &Connection,
        key: i64,
        now: i64,
    ) -> rusqlite::Result<bool> {
        let mut statement = connection.prepare_cached(
            "INSERT INTO replays (key, name, parameters, answered_at, etag, length, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET \
             parameters = excluded.parameters, answered_at = excluded.answered_at, \
             etag = excluded.etag, length = excluded.length, body = excluded.body \
             WHERE answered_at <= ?8",
        )?;
        let expired = now - LIFETIME_SECONDS;
        let values = params![
            key,
            self.name,
            self.parameters,
            now,
            self.etag,
            self.length,
            self.body,
            expired
        ];
        Ok(statement.execute(values)? == 1)
    }
}

impl State {
    /// The answer stored under an idempotency key of an API key, if it has not expired.
    pub(crate) fn replay(
        &self,
        key: i64,
        name: &str,
        now: i64,
    ) -> Result<Option<StoredReplay>, StateError> {
        self.with(|connection| Ok(find(connection, key, name, now)?))
    }
}

/// As [`State::replay`], on a given connection.
pub(super) fn find(
    connection: &Connection,
    key: i64,
    name: &str,
    now: i64,
) -> rusqlite::Result<Option<StoredReplay>> {
    let mut statement = connection.prepare_cached(
        "SELECT parameters, etag, length, body FROM replays \
         WHERE key = ?1 AND name = ?2 AND answered_at > ?3",
    )?;
    let oldest = now - LIFETIME_SECONDS;
    let stored = statement.query_row(params![key, name, oldest], |row| {
        let compressed: Vec<u8> = row.get(3)?;
        let body = decompress(&compressed, row.get(2)?).ok_or_else(|| damaged("answer"))?;
        Ok(StoredReplay {
            parameters: row.get(0)?,
            etag: row.get(1)?,
            body,
        })
    });
    stored.optional()
}

/// The error for damaged data.
pub(super) fn damaged(what: &str) -> rusqlite::Error {
    let error = format!("a kept {what} is damaged");
    rusqlite::Error::FromSqlConversionFailure(3, Type::Blob, error.into())
}

/// Decompresses an answer of that length; `None` if it is damaged. Never allocates more than the length.
fn decompress(compressed: &[u8], length: u64) -> Option<Vec<u8>> {
    let decoder = zstd::Decoder::new(compressed).ok()?;
    let mut body = Vec::new();
    // One byte more, to detect an answer that is too long.
    let mut bounded = decoder.take(length.saturating_add(1));
    bounded.read_to_end(&mut body).ok()?;
    (body.len() as u64 == length).then_some(body)
}

/// Whether any answer has expired. Only reads, so it takes no write lock.
pub(super) fn has_expired(connection: &Connection, now: i64) -> rusqlite::Result<bool> {
    let mut statement = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM replays WHERE answered_at <= ?1)")?;
    statement.query_row([now - LIFETIME_SECONDS], |row| row.get(0))
}

/// The limits of one removal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removal {
    pub(super) count_max: usize,
    /// Compressed bytes, exceeded by at most one answer.
    pub(super) bytes_max: u64,
}

/// Removes the oldest expired answers. Returns whether there may be more.
pub(super) fn remove_expired(
    connection: &Connection,
    now: i64,
    removal: Removal,
) -> rusqlite::Result<bool> {
    let mut oldest = connection.prepare_cached(
        "SELECT rowid, length(body) FROM replays WHERE answered_at <= ?1 \
         ORDER BY answered_at LIMIT ?2",
    )?;
    let mut rows = oldest.query(params![now - LIFETIME_SECONDS, removal.count_max as u64])?;
    let (mut expired, mut bytes) = (Vec::new(), 0_u64);
    while bytes < removal.bytes_max
        && let Some(row) = rows.next()?
    {
        expired.push(row.get::<_, i64>(0)?);
        bytes += row.get::<_, u64>(1)?;
    }
    let mut delete = connection.prepare_cached("DELETE FROM replays WHERE rowid = ?1")?;
    for row in &expired {
        delete.execute([row])?;
    }
    Ok(expired.len() == removal.count_max || bytes >= removal.bytes_max)
}

#[cfg(test)]
mod tests;
