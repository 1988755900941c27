//! The file of the log of requests: its tables, what is written, what is removed, and pages of it.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Row, TransactionBehavior, params, params_from_iter};

use super::{LoggedRequest, RequestEntry, RequestLogLimits, RequestsWanted};
use crate::instants::{milliseconds, of_milliseconds};
use crate::state::StateError;

/// Marks a SQLite file as a log of requests ("sdxR"), so that files of other programs are never written.
const APPLICATION_ID: i32 = 0x7364_7852;
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// Rows that a transaction removes: twice as many as it may add.
const REMOVED_MAX: usize = 4_096;
/// Bytes of a page of SQLite.
const PAGE_BYTES: u64 = 4_096;

/// `at` is in milliseconds since 1970.
const SCHEMA: &str = "
    CREATE TABLE requests (
        number INTEGER PRIMARY KEY,
        key INTEGER NOT NULL,
        at INTEGER NOT NULL,
        request_id TEXT NOT NULL,
        endpoint TEXT NOT NULL,
        status INTEGER NOT NULL,
        code TEXT,
        microseconds INTEGER NOT NULL,
        charged INTEGER NOT NULL,
        query TEXT
    ) STRICT;
    CREATE INDEX requests_by_key ON requests (key, number);
    CREATE INDEX requests_by_id ON requests (request_id);
";

/// A file that is opened when it is first needed, and again after a failure.
#[derive(Debug)]
pub(super) struct RequestFile {
    path: PathBuf,
    limits: RequestLogLimits,
    writing: Mutex<Option<Connection>>,
}

impl RequestFile {
    pub(super) fn new(path: PathBuf, limits: RequestLogLimits) -> RequestFile {
        RequestFile {
            path,
            limits,
            writing: Mutex::new(None),
        }
    }

    /// Writes entries in one transaction and removes what is too old or too much.
    pub(super) fn write(&self, entries: &[RequestEntry]) -> Result<(), StateError> {
        let mut writing = self.lock();
        let mut connection = match writing.take() {
            Some(connection) => connection,
            None => self.open()?,
        };
        write_all(&mut connection, entries, self.limits)?;
        // After an error, the file is opened again.
        *writing = Some(connection);
        Ok(())
    }

