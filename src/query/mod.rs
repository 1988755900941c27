//! Queries, filters, and their meaning.
//!
//! This module does not depend on the index. A [`Query`] is valid by construction: it is created by
//! [`Query::from_query_string`] (from a query string) or [`QueryBuilder`] (in Rust), which report all errors
//! together, and is not validated again.
//!
//! ```text
//! query string -> params    decoded pairs, unknown and repeated names refused
//!              -> builder   each value checked and converted by values; errors collected
//!              -> Query     filter (sorted, analysed), order, limit, start
//!              -> written   a query string that parses to an equal query
//! ```

mod aggregate_builder;
mod aggregate_query;
mod builder;
mod company_cursor;
mod company_filter;
mod company_order;
mod company_query;
mod company_query_builder;
mod condition;
mod conditions;
mod conflicts;
mod conversion;
mod cursor;
pub(crate) mod dates;
mod derived;
mod error;
mod facet;
mod facet_query;
mod filter;
mod fingerprint;
mod group_by;
mod hint;
mod key_filter;
mod keywords;
pub mod limits;
pub mod list;
mod matched_words;
mod named_companies;
mod optional_text;
mod order;
mod parameter;
mod parameter_set;
mod params;
mod phrase;
mod prefix_word;
mod sort_key;
mod time_unit;
mod values;
mod writing;
mod written;

use std::fmt;

use time::Date;

pub use aggregate_builder::AggregateBuilder;
pub use aggregate_query::AggregateQuery;
pub use builder::QueryBuilder;
pub use company_cursor::{CompanyCursor, CompanyStart};
pub use company_filter::CompanyFilter;
pub use company_order::{CompanyKey, CompanyOrder, MatchedCompany, ParseCompanyOrderError};
pub use company_query::CompanyQuery;
pub use company_query_builder::CompanyQueryBuilder;
pub use condition::{Condition, ConditionMatches};
pub use cursor::{Cursor, ParseCursorError, Start};
pub use error::{ErrorCode, InvalidQuery, ParameterError};
pub use facet::{Facet, FacetDescription};
pub use facet_query::FacetQuery;
pub use filter::{DateRange, Days, Filter, ParseDateRangeError, ParseDaysError};
pub use fingerprint::Fingerprint;
pub use group_by::{AggregateOrder, GroupBy, Measure};
pub use key_filter::{InvalidKeyFilter, KeyFilter, KeyFilterFault};
pub use named_companies::{NamedCompanies, NamedCompany};
pub use optional_text::OptionalText;
pub use order::{Order, ParseOrderError};
pub use parameter::{PARAMETERS, Parameter, ParameterDescription, ParameterKind};
pub use parameter_set::ParameterSet;
pub use params::{DecodeError, decode};
pub use phrase::Phrase;
pub use sort_key::{ParseSortKeyError, SortKey};
pub use time_unit::{CalendarPeriod, TimeUnit};

use derived::Derived;
use filter::FilterPart;
use hint::TypedHints;

pub(crate) use company_order::value_of_count;
pub(crate) use filter::CompanyReference;
pub(crate) use hint::{Hint, HintList, NearestValues};
pub(crate) use order::{IdOrder, SortField, Sorting, ValueOrder};
pub(crate) use phrase::Wanted;
pub(crate) use prefix_word::prefix_of;
pub(crate) use sort_key::SortValue;

/// A query: a filter, an order, and the part of the result to return.
///
/// `Display` writes a text that [`FromStr`](std::str::FromStr) reads back to an equal query: the form for programs.
/// Its values have any length, because folding may lengthen a text. What people and clients of the
/// API type is read by [`from_query_string`](Query::from_query_string).
///
/// ```
/// use signaldex::Query;
/// use signaldex::query::Order;
///
/// let query = Query::builder().keywords("C++ robots").order(Order::OldestFirst).build()?;
/// assert_eq!(query.to_string(), "all=c%2B%2B+robots&limit=50&order=oldest");
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
    /// The fingerprint of the key's filter, which cursors are bound to.
    key: Option<Fingerprint>,
    derived: Derived,
    typed: TypedHints,
}

#[cfg(feature = "serde")]
serde_as_text!(Query);

impl Query {
    /// Parses a query string, still percent-encoded and without its `?`. Spaces and other
    /// characters that people type need no encoding.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let query = Query::from_query_string(r#"q="series a"&country=Germany&limit=10"#)?;
    /// assert_eq!(query.limit(), 10);
    /// let invalid = Query::from_query_string("contry=Germany&limit=0").unwrap_err();
    /// assert_eq!(invalid.errors().len(), 2);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    ///
    /// # Errors
    /// All errors of the query string, in its order, then conflicts between parameters.
    pub fn from_query_string(query_string: &str) -> Result<Query, InvalidQuery> {
        QueryBuilder::from_query_string(query_string, ParameterSet::SEARCH, [])
            .0
            .build()
    }

