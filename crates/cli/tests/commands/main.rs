//! The commands over an index on this machine, run as a user would.

mod aggregate;
mod changes;
mod columns;
mod command;
mod companies;
mod dump;
mod ended;
#[cfg(unix)]
mod files;
#[cfg(unix)]
mod interrupted;
mod match_searches;
mod mistakes;
mod overwriting;
mod records;
mod table_searches;
mod tables;
#[cfg(unix)]
mod terminal;

#[path = "../../../../tests/engine/golden_file.rs"]
mod golden_file;
#[path = "../../../../tests/engine/search_tables.rs"]
mod search_tables;
