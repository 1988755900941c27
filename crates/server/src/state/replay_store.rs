//! Answers stored under idempotency keys, in the state file.
//!
//! The whole body is stored, compressed. Storing only ids would be smaller (about 0.5 KB instead of 3 to
//! 10 KB for a page of 50), but a changed or deleted record would then change the answer, and a client that
//! retries could not get what it paid for.

use std::io::Read;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, params};

use super::kept_store::{KeptBatch, LIFETIME_SECONDS, row_bytes};
use super::number::{Number, number};
use super::{ChargeError, State, StateError};

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
    /// The bytes that are counted as kept.
    bytes: u64,
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
            bytes: row_bytes(body.len(), &name),
            name,
            parameters,
            etag,
            length,
            body,
        })
    }

    /// Binds an idempotency key to an export. Its bytes are counted with the slices of the export.
    pub(super) fn of_export(name: String, parameters: [u8; 32]) -> std::io::Result<NewReplay> {
        let bound = NewReplay::compress(name, parameters, String::new(), &[])?;
        Ok(NewReplay { bytes: 0, ..bound })
    }

    /// The bytes that are counted as kept.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Stores the answer of a charge, or says why it cannot be kept.
    pub(super) fn store(
        &self,
        connection: &Connection,
        kept: &mut KeptBatch<'_>,
        key: i64,
        now: i64,
    ) -> rusqlite::Result<Result<(), ChargeError>> {
        if let Err(full) = kept.check(key, self.bytes)? {
            return Ok(Err(ChargeError::KeptFull(full)));
        }
        let is_stored = self.insert(connection, kept, key, now)?;
        Ok(is_stored.then_some(()).ok_or(ChargeError::NameTaken))
    }

    /// Stores the answer; `false` if another answer is still stored under the same key.
    pub(super) fn insert(
        &self,
        connection: &Connection,
        kept: &mut KeptBatch<'_>,
        key: i64,
        now: i64,
    ) -> rusqlite::Result<bool> {
        let mut is_stored = self.try_insert(connection, key, now)?;
        if !is_stored && remove_if_expired(connection, kept, key, &self.name, now)? {
            is_stored = self.try_insert(connection, key, now)?;
        }
        if is_stored {
            kept.add(key, now, self.bytes);
        }
        Ok(is_stored)
    }

    fn try_insert(&self, connection: &Connection, key: i64, now: i64) -> rusqlite::Result<bool> {
        let mut statement = connection.prepare_cached(
            "INSERT INTO replays (key, name, parameters, answered_at, etag, length, body, bytes) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING",
        )?;
        let values = params![
            key,
            self.name,
            self.parameters,
            now,
            self.etag,
            Number(self.length),
            self.body,
            Number(self.bytes)
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
        let body = decompress(&compressed, number(row, 2)?).ok_or_else(|| damaged("answer"))?;
        Ok(StoredReplay {
            parameters: row.get(0)?,
            etag: row.get(1)?,
            body,
        })
    });
    stored.optional()
}

/// The hash of the parameters that an idempotency key is bound to, if it has not expired.
pub(super) fn parameters(
    connection: &Connection,
    key: i64,
    name: &str,
    now: i64,
) -> rusqlite::Result<Option<[u8; 32]>> {
    let mut statement = connection.prepare_cached(
        "SELECT parameters FROM replays WHERE key = ?1 AND name = ?2 AND answered_at > ?3",
    )?;
    let oldest = now - LIFETIME_SECONDS;
    let found = statement.query_row(params![key, name, oldest], |row| row.get(0));
    found.optional()
}

/// Removes what is stored under an idempotency key, if it has expired. Returns whether it had.
fn remove_if_expired(
    connection: &Connection,
    kept: &mut KeptBatch<'_>,
    key: i64,
    name: &str,
    now: i64,
) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(
        "DELETE FROM replays WHERE key = ?1 AND name = ?2 AND answered_at <= ?3 \
         RETURNING answered_at, bytes",
    )?;
    let expired = now - LIFETIME_SECONDS;
    let removed = statement.query_row(params![key, name, expired], |row| {
        Ok((row.get(0)?, number(row, 1)?))
    });
    let removed: Option<(i64, u64)> = removed.optional()?;
    if let Some((answered_at, bytes)) = removed {
        kept.subtract(key, answered_at, bytes);
    }
    Ok(removed.is_some())
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

#[cfg(test)]
mod tests;
