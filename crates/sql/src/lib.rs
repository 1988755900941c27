//! SQL over what a search finds: signals and companies as tables of [DataFusion](datafusion).
//!
//! ```
//! use std::sync::Arc;
//!
//! use signaldex::sample;
//! use signaldex_sql::{Database, StatementLimits};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let snapshot = sample::index()?.snapshot();
//! let database = Database::new(vec![snapshot], sample::AS_OF, StatementLimits::default())?;
//! let runtime = signaldex_sql::runtime(1)?;
//! let statement = "SELECT country, count(*) AS signals FROM signals \
//!                  WHERE query = 'q=\"series a\"' GROUP BY country ORDER BY signals DESC";
//! let mut rows = 0;
//! database.run(&runtime, statement, |batch| {
//!     rows += batch.num_rows();
//!     Ok(())
//! })?;
//! assert!(rows > 1);
//! # Ok(())
//! # }
//! ```
//!
//! `docs/sql.md` lists the tables and their columns. A host with a session of its own registers [`SignalsTable`] and
//! [`CompaniesTable`] there, and [`CountsFromIndex`] among its optimizer rules.
//!
//! A condition is evaluated by the index only if that gives exactly what SQL means: `country = 'germany'` finds that very
//! text, unlike the parameter `country` of a search. A search is a condition too, on the column `query`.

mod columns;
mod companies;
mod conditions;
mod corpus;
mod counts;
mod database;
mod elsewhere;
mod error;
#[cfg(feature = "flight")]
mod flight;
mod grouped_texts;
mod interruptible;
mod label_counts;
mod leaf;
mod narrowing;
mod output;
#[cfg(feature = "flight")]
mod shard_batches;
mod shard_scan;
mod signal_batches;
mod signals;
mod signals_scan;
mod snapshot_set;
mod statement;

pub use companies::CompaniesTable;
pub use corpus::{RemoteShards, SqlCorpus};
pub use counts::CountsFromIndex;
pub use database::{Database, StatementLimits, runtime};
pub use error::{SqlError, SqlErrorKind};
#[cfg(feature = "flight")]
pub use flight::{
    FlightHost, FlightOptions, FlightServer, FlightTls, ShardScans, check_flight_address,
};
pub use output::{OutputFormat, ResultWriter};
pub use shard_scan::ShardScan;
pub use signals::SignalsTable;
pub use statement::{STATEMENT_BYTES_MAX, STATEMENT_WORDS_MAX};
