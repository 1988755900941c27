//! Queries for companies: a filter, an order, and the part of the result to return.

use std::fmt::{self, Write};
use std::str::FromStr;

use time::Date;

use super::company_order::CompanyKey;
use super::company_query_builder::CompanyQueryBuilder;
use super::limits::HOST_LIMIT_MAX;
use super::values::Origin;
use super::{
    CompanyCursor, CompanyFilter, CompanyOrder, CompanyStart, Facet, Fingerprint, InvalidQuery,
    MatchedCompany,
};

/// A query for companies by themselves and by their signals.
///
/// `Display` writes a text that [`FromStr`] reads back to an equal query: the form for programs. Its values have any
/// length, and those in conditions are percent-encoded once more. What people and clients of the API type is read by
/// [`from_query_string`](CompanyQuery::from_query_string).
///
/// ```
/// use signaldex::Filter;
/// use signaldex::query::{CompanyQuery, Condition};
///
/// let hires = Condition::new(Filter::from_query_string("hiringType=new-role&days=90")?);
/// let query = CompanyQuery::builder().country("Germany").has([hires.with_min(2)]).build()?;
/// let typed = CompanyQuery::from_query_string("country=Germany&has=(hiringType=new-role;days=90;min=2)")?;
/// assert_eq!(query, typed);
/// assert_eq!(query.to_string().parse::<CompanyQuery>()?, query);
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CompanyQuery {
    pub(super) filter: CompanyFilter,
    pub(super) order: CompanyOrder,
    pub(super) limit: usize,
    pub(super) start: CompanyStart,
    pub(super) count_only: bool,
    pub(super) facets: Vec<Facet>,
    /// The fingerprint of the key's filter, which cursors are bound to.
    pub(super) key: Option<Fingerprint>,
}

#[cfg(feature = "serde")]
serde_as_text!(CompanyQuery);

impl CompanyQuery {
    /// Parses a query string, still percent-encoded and without its `?`. Spaces and other characters that people type
    /// need no encoding.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    ///
    /// let text = "has=(hiringType=new-role;days=90;min=2),(fundingStage=series a)&order=-latest";
    /// let query = CompanyQuery::from_query_string(text)?;
    /// assert_eq!(query.filter().has().len(), 2);
    /// let invalid = CompanyQuery::from_query_string("has=(days=8;min=x)&limit=0").unwrap_err();
    /// assert_eq!(invalid.errors().len(), 3);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    ///
    /// # Errors
    /// All errors of the query string, then conflicts between parameters. Errors in conditions are named at `has` or
    /// `hasNot`, with the number of the condition.
    pub fn from_query_string(query_string: &str) -> Result<CompanyQuery, InvalidQuery> {
        CompanyQueryBuilder::parse(query_string, Origin::Typed).build()
    }

