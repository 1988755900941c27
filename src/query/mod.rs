//! What is wanted: queries, their filters, and what filters mean.
//!
//! Nothing here knows an index. A [`Query`] is valid by construction: it comes from
//! [`Query::parse`] (a query string) or from [`QueryBuilder`] (Rust), both of which report every
//! fault of a request at once, and nothing behind them validates again.
//!
//! ```text
//! query string -> params    decoded pairs, unknown and repeated names refused
//!              -> builder   each value checked and converted; faults collected
//!              -> Query     filter (sorted, analysed), order, limit, start
//!              -> canonical one text for one meaning, and its fingerprint
//! ```

mod builder;
mod canonical;
mod cursor;
pub(crate) mod dates;
mod facet;
mod fault;
mod filter;
mod keywords;
pub mod limits;
mod list;
mod parameter;
mod params;
mod phrase;
mod unknown;

use std::sync::OnceLock;

pub use builder::QueryBuilder;
pub use canonical::Fingerprint;
pub use cursor::{Cursor, CursorFault};
pub use facet::Facet;
pub use fault::{Fault, FaultCode, InvalidQuery};
pub use filter::{DateRange, Days, Filter};
pub use parameter::{PARAMETERS, Parameter, ParameterDescription, ParameterKind};
pub use phrase::Phrase;
pub use unknown::UnknownValue;

use crate::signal::SignalId;

pub(crate) use filter::CompanyReference;
#[cfg(feature = "http")]
pub(crate) use list::join as join_list;

/// What is wanted: a filter, and which part of what it finds, in which order.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "cluster", derive(serde::Serialize, serde::Deserialize))]
pub struct Query {
    filter: Filter,
    order: Order,
    limit: usize,
    start: Start,
    count_only: bool,
    #[cfg_attr(feature = "cluster", serde(skip))]
    filter_fingerprint: Memo,
}

/// The fingerprint of a query's filter, computed when it is first asked for: every page that is not
/// the last has it in its cursor. It follows from the rest, so it makes no query another.
#[derive(Clone, Debug, Default)]
struct Memo(OnceLock<Fingerprint>);

impl PartialEq for Memo {
    fn eq(&self, _: &Memo) -> bool {
        true
    }
}

/// The order of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "cluster", derive(serde::Serialize, serde::Deserialize))]
pub enum Order {
    /// By descending id.
    #[default]
    NewestFirst,
    /// By ascending id.
    OldestFirst,
}

impl Order {
    /// Whether an id comes before another.
    pub(crate) fn puts_first(self, id: SignalId, other: SignalId) -> bool {
        match self {
            Order::OldestFirst => id < other,
            Order::NewestFirst => id > other,
        }
    }

    /// The id that comes first.
    pub(crate) fn first_of(self, id: SignalId, other: SignalId) -> SignalId {
        match self.puts_first(id, other) {
            true => id,
            false => other,
        }
    }
}

/// Where a result starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cluster", derive(serde::Serialize, serde::Deserialize))]
pub enum Start {
    /// At the first match.
    #[default]
    First,
    /// Behind the last signal of the page that gave this cursor.
    After(Cursor),
    /// At the page of this number, from 1 on, with `limit` signals a page.
    Page(u16),
}

impl Query {
    /// Parses a query string, still percent-encoded and without its `?`. Spaces and other
    /// characters that a person types may stand unencoded.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let query = Query::parse(r#"q="series a"&country=Germany&limit=10"#)?;
    /// assert_eq!(query.limit(), 10);
    /// let invalid = Query::parse("contry=Germany&limit=0").unwrap_err();
    /// assert_eq!(invalid.faults().len(), 2);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    ///
    /// # Errors
    /// Every fault of the query string, in its order, conflicts between parameters last.
    pub fn parse(query_string: &str) -> Result<Query, InvalidQuery> {
        params::parse(query_string, params::Accepted::All)?.build()
    }

    /// Another part of the same result, which may be longer than a page.
    #[cfg(feature = "cluster")]
    pub(crate) fn part(&self, start: Start, limit: usize) -> Query {
        Query {
            start,
            limit,
            ..self.clone()
        }
    }

    /// A builder of a query without filters.
    pub fn builder() -> QueryBuilder {
        QueryBuilder::default()
    }

    /// A builder that starts from this query.
    pub fn into_builder(self) -> QueryBuilder {
        QueryBuilder::from(self)
    }

    /// What a signal has to be like.
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The order of the result.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The most signals of a page, 1 to 50.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Where the page starts.
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Whether only the number of matches is wanted.
    pub fn count_only(&self) -> bool {
        self.count_only
    }

    /// The fingerprint of the filter. Cost: that of [`Filter::fingerprint`], once a query.
    pub fn filter_fingerprint(&self) -> Fingerprint {
        let memo = &self.filter_fingerprint.0;
        *memo.get_or_init(|| self.filter.fingerprint())
    }

    /// A fingerprint of everything that is wanted. Cost: a hash of the canonical form.
    pub fn fingerprint(&self) -> Fingerprint {
        canonical::of_query(self)
    }
}

impl Filter {
    /// Parses the filters of a query string; `limit`, `cursor`, `page` and `countOnly` are unknown
    /// here.
    ///
    /// # Errors
    /// Every fault of the query string, in its order, conflicts between parameters last.
    pub fn parse(query_string: &str) -> Result<Filter, InvalidQuery> {
        let builder = params::parse(query_string, params::Accepted::Filters)?;
        builder.build().map(|query| query.filter)
    }

    /// As [`parse`](Self::parse), where `ids` and `activityIds` are unknown as well.
    #[cfg(feature = "http")]
    pub(crate) fn parse_without_ids(query_string: &str) -> Result<Filter, InvalidQuery> {
        let builder = params::parse(query_string, params::Accepted::FiltersWithoutIds)?;
        builder.build().map(|query| query.filter)
    }

    /// One text for one meaning: filters in a fixed order, values normalised. Stable over releases.
    pub fn canonical(&self) -> String {
        canonical::of_filter(self)
    }

    /// A fingerprint of the canonical form, stable across processes, platforms and releases.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.canonical())
    }
}
