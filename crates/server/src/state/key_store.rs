//! Keys in the state file.

use std::sync::{Arc, MutexGuard, PoisonError};

use rusqlite::types::{Type, Value};
use rusqlite::{OptionalExtension, Row, ToSql, Transaction, params, params_from_iter};
use time::{Duration, UtcDateTime};

use super::audit_store::AuditedRow;
use super::number::number;
use super::{State, StateError};
use crate::actor::Actor;
use crate::keys::{self, ApiKey, FormerSecret, KeyHash, KeyRecord, NewKey, Scopes};
use crate::metering::Quotas;
use signaldex::query::KeyFilter;

/// The columns of a key, in the order of [`read`].
pub(super) const COLUMNS: &str = "number, id, name, scopes, created_at, expires_at, revoked_at, rate, burst, \
                       quota_signals, quota_activities, quota_companies, hash, quota_free_answers, \
                       hint, key_filter, former_hash, former_hint, former_until, used_at";
/// The number of these columns.
pub(super) const COLUMN_COUNT: usize = 20;
/// The longest overlap of a rotation.
const OVERLAP_MAX: Duration = Duration::days(30);

/// The columns of a key's settings, in the order of [`stored_settings`].
const SETTINGS: &str = "name, scopes, expires_at, rate, burst, quota_signals, quota_activities, \
                        quota_companies, quota_free_answers, key_filter";
/// The inserted value of each of these columns.
const EXCLUDED_SETTINGS: &str = "excluded.name, excluded.scopes, excluded.expires_at, \
                                 excluded.rate, excluded.burst, excluded.quota_signals, \
                                 excluded.quota_activities, excluded.quota_companies, \
                                 excluded.quota_free_answers, excluded.key_filter";
/// A placeholder for each of these columns.
const SETTINGS_PARAMETERS: &str = "?, ?, ?, ?, ?, ?, ?, ?, ?, ?";

/// The id of the trial key. Its row only names its usage: it is revoked from the start, and no key has its
/// hash.
const TRIAL_ID: &str = "key_trial";
/// The name of the trial key.
const TRIAL_NAME: &str = "trial";

impl KeyRecord {
    /// Whether this is a trial key, which exists only in memory and cannot be changed.
    pub(crate) fn is_trial(&self) -> bool {
        self.id == TRIAL_ID
    }
}

impl State {
    /// Creates a key for trying out the service. It exists only in the memory of this process, so no other
    /// process accepts it. Its usage is recorded.
    ///
    /// # Errors
    /// The state has other keys, or it cannot be written.
    pub fn create_trial_key(&self) -> Result<(KeyRecord, ApiKey), StateError> {
        let (key, unused) = (ApiKey::generate()?, ApiKey::generate()?);
        let path = self.path.display();
        self.with(|connection| {
            let change = self.begin(connection)?;
            let others = "SELECT count(*) FROM keys WHERE id <> ?1";
            let others = change.query_row(others, [TRIAL_ID], |row| number(row, 0))?;
            if others > 0 {
                return Err(StateError::invalid(format!(
                    "the state file {path} has other keys, and the sample is not served to them: \
                     choose another file with --state, or serve the sample to these keys with \
                     `signaldex serve @sample`"
                )));
            }
            let new = NewKey::named(TRIAL_NAME);
            let now = self.now().unix_timestamp();
            change.execute(
                "INSERT INTO keys \
                 (id, hash, name, scopes, created_at, revoked_at, rate, burst, hint) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8) \
                 ON CONFLICT (id) DO UPDATE SET created_at = ?5, revoked_at = ?5, hint = ?8",
                params![
                    TRIAL_ID,
                    unused.hash().0,
                    new.name,
                    new.scopes.to_string(),
                    now,
                    new.rate,
                    new.burst,
                    key.hint(),
                ],
            )?;
            commit(change)
        })?;
        *self.trial_hash() = Some(key.hash());
        let record = self.keys()?.into_iter().find(KeyRecord::is_trial);
        let record = record.ok_or_else(|| StateError::invalid("the trial key is missing"))?;
        Ok((record, key))
    }