    /// A query for all matches of a filter, in pages of `limit` signals, at most 100,000.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Filter, Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let all = Query::of_filter(Filter::default(), Order::NewestFirst, 100_000)?;
    /// assert_eq!(snapshot.search(&all, sample::AS_OF)?.len() as u64, snapshot.signal_count());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The order is by amount, and the filter has no currency.
    pub fn of_filter(filter: Filter, order: Order, limit: usize) -> Result<Query, InvalidQuery> {
        match Query::refusal_of(&filter, order) {
            None => Ok(Query::unchecked(filter, order, limit)),
            Some(refusal) => Err(refusal),
        }
    }

    /// Why an order is refused for a filter, if it is.
    pub(crate) fn refusal_of(filter: &Filter, order: Order) -> Option<InvalidQuery> {
        conflicts::of_order(order, filter).map(|error| InvalidQuery::new(vec![error]))
    }

    /// As [`of_filter`](Self::of_filter), for an order that has been [checked](Self::refusal_of).
    pub(crate) fn unchecked(filter: Filter, order: Order, limit: usize) -> Query {
        Query {
            filter,
            order,
            limit: limit.min(limits::HOST_LIMIT_MAX),
            start: Start::First,
            count_only: false,
            key: None,
            derived: Derived::default(),
            typed: TypedHints::default(),
        }
    }

