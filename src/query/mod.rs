//! What is wanted: queries, their filters, and what filters mean.
//!
//! Nothing here knows an index. A [`Query`] is valid by construction: it comes from
//! [`Query::parse`] (a query string) or from [`QueryBuilder`] (Rust), both of which report every
//! error of a request at once, and nothing validates it again.
//!
//! ```text
//! query string -> params    decoded pairs, unknown and repeated names refused
//!              -> builder   each value checked and converted by values; errors collected
//!              -> Query     filter (sorted, analysed), order, limit, start
//!              -> written   a query string that reads back as an equal query
//!              -> canonical one text for one meaning, and its fingerprint
//! ```

mod builder;
mod canonical;
#[cfg(feature = "http")]
mod changes_query;
mod conflicts;
mod conversion;
mod cursor;
pub(crate) mod dates;
mod derived;
mod error;
#[cfg(feature = "http")]
mod export_query;
mod facet;
mod facet_query;
mod filter;
mod keywords;
pub mod limits;
mod list;
mod matched_words;
mod nearest;
mod optional_text;
mod parameter;
mod params;
mod phrase;
mod unknown;
mod values;
mod written;

use time::Date;

pub use builder::QueryBuilder;
pub use canonical::Fingerprint;
pub use cursor::{Cursor, ParseCursorError};
pub use error::{ErrorCode, InvalidQuery, ParameterError};
pub use facet::{Facet, FacetDescription, FacetGroup};
pub use facet_query::FacetQuery;
pub use filter::{DateRange, Days, Filter, ParseDateRangeError, ParseDaysError};
#[cfg(feature = "http")]
pub(crate) use nearest::did_you_mean;
pub use nearest::nearest_name;
pub use optional_text::OptionalText;
pub use parameter::{PARAMETERS, Parameter, ParameterDescription, ParameterKind};
pub use phrase::Phrase;
pub use unknown::UnknownValue;

use crate::signal::SignalId;

use derived::Derived;
use filter::Part;

#[cfg(feature = "http")]
pub(crate) use changes_query::{ChangesQuery, SINCE};
#[cfg(feature = "http")]
pub(crate) use export_query::{ExportFormat, ExportQuery};
pub(crate) use filter::CompanyReference;
#[cfg(feature = "http")]
pub(crate) use list::{join as join_list, split as split_list};
#[cfg(feature = "http")]
pub(crate) use params::EXPORT_NAMES;

/// What is wanted: a filter, and which part of what it finds, in which order.
///
/// `Display` writes a query string that [`FromStr`](std::str::FromStr) reads back as an equal query.
/// It reads all that [`Query::parse`] reads and, beyond that, `order=oldest` and values of any length:
/// folding may lengthen a text that was as long as it may be.
///
/// ```
/// use signaldex::Query;
/// use signaldex::query::Order;
///
/// let query = Query::builder().keywords("C++ robots").order(Order::OldestFirst).build()?;
/// assert_eq!(query.to_string(), "all=c%2B%2B+robots&order=oldest&limit=50");
/// assert_eq!(query.to_string().parse::<Query>()?, query);
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    filter: Filter,
    order: Order,
    limit: usize,
    start: Start,
    count_only: bool,
    derived: Derived,
}

#[cfg(feature = "serde")]
serde_as_text!(Query);

/// The order of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
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
}

/// Where a result starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// At the first match.
    #[default]
    First,
    /// After the last signal of the page that gave this cursor.
    After(Cursor),
    /// At the page of this number, from 1 on, with `limit` signals per page.
    Page(u16),
}

impl Query {
    /// Parses a query string, still percent-encoded and without its `?`. Spaces and other
    /// characters that people type need no encoding.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let query = Query::parse(r#"q="series a"&country=Germany&limit=10"#)?;
    /// assert_eq!(query.limit(), 10);
    /// let invalid = Query::parse("contry=Germany&limit=0").unwrap_err();
    /// assert_eq!(invalid.errors().len(), 2);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    ///
    /// # Errors
    /// Every error of the query string, in its order, conflicts between parameters last.
    pub fn parse(query_string: &str) -> Result<Query, InvalidQuery> {
        params::parse(query_string, params::Accepted::All)?.build()
    }

    /// Everything that a filter finds, in parts of `limit` signals.
    pub(crate) fn of_filter(filter: Filter, order: Order, limit: usize) -> Query {
        Query {
            filter,
            order,
            limit,
            start: Start::First,
            count_only: false,
            derived: Derived::default(),
        }
    }

    /// Another part of the same result, which may be longer than a page.
    pub(crate) fn part(&self, start: Start, limit: usize) -> Query {
        Query {
            start,
            limit,
            filter: self.filter.clone(),
            order: self.order,
            count_only: false,
            derived: self.derived.of_other_part(),
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

    /// What a signal must be like.
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
        self.derived.filter_fingerprint(&self.filter)
    }

    /// A fingerprint of everything that is wanted. Cost: a hash of the canonical form, once a
    /// query.
    pub fn fingerprint(&self) -> Fingerprint {
        self.derived.query_fingerprint(self)
    }

    /// The day that counts as today: that of the first page, where this is a later one.
    pub(crate) fn day(&self, today: Date) -> Date {
        match &self.start {
            Start::After(cursor) => cursor.day(),
            Start::First | Start::Page(_) => today,
        }
    }

    /// The cursor of a page that ends with this signal.
    pub(crate) fn cursor_after(&self, last: SignalId, today: Date) -> Cursor {
        let filter = self.filter_fingerprint();
        Cursor::new(filter, self.order, self.day(today), last)
    }
}

impl Filter {
    /// Parses the filters of a query string; `limit`, `cursor`, `page` and `countOnly` are unknown
    /// here.
    ///
    /// # Errors
    /// Every error of the query string, in its order, conflicts between parameters last.
    pub fn parse(query_string: &str) -> Result<Filter, InvalidQuery> {
        let builder = params::parse(query_string, params::Accepted::Filters)?;
        builder.build().map(|query| query.filter)
    }

    /// One text for one meaning: filters in a fixed order, values normalised. Stable over releases.
    pub fn canonical(&self) -> String {
        canonical::of_filter(self)
    }

    /// A fingerprint of the canonical form, stable across processes, platforms and releases.
    pub fn fingerprint(&self) -> Fingerprint {
        canonical::fingerprint_of_filter(&self.canonical())
    }
}