    pub(super) fn read(
        &self,
        wanted: &RequestsWanted<'_>,
    ) -> Result<Vec<LoggedRequest>, StateError> {
        let connection = self.open()?;
        let (sql, values) = question(wanted);
        let mut statement = connection.prepare(&sql)?;
        let rows = statement.query_map(params_from_iter(values), read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn open(&self) -> Result<Connection, StateError> {
        let mut create = OpenOptions::new();
        // The file may be there; if it cannot be made, opening tells why.
        let _ = create
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&self.path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        lay_out(&mut connection, &self.path)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        // A power failure may cost the last lines, and nothing waits for the disk.
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        let pages = (self.limits.bytes / PAGE_BYTES).max(1);
        connection.pragma_update(
            None,
            "max_page_count",
            i64::try_from(pages).unwrap_or(i64::MAX),
        )?;
        Ok(connection)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Connection>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates the tables in an empty file.
fn lay_out(connection: &mut Connection, path: &std::path::Path) -> Result<(), StateError> {
    let id = |connection: &Connection| -> rusqlite::Result<i32> {
        connection.pragma_query_value(None, "application_id", |row| row.get(0))
    };
    if id(connection)? == APPLICATION_ID {
        return Ok(());
    }
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it since.
    if id(&change)? == APPLICATION_ID {
        return Ok(());
    }
    let is_empty: bool = change.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| {
        row.get(0)
    })?;
    if id(&change)? != 0 || !is_empty {
        return Err(StateError::invalid(format!(
            "{} is not a log of requests: it is a SQLite file of another program; move it away",
            path.display()
        )));
    }
    change.execute_batch(SCHEMA)?;
    change.pragma_update(None, "application_id", APPLICATION_ID)?;
    Ok(change.commit()?)
}

fn write_all(
    connection: &mut Connection,
    entries: &[RequestEntry],
    limits: RequestLogLimits,
) -> Result<(), StateError> {
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let latest = entries.iter().filter_map(|entry| match entry {
        RequestEntry::Request(request) => Some(milliseconds(request.at)),
        RequestEntry::Charged(..) | RequestEntry::Flush(_) => None,
    });
    // First, because it makes room.
    if let Some(now) = latest.max() {
        let oldest = now - i64::from(limits.days) * 24 * 60 * 60 * 1000;
        change.execute(
            "DELETE FROM requests WHERE at < ?1 AND number IN \
             (SELECT number FROM requests ORDER BY number LIMIT ?2)",
            params![oldest, REMOVED_MAX as i64],
        )?;
    }
    // A fifth is left for indexes that split and for the lines of this transaction.
    if used_bytes(&change)? > limits.bytes / 5 * 4 {
        change.execute(
            "DELETE FROM requests WHERE number IN (SELECT number FROM requests ORDER BY number LIMIT ?1)",
            [REMOVED_MAX as i64],
        )?;
    }
    for entry in entries {
        match entry {
            RequestEntry::Request(request) => insert(&change, request)?,
            RequestEntry::Charged(request_id, units) => {
                let mut add = change.prepare_cached(
                    "UPDATE requests SET charged = charged + ?2 WHERE request_id = ?1",
                )?;
                add.execute(params![request_id, stored(*units)])?;
            }
            RequestEntry::Flush(_) => {}
        }
    }
    Ok(change.commit()?)
}

fn used_bytes(connection: &Connection) -> rusqlite::Result<u64> {
    let sql = "SELECT (page_count - freelist_count) * page_size \
               FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
    let bytes: i64 = connection.query_row(sql, [], |row| row.get(0))?;
    Ok(bytes.unsigned_abs())
}

fn insert(connection: &Connection, request: &LoggedRequest) -> rusqlite::Result<()> {
    let mut insert = connection
        .prepare_cached("INSERT INTO requests VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    insert.execute(params![
        request.key,
        milliseconds(request.at),
        request.request_id,
        request.endpoint,
        request.status,
        request.code,
        i64::try_from(request.time.as_micros()).unwrap_or(i64::MAX),
        stored(request.charged),
        request.query,
    ])?;
    Ok(())
}

/// The statement of a page, with its values.
fn question(wanted: &RequestsWanted<'_>) -> (String, Vec<Value>) {
    let mut conditions = vec!["1"];
    let mut values = Vec::new();
    let mut add = |condition, value: Option<Value>| {
        if let Some(value) = value {
            conditions.push(condition);
            values.push(value);
        }
    };
    let text = |text: &str| (!text.is_empty()).then(|| Value::from(text.to_owned()));
    add("key = ?", wanted.key.map(Value::from));
    add("endpoint = ?", text(wanted.endpoint));
    add("request_id = ?", text(wanted.request_id));
    add(
        "status >= ?",
        wanted.statuses.map(|(low, _)| i64::from(low).into()),
    );
    add(
        "status <= ?",
        wanted.statuses.map(|(_, high)| i64::from(high).into()),
    );
    add("at >= ?", wanted.from.map(|from| milliseconds(from).into()));
    add("at < ?", wanted.to.map(|to| milliseconds(to).into()));
    add("number < ?", wanted.before.map(Value::from));
    values.push(i64::from(wanted.rows).into());
    let sql = format!(
        "SELECT number, key, at, request_id, endpoint, status, code, microseconds, charged, query \
         FROM requests WHERE {} ORDER BY number DESC LIMIT ?",
        conditions.join(" AND ")
    );
    (sql, values)
}

fn read(row: &Row<'_>) -> rusqlite::Result<LoggedRequest> {
    let (endpoint, code): (String, Option<String>) = (row.get(4)?, row.get(6)?);
    let [microseconds, charged] = [row.get::<_, i64>(7)?, row.get(8)?].map(i64::unsigned_abs);
    Ok(LoggedRequest {
        number: row.get(0)?,
        key: row.get(1)?,
        at: of_milliseconds(row.get(2)?),
        request_id: row.get(3)?,
        endpoint: endpoint.into(),
        status: row.get(5)?,
        code: code.map(Into::into),
        time: Duration::from_micros(microseconds),
        charged,
        query: row.get(9)?,
    })
}

fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