    /// Another page of the same result, of `limit` signals, at most 100,000.
    ///
    /// ```
    /// use signaldex::query::Start;
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::from_query_string("q=robotics&limit=2")?;
    /// let first: Vec<_> = snapshot.search(&query, sample::AS_OF)?.ids().collect();
    /// let rest = query.part(Start::After(query.cursor_after(first[0], sample::AS_OF)), 1000);
    /// assert_eq!(snapshot.search(&rest, sample::AS_OF)?.ids().next(), Some(first[1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn part(&self, start: Start, limit: usize) -> Query {
        Query {
            start,
            limit: limit.min(limits::HOST_LIMIT_MAX),
            filter: self.filter.clone(),
            order: self.order,
            count_only: false,
            key: self.key,
            derived: self.derived.of_other_part(),
            typed: self.typed.clone(),
        }
    }

    /// Creates a builder without filters.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let query = Query::builder().keywords("robots").country("Germany").build()?;
    /// assert_eq!(query, Query::from_query_string("q=robots&country=Germany")?);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn builder() -> QueryBuilder {
        QueryBuilder::default()
    }

    /// Converts the query back into a builder.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let query = Query::from_query_string("q=robots&country=Germany")?;
    /// let query = query.into_builder().country("France").build()?;
    /// assert_eq!(query.filter().to_string(), "all=robots&country=france");
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn into_builder(self) -> QueryBuilder {
        QueryBuilder::from(self)
    }

    /// The filter.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let query = Query::from_query_string("q=robotics&limit=10")?;
    /// let count = sample::index()?.snapshot().count(query.filter(), sample::AS_OF)?;
    /// assert_eq!(count, 33);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The order of the result.
    ///
    /// ```
    /// use signaldex::Query;
    /// use signaldex::query::Order;
    ///
    /// assert_eq!(Query::from_query_string("q=robots")?.order(), Order::NewestFirst);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn order(&self) -> Order {
        self.order
    }

    /// The page size, at most 50 in a query string and 100,000 elsewhere.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// assert_eq!(Query::from_query_string("q=robots&limit=10")?.limit(), 10);
    /// assert_eq!(Query::from_query_string("q=robots")?.limit(), 50);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The start of the page.
    ///
    /// ```
    /// use signaldex::Query;
    /// use signaldex::query::Start;
    ///
    /// assert_eq!(Query::from_query_string("q=robots")?.start(), &Start::First);
    /// assert_eq!(Query::from_query_string("q=robots&page=2")?.start(), &Start::Page(2));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Whether only the number of matches is requested.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// assert!(Query::from_query_string("q=robots&countOnly=true")?.count_only());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn count_only(&self) -> bool {
        self.count_only
    }

    /// The fingerprint of the filter. Cost: that of [`Filter::fingerprint`], once per query.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let first = Query::from_query_string("q=Robots&limit=10")?;
    /// let second = Query::from_query_string("q=robots&limit=10&page=2")?;
    /// assert_eq!(first.filter_fingerprint(), second.filter_fingerprint());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn filter_fingerprint(&self) -> Fingerprint {
        self.derived.filter_fingerprint(&self.filter)
    }

    /// The fingerprint of the whole query. Cost: writing and hashing its text form, once per query.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let query = Query::from_query_string("q=robots")?;
    /// let [same, other] = ["q=Robots&limit=50", "q=robots&page=2"].map(Query::from_query_string);
    /// assert_eq!(query.fingerprint(), same?.fingerprint());
    /// assert_ne!(query.fingerprint(), other?.fingerprint());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn fingerprint(&self) -> Fingerprint {
        let compute = || Fingerprint::of(|text| self.write_to(text));
        self.derived.query_fingerprint(compute)
    }

    /// Writes what `Display` does.
    fn write_to(&self, f: &mut impl fmt::Write) -> fmt::Result {
        writing::write_filter(f, &self.filter)?;
        if !self.filter.is_empty() {
            f.write_char('&')?;
        }
        write!(f, "limit={}", self.limit)?;
        if self.order != Order::default() {
            write!(f, "&order={}", self.order)?;
        }
        match &self.start {
            Start::First => {}
            Start::After(cursor) => write!(f, "&cursor={cursor}")?,
            Start::Page(number) => write!(f, "&page={number}")?,
        }
        if self.count_only {
            f.write_str("&countOnly=true")?;
        }
        Ok(())
    }

    /// The date used as today: that of the first page, if the query continues after a cursor.
    pub(crate) fn day(&self, today: Date) -> Date {
        match &self.start {
            Start::After(cursor) => cursor.day(),
            Start::First | Start::Page(_) => today,
        }
    }

    /// The same query with cursors, its own included, that are bound to no key: for other nodes, which do not know the key.
    ///
    /// ```
    /// use signaldex::Query;
    /// use signaldex::query::KeyFilter;
    ///
    /// let key = KeyFilter::parse(["days=7"], [])?;
    /// let query = Query::builder().keywords("robots").for_key(Some(&key)).build()?;
    /// assert_eq!(query.without_key(), Query::builder().keywords("robots").build()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn without_key(&self) -> Query {
        let start = match &self.start {
            Start::After(cursor) => {
                let filter = self.filter_fingerprint();
                Start::After(Cursor::new(filter, self.order, cursor.day(), cursor.last()))
            }
            other => other.clone(),
        };
        Query {
            key: None,
            ..self.part(start, self.limit)
        }
    }

    /// The cursor with which a walk goes on after a signal: for a page that you cut short, to a number of bytes for
    /// example. `today` is the date of the page. `last` is the signal's id, or its [`key`](Order::key_of) if the order is
    /// by value.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let index = sample::index()?;
    /// let (snapshot, query) = (index.snapshot(), Query::from_query_string("q=robotics&limit=4")?);
    /// let page: Vec<_> = snapshot.search(&query, sample::AS_OF)?.ids().collect();
    /// let cursor = query.cursor_after(page[1], sample::AS_OF);
    /// let rest = query.into_builder().after(&cursor).build()?;
    /// assert!(snapshot.search(&rest, sample::AS_OF)?.ids().take(2).eq(page[2..].iter().copied()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cursor_after(&self, last: impl Into<SortKey>, today: Date) -> Cursor {
        let filter = self.filter_fingerprint().within(self.key);
        Cursor::new(filter, self.order, self.day(today), last.into())
    }
}

impl Filter {
    /// Parses the filters of a query string. `limit`, `order`, `cursor`, `page` and `countOnly` are unknown
    /// parameters here.
    ///
    /// ```
    /// use signaldex::Filter;
    ///
    /// let filter = Filter::from_query_string(r#"q="series a" -crypto&country=Germany"#)?;
    /// assert_eq!(filter.to_string(), "all=%22series+a%22&exclude=crypto&country=germany");
    /// let invalid = Filter::from_query_string("contry=Germany&limit=10").unwrap_err();
    /// assert_eq!(invalid.errors().len(), 2);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    ///
    /// # Errors
    /// All errors of the query string, in its order, then conflicts between parameters.
    pub fn from_query_string(query_string: &str) -> Result<Filter, InvalidQuery> {
        let (builder, []) =
            QueryBuilder::from_query_string(query_string, ParameterSet::FILTERS, []);
        builder.build().map(|query| query.filter)
    }

    /// A fingerprint of what `Display` writes, stable across processes, platforms and releases.
    ///
    /// ```
    /// use signaldex::Filter;
    ///
    /// let one = Filter::from_query_string("country=GERMANY&q=Robots")?;
    /// let other = Filter::from_query_string("q=robots&country=germany")?;
    /// assert_eq!(one.fingerprint(), other.fingerprint());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(|text| writing::write_filter(text, self))
    }
}
