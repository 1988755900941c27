//! An embedded, in-memory search engine for **signals**: activities of companies, each with a
//! title, evidence, category, date, funding and author.
//!
//! ```
//! use signaldex::{Company, IndexBuilder, Query, Signal, SignalId};
//! use time::macros::date;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut acme = Company::new("acme", "Acme GmbH");
//! acme.country = Some("Germany".into());
//! let mut round = Signal::new(SignalId::MIN, "acme", "Acme raises €12M Series A");
//! round.date = Some(date!(2026 - 06 - 12));
//!
//! let mut builder = IndexBuilder::in_memory();
//! builder.add_company(&acme)?;
//! builder.add_signal(&round)?;
//! let index = builder.finish()?;
//!
//! let query = Query::from_query_string(r#"q="series a"&country=germany&days=30&limit=10"#)?;
//! let today = date!(2026 - 06 - 30);
//! let snapshot = index.snapshot();
//! let page = snapshot.search(&query, today)?;
//! for item in snapshot.records(&page)? {
//!     println!("{} {}", item.signal.id, item.signal.title);
//! }
//! assert_eq!(page.len(), 1);
//! assert_eq!(snapshot.count(query.filter(), today)?, 1);
//! assert!(page.next_cursor().is_none());
//! # Ok(())
//! # }
//! ```
//!
//! # Examples
//!
//! Change an index while others search it; the sample stands for yours:
//!
//! ```
//! use signaldex::{Company, CompanyDeletion, Signal, SignalId, sample};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let index = sample::index()?;
//! let before = index.snapshot();
//! let mut writer = index.writer()?;
//! writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
//! writer.upsert_signal(&Signal::new(SignalId::MIN, "acme", "Acme hires"))?;
//! writer.delete_company("cpp-foundry", CompanyDeletion::Cascade)?;
//! let report = writer.commit()?;
//! assert_eq!((report.signals_written, report.signals_deleted), (1, 3));
//!
//! assert!(index.snapshot().contains(SignalId::MIN)?);
//! assert!(!before.contains(SignalId::MIN)?, "a snapshot never changes");
//! # Ok(())
//! # }
//! ```
//!
//! List the values that can be chosen next, with the number of signals for each:
//!
//! ```
//! use signaldex::{Facet, Filter, sample};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let snapshot = sample::index()?.snapshot();
//! let filter = Filter::from_query_string("categories=funding&country=Germany")?;
//! let wanted = [Facet::Country, Facet::FundingStage];
//! let facets = snapshot.facets_of(&filter, sample::AS_OF, &wanted)?;
//! for stage in facets.values(Facet::FundingStage) {
//!     println!("{} ({})", stage.label(), stage.count());
//! }
//! // Countries are counted as if none were chosen, so that another can be.
//! assert!(facets.values(Facet::Country).len() > 1);
//! # Ok(())
//! # }
//! ```
//!
//! Read every match, in bounded memory:
//!
//! ```
//! use signaldex::query::Order;
//! use signaldex::{Filter, sample};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let snapshot = sample::index()?.snapshot();
//! let filter = Filter::from_query_string("q=raises&fundingMin=10000000")?;
//! let mut total = 0;
//! for item in snapshot.matches(&filter, sample::AS_OF, Order::OldestFirst) {
//!     let item = item?;
//!     println!("{}\t{}\t{}", item.signal.id, item.company_name, item.signal.title);
//!     total += 1;
//! }
//! assert_eq!(total, snapshot.count(&filter, sample::AS_OF)?);
//! # Ok(())
//! # }
//! ```
//!
//! Keep a copy of the matches up to date:
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use signaldex::{Change, Filter, Position, sample};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (mut copy, since) = (BTreeMap::new(), Position::START); // or what was stored last time
//! let snapshot = sample::index()?.snapshot();
//! let filter = Filter::from_query_string("q=robotics")?;
//! let mut changes = snapshot.changes(&filter, sample::AS_OF, &since)?;
//! for change in changes.by_ref() {
//!     match change? {
//!         Change::Upsert { item, .. } => copy.insert(item.signal.id, item.into_owned()),
//!         Change::Remove { id } => copy.remove(&id),
//!         _ => None,
//!     };
//! }
//! let since = changes.position(); // store it with the copy
//! assert_eq!(copy.len() as u64, snapshot.count(&filter, sample::AS_OF)?);
//! assert_eq!(since, snapshot.position());
//! # Ok(())
//! # }
//! ```
//!
//! # What it does
//!
//! - **Filters** that combine: words, prefix words (`robot*`), phrases, any-of and excluded words of titles; companies by
//!   name or slug; country, industry, size, category, hiring attributes, funding; dates and
//!   amounts; ids. [`Query`] takes them as a query string or through a typed builder, and
//!   [`Filter::matches`] says in plain code what they mean.
//! - **Pages** in the order of ids, newest or oldest first, that stop as soon as they are full,
//!   with cursors that stay valid over updates, restarts and replicas.
//! - **Exact counts**, and [`Facets`]: the number of signals for every value that could be chosen.
//! - **Companies by their signals**: [`Snapshot::companies`] finds those that have, or have not, so
//!   many signals of a kind; [`query::CompanyFilter::matches`] says in plain code what that means.
//! - **Snapshots**: readers keep one as long as they like; a [`Writer`] commits batches durably
//!   and merges in the background, and no search waits for it.
//! - **Explanations**: the plan of a query with estimated and actual rows.
//!
//! # What it is not
//!
//! Not a ranking engine: results are in the order of ids, and nothing is scored. Not a store of
//! arbitrary documents: the fields are those of [`Signal`] and [`Company`]. Not semantic: words
//! match as analysed by [`text`], whole or by their beginning, without stemming or synonyms.
//!
//! # Map
//!
//! | you want to | look at |
//! |---|---|
//! | open, build or change an index | [`Index`], [`IndexBuilder`], [`Writer`] |
//! | ask it something | [`Snapshot`]: `search`, `records`, `count`, `facets`, `explain` |
//! | say what you want | [`query`]: [`Query`], [`Filter`], cursors, parameters, errors |
//! | know how words match | [`text`] |
//! | load JSON lines or write answers | `json` (feature `json`) |
//! | serve it from several machines | `replicate` (feature `replicate`) |
//! | serve it over HTTP, metered | the crate `signaldex-server` |
//! | serve what is too large for one machine | the crate `signaldex-cluster` |
//! | compute on columns of matches | [`SegmentColumns`], [`RowBlock`] |
//! | ask in SQL | the crate `signaldex-sql` |
//! | know what each call costs | [`choosing_an_entry_point`] |
//! | try something out | `sample` (feature `json`), the crate `signaldex-synthetic` |
//!
//! # Costs
//!
//! A page of a common query takes a few microseconds, and a count grows with the blocks of 65,536
//! signals that may hold matches, at some hundred nanoseconds each. A snapshot is one atomic load.
//! Opening maps the files and reads some hundred kilobytes of them; what a question needs is checked
//! against its checksums the first time, and damage is an error. Each method says its own cost.
//!
//! # Features
//!
//! None is on by default: the lean library builds, opens, searches and updates. `serde` serialises values, `json` reads and
//! writes JSON lines, `zstd` reads input compressed with zstd, `replicate` publishes snapshots to an object store and follows
//! them.

