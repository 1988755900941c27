//! The query builder.
//!
//! Text, from a query string or from Rust, goes through [`conversion`](super::conversion); typed values
//! from Rust are checked here. The rules for values are in [`values`](super::values), those for
//! combinations of parameters in [`conflicts`](super::conflicts).

use std::borrow::Cow;

use time::Date;

use super::derived::Derived;
use super::error::{InvalidQuery, ParameterError};
use super::hint::TypedHints;
use super::keywords::Keywords;
use super::limits::{ERRORS_MAX, LIMIT_MAX};
use super::parameter::Parameter;
use super::params;
use super::values::{self, Origin, ValueError, sorted};
use super::{
    Cursor, DateRange, Days, Facet, Filter, Fingerprint, OptionalText, Order, ParameterSet, Phrase,
    Query, Start,
};
use crate::signal::{Currency, SignalId, SizeBucket};

/// Builds a query parameter by parameter. [`build`](Self::build) reports all errors together.
///
/// Setting a parameter again replaces its value, including lists. `None`, a blank text and an empty list mean "no
/// filter", so the fields of a form can be passed directly. The limits of the HTTP API on lengths and
/// numbers of items do not apply here.
///
/// ```
/// use signaldex::Query;
/// use signaldex::query::Order;
///
/// let query = Query::builder()
///     .keywords("\"series a\"")
///     .country("Germany")
///     .categories(["funding"])
///     .order(Order::OldestFirst)
///     .limit(20)
///     .build()?;
/// assert_eq!(query.filter(), Query::from_query_string("q=\"series a\"&country=germany&categories=funding")?.filter());
///
/// let (country, categories): (Option<&str>, Vec<String>) = (None, Vec::new());
/// let query = Query::builder().country(country).categories(categories).build()?;
/// assert!(query.filter().is_empty());
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct QueryBuilder {
    /// The filter without the phrases of the title.
    pub(super) filter: Filter,
    pub(super) keywords: Keywords,
    pub(super) all: Vec<Phrase>,
    pub(super) exact: Vec<Phrase>,
    pub(super) exclude: Vec<Phrase>,
    pub(super) order: Order,
    pub(super) limit: Option<usize>,
    pub(super) page: Option<u16>,
    pub(super) cursor: Option<Cursor>,
    pub(super) count_only: bool,
    pub(super) key: Option<Fingerprint>,
    pub(super) origin: Origin,
    pub(super) errors: Vec<ParameterError>,
    pub(super) typed: TypedHints,
}

impl QueryBuilder {
    /// Parses a query string into a builder that has collected every error of it, which [`build`](Self::build)
    /// reports. `accepted` are the parameters that the request takes; another one is an error, as is one that is
    /// repeated. `own_names` are parameters of the request's own; their decoded values are returned, `None` for each
    /// that is not given, and the request checks them ([`add_error`](Self::add_error)).
    ///
    /// The query string is still percent-encoded and without its `?`. Spaces and other characters that people type
    /// need no encoding.
    ///
    /// ```
    /// use signaldex::query::{Parameter, ParameterSet, QueryBuilder};
    ///
    /// let accepted = ParameterSet::FILTERS.with(Parameter::Limit);
    /// let (builder, [since]) =
    ///     QueryBuilder::from_query_string("country=Germany&limit=10&since=a%2Bb", accepted, ["since"]);
    /// assert_eq!(since.as_deref(), Some("a+b"));
    /// assert_eq!(builder.build()?.limit(), 10);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn from_query_string<const N: usize>(
        query_string: &str,
        accepted: ParameterSet,
        own_names: [&'static str; N],
    ) -> (QueryBuilder, [Option<String>; N]) {
        params::parse(query_string, accepted, own_names, Origin::Typed)
    }

    /// `q`: words, prefix words (`robot*`) and quoted phrases of the title; a `-` before one excludes it.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let typed = Query::builder().keywords("robots \"series a\" -crypto").build()?;
    /// let given = Query::builder().all("robots").exact("series a").exclude("crypto").build()?;
    /// assert_eq!(typed.filter(), given.filter());
    /// assert_eq!(given.to_string(), "all=robots+%22series+a%22&exclude=crypto&limit=50");
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn keywords(self, text: impl OptionalText) -> Self {
        self.with(Parameter::Q, text)
    }

