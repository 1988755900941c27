//! The schema of the state file, and opening it.

use std::cell::Cell;
use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::error::StateError;
use super::files::FileId;
use super::functions::add_functions;
use super::tables::TABLES;

/// Marks a SQLite file as a state of signaldex ("sdxS"), so that files of other programs are never
/// written.
const APPLICATION_ID: i32 = 0x7364_7853;
/// The version of the schema. A file with a later one is not opened.
const VERSION: i64 = 1;
/// How long a statement waits for another process to finish its transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// First pause between attempts: SQLite's own pauses grow to the length of many commits.
const BUSY_PAUSE: Duration = Duration::from_micros(100);
/// Pause between attempts when a lock is held for longer than a commit takes.
const BUSY_PAUSE_MAX: Duration = Duration::from_millis(2);
/// The longest that a commit takes on a healthy disk.
const LONG_COMMIT: Duration = Duration::from_millis(100);
/// Only the owner reads and writes: the file holds usage and whole answers.
pub(super) const MODE: u32 = 0o600;

/// Creates an empty file for a new state; an existing file is left unchanged.
///
/// # Errors
/// The folder does not exist or cannot be written.
pub(super) fn create(path: &Path) -> Result<(), StateError> {
    let mut options = OpenOptions::new();
    match options.write(true).create_new(true).mode(MODE).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(StateError::of_file(path, "cannot be created", &error)),
    }
}

/// Opens a connection to the state file, and creates the tables if it is empty.
///
/// # Errors
/// The file does not exist or is not a state file; it is not changed.
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
    add_functions(&connection).map_err(explained)?;
    lay_out(&mut connection)?;
    Ok(connection)
}

/// Pauses before the next attempt to take a lock; `false` after the time-out.
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

/// As [`open`], but the path must lead to the file that is already open.
///
/// # Errors
/// The path leads to another file, or to none.
pub(super) fn open_same(path: &Path, database: FileId) -> Result<Connection, StateError> {
    let is_same = || FileId::of(path).is_ok_and(|found| found == database);
    // Checked before and after, because only the path, not the connection, identifies the file.
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

/// Refuses a file with several names: SQLite keeps a log beside each name, and what is in one log is missing
/// under the other names. A link made while the file is open does no harm until someone opens it.
///
/// # Errors
/// The file has more than one hard link.
pub(super) fn refuse_links(path: &Path) -> Result<(), StateError> {
    let metadata = std::fs::metadata(path).ok();
    // What is no regular file is refused elsewhere: a folder has a link for each of its own folders.
    let metadata = metadata.filter(|metadata| metadata.is_file());
    let links = metadata.map_or(1, |metadata| metadata.nlink());
    if links < 2 {
        return Ok(());
    }
    let path = path.display();
    Err(StateError::invalid(format!(
        "the state file {path} has {links} hard links, and charges made under one name would be missing \
         under the others; delete the other names, which `find . -samefile {path}` lists, or use a copy"
    )))
}

/// Refuses anything but a regular file.
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

/// Whether a file is a state, or empty as after [`create`].
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
    // Acknowledged charges must survive a power failure, not only a crash of the process.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", true)
}

/// Creates the tables in an empty file.
fn lay_out(connection: &mut Connection) -> Result<(), StateError> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    let change = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    // Another process may have done it since.
    match version(&change)? {
        0 => change.execute_batch(TABLES)?,
        VERSION => return Ok(()),
        later => return Err(StateError::newer(later)),
    }
    change.pragma_update(None, "application_id", APPLICATION_ID)?;
    change.pragma_update(None, "user_version", VERSION)?;
    Ok(change.commit()?)
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Adds the path to an error of SQLite.
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

#[cfg(test)]
mod tests;
