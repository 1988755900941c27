//! The tables of the state file, and opening it.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::StateError;
use super::files::FileId;

/// Marks a SQLite file as a state of signaldex ("sdxS"); no other program's file is written to.
const APPLICATION_ID: i32 = 0x7364_7853;
/// What leads from each layout to the next; a file's layout is how many of them it has seen. A file
/// of a greater one was written by a later release and is left alone.
const STEPS: [&str; 3] = [LAYOUT, ADMIN, ACTIVITY];
/// How long a statement waits for another process to finish its transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Between its attempts, at first: SQLite's own pauses grow to many commits.
const BUSY_PAUSE: Duration = Duration::from_micros(100);
/// Between its attempts once a lock is held for longer than commits take.
const BUSY_PAUSE_MAX: Duration = Duration::from_millis(2);
/// How long commits take, at most, on a disk that keeps up.
const LONG_COMMIT: Duration = Duration::from_millis(100);
/// Only the owner reads and writes: the file holds usage and whole answers.
pub(super) const MODE: u32 = 0o600;

/// `replays` keeps whole answers: "the same items" has to hold although records change and go.
/// `length` is that of the answer before it was compressed, in bytes.
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
        quota_companies INTEGER,
        quota_free_answers INTEGER
    ) STRICT;
    CREATE TABLE usage (
        key INTEGER NOT NULL REFERENCES keys (number),
        month INTEGER NOT NULL,
        signals INTEGER NOT NULL,
        activities INTEGER NOT NULL,
        companies INTEGER NOT NULL,
        free_answers INTEGER NOT NULL,
        PRIMARY KEY (key, month)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE replays (
        key INTEGER NOT NULL REFERENCES keys (number),
        name TEXT NOT NULL,
        parameters BLOB NOT NULL,
        answered_at INTEGER NOT NULL,
        etag TEXT NOT NULL,
        length INTEGER NOT NULL,
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

/// A hint of each secret, unknown for keys that were created before; usage by day, and requests by
/// day, endpoint and status. A `day` is a Julian day number. The `key` of a request is 0 where none
/// was accepted.
const ACTIVITY: &str = "
    ALTER TABLE keys ADD COLUMN hint TEXT;
    CREATE TABLE usage_days (
        day INTEGER NOT NULL,
        key INTEGER NOT NULL REFERENCES keys (number),
        signals INTEGER NOT NULL,
        activities INTEGER NOT NULL,
        companies INTEGER NOT NULL,
        free_answers INTEGER NOT NULL,
        PRIMARY KEY (day, key)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE requests (
        day INTEGER NOT NULL,
        key INTEGER NOT NULL,
        endpoint TEXT NOT NULL,
        status INTEGER NOT NULL,
        requests INTEGER NOT NULL,
        PRIMARY KEY (day, key, endpoint, status)
    ) STRICT, WITHOUT ROWID;
";

/// Creates an empty file for a new state; a file that is there stays as it is.
///
/// # Errors
/// There is no such folder, or it cannot be written.
pub(super) fn create(path: &Path) -> Result<(), StateError> {
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(MODE).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StateError::of_file(path, "cannot be created", &error)),
    }
}

/// Opens a connection to the state file and brings it to the present layout.
///
/// # Errors
/// There is no such file, or it is no state file; then it is not changed.
pub(super) fn open(path: &Path) -> Result<Connection, StateError> {
    check_kind(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let explained = |error: rusqlite::Error| explain(path, error);
    let mut connection = Connection::open_with_flags(path, flags).map_err(explained)?;
    connection.busy_handler(Some(wait)).map_err(explained)?;
    let is_ours = is_ours(&connection).map_err(explained)?;
    if !is_ours {
        return Err(StateError::foreign(path));
    }
    set_up(&connection).map_err(explained)?;
    migrate(&mut connection)?;
    Ok(connection)
}

/// Waits before the next attempt at a lock, and says whether there is to be one.
fn wait(attempts: i32) -> bool {
    thread_local! {
        static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
    }
    let now = Instant::now();
    if attempts == 0 {
        SINCE.set(Some(now));
    }
    let waited = SINCE.get().map_or(Duration::ZERO, |since| now - since);
    if waited >= BUSY_TIMEOUT {
        return false;
    }
    std::thread::sleep(if waited < LONG_COMMIT {
        BUSY_PAUSE
    } else {
        BUSY_PAUSE_MAX
    });
    true
}

/// As [`open`], where the path has to lead to a file that is open already.
///
/// # Errors
/// The path leads to another file, or to none.
pub(super) fn open_same(path: &Path, database: FileId) -> Result<Connection, StateError> {
    let is_same = || FileId::of(path).is_ok_and(|found| found == database);
    // Checked before and after, since only the path, and not the connection, tells which file it is.
    if is_same() {
        let connection = open(path)?;
        if is_same() {
            return Ok(connection);
        }
    }
    let reason = "was deleted or replaced while it was in use";
    Err(StateError::invalid(format!(
        "the state file {} {reason}",
        path.display()
    )))
}

/// Refuses what is no regular file, with the reason of the system where there is none at all.
fn check_kind(path: &Path) -> Result<(), StateError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(StateError::invalid(format!(
            "the state file {} is not a regular file",
            path.display()
        ))),
        Err(error) => Err(StateError::of_file(path, "cannot be opened", &error)),
    }
}

/// Whether a file is a state, or empty as [`create`] leaves it.
fn is_ours(connection: &Connection) -> rusqlite::Result<bool> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    if id != 0 {
        return Ok(id == APPLICATION_ID);
    }
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| {
        row.get(0)
    })
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // A charge that was acknowledged has to survive a power cut, not only the end of the process.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
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
    change.pragma_update(None, "application_id", APPLICATION_ID)?;
    change.pragma_update(None, "user_version", STEPS.len() as i64)?;
    Ok(change.commit()?)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// What SQLite says of a file that it cannot use, with the file's path.
fn explain(path: &Path, error: rusqlite::Error) -> StateError {
    let path = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StateError::invalid(format!(
            "{path} is not a state file: it is not a SQLite file"
        )),
        Some(ErrorCode::CannotOpen) => StateError::invalid(format!(
            "the state file {path} cannot be opened: it cannot be read and written by this user"
        )),
        _ => error.into(),
    }
}