    /// `all`: every word, prefix word or quoted phrase occurs in the title.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let query = Query::builder().all("robot* funding").build()?;
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&query, sample::AS_OF)?;
    /// for item in snapshot.records(&page)? {
    ///     assert!(item.signal.title.to_lowercase().contains("robot"));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn all(self, text: impl OptionalText) -> Self {
        self.with(Parameter::All, text)
    }

    /// `exact`: these words occur in the title next to each other.
    pub fn exact(self, text: impl OptionalText) -> Self {
        self.with(Parameter::Exact, text)
    }

    /// `any`: at least one word, prefix word or quoted phrase occurs in the title.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let query = Query::builder().any("robots \"machine learning\"").build()?;
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&query, sample::AS_OF)?;
    /// for item in snapshot.records(&page)? {
    ///     assert!(!query.filter().matched_words(&item.signal.title).is_empty());
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn any(self, text: impl OptionalText) -> Self {
        self.with(Parameter::Any, text)
    }

    /// `exclude`: none of the words, prefix words and quoted phrases occurs in the title.
    pub fn exclude(self, text: impl OptionalText) -> Self {
        self.with(Parameter::Exclude, text)
    }

    /// `company`: every word occurs in the company's name.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let by_name = Query::builder().company("c++ foundry").build()?;
    /// let by_slug = Query::builder().company_slug("cpp-foundry").build()?;
    /// let count = |query: &Query| snapshot.count(query.filter(), sample::AS_OF);
    /// assert_eq!((count(&by_name)?, count(&by_slug)?), (3, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn company(self, text: impl OptionalText) -> Self {
        self.with(Parameter::Company, text)
    }

    /// `companySlug`: the company with this slug.
    pub fn company_slug(self, slug: impl OptionalText) -> Self {
        self.with(Parameter::CompanySlug, slug)
    }

    /// `companies`: slugs or whole names.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let query = Query::builder().companies(["cpp-foundry", "Pomelora AG"]).build()?;
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&query, sample::AS_OF)?;
    /// assert!(snapshot.records(&page)?.iter().any(|item| item.company_name == "Pomelora AG"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn companies<T: AsRef<str>>(self, companies: impl IntoIterator<Item = T>) -> Self {
        let items = strings(companies);
        self.value(Parameter::Companies, |filter| {
            values::check_items(Parameter::Companies, &items, Origin::Host)?;
            filter.companies = values::companies(items);
            Ok(())
        })
    }

    /// `country`: the country of the company.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let (country, industry) = (Some("Germany"), None::<String>); // the fields of a form
    /// let query = Query::builder().country(country).industry(industry).build()?;
    /// assert_eq!(query.filter().to_string(), "country=germany");
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn country(self, country: impl OptionalText) -> Self {
        self.facet(Facet::Country, given(&country))
    }

    /// `industry`: the industry of the company.
    pub fn industry(self, industry: impl OptionalText) -> Self {
        self.facet(Facet::Industry, given(&industry))
    }

    /// `size`: the size of the company.
    ///
    /// ```
    /// use signaldex::{Query, SizeBucket};
    ///
    /// let query = Query::builder().size(SizeBucket::From501).build()?;
    /// assert_eq!(query.filter().to_string(), "size=501%2B");
    /// assert!(Query::builder().size(None).build()?.filter().is_empty());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn size(self, size: impl Into<Option<SizeBucket>>) -> Self {
        self.facet(Facet::Size, size.into().map(SizeBucket::as_str))
    }

    /// `days`: dated within the last 7, 30 or 90 days.
    ///
    /// ```
    /// use signaldex::Query;
    /// use signaldex::query::Days;
    ///
    /// let query = Query::builder().days(Days::Thirty).build()?;
    /// assert_eq!(query.filter(), Query::from_query_string("days=30")?.filter());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn days(self, days: impl Into<Option<Days>>) -> Self {
        self.value(Parameter::Days, |filter| {
            filter.days = days.into();
            Ok(())
        })
    }

    /// `dateRanges`: dated within any of these ranges.
    ///
    /// ```
    /// use signaldex::query::{DateRange, Days};
    /// use signaldex::{Query, sample};
    ///
    /// let ranges = [DateRange::Last(Days::Ninety), DateRange::Older];
    /// let dated = Query::builder().date_ranges(ranges).build()?;
    /// let snapshot = sample::index()?.snapshot();
    /// let undated = snapshot.signal_count() - snapshot.count(dated.filter(), sample::AS_OF)?;
    /// assert_eq!(undated, 34);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn date_ranges(self, ranges: impl IntoIterator<Item = DateRange>) -> Self {
        let ranges: Vec<DateRange> = ranges.into_iter().collect();
        self.value(Parameter::DateRanges, |filter| {
            filter.date_ranges = sorted(ranges);
            Ok(())
        })
    }

    /// `dateFrom`: dated on this day or later.
    ///
    /// ```
    /// use signaldex::Query;
    /// use time::macros::date;
    ///
    /// let (from, to) = (date!(2026 - 01 - 01), date!(2026 - 06 - 30));
    /// let query = Query::builder().date_from(from).date_to(to).build()?;
    /// assert_eq!(query.filter().to_string(), "dateFrom=2026-01-01&dateTo=2026-06-30");
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn date_from(self, date: impl Into<Option<Date>>) -> Self {
        self.value(Parameter::DateFrom, |filter| {
            filter.date_from = date.into().map(values::date_of).transpose()?;
            Ok(())
        })
    }

    /// `dateTo`: dated on this day or earlier.
    pub fn date_to(self, date: impl Into<Option<Date>>) -> Self {
        self.value(Parameter::DateTo, |filter| {
            filter.date_to = date.into().map(values::date_of).transpose()?;
            Ok(())
        })
    }

    /// `categories`: category IDs.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let query = Query::builder().categories(["hiring"]).job_functions(["sales", "legal"]).build()?;
    /// assert_eq!(query.filter().to_string(), "categories=hiring&jobFunction=legal,sales");
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn categories<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::Category, ids)
    }

    /// `hiringType`: IDs.
    pub fn hiring_types<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::HiringType, ids)
    }

    /// `jobFunction`: IDs.
    pub fn job_functions<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::JobFunction, ids)
    }

    /// `seniority`: IDs.
    pub fn seniorities<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::Seniority, ids)
    }

    /// `employmentType`: IDs.
    pub fn employment_types<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::EmploymentType, ids)
    }

    /// `workArrangement`: IDs.
    pub fn work_arrangements<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::WorkArrangement, ids)
    }

    /// `fundingStage`: the stage of the funding.
    ///
    /// ```
    /// use signaldex::{Currency, Query};
    ///
    /// let query = Query::builder()
    ///     .funding_stage("Series A")
    ///     .funding_currency(Currency::new("EUR"))
    ///     .funding_min(10_000_000.0)
    ///     .build()?;
    /// let text = "fundingStage=Series A&fundingCurrency=EUR&fundingMin=10000000";
    /// assert_eq!(query.filter(), Query::from_query_string(text)?.filter());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn funding_stage(self, stage: impl OptionalText) -> Self {
        self.facet(Facet::FundingStage, given(&stage))
    }

    /// `fundingCurrency`: USD, EUR or GBP.
    pub fn funding_currency(self, currency: impl Into<Option<Currency>>) -> Self {
        let currency = currency.into();
        self.facet(
            Facet::FundingCurrency,
            currency.as_ref().map(Currency::as_str),
        )
    }

    /// The filter of any facet: the signal has one of these values. Facets whose parameter takes a single
    /// value, such as the country, accept at most one.
    ///
    /// ```
    /// use signaldex::{Facet, Query};
    ///
    /// let query = Query::builder().facet(Facet::Category, ["funding", "hiring"]).build()?;
    /// assert!(query.filter().chosen(Facet::Category).eq(["funding", "hiring"]));
    /// assert!(Query::builder().facet(Facet::Country, ["Germany", "France"]).build().is_err());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn facet<T: AsRef<str>>(self, facet: Facet, labels: impl IntoIterator<Item = T>) -> Self {
        let labels = strings(labels);
        self.value(facet.parameter(), |filter| {
            filter
                .facets
                .set(facet, values::facet_keys_of(facet, &labels)?);
            Ok(())
        })
    }

    /// `fundingMin`: funding of at least this amount.
    ///
    /// ```
    /// let query = signaldex::Query::builder().funding_min(1e6).funding_max(25e6).build()?;
    /// assert_eq!(query.filter().to_string(), "fundingMin=1000000&fundingMax=25000000");
    /// assert!(signaldex::Query::builder().funding_min(f64::NAN).build().is_err());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn funding_min(self, amount: impl Into<Option<f64>>) -> Self {
        self.value(Parameter::FundingMin, |filter| {
            filter.funding_min = amount.into().map(values::amount_of).transpose()?;
            Ok(())
        })
    }

    /// `fundingMax`: funding of at most this amount.
    pub fn funding_max(self, amount: impl Into<Option<f64>>) -> Self {
        self.value(Parameter::FundingMax, |filter| {
            filter.funding_max = amount.into().map(values::amount_of).transpose()?;
            Ok(())
        })
    }

    /// `ids`: the signal is one of these. An empty list means no filter.
    ///
    /// ```
    /// use signaldex::{Query, SignalId, sample};
    ///
    /// let query = Query::builder().ids([SignalId::MIN, SignalId::MAX]).build()?;
    /// let page = sample::index()?.snapshot().search(&query, sample::AS_OF)?;
    /// assert!(page.ids().eq([SignalId::MAX]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ids(self, ids: impl IntoIterator<Item = SignalId>) -> Self {
        let ids: Vec<SignalId> = ids.into_iter().collect();
        self.value(Parameter::Ids, |filter| {
            filter.ids = (!ids.is_empty()).then(|| sorted(ids));
            Ok(())
        })
    }

    /// `activityIds`: the signal is one of these.
    pub fn activity_ids(self, ids: impl IntoIterator<Item = SignalId>) -> Self {
        let ids: Vec<SignalId> = ids.into_iter().collect();
        self.value(Parameter::ActivityIds, |filter| {
            filter.activity_ids = (!ids.is_empty()).then(|| sorted(ids));
            Ok(())
        })
    }

    /// `order`: the order of the result; newest first by default. An order by amount needs a
    /// [`funding_currency`](Self::funding_currency).
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Query, sample};
    ///
    /// let query = Query::builder().order(Order::OldestFirst).build()?;
    /// let page = sample::index()?.snapshot().search(&query, sample::AS_OF)?;
    /// assert!(page.ids().is_sorted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn order(mut self, order: Order) -> Self {
        self.forget_errors(Parameter::Order);
        self.order = order;
        self
    }

    /// The order set so far: for requests whose own parameters depend on it.
    ///
    /// ```
    /// use signaldex::query::{Order, QueryBuilder};
    ///
    /// assert_eq!(QueryBuilder::default().order(Order::LatestDate).chosen_order(), Order::LatestDate);
    /// ```
    pub fn chosen_order(&self) -> Order {
        self.order
    }

    /// The number of signals on a page, 1 to 100,000. The API's bound of 50 applies to query strings only.
    ///
    /// ```
    /// let query = signaldex::Query::builder().limit(100_000).build()?;
    /// assert_eq!(query.limit(), 100_000);
    /// assert!(signaldex::Query::from_query_string("limit=51").is_err());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn limit(mut self, limit: usize) -> Self {
        self.forget_errors(Parameter::Limit);
        match values::number_of(Parameter::Limit, limit) {
            Ok(limit) => self.limit = Some(limit as usize),
            Err(error) => self.value_error(Parameter::Limit, error),
        }
        self
    }

    /// `cursor`: continues after an earlier page, given the text of its cursor. [`after`](Self::after) takes
    /// a [`Cursor`].
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::builder().keywords("robotics").limit(20).build()?;
    /// let first = snapshot.search(&query, sample::AS_OF)?;
    /// let sent_back = first.next_cursor().map(ToString::to_string); // by a client
    /// let query = query.into_builder().cursor(sent_back).build()?;
    /// assert_eq!(snapshot.search(&query, sample::AS_OF)?.len(), 13);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn cursor(self, cursor: impl OptionalText) -> Self {
        self.with(Parameter::Cursor, cursor)
    }

    /// Continues after an earlier page, given [`Page::next_cursor`](crate::Page::next_cursor).
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::builder().keywords("robotics").limit(20).build()?;
    /// let first = snapshot.search(&query, sample::AS_OF)?;
    /// let query = query.into_builder().after(first.next_cursor()).build()?;
    /// assert_eq!(snapshot.search(&query, sample::AS_OF)?.len(), 13);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after<'c>(mut self, cursor: impl Into<Option<&'c Cursor>>) -> Self {
        self.forget_errors(Parameter::Cursor);
        self.cursor = cursor.into().cloned();
        self
    }

    /// `page`: the page with this number, 1 to 100.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let query = Query::builder().keywords("robotics").limit(20).page(2).build()?;
    /// assert_eq!(sample::index()?.snapshot().search(&query, sample::AS_OF)?.len(), 13);
    /// assert!(Query::builder().page(101).build().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn page(mut self, number: u16) -> Self {
        self.forget_errors(Parameter::Page);
        match values::number_of(Parameter::Page, number.into()) {
            Ok(number) => self.page = Some(number as u16),
            Err(error) => self.value_error(Parameter::Page, error),
        }
        self
    }

    /// `countOnly`: only the number of matches.
    ///
    /// ```
    /// let query = signaldex::Query::builder().count_only().build()?;
    /// assert!(query.count_only());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn count_only(mut self) -> Self {
        self.count_only = true;
        self
    }

    /// Builds the query.
    ///
    /// ```
    /// use signaldex::Query;
    ///
    /// let invalid = Query::builder().funding_min(-1.0).limit(0).build().unwrap_err();
    /// let names: Vec<&str> = invalid.errors().iter().map(|error| error.parameter.as_str()).collect();
    /// assert_eq!(names, ["fundingMin", "limit"]);
    /// ```
    ///
    /// # Errors
    /// All errors of all parameters, conflicts between them last.
    pub fn build(mut self) -> Result<Query, InvalidQuery> {
        self.join_phrases();
        let derived = Derived::default();
        self.find_conflicts(&derived);
        if !self.errors.is_empty() {
            self.errors.truncate(ERRORS_MAX);
            return Err(InvalidQuery::new(self.errors));
        }
        let start = match (self.cursor, self.page) {
            (Some(cursor), _) => Start::After(cursor),
            (None, Some(number)) => Start::Page(number),
            (None, None) => Start::First,
        };
        Ok(Query {
            filter: self.filter,
            order: self.order,
            limit: self.limit.unwrap_or(LIMIT_MAX),
            start,
            count_only: self.count_only,
            key: self.key,
            derived,
            typed: self.typed,
        })
    }

    /// Moves the phrases of the title into the filter.
    fn join_phrases(&mut self) {
        let QueryBuilder {
            filter,
            keywords,
            all,
            exact,
            exclude,
            ..
        } = self;
        filter.all = sorted(joined([&mut keywords.all, all, exact]));
        filter.none = sorted(joined([&mut keywords.none, exclude]));
    }

    /// An empty builder for texts of an origin.
    pub(super) fn of_origin(origin: Origin) -> QueryBuilder {
        QueryBuilder {
            origin,
            ..QueryBuilder::default()
        }
    }

    /// Whether there is room for another error.
    pub(super) fn takes_errors(&self) -> bool {
        self.errors.len() < ERRORS_MAX
    }

    /// Adds an error, which [`build`](Self::build) reports with all others: how a request that has parameters of
    /// its own reports their errors together with those of the filters. At most
    /// [`ERRORS_MAX`] are kept.
    ///
    /// ```
    /// use signaldex::query::{ParameterError, ParameterSet, QueryBuilder};
    ///
    /// let (mut builder, [format]) =
    ///     QueryBuilder::from_query_string("days=8&format=xml", ParameterSet::FILTERS, ["format"]);
    /// if format.as_deref() != Some("csv") {
    ///     builder.add_error(ParameterError::invalid("format", "xml", "csv"));
    /// }
    /// let invalid = builder.build().unwrap_err();
    /// assert_eq!(invalid.errors().len(), 2);
    /// ```
    pub fn add_error(&mut self, error: ParameterError) {
        if self.takes_errors() {
            self.errors.push(error);
        }
    }

    pub(super) fn value_error(&mut self, parameter: Parameter, error: ValueError) {
        self.add_error(ParameterError::of_value(parameter.name(), error));
    }

    /// Sets a parameter from text; `None` removes the filter.
    fn with(mut self, parameter: Parameter, text: impl OptionalText) -> Self {
        self.forget_errors(parameter);
        match given(&text) {
            Some(text) => self.set_from(parameter, text, Origin::Host),
            None => self.clear(parameter),
        }
        self
    }

    /// Sets a parameter from a typed value.
    fn value(
        mut self,
        parameter: Parameter,
        set: impl FnOnce(&mut Filter) -> Result<(), ValueError>,
    ) -> Self {
        self.forget_errors(parameter);
        if let Err(error) = set(&mut self.filter) {
            self.value_error(parameter, error);
        }
        self
    }

    /// Removes the errors of an earlier value.
    fn forget_errors(&mut self, parameter: Parameter) {
        self.errors
            .retain(|error| error.parameter != parameter.name());
    }
}

/// The phrases of all lists, in the allocation of the first that has one.
fn joined<const N: usize>(lists: [&mut Vec<Phrase>; N]) -> Vec<Phrase> {
    let mut joined = Vec::new();
    for list in lists {
        if joined.is_empty() {
            joined = std::mem::take(list);
        } else {
            joined.append(list);
        }
    }
    joined
}

/// The text, unless it is blank.
fn given(text: &impl OptionalText) -> Option<&str> {
    text.text().filter(|text| !text.trim().is_empty())
}

fn strings<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> Vec<Cow<'static, str>> {
    let owned = |value: T| Cow::Owned(value.as_ref().to_owned());
    values.into_iter().map(owned).collect()
}
