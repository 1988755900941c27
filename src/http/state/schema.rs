//! The tables of the state file, and opening it.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

use super::StateError;

/// What leads from each layout to the next; a file's layout is how many of them it has seen. A file
/// of a greater one was written by a later release and is left alone.
const STEPS: [&str; 2] = [LAYOUT, ADMIN];
/// How long a statement waits for another process to finish its transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// `replays` keeps whole answers: "the same items" has to hold although records change and go.
const LAYOUT: &str = "
    CREATE TABLE keys (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        hash BLOB NOT NULL UNIQUE,
        name TEXT NOT NULL,
        scopes TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        expires_at INTEGER,
        revoked_at INTEGER,
        rate INTEGER NOT NULL,
        burst INTEGER NOT NULL,
        quota_signals INTEGER,
        quota_activities INTEGER,
        quota_companies INTEGER
    ) STRICT;
    CREATE TABLE usage (
        key INTEGER NOT NULL REFERENCES keys (number),
        month INTEGER NOT NULL,
        signals INTEGER NOT NULL,
        activities INTEGER NOT NULL,
        companies INTEGER NOT NULL,
        PRIMARY KEY (key, month)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE replays (
        key INTEGER NOT NULL REFERENCES keys (number),
        name TEXT NOT NULL,
        parameters BLOB NOT NULL,
        answered_at INTEGER NOT NULL,
        etag TEXT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (key, name)
    ) STRICT;
    CREATE INDEX replays_by_age ON replays (answered_at);
    CREATE TABLE key_changes (count INTEGER NOT NULL) STRICT;
    INSERT INTO key_changes VALUES (0);
";

/// The one admin token, by its hash.
const ADMIN: &str = "
    CREATE TABLE admin_token (
        place INTEGER PRIMARY KEY CHECK (place = 1),
        hash BLOB NOT NULL
    ) STRICT;
";

/// Opens a connection to the state file and makes the file where there is none.
pub(super) fn open(path: &Path) -> Result<Connection, StateError> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A charge that was acknowledged has to survive a power cut, not only the end of the process.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    migrate(&mut connection)?;
    Ok(connection)
}

fn migrate(connection: &mut Connection) -> Result<(), StateError> {
    if version(connection)? == STEPS.len() as i64 {
        return Ok(());
    }
    let change = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let found = version(&change)?;
    let steps = usize::try_from(found)
        .ok()
        .and_then(|seen| STEPS.get(seen..))
        .ok_or_else(|| StateError::newer(found))?;
    for step in steps {
        change.execute_batch(step)?;
    }
    change.pragma_update(None, "user_version", STEPS.len() as i64)?;
    Ok(change.commit()?)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}
