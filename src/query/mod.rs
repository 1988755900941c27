//! What is wanted: queries, their filters, and what filters mean.
//!
//! Nothing here knows an index. A [`Query`] is valid by construction: it comes from
//! [`Query::parse`] (a query string) or from [`QueryBuilder`] (Rust), both of which report every
//! fault of a request at once, and nothing behind them validates again.

pub(crate) mod dates;
mod stub;
pub use stub::*;
mod facet;
mod filter;
mod phrase;

pub use facet::Facet;
pub use filter::{DateRange, Days, Filter};
pub use phrase::Phrase;

pub(crate) use filter::CompanyReference;
