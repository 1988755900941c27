//! An embedded, in-memory search engine for signals: activities of companies.

mod error;
mod signal;

pub mod query;
#[cfg(feature = "synthetic")]
pub mod synthetic;
pub mod text;

pub use error::{Error, Result};
pub use signal::{
    Company, CompanyProfile, Currency, Funding, Hiring, ParseIdError, Signal, SignalId, SizeBucket,
};
