//! The engines that are compared, one module each.

mod limit;
mod roaring;
mod signaldex;
mod sqlite;
mod tantivy;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::sqlite::Layout;
use self::tantivy::DateSearch;
use crate::Result;
use crate::engine::{Build, Engine};
use crate::measure::Task;
use crate::record::FACETS;

/// A way of using an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// signaldex itself.
    Signaldex,
    /// tantivy, date ranges by a column.
    TantivyColumns,
    /// tantivy, date ranges by the postings of days.
    TantivyPostings,
    /// SQLite, FTS5 for titles and ordinary indexes for the rest.
    SqliteTables,
    /// SQLite, FTS5 for titles and values.
    SqliteTokens,
    /// `roaring` bitmaps in a hash map.
    Roaring,
    /// What any algorithm has to do; only for counts.
    Limit,
}

impl Kind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Kind; 7] = [
        Kind::Signaldex,
        Kind::TantivyColumns,
        Kind::TantivyPostings,
        Kind::SqliteTables,
        Kind::SqliteTokens,
        Kind::Roaring,
        Kind::Limit,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Signaldex => "signaldex",
            Kind::TantivyColumns => "tantivy, days by column",
            Kind::TantivyPostings => "tantivy, days by postings",
            Kind::SqliteTables => "SQLite, indexes",
            Kind::SqliteTokens => "SQLite, tokens",
            Kind::Roaring => "roaring in a map",
            Kind::Limit => "limit",
        }
    }

    /// The engine, of which the best way counts in each class.
    pub fn family(self) -> &'static str {
        match self {
            Kind::Signaldex => "signaldex",
            Kind::TantivyColumns | Kind::TantivyPostings => "tantivy",
            Kind::SqliteTables | Kind::SqliteTokens => "SQLite",
            Kind::Roaring => "roaring",
            Kind::Limit => "limit",
        }
    }

    /// Where the engine keeps its files.
    pub fn folder(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Kind::Signaldex => "signaldex",
            Kind::TantivyColumns | Kind::TantivyPostings => "tantivy",
            Kind::SqliteTables => "sqlite-tables",
            Kind::SqliteTokens => "sqlite-tokens",
            Kind::Roaring | Kind::Limit => "roaring",
        })
    }

    /// Whether files of its own are built: signaldex is built by itself, and ways of using one
    /// engine share its files.
    pub fn is_built(self) -> bool {
        !matches!(self, Kind::Signaldex | Kind::TantivyPostings | Kind::Limit)
    }

    /// Whether it answers pages.
    pub fn has_pages(self) -> bool {
        self != Kind::Limit
    }

    /// Whether it does a task.
    pub fn can(self, task: Task) -> bool {
        match task {
            Task::Records => self == Kind::Signaldex,
            Task::Count => true,
            Task::Page | Task::Middle | Task::Facets => self.has_pages(),
        }
    }

    /// Starts to build in its folder.
    pub fn build(self, folder: &Path) -> Result<Box<dyn Build>> {
        let folder = self.folder(folder);
        std::fs::create_dir_all(&folder)?;
        Ok(match self {
            Kind::Signaldex => return Err("signaldex is built from records".into()),
            Kind::TantivyColumns | Kind::TantivyPostings => {
                Box::new(tantivy::Builder::new(&folder)?)
            }
            Kind::SqliteTables => Box::new(sqlite::Builder::new(&folder, Layout::Tables)?),
            Kind::SqliteTokens => Box::new(sqlite::Builder::new(&folder, Layout::Tokens)?),
            Kind::Roaring | Kind::Limit => Box::new(roaring::Builder::new(&folder)),
        })
    }

    /// Opens what was built. `value_bounds` says how many numbers each facet's values have.
    pub fn open(self, folder: &Path, value_bounds: [usize; FACETS]) -> Result<Box<dyn Engine>> {
        let folder = self.folder(folder);
        Ok(match self {
            Kind::Signaldex => Box::new(signaldex::Signaldex::open(&folder)?),
            Kind::TantivyColumns => Box::new(tantivy::Tantivy::open(
                &folder,
                DateSearch::Column,
                value_bounds,
            )?),
            Kind::TantivyPostings => Box::new(tantivy::Tantivy::open(
                &folder,
                DateSearch::Postings,
                value_bounds,
            )?),
            Kind::SqliteTables => {
                Box::new(sqlite::Sqlite::open(&folder, Layout::Tables, value_bounds)?)
            }
            Kind::SqliteTokens => {
                Box::new(sqlite::Sqlite::open(&folder, Layout::Tokens, value_bounds)?)
            }
            Kind::Roaring => Box::new(roaring::Bitmaps::open(&folder, value_bounds)?),
            Kind::Limit => Box::new(limit::Limit::open(&folder, value_bounds)?),
        })
    }
}
