//! An embedded, in-memory search engine for signals: activities of companies.

mod error;
mod exec;
mod index;
mod plan;
mod segment;
mod signal;

#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "http")]
pub mod http;
pub mod query;
#[cfg(feature = "json")]
pub mod sample;
#[cfg(feature = "synthetic")]
pub mod synthetic;
pub mod text;

pub use error::{Error, Result};
pub use index::{
    CommitReport, FacetCount, Facets, Found, Index, IndexBuilder, IndexStatistics, OnSignals, Page, Snapshot, Writer,
};
pub use plan::{Estimate, Explanation, SegmentExplanation, StepExplanation, Strategies};
pub use query::{Facet, Filter, Query};
pub use segment::Added;
pub use signal::{
    Company, CompanyProfile, Currency, Funding, Hiring, ParseIdError, Signal, SignalId, SizeBucket,
};
