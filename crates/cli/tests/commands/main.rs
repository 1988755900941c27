//! The commands over an index on this machine, run as a user would.

mod changes;
mod command;
#[cfg(unix)]
mod files;
mod match_searches;
mod mistakes;
mod records;
#[cfg(unix)]
mod terminal;

#[path = "../../../../tests/engine/golden_file.rs"]
mod golden_file;
