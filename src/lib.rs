//! An embedded, in-memory search engine for signals: activities of companies.

mod error;
mod signal;

pub mod query;
pub mod text;

pub use error::{Error, Result};
pub use signal::{
    Company, CompanyProfile, Currency, Funding, Hiring, ParseIdError, Signal, SignalId, SizeBucket,
};
