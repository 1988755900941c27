//! The functions of SQL statements that SQLite lacks.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// Adds the function `lowered` to a connection: SQLite's own knows no letters beyond ASCII.
pub(super) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("lowered", 1, flags, |arguments| {
        Ok(arguments.get::<String>(0)?.to_lowercase())
    })
}
