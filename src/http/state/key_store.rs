//! Keys in the state file.

use rusqlite::{OptionalExtension, Row, TransactionBehavior, params};
use time::UtcDateTime;

use super::{State, StateError};
use crate::http::keys::{self, ApiKey, KeyHash, KeyRecord, NewKey, Scopes};
use crate::http::metering::Quotas;

const COLUMNS: &str = "number, id, name, scopes, created_at, expires_at, revoked_at, rate, burst, \
                       quota_signals, quota_activities, quota_companies, hash";

impl State {
    /// Makes a key. The key itself is in the answer and nowhere else.
    ///
    /// # Errors
    /// A name too long, a rate or burst of 0, or a state that cannot be written.
    pub fn create_key(&self, new: &NewKey) -> Result<(KeyRecord, ApiKey), StateError> {
        check(new)?;
        let key = ApiKey::generate()?;
        let id = keys::random_id()?;
        let record = self.with(|connection| {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            change.execute(
                "INSERT INTO keys (id, hash, name, scopes, created_at, expires_at, rate, burst, \
                 quota_signals, quota_activities, quota_companies) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    id,
                    key.hash().0,
                    new.name,
                    new.scopes.to_string(),
                    UtcDateTime::now().unix_timestamp(),
                    new.expires_at.map(UtcDateTime::unix_timestamp),
                    new.rate,
                    new.burst,
                    stored_quota(new.quotas.signals),
                    stored_quota(new.quotas.activities),
                    stored_quota(new.quotas.companies),
                ],
            )?;
            change.execute("UPDATE key_changes SET count = count + 1", [])?;
            let sql = format!("SELECT {COLUMNS} FROM keys WHERE id = ?1");
            let record = change.query_row(&sql, [&id], read)?.1;
            change.commit()?;
            Ok(record)
        })?;
        Ok((record, key))
    }

    /// Revokes a key and says whether there was one to revoke.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn revoke_key(&self, id: &str) -> Result<bool, StateError> {
        self.with(|connection| {
            let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let revoked = change.execute(
                "UPDATE keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL",
                params![id, UtcDateTime::now().unix_timestamp()],
            )?;
            change.execute("UPDATE key_changes SET count = count + 1", [])?;
            change.commit()?;
            Ok(revoked == 1)
        })
    }

    /// Every key, oldest first.
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn keys(&self) -> Result<Vec<KeyRecord>, StateError> {
        Ok(self
            .hashed_keys()?
            .into_iter()
            .map(|(_, record)| record)
            .collect())
    }

    /// Every key with its hash.
    pub(crate) fn hashed_keys(&self) -> Result<Vec<(KeyHash, KeyRecord)>, StateError> {
        self.with(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM keys ORDER BY number");
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// A number that grows with every change of a key.
    pub(crate) fn key_changes(&self) -> Result<i64, StateError> {
        self.with(|connection| {
            let mut statement = connection.prepare_cached("SELECT count FROM key_changes")?;
            Ok(statement
                .query_row([], |row| row.get(0))
                .optional()?
                .unwrap_or(0))
        })
    }
}

fn check(new: &NewKey) -> Result<(), StateError> {
    if new.name.chars().count() > NewKey::MAX_NAME_CHARACTERS {
        return Err(StateError::invalid(
            "a key's name has at most 180 characters",
        ));
    }
    if new.rate == 0 || new.burst == 0 {
        return Err(StateError::invalid("a key's rate and burst are at least 1"));
    }
    Ok(())
}

/// SQLite holds signed numbers; a quota beyond them is none that could be reached.
fn stored_quota(quota: Option<u64>) -> Option<i64> {
    quota.map(|quota| i64::try_from(quota).unwrap_or(i64::MAX))
}

fn read(row: &Row<'_>) -> rusqlite::Result<(KeyHash, KeyRecord)> {
    let scopes: String = row.get(3)?;
    let quota = |column| {
        row.get::<_, Option<i64>>(column)
            .map(|quota| quota.map(i64::unsigned_abs))
    };
    let settings = NewKey {
        name: row.get(2)?,
        scopes: Scopes::parse(&scopes).unwrap_or_default(),
        expires_at: instant(row.get(5)?),
        rate: row.get(7)?,
        burst: row.get(8)?,
        quotas: Quotas {
            signals: quota(9)?,
            activities: quota(10)?,
            companies: quota(11)?,
        },
    };
    let record = KeyRecord {
        number: row.get(0)?,
        id: row.get(1)?,
        settings,
        created_at: instant(row.get(4)?).unwrap_or(UtcDateTime::UNIX_EPOCH),
        revoked_at: instant(row.get(6)?),
    };
    Ok((KeyHash(row.get(12)?), record))
}

fn instant(seconds: Option<i64>) -> Option<UtcDateTime> {
    seconds.and_then(|seconds| UtcDateTime::from_unix_timestamp(seconds).ok())
}
