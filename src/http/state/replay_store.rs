//! Answers to be repeated, in the state file.
//!
//! The body is kept whole and compressed. Keeping only ids would be smaller (about 0.5 KB instead
//! of some 3 to 10 KB for a page of 50), but a record that changed or went would then change the
//! answer, and a client that retries could not get what it paid for.

use std::io::Read;

use rusqlite::{Connection, OptionalExtension, params};

use super::{State, StateError};

/// How long an answer can be repeated, in seconds.
pub(super) const LIFETIME_SECONDS: i64 = 24 * 60 * 60;
/// The fastest level: bodies are small, and requests wait for it.
const COMPRESSION_LEVEL: i32 = 1;
/// The largest answer that is kept, compressed: SQLite takes rows of up to 10^9 bytes. What cannot
/// be kept is not charged.
const STORED_BYTES_MAX: usize = 900_000_000;

/// An answer to be kept.
pub(crate) struct NewReplay {
    /// The `Idempotency-Key`.
    pub(crate) name: String,
    /// What identifies the parameters.
    pub(crate) parameters: [u8; 32],
    pub(crate) etag: String,
    /// Bytes of the answer before it was compressed.
    length: u64,
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

    /// Bytes that it takes in the file.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.body.len() as u64
    }

    /// Keeps the answer; `false` where another one of that name is still kept.
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
    /// The answer kept under a name for a key at an instant.
    pub(crate) fn replay(
        &self,
        key: i64,
        name: &str,
        now: i64,
    ) -> Result<Option<StoredReplay>, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT parameters, etag, length, body FROM replays \
                 WHERE key = ?1 AND name = ?2 AND answered_at > ?3",
            )?;
            let oldest = now - LIFETIME_SECONDS;
            let stored = statement
                .query_row(params![key, name, oldest], |row| {
                    let body: Vec<u8> = row.get(3)?;
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, body))
                })
                .optional()?;
            let Some((parameters, etag, length, compressed)) = stored else {
                return Ok(None);
            };
            let body = decompress(&compressed, length)
                .ok_or_else(|| StateError::invalid("a kept answer is damaged"))?;
            Ok(Some(StoredReplay {
                parameters,
                etag,
                body,
            }))
        })
    }
}

/// The answer of that length; `None` where it is damaged. Never holds more than its length.
fn decompress(compressed: &[u8], length: u64) -> Option<Vec<u8>> {
    let decoder = zstd::Decoder::new(compressed).ok()?;
    let mut body = Vec::new();
    // One byte more, so that an answer which is too long is told apart.
    let mut bounded = decoder.take(length.saturating_add(1));
    bounded.read_to_end(&mut body).ok()?;
    (body.len() as u64 == length).then_some(body)
}

/// Whether any answer has expired. A read: it takes no lock.
pub(super) fn has_expired(connection: &Connection, now: i64) -> rusqlite::Result<bool> {
    let mut statement = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM replays WHERE answered_at <= ?1)")?;
    statement.query_row([now - LIFETIME_SECONDS], |row| row.get(0))
}

/// How much one removal may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Removal {
    pub(super) count_max: usize,
    /// Compressed bytes, exceeded by one answer at most.
    pub(super) bytes_max: u64,
}

/// Removes the oldest answers that have expired and says whether there may be more.
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
mod tests {
    use super::*;
    use crate::http::keys::NewKey;

    const NOW: i64 = 1_800_000_000;

    fn answer(name: usize, body: &[u8]) -> NewReplay {
        let name = format!("name-{name:04}");
        NewReplay::compress(name, [7; 32], "tag".to_owned(), body).expect("compressed")
    }

    /// A state with expired answers of the sizes given, oldest first.
    fn state(sizes: &[usize]) -> (tempfile::TempDir, State) {
        let directory = tempfile::tempdir().expect("a directory");
        let state = State::open(directory.path().join("state.db")).expect("a state");
        state.create_key(&NewKey::named("test")).expect("a key");
        let age = LIFETIME_SECONDS + sizes.len() as i64;
        for (number, size) in sizes.iter().enumerate() {
            let body: Vec<u8> = (0..*size)
                .map(|byte| (byte * byte.rotate_left(7) % 251) as u8)
                .collect();
            let kept_at = NOW - age + number as i64;
            let kept =
                state.with(|connection| Ok(answer(number, &body).insert(connection, 1, kept_at)?));
            assert!(kept.expect("kept"));
        }
        (directory, state)
    }

    fn removed(state: &State, removal: Removal) -> (usize, bool) {
        let count = || {
            state
                .with(|connection| {
                    let sql = "SELECT count(*) FROM replays";
                    Ok(connection.query_row(sql, [], |row| row.get::<_, usize>(0))?)
                })
                .expect("a count")
        };
        let before = count();
        let are_more = state
            .with(|connection| Ok(remove_expired(connection, NOW, removal)?))
            .expect("removed");
        (before - count(), are_more)
    }

    #[test]
    fn a_removal_is_bounded_in_answers_and_bytes() {
        let (_directory, state) = state(&[100_000; 20]);
        let removal = |count_max, bytes_max| Removal {
            count_max,
            bytes_max,
        };
        assert_eq!(removed(&state, removal(3, u64::MAX)), (3, true));
        assert_eq!(removed(&state, removal(20, 1)), (1, true), "always one");
        assert_eq!(removed(&state, removal(20, u64::MAX)), (16, false));
    }

    #[test]
    fn what_has_not_expired_is_not_removed() {
        let (_directory, state) = state(&[10]);
        let fresh = NOW - LIFETIME_SECONDS + 1;
        let kept = state.with(|connection| Ok(answer(9, b"x").insert(connection, 1, fresh)?));
        assert!(kept.expect("kept"));
        let everything = Removal {
            count_max: 100,
            bytes_max: u64::MAX,
        };
        assert_eq!(removed(&state, everything), (1, false));
        assert_eq!(removed(&state, everything), (0, false));
    }

    #[test]
    fn a_kept_answer_comes_back_whole_or_not_at_all() {
        for length in [0, 1, 70_000, 20_000_000] {
            let body: Vec<u8> = (0..length).map(|byte: u32| byte as u8).collect();
            let kept = answer(0, &body);
            assert!(decompress(&kept.body, kept.length).as_ref() == Some(&body));
            assert_eq!(decompress(&kept.body, kept.length + 1), None);
            assert_eq!(decompress(&kept.body, u64::MAX), None);
            if length > 0 {
                assert_eq!(decompress(&kept.body, kept.length - 1), None);
                let cut = &kept.body[..kept.body.len() - 1];
                assert_eq!(decompress(cut, kept.length), None);
            }
        }
    }
}