#![forbid(unsafe_op_in_unsafe_fn)]

#[macro_use]
mod text_form;

mod aggregate;
mod digest;
mod encoding;
mod error;
mod exec;
#[cfg(test)]
mod fixtures;
mod index;
mod kernels;
mod plan;
mod saved;
mod segment;
mod signal;

#[cfg(feature = "json")]
pub mod json;
pub mod query;
#[cfg(feature = "replicate")]
pub mod replicate;
#[cfg(feature = "json")]
pub mod sample;
#[cfg(feature = "json")]
mod tables;
pub mod text;

#[cfg(doc)]
#[doc = include_str!("../docs/entry-points.md")]
pub mod choosing_an_entry_point {}

pub use aggregate::{
    AggregateGroup, AggregateTotals, Aggregates, AmountCount, AmountFigures, Figures, KeyValue,
    PartialAggregates, PartialGroup,
};
pub use digest::Digest;
pub use error::{Error, ErrorKind, Result};
pub use exec::Executor;
#[cfg(feature = "__strategies")]
#[doc(hidden)]
pub use exec::SplitLimits;
pub use index::{
    AggregateExplanation, Change, ChangeKind, Changes, CommitReport, CompaniesExplanation,
    CompanyDeletion, CompanyPage, CompanyStepExplanation, FacetCount, FacetCounters,
    FacetDictionary, Facets, Found, HintFacts, Ids, Index, IndexBuilder, IndexId, IndexStatistics,
    Matches, MatchingCompanies, Page, Pages, ParsePositionError, Position, PositionError,
    Refreshed, RowBlock, SegmentColumns, Snapshot, Writer,
};
#[cfg(feature = "__strategies")]
#[doc(hidden)]
pub use plan::Strategies;
pub use plan::{
    Cost, Estimate, ExecutionExplanation, Explanation, SegmentExplanation, StepExplanation,
};
pub use query::{AggregateQuery, Facet, FacetQuery, Filter, Query};
pub use saved::{MatchedSignal, MatchedSignals, SavedSearches};
pub use signal::{
    Company, CompanyProfile, Currency, Funding, Hiring, Item, ParseCurrencyError, ParseIdError,
    ParseSizeError, Signal, SignalId, SizeBucket,
};

/// The README's example, compiled.
#[cfg(all(doctest, feature = "json"))]
#[doc = include_str!("../README.md")]
struct Readme;

/// The example of the guide to changes, compiled and run.
#[cfg(all(doctest, feature = "json"))]
#[doc = include_str!("../docs/changes.md")]
struct ChangesGuide;

/// The example of the guide to saved searches, compiled.
#[cfg(all(doctest, feature = "json"))]
#[doc = include_str!("../docs/saved-searches.md")]
struct SavedSearchesGuide;

/// The examples of the guide for hosts, compiled and run.
#[cfg(all(doctest, feature = "json"))]
#[doc = include_str!("../docs/hosts.md")]
struct HostsGuide;
