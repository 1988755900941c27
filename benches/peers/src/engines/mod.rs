//! The engines that are compared, one module each.

mod limit;
mod lucene;
mod roaring;
mod signaldex;
mod sqlite;
mod tantivy;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::signaldex::Making;
use self::sqlite::Layout;
use self::tantivy::{DateSearch, FacetCounting};
use crate::Result;
use crate::engine::{Build, Engine};
use crate::measure::Task;
use crate::record::FACETS;

/// A way of using an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// signaldex itself, queries made by its builder.
    Signaldex,
    /// signaldex, queries parsed from query strings.
    SignaldexParsed,
    /// tantivy, date ranges by a column.
    TantivyColumns,
    /// tantivy, date ranges by the postings of days.
    TantivyPostings,
    /// tantivy, facets by its aggregations.
    TantivyAggregations,
    /// Lucene.
    Lucene,
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
    pub const ALL: [Kind; 10] = [
        Kind::Signaldex,
        Kind::SignaldexParsed,
        Kind::TantivyColumns,
        Kind::TantivyPostings,
        Kind::TantivyAggregations,
        Kind::Lucene,
        Kind::SqliteTables,
        Kind::SqliteTokens,
        Kind::Roaring,
        Kind::Limit,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Signaldex => "signaldex",
            Kind::SignaldexParsed => "signaldex, parsed",
            Kind::TantivyColumns => "tantivy, days by column",
            Kind::TantivyPostings => "tantivy, days by postings",
            Kind::TantivyAggregations => "tantivy, aggregations",
            Kind::Lucene => "Lucene",
            Kind::SqliteTables => "SQLite, indexes",
            Kind::SqliteTokens => "SQLite, tokens",
            Kind::Roaring => "roaring in a map",
            Kind::Limit => "limit",
        }
    }

    /// The engine, of which the best way counts in each class.
    pub fn family(self) -> &'static str {
        match self {
            Kind::Signaldex | Kind::SignaldexParsed => "signaldex",
            Kind::TantivyColumns | Kind::TantivyPostings | Kind::TantivyAggregations => "tantivy",
            Kind::Lucene => "Lucene",
            Kind::SqliteTables | Kind::SqliteTokens => "SQLite",
            Kind::Roaring => "roaring",
            Kind::Limit => "limit",
        }
    }

    /// Where the engine keeps its files.
    pub fn folder(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Kind::Signaldex | Kind::SignaldexParsed => "signaldex",
            Kind::TantivyColumns | Kind::TantivyPostings | Kind::TantivyAggregations => "tantivy",
            Kind::Lucene => "Lucene",
            Kind::SqliteTables => "sqlite-tables",
            Kind::SqliteTokens => "sqlite-tokens",
            Kind::Roaring | Kind::Limit => "roaring",
        })
    }

    /// Whether files of its own are built: signaldex is built by itself, and ways of using one
    /// engine share its files.
    pub fn is_built(self) -> bool {
        matches!(
            self,
            Kind::TantivyColumns
                | Kind::Lucene
                | Kind::SqliteTables
                | Kind::SqliteTokens
                | Kind::Roaring
        )
    }

    /// Whether it answers pages.
    pub fn has_pages(self) -> bool {
        self != Kind::Limit
    }

    /// Whether opening it is measured: once for ways of using an engine that open alike.
    pub fn is_probed(self) -> bool {
        !matches!(
            self,
            Kind::SignaldexParsed | Kind::TantivyAggregations | Kind::Limit
        )
    }

    /// Whether it does a task.
    pub fn can(self, task: Task) -> bool {
        match self {
            Kind::Signaldex => true,
            Kind::SignaldexParsed => task.makes_query(),
            Kind::TantivyAggregations => task == Task::Facets,
            Kind::Limit => task == Task::Count,
            _ => task != Task::Records,
        }
    }

    /// How long each task is repeated before it is measured: code that is compiled while it runs
    /// needs some thousand calls.
    pub fn warm_up(self) -> Duration {
        match self {
            Kind::Lucene => Duration::from_secs(5),
            _ => Duration::ZERO,
        }
    }

    /// Starts to build in its folder.
    pub fn build(self, folder: &Path) -> Result<Box<dyn Build>> {
        let folder = self.folder(folder);
        std::fs::create_dir_all(&folder)?;
        Ok(match self {
            Kind::Signaldex | Kind::SignaldexParsed => {
                return Err("signaldex is built from records".into());
            }
            Kind::TantivyColumns | Kind::TantivyPostings | Kind::TantivyAggregations => {
                Box::new(tantivy::Builder::new(&folder)?)
            }
            Kind::Lucene => Box::new(lucene::Builder::new(&folder)?),
            Kind::SqliteTables => Box::new(sqlite::Builder::new(&folder, Layout::Tables)?),
            Kind::SqliteTokens => Box::new(sqlite::Builder::new(&folder, Layout::Tokens)?),
            Kind::Roaring | Kind::Limit => Box::new(roaring::Builder::new(&folder)),
        })
    }

    /// Opens what was built. `value_bounds` says how many numbers each facet's values have.
    pub fn open(self, folder: &Path, value_bounds: [usize; FACETS]) -> Result<Box<dyn Engine>> {
        let folder = self.folder(folder);
        Ok(match self {
            Kind::Signaldex => Box::new(signaldex::Signaldex::open(&folder, Making::Builder)?),
            Kind::SignaldexParsed => Box::new(signaldex::Signaldex::open(&folder, Making::Parser)?),
            Kind::TantivyColumns => tantivy(
                &folder,
                DateSearch::Column,
                FacetCounting::Loop,
                value_bounds,
            )?,
            Kind::TantivyPostings => tantivy(
                &folder,
                DateSearch::Postings,
                FacetCounting::Loop,
                value_bounds,
            )?,
            Kind::TantivyAggregations => tantivy(
                &folder,
                DateSearch::Column,
                FacetCounting::Aggregations,
                value_bounds,
            )?,
            Kind::Lucene => Box::new(lucene::Lucene::open(&folder, value_bounds)?),
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

fn tantivy(
    folder: &Path,
    dates: DateSearch,
    facet_counting: FacetCounting,
    value_bounds: [usize; FACETS],
) -> Result<Box<dyn Engine>> {
    let engine = tantivy::Tantivy::open(folder, dates, facet_counting, value_bounds)?;
    Ok(Box::new(engine))
}