    /// Creates a builder without filters.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    ///
    /// let query = CompanyQuery::builder().city("Berlin").limit(10).build()?;
    /// assert_eq!(query, CompanyQuery::from_query_string("city=BERLIN&limit=10")?);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn builder() -> CompanyQueryBuilder {
        CompanyQueryBuilder::default()
    }

    /// Converts the query back into a builder.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    ///
    /// let query = CompanyQuery::from_query_string("city=Berlin&country=Germany")?;
    /// let query = query.into_builder().city(None::<&str>).build()?;
    /// assert_eq!(query.filter().to_string(), "country=germany");
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn into_builder(self) -> CompanyQueryBuilder {
        CompanyQueryBuilder::from(self)
    }

    /// The filter.
    pub fn filter(&self) -> &CompanyFilter {
        &self.filter
    }

    pub(super) fn into_filter(self) -> CompanyFilter {
        self.filter
    }

    /// The order of the result.
    pub fn order(&self) -> CompanyOrder {
        self.order
    }

    /// The page size, at most 50 in a query string and 100,000 elsewhere.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    ///
    /// assert_eq!(CompanyQuery::from_query_string("")?.limit(), 50);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The start of the page.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, CompanyStart};
    ///
    /// let query = CompanyQuery::from_query_string("page=2")?;
    /// assert_eq!(*query.start(), CompanyStart::Page(2));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn start(&self) -> &CompanyStart {
        &self.start
    }

    /// Whether only the number of companies is requested.
    pub fn count_only(&self) -> bool {
        self.count_only
    }

    /// The facets of companies to count; only with [`count_only`](Self::count_only).
    ///
    /// ```
    /// use signaldex::Facet;
    /// use signaldex::query::CompanyQuery;
    ///
    /// let query = CompanyQuery::from_query_string("countOnly=true&facets=sizes")?;
    /// assert_eq!(query.facets(), [Facet::Size]);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn facets(&self) -> &[Facet] {
        &self.facets
    }

    /// The same query with cursors that are bound to no key, as [`Query::without_key`](super::Query::without_key).
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, KeyFilter};
    ///
    /// let key = KeyFilter::parse(["days=7"], [])?;
    /// let query = CompanyQuery::builder().country("Japan").for_key(Some(&key)).build()?;
    /// assert_eq!(query.without_key(), CompanyQuery::builder().country("Japan").build()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn without_key(&self) -> CompanyQuery {
        let start = match &self.start {
            CompanyStart::After(cursor) => {
                let (filter, last) = (self.filter.fingerprint(), cursor.last().clone());
                CompanyStart::After(CompanyCursor::new(filter, self.order, cursor.day(), last))
            }
            other => other.clone(),
        };
        CompanyQuery {
            start,
            key: None,
            ..self.clone()
        }
    }

    /// Another page of the same result, of `limit` companies, at most 100,000.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, CompanyStart};
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = CompanyQuery::from_query_string("limit=2")?;
    /// let first = snapshot.companies(&query, sample::AS_OF)?;
    /// let next = first.next_cursor().cloned().expect("there are more");
    /// let rest = snapshot.companies(&query.part(CompanyStart::After(next), 1_000), sample::AS_OF)?;
    /// assert_eq!(rest.items().len() as u64, snapshot.company_count()? - 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn part(&self, start: CompanyStart, limit: usize) -> CompanyQuery {
        CompanyQuery {
            start,
            limit: limit.min(HOST_LIMIT_MAX),
            count_only: false,
            facets: Vec::new(),
            ..self.clone()
        }
    }

    /// The fingerprint of the whole query. Cost: a hash of the text form.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, InvalidQuery};
    ///
    /// let fingerprint =
    ///     |text| Ok::<_, InvalidQuery>(CompanyQuery::from_query_string(text)?.fingerprint());
    /// assert_ne!(fingerprint("limit=1")?, fingerprint("limit=2")?);
    /// # Ok::<(), InvalidQuery>(())
    /// ```
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(|text| write!(text, "companies {self}"))
    }

    /// The cursor with which a walk goes on after a company: for a page that you cut short. `today` is the date of the
    /// page.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, CompanyStart};
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = CompanyQuery::from_query_string("order=-matches&limit=4")?;
    /// let page = snapshot.companies(&query, sample::AS_OF)?;
    /// let cursor = query.cursor_after(&page.items()[1], sample::AS_OF);
    /// let rest = snapshot.companies(&query.part(CompanyStart::After(cursor), 2), sample::AS_OF)?;
    /// assert_eq!(rest.items(), &page.items()[2..]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cursor_after(&self, last: &MatchedCompany<'_>, today: Date) -> CompanyCursor {
        self.cursor_after_key(self.order.key_of(last), today)
    }

    /// As [`cursor_after`](Self::cursor_after), after the company with a key.
    pub fn cursor_after_key(&self, last: CompanyKey, today: Date) -> CompanyCursor {
        let day = self.day(today);
        let filter = self.filter.fingerprint().within(self.key);
        CompanyCursor::new(filter, self.order, day, last)
    }

    /// The date used as today: that of the first page, if the query continues after a cursor.
    pub(crate) fn day(&self, today: Date) -> Date {
        match &self.start {
            CompanyStart::After(cursor) => cursor.day(),
            CompanyStart::First | CompanyStart::Page(_) => today,
        }
    }
}

impl fmt::Display for CompanyQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.filter)?;
        if !self.filter.is_empty() {
            f.write_char('&')?;
        }
        write!(f, "limit={}", self.limit)?;
        if self.order != CompanyOrder::default() {
            write!(f, "&order={}", self.order)?;
        }
        match &self.start {
            CompanyStart::First => {}
            CompanyStart::After(cursor) => write!(f, "&cursor={cursor}")?,
            CompanyStart::Page(number) => write!(f, "&page={number}")?,
        }
        if self.count_only {
            f.write_str("&countOnly=true")?;
        }
        let names = self.facets.iter().map(|facet| facet.description().options);
        let names: Vec<&str> = names.collect();
        if names.is_empty() {
            return Ok(());
        }
        write!(f, "&facets={}", names.join(","))
    }
}

impl FromStr for CompanyQuery {
    type Err = InvalidQuery;

    /// Reads what `Display` writes. What clients type goes to
    /// [`from_query_string`](CompanyQuery::from_query_string).
    fn from_str(text: &str) -> Result<CompanyQuery, InvalidQuery> {
        CompanyQueryBuilder::parse(text, Origin::Written).build()
    }
}

#[cfg(test)]
mod tests;