    /// The id of this process's trial key, if it has one.
    pub(super) fn trial_id(&self) -> Option<&'static str> {
        self.trial_hash().is_some().then_some(TRIAL_ID)
    }

    fn trial_hash(&self) -> MutexGuard<'_, Option<KeyHash>> {
        self.trial.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes this process's own trial key valid.
    pub(super) fn with_trial(&self, row: (KeyHash, KeyRecord)) -> (KeyHash, KeyRecord) {
        let (hash, record) = row;
        match *self.trial_hash() {
            Some(trial) if record.is_trial() => {
                let revoked_at = None;
                (
                    trial,
                    KeyRecord {
                        revoked_at,
                        ..record
                    },
                )
            }
            _ => (hash, record),
        }
    }

    /// Finds or creates the row that names the usage of a host's principal. Like that of the trial key, it
    /// cannot be used to sign in: it is revoked from the start, and no key has its hash.
    pub(crate) fn record_of_principal(
        &self,
        id: &str,
        settings: NewKey,
    ) -> Result<KeyRecord, StateError> {
        let (id, unused) = (format!("host:{id}"), ApiKey::generate()?);
        let sql = format!("SELECT {COLUMNS} FROM keys WHERE id = ?1");
        let record = self.with(|connection| {
            let change = self.begin(connection)?;
            if let Some((_, record)) = change.query_row(&sql, [&id], read).optional()? {
                return Ok(record);
            }
            change.execute(
                "INSERT INTO keys (id, hash, name, scopes, created_at, revoked_at, rate, burst) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7)",
                params![
                    id,
                    unused.hash().0,
                    settings.name,
                    settings.scopes.to_string(),
                    self.now().unix_timestamp(),
                    settings.rate,
                    settings.burst,
                ],
            )?;
            let (_, record) = change.query_row(&sql, [&id], read)?;
            commit(change)?;
            Ok(record)
        })?;
        let revoked_at = None;
        Ok(KeyRecord {
            settings,
            revoked_at,
            ..record
        })
    }

    /// Creates a key. The secret is returned here and stored nowhere.
    ///
    /// # Errors
    /// An invalid name, a rate or burst of 0, or a state that cannot be written.
    pub fn create_key(&self, new: &NewKey) -> Result<(KeyRecord, ApiKey), StateError> {
        self.create_key_by(Actor::of_process(), new)
    }

    pub(crate) fn create_key_by(
        &self,
        by: &Actor,
        new: &NewKey,
    ) -> Result<(KeyRecord, ApiKey), StateError> {
        check(new)?;
        let key = ApiKey::generate()?;
        let id = keys::random_id()?;
        let record = self.with(|connection| {
            let change = self.begin(connection)?;
            let identity = [
                id.clone().into(),
                key.hash().0.to_vec().into(),
                self.now().unix_timestamp().into(),
                key.hint().into(),
            ];
            let sql = format!(
                "INSERT INTO keys (id, hash, created_at, hint, {SETTINGS}) \
                 VALUES (?, ?, ?, ?, {SETTINGS_PARAMETERS})"
            );
            let values = params_from_iter(identity.into_iter().chain(stored_settings(new)));
            self.audited(&change, (by, "keys.create"), AuditedRow::Key(&id), || {
                Ok(change.execute(&sql, values)?)
            })?;
            let sql = format!("SELECT {COLUMNS} FROM keys WHERE id = ?1");
            let record = change.query_row(&sql, [&id], read)?.1;
            commit(change)?;
            Ok(record)
        })?;
        Ok((record, key))
    }

    /// Revokes a key. Returns whether there was a valid key of that id.
    ///
    /// # Errors
    /// The state cannot be written.
    pub fn revoke_key(&self, id: &str) -> Result<bool, StateError> {
        self.revoke_key_by(Actor::of_process(), id)
    }

    pub(crate) fn revoke_key_by(&self, by: &Actor, id: &str) -> Result<bool, StateError> {
        let was_trial = id == TRIAL_ID && self.trial_hash().take().is_some();
        let now = self.now().unix_timestamp();
        let sql = "UPDATE keys SET revoked_at = ?2 WHERE id = ?1 AND revoked_at IS NULL";
        self.with(|connection| {
            let change = self.begin(connection)?;
            let row = AuditedRow::Key(id);
            let revoked = self.audited(&change, (by, "keys.revoke"), row, || {
                Ok(change.execute(sql, params![id, now])?)
            })?;
            commit(change)?;
            Ok(revoked == 1 || was_trial)
        })
    }

    /// Changes the settings of a key that is not revoked, and returns it; `None` if there is no such key.
    ///
    /// # Errors
    /// An invalid name, a rate or burst of 0, or a state that cannot be written.
    pub fn edit_key(
        &self,
        id: &str,
        edit: impl FnOnce(&mut NewKey),
    ) -> Result<Option<KeyRecord>, StateError> {
        self.edit_key_by(Actor::of_process(), id, edit)
    }

    pub(crate) fn edit_key_by(
        &self,
        by: &Actor,
        id: &str,
        edit: impl FnOnce(&mut NewKey),
    ) -> Result<Option<KeyRecord>, StateError> {
        self.with(|connection| {
            let change = self.begin(connection)?;
            let sql = format!("SELECT {COLUMNS} FROM keys WHERE id = ?1 AND revoked_at IS NULL");
            let Some((_, mut record)) = change.query_row(&sql, [id], read).optional()? else {
                return Ok(None);
            };
            edit(&mut record.settings);
            let settings = &record.settings;
            check(settings)?;
            let sql =
                format!("UPDATE keys SET ({SETTINGS}) = ({SETTINGS_PARAMETERS}) WHERE id = ?");
            let values = stored_settings(settings).into_iter();
            let values = params_from_iter(values.chain([id.to_owned().into()]));
            self.audited(&change, (by, "keys.edit"), AuditedRow::Key(id), || {
                Ok(change.execute(&sql, values)?)
            })?;
            commit(change)?;
            Ok(Some(record))
        })
    }

    /// Replaces the secret of a key that is not revoked, and returns the new one. The old one is refused after
    /// `overlap`, from now on if that is zero; one that an earlier rotation has replaced is refused from now on. Id,
    /// settings and usage stay, and both secrets share one rate limit. `None` if there is no such key.
    ///
    /// ```
    /// use signaldex_server::{NewKey, State};
    /// use time::Duration;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("signaldex.db");
    /// let state = State::open(path)?;
    /// let (record, key) = state.create_key(&NewKey::named("shop"))?;
    /// let new = state.rotate_key(&record.id, Duration::days(1))?;
    /// assert!(new.is_some_and(|new| new.as_str() != key.as_str()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An overlap that is negative or longer than 30 days, or a state that cannot be written.
    pub fn rotate_key(&self, id: &str, overlap: Duration) -> Result<Option<ApiKey>, StateError> {
        self.rotate_key_by(Actor::of_process(), id, overlap)
    }

    pub(crate) fn rotate_key_by(
        &self,
        by: &Actor,
        id: &str,
        overlap: Duration,
    ) -> Result<Option<ApiKey>, StateError> {
        if overlap.is_negative() || overlap > OVERLAP_MAX {
            return Err(StateError::invalid("an overlap is 0 to 30 days"));
        }
        let key = ApiKey::generate()?;
        let until = self.now().saturating_add(overlap).unix_timestamp();
        let until = overlap.is_positive().then_some(until);
        // What is assigned is read before the change, in SQL.
        let sql = "UPDATE keys SET hash = ?2, hint = ?3, former_until = ?4, \
                   former_hash = iif(?4 IS NULL, NULL, hash), former_hint = iif(?4 IS NULL, NULL, hint) \
                   WHERE id = ?1 AND revoked_at IS NULL";
        let rotated = self.with(|connection| {
            let change = self.begin(connection)?;
            let row = AuditedRow::Key(id);
            let rotated = self.audited(&change, (by, "keys.rotate"), row, || {
                let values = params![id, key.hash().0, key.hint(), until];
                Ok(change.execute(sql, values)?)
            })?;
            commit(change)?;
            Ok(rotated == 1)
        })?;
        Ok(rotated.then_some(key))
    }

    /// Copies the keys of another state with their settings, so that clients can use the same key with both.
    /// Returns their number. A key that is revoked in either state stays revoked. Usage is not copied: each
    /// state charges what its own processes deliver.
    ///
    /// # Errors
    /// The other state cannot be read, or this one cannot be written.
    pub fn copy_keys(&self, from: &State) -> Result<usize, StateError> {
        let keys = from.hashed_keys()?;
        let keys: Vec<_> = keys
            .iter()
            .filter(|(_, record)| !record.is_trial())
            .collect();
        self.with(|connection| {
            let change = self.begin(connection)?;
            let sql = format!(
                "INSERT INTO keys (id, hash, created_at, revoked_at, hint, former_hash, former_hint, \
                 former_until, {SETTINGS}) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?, {SETTINGS_PARAMETERS}) \
                 ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, hint = excluded.hint, \
                 former_hash = excluded.former_hash, former_hint = excluded.former_hint, \
                 former_until = excluded.former_until, \
                 revoked_at = coalesce(keys.revoked_at, excluded.revoked_at), \
                 ({SETTINGS}) = ({EXCLUDED_SETTINGS})"
            );
            for (hash, record) in &keys {
                let former = record.former.as_ref();
                let identity = [
                    record.id.clone().into(),
                    hash.0.to_vec().into(),
                    record.created_at.unix_timestamp().into(),
                    record.revoked_at.map(UtcDateTime::unix_timestamp).into(),
                    record.hint.clone().into(),
                    former.map(|former| former.hash.0.to_vec()).into(),
                    former.map(|former| former.hint.clone()).into(),
                    former.map(|former| former.until.unix_timestamp()).into(),
                ];
                let settings = stored_settings(&record.settings);
                let values = params_from_iter(identity.into_iter().chain(settings));
                let by = (Actor::of_process(), "keys.copy");
                self.audited(&change, by, AuditedRow::Key(&record.id), || {
                    Ok(change.prepare_cached(&sql)?.execute(values)?)
                })?;
            }
            commit(change)
        })?;
        Ok(keys.len())
    }

    /// The key of an id.
    pub(crate) fn key(&self, id: &str) -> Result<Option<KeyRecord>, StateError> {
        self.key_where("id", id)
    }

    /// The key of a number.
    pub(crate) fn key_of_number(&self, number: i64) -> Result<Option<KeyRecord>, StateError> {
        self.key_where("number", number)
    }

    fn key_where(&self, column: &str, value: impl ToSql) -> Result<Option<KeyRecord>, StateError> {
        self.with(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM keys WHERE {column} = ?1");
            let mut statement = connection.prepare_cached(&sql)?;
            let row = statement.query_row([value], read).optional()?;
            Ok(row.map(|row| self.with_trial(row).1))
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
            let rows = rows.map(|row| row.map(|row| self.with_trial(row)));
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

/// Commits a change of a key, and increments the number that makes other processes reload the keys.
fn commit(change: Transaction<'_>) -> Result<(), StateError> {
    change.execute("UPDATE key_changes SET count = count + 1", [])?;
    Ok(change.commit()?)
}

fn check(new: &NewKey) -> Result<(), StateError> {
    keys::check_name(&new.name)
        .map_err(|error| StateError::invalid(format!("the name of the key {error}")))?;
    if new.rate == 0 || new.burst == 0 {
        return Err(StateError::invalid("a key's rate and burst are at least 1"));
    }
    Ok(())
}

/// The values of the columns in [`SETTINGS`].
fn stored_settings(settings: &NewKey) -> [Value; 10] {
    let quotas = &settings.quotas;
    [
        settings.name.clone().into(),
        settings.scopes.to_string().into(),
        settings.expires_at.map(UtcDateTime::unix_timestamp).into(),
        settings.rate.into(),
        settings.burst.into(),
        stored_quota(quotas.signals).into(),
        stored_quota(quotas.activities).into(),
        stored_quota(quotas.companies).into(),
        stored_quota(quotas.free_answers).into(),
        settings.filter.as_ref().map(ToString::to_string).into(),
    ]
}

/// SQLite's integers are signed; a larger quota could never be reached anyway.
fn stored_quota(quota: Option<u64>) -> Option<i64> {
    quota.map(|quota| i64::try_from(quota).unwrap_or(i64::MAX))
}

pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<(KeyHash, KeyRecord)> {
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
            free_answers: quota(13)?,
        },
        filter: filter(row.get(15)?)?,
    };
    let record = KeyRecord {
        number: row.get(0)?,
        id: row.get(1)?,
        hint: row.get(14)?,
        settings,
        created_at: instant(row.get(4)?).unwrap_or(UtcDateTime::UNIX_EPOCH),
        revoked_at: instant(row.get(6)?),
        former: former(row)?,
        used_at: instant(row.get("used_at")?),
    };
    Ok((KeyHash(row.get(12)?), record))
}

/// A stored filter. One that cannot be read is an error: without it the key would see everything.
fn filter(text: Option<String>) -> rusqlite::Result<Option<Arc<KeyFilter>>> {
    let parsed = text.map(|text| text.parse::<KeyFilter>());
    let filter = parsed.transpose().map_err(|error| {
        rusqlite::Error::FromSqlConversionFailure(15, Type::Text, Box::new(error))
    })?;
    Ok(filter.map(Arc::new))
}

/// The secret that the present one has replaced.
fn former(row: &Row<'_>) -> rusqlite::Result<Option<FormerSecret>> {
    let hash: Option<[u8; 32]> = row.get("former_hash")?;
    let hint: Option<String> = row.get("former_hint")?;
    let until = instant(row.get("former_until")?);
    let former = hash.zip(until).map(|(hash, until)| FormerSecret {
        hash: KeyHash(hash),
        hint: hint.unwrap_or_default(),
        until,
    });
    Ok(former)
}

fn instant(seconds: Option<i64>) -> Option<UtcDateTime> {
    seconds.and_then(|seconds| UtcDateTime::from_unix_timestamp(seconds).ok())
}
