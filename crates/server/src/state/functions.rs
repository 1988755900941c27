//! The functions of SQL statements that SQLite lacks.

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// Adds functions to a connection. `lowered` is a text in lower case: SQLite's own knows no letters beyond ASCII.
/// `has_text` is whether one of the texts that follow the first has it as a part, in any case; the first is lowered.
pub(super) fn add_functions(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("lowered", 1, flags, |arguments| {
        Ok(arguments.get::<String>(0)?.to_lowercase())
    })?;
    connection.create_scalar_function("has_text", -1, flags, |arguments| {
        let find = arguments.get::<String>(0)?;
        let texts = 1..arguments.len();
        let mut texts = texts.filter_map(|index| arguments.get_raw(index).as_str().ok());
        Ok(texts.any(|text| text.to_lowercase().contains(&find)))
    })
}
