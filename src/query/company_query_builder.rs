//! The builder of queries for companies.
//!
//! Filters of the company, `limit`, `page` and `countOnly` go through the [builder of searches](QueryBuilder), the
//! others through this file; conditions are read by [`conditions`].

use super::company_filter::NumberBounds;
use super::error::ErrorCode;
use super::limits::{
    COMPANY_CURSOR_CHARS_MAX, EMPLOYEES_DIGITS_MAX, ERRORS_MAX, LIMIT_MAX, TEXT_CHARS_MAX,
    YEAR_DIGITS_MAX,
};
use super::values::{self, Origin, ValueError};
use super::{
    CompanyCursor, CompanyFilter, CompanyOrder, CompanyQuery, CompanyStart, Condition, Facet,
    InvalidQuery, KeyFilter, OptionalText, Parameter, ParameterError, ParameterSet, QueryBuilder,
    conditions, conflicts, params,
};
use crate::signal::SizeBucket;

/// The parameters that searches do not have, or not so.
const OWN: [&str; 10] = [
    "city",
    "foundedFrom",
    "foundedTo",
    "employeesMin",
    "employeesMax",
    "has",
    "hasNot",
    "order",
    "cursor",
    "facets",
];

/// Builds a [`CompanyQuery`] parameter by parameter. [`build`](Self::build) reports all errors together.
///
/// Setting a parameter again replaces its value, including lists. `None`, a blank text and an empty list mean "no
/// filter". The limits of the HTTP API on lengths and numbers of items do not apply here.
///
/// ```
/// use signaldex::Filter;
/// use signaldex::query::{CompanyOrder, CompanyQuery, Condition};
///
/// let rounds = Condition::new(Filter::from_query_string("fundingStage=Series A")?);
/// let query = CompanyQuery::builder()
///     .country("Germany")
///     .founded_from(2015)
///     .has([rounds])
///     .order(CompanyOrder::LatestMatch)
///     .build()?;
/// let typed = "country=Germany&foundedFrom=2015&has=(fundingStage=Series A)&order=-latest";
/// assert_eq!(query, CompanyQuery::from_query_string(typed)?);
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CompanyQueryBuilder {
    /// The filters of the company, `limit`, and the errors of all parameters.
    shared: QueryBuilder,
    /// Everything but the filters of the company.
    own: CompanyFilter,
    order: CompanyOrder,
    page: Option<u16>,
    cursor: Option<CompanyCursor>,
    count_only: bool,
    facets: Vec<Facet>,
}

impl CompanyQueryBuilder {
    /// Parses a query string, collecting every error.
    /// Reads a query string. Errors are kept for [`build`](Self::build).
    ///
    /// ```
    /// use signaldex::query::CompanyQueryBuilder;
    ///
    /// let builder = CompanyQueryBuilder::from_query_string("country=Japan&has=(q=raises)");
    /// assert_eq!(builder.limit(5).build()?.limit(), 5);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn from_query_string(query_string: &str) -> CompanyQueryBuilder {
        CompanyQueryBuilder::parse(query_string, Origin::Typed)
    }

    pub(super) fn parse(query_string: &str, origin: Origin) -> CompanyQueryBuilder {
        let (shared, values) = params::parse(query_string, ParameterSet::COMPANIES, OWN, origin);
        let mut builder = CompanyQueryBuilder {
            page: shared.page,
            count_only: shared.count_only,
            shared,
            ..CompanyQueryBuilder::default()
        };
        builder.tell_filters_of_signals();
        for (name, value) in OWN.into_iter().zip(values) {
            if let Some(value) = value {
                builder.set(name, &value, origin);
            }
        }
        builder
    }

    /// Errors for filters of signals outside of conditions tell where they belong.
    fn tell_filters_of_signals(&mut self) {
        for error in &mut self.shared.errors {
            let parameter = Parameter::of_name(&error.parameter);
            let belongs = |known: &Parameter| ParameterSet::FILTERS_WITHOUT_IDS.contains(*known);
            if error.code == ErrorCode::UnknownParameter
                && let Some(parameter) = parameter.filter(belongs)
            {
                let (name, example) = (parameter.name(), parameter.description().example);
                error.message = format!(
                    "{name} is a filter of signals, not of companies; write it in a condition, such as \
                     has=({name}={example})"
                );
            }
        }
    }

    /// Sets an own parameter from decoded text.
    fn set(&mut self, name: &'static str, text: &str, origin: Origin) {
        if matches!(name, "has" | "hasNot") {
            return self.set_conditions(name, text, origin);
        }
        if let Err(error) = self.convert(name, text, origin) {
            self.value_error(name, error);
        }
    }

    fn set_conditions(&mut self, name: &'static str, text: &str, origin: Origin) {
        match conditions::parse(name, text, origin) {
            Ok(conditions) if name == "has" => self.own.has = conditions,
            Ok(conditions) => self.own.has_not = conditions,
            Err(errors) => errors
                .into_iter()
                .for_each(|error| self.shared.add_error(error)),
        }
    }

    fn convert(&mut self, name: &str, text: &str, origin: Origin) -> Result<(), ValueError> {
        if text.is_empty() {
            return Err(values::empty());
        }
        let year = || values::whole_number(text, YEAR_DIGITS_MAX).map(Some);
        let employees = || values::whole_number(text, EMPLOYEES_DIGITS_MAX).map(Some);
        match name {
            "city" => {
                if origin == Origin::Typed {
                    values::check_chars_max(text, TEXT_CHARS_MAX)?;
                }
                // Cities compare as countries do.
                let keys = values::facet_keys(Facet::Country, text, Origin::Host)?;
                self.own.city = keys.into_iter().next();
            }
            "foundedFrom" => self.own.founded.min = year()?,
            "foundedTo" => self.own.founded.max = year()?,
            "employeesMin" => self.own.employees.min = employees()?,
            "employeesMax" => self.own.employees.max = employees()?,
            "order" => {
                let not_known = |_| values::not_a_choice(text, &CompanyOrder::NAMES);
                self.order = text.parse().map_err(not_known)?;
            }
            "cursor" => self.cursor = Some(cursor(text, origin)?),
            "facets" => self.facets = values::facets_among(text, &Facet::OF_COMPANY)?,
            _ => unreachable!("{name} is not an own parameter"),
        }
        Ok(())
    }

    fn value_error(&mut self, name: &str, error: ValueError) {
        self.shared.add_error(ParameterError::of_value(name, error));
    }

    /// Removes the errors of an earlier value.
    fn forget_errors(&mut self, name: &str) {
        self.shared.errors.retain(|error| error.parameter != name);
    }

    /// Applies a setter of the builder of searches.
    fn shared(mut self, set: impl FnOnce(QueryBuilder) -> QueryBuilder) -> Self {
        self.shared = set(self.shared);
        self
    }

    /// `company`: every word occurs in the company's name.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let query = CompanyQuery::builder().company("c++").build()?;
    /// let page = sample::index()?.snapshot().companies(&query, sample::AS_OF)?.len();
    /// assert_eq!(page, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn company(self, text: impl OptionalText) -> Self {
        self.shared(|shared| shared.company(text))
    }

    /// `companySlug`: the company with this slug.
    pub fn company_slug(self, slug: impl OptionalText) -> Self {
        self.shared(|shared| shared.company_slug(slug))
    }

    /// `companies`: slugs or whole names.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    ///
    /// let query = CompanyQuery::builder().companies(["acme", "Pomelora AG"]).build()?;
    /// assert_eq!(query, CompanyQuery::from_query_string("companies=acme,Pomelora AG")?);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn companies<T: AsRef<str>>(self, companies: impl IntoIterator<Item = T>) -> Self {
        self.shared(|shared| shared.companies(companies))
    }

    /// `country`: the country of the company.
    pub fn country(self, country: impl OptionalText) -> Self {
        self.shared(|shared| shared.country(country))
    }

    /// `industry`: the industry of the company.
    pub fn industry(self, industry: impl OptionalText) -> Self {
        self.shared(|shared| shared.industry(industry))
    }

    /// `size`: the size of the company.
    ///
    /// ```
    /// use signaldex::SizeBucket;
    /// use signaldex::query::CompanyQuery;
    ///
    /// let query = CompanyQuery::builder().size(SizeBucket::From501).build()?;
    /// assert_eq!(query, CompanyQuery::from_query_string("size=501+")?);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn size(self, size: impl Into<Option<SizeBucket>>) -> Self {
        self.shared(|shared| shared.size(size))
    }

    /// `city`: the city of the company, compared as countries are.
    pub fn city(mut self, city: impl OptionalText) -> Self {
        self.forget_errors("city");
        self.own.city = None;
        if let Some(text) = city.text().filter(|text| !text.trim().is_empty()) {
            self.set("city", text, Origin::Host);
        }
        self
    }

    /// `foundedFrom`: founded in this year or later, 0 to 9999.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    ///
    /// let query = CompanyQuery::builder().founded_from(1990).founded_to(1999).build()?;
    /// assert_eq!(query, CompanyQuery::from_query_string("foundedFrom=1990&foundedTo=1999")?);
    /// assert!(CompanyQuery::builder().founded_from(2000).founded_to(1999).build().is_err());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn founded_from(mut self, year: impl Into<Option<i64>>) -> Self {
        self.own.founded.min = self.number("foundedFrom", year.into(), YEAR_DIGITS_MAX);
        self
    }

    /// `foundedTo`: founded in this year or earlier, 0 to 9999.
    pub fn founded_to(mut self, year: impl Into<Option<i64>>) -> Self {
        self.own.founded.max = self.number("foundedTo", year.into(), YEAR_DIGITS_MAX);
        self
    }

    /// `employeesMin`: at least this number of employees.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    ///
    /// let query = CompanyQuery::builder().employees_min(10).employees_max(10).build()?;
    /// assert_eq!(query, CompanyQuery::from_query_string("employeesMin=10&employeesMax=10")?);
    /// assert!(CompanyQuery::builder().employees_min(-1).build().is_err());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn employees_min(mut self, employees: impl Into<Option<i64>>) -> Self {
        let employees = employees.into();
        self.own.employees.min = self.number("employeesMin", employees, EMPLOYEES_DIGITS_MAX);
        self
    }

    /// `employeesMax`: at most this number of employees.
    pub fn employees_max(mut self, employees: impl Into<Option<i64>>) -> Self {
        let employees = employees.into();
        self.own.employees.max = self.number("employeesMax", employees, EMPLOYEES_DIGITS_MAX);
        self
    }

    /// Checks a whole number.
    fn number(&mut self, name: &'static str, number: Option<i64>, digits: usize) -> Option<i64> {
        self.forget_errors(name);
        match values::whole_number_of(number?, digits) {
            Ok(number) => Some(number),
            Err(error) => {
                self.value_error(name, error);
                None
            }
        }
    }

    /// `has`: conditions that a company must fulfil.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, Condition};
    ///
    /// let contradictory = Condition::default().with_min(3).with_max(2);
    /// let invalid = CompanyQuery::builder().has([contradictory]).build().unwrap_err();
    /// assert_eq!(invalid.errors()[0].parameter, "has");
    /// ```
    pub fn has(mut self, conditions: impl IntoIterator<Item = Condition>) -> Self {
        self.own.has = self.checked("has", conditions);
        self
    }

    /// `hasNot`: conditions of which a company must fulfil none.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, Condition};
    ///
    /// let query = CompanyQuery::builder().has_not([Condition::default()]).build()?;
    /// assert_eq!(query, CompanyQuery::from_query_string("hasNot=()")?);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn has_not(mut self, conditions: impl IntoIterator<Item = Condition>) -> Self {
        self.own.has_not = self.checked("hasNot", conditions);
        self
    }

    fn checked(
        &mut self,
        name: &'static str,
        conditions: impl IntoIterator<Item = Condition>,
    ) -> Vec<Condition> {
        self.forget_errors(name);
        let conditions: Vec<Condition> = conditions.into_iter().collect();
        for (condition, number) in conditions.iter().zip(1..) {
            if let Some(error) = conditions::contradiction(condition) {
                let error = conditions::located(name, number, &error);
                self.shared.add_error(error);
            }
        }
        conditions
    }

    /// `order`: the order of the result, by slug unless given.
    pub fn order(mut self, order: CompanyOrder) -> Self {
        self.forget_errors("order");
        self.order = order;
        self
    }

    /// The number of companies on a page, 1 to 100,000. The API's bound of 50 applies to query strings only.
    ///
    /// ```
    /// let query = signaldex::query::CompanyQuery::builder().limit(100_000).build()?;
    /// assert_eq!(query.limit(), 100_000);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn limit(self, limit: usize) -> Self {
        self.shared(|shared| shared.limit(limit))
    }

    /// `cursor`: continues after an earlier page, given the text of its cursor. [`after`](Self::after) takes a
    /// [`CompanyCursor`].
    pub fn cursor(mut self, cursor: impl OptionalText) -> Self {
        self.forget_errors("cursor");
        self.cursor = None;
        if let Some(text) = cursor.text() {
            self.set("cursor", text, Origin::Host);
        }
        self
    }

    /// Continues after an earlier page, given [`CompanyPage::next_cursor`](crate::CompanyPage::next_cursor).
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = CompanyQuery::builder().limit(3).build()?;
    /// let first = snapshot.companies(&query, sample::AS_OF)?;
    /// let query = query.into_builder().after(first.next_cursor()).build()?;
    /// assert_eq!(snapshot.companies(&query, sample::AS_OF)?.len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn after<'c>(mut self, cursor: impl Into<Option<&'c CompanyCursor>>) -> Self {
        self.forget_errors("cursor");
        self.cursor = cursor.into().cloned();
        self
    }

    /// `page`: the page with this number, 1 to 100.
    pub fn page(self, number: u16) -> Self {
        let mut builder = self.shared(|shared| shared.page(number));
        builder.page = builder.shared.page;
        builder
    }

    /// `countOnly`: only the number of companies.
    pub fn count_only(mut self) -> Self {
        self.count_only = true;
        self
    }

    /// `facets`: the values of countries, industries and sizes to count, with [`count_only`](Self::count_only).
    ///
    /// ```
    /// use signaldex::Facet;
    /// use signaldex::query::CompanyQuery;
    ///
    /// let query = CompanyQuery::builder().count_only().facets([Facet::Size]).build()?;
    /// assert_eq!(query.facets(), [Facet::Size]);
    /// let of_signals = CompanyQuery::builder().count_only().facets([Facet::Category]);
    /// assert!(of_signals.build().is_err());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn facets(mut self, facets: impl IntoIterator<Item = Facet>) -> Self {
        self.forget_errors("facets");
        let names = facets.into_iter().map(|facet| facet.description().options);
        let names: Vec<&str> = names.collect();
        self.facets.clear();
        if !names.is_empty() {
            self.set("facets", &names.join(","), Origin::Host);
        }
        self
    }

    /// Binds cursors to the filter of a key, as [`QueryBuilder::for_key`] does.
    ///
    /// ```
    /// use signaldex::query::{CompanyQuery, KeyFilter};
    /// use signaldex::sample;
    ///
    /// let key = KeyFilter::parse(["categories=hiring"], [])?;
    /// let snapshot = sample::index()?.snapshot().narrowed(&key, sample::AS_OF)?;
    /// let query = CompanyQuery::builder().limit(1).for_key(Some(&key)).build()?;
    /// let page = snapshot.companies(&query, sample::AS_OF)?;
    /// let next = query.into_builder().after(page.next_cursor());
    /// assert!(next.clone().build().is_ok() && next.for_key(None).build().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_key(self, filter: Option<&KeyFilter>) -> Self {
        self.shared(|shared| shared.for_key(filter))
    }

    /// Builds the query.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    ///
    /// let invalid = CompanyQuery::builder().founded_from(-1).limit(0).build().unwrap_err();
    /// let names: Vec<&str> = invalid.errors().iter().map(|error| error.parameter.as_str()).collect();
    /// assert_eq!(names, ["foundedFrom", "limit"]);
    /// ```
    ///
    /// # Errors
    /// All errors of all parameters, conflicts between them last.
    pub fn build(mut self) -> Result<CompanyQuery, InvalidQuery> {
        let filter = CompanyFilter {
            company: self.shared.filter.clone(),
            ..self.own.clone()
        };
        self.find_conflicts(&filter);
        if !self.shared.errors.is_empty() {
            self.shared.errors.truncate(ERRORS_MAX);
            return Err(InvalidQuery::new(self.shared.errors));
        }
        Ok(CompanyQuery {
            filter,
            order: self.order,
            limit: self.shared.limit.unwrap_or(LIMIT_MAX),
            start: match (self.cursor, self.page) {
                (Some(cursor), _) => CompanyStart::After(cursor),
                (None, Some(number)) => CompanyStart::Page(number),
                (None, None) => CompanyStart::First,
            },
            count_only: self.count_only,
            facets: self.facets,
            key: self.shared.key,
        })
    }

    /// Adds errors for conflicting parameters. A cursor is compared with the filter only if this has no errors.
    fn find_conflicts(&mut self, filter: &CompanyFilter) {
        let ranges = [
            (["foundedFrom", "foundedTo"], filter.founded),
            (["employeesMin", "employeesMax"], filter.employees),
        ];
        let mut found: Vec<ParameterError> = ranges.into_iter().filter_map(of_bounds).collect();
        let is_paged = (self.cursor.is_some(), self.page.is_some());
        found.extend(conflicts::of_page(is_paged, self.count_only));
        if !self.facets.is_empty() && !self.count_only {
            let message = "facets need countOnly=true; give it, or leave facets out";
            found.push(conflict("facets", message.to_owned()));
        }
        if let Some(cursor) = self
            .cursor
            .as_ref()
            .filter(|_| self.shared.errors.is_empty())
        {
            let has_order = cursor.order() == self.order;
            let fingerprint = filter.fingerprint().within(self.shared.key);
            found.extend(conflicts::of_cursor(
                has_order,
                cursor.filter(),
                fingerprint,
            ));
        }
        found
            .into_iter()
            .for_each(|error| self.shared.add_error(error));
    }
}

/// A lower bound over the upper one.
fn of_bounds((names, bounds): ([&str; 2], NumberBounds)) -> Option<ParameterError> {
    let (min, max) = (bounds.min?, bounds.max?);
    let [lower, upper] = names;
    (min > max).then(|| {
        let message = format!("{lower} {min} is over {upper} {max}; it must be the same or less");
        conflict(lower, message)
    })
}

fn conflict(name: &str, message: String) -> ParameterError {
    ParameterError::new(name, ErrorCode::ConflictingParameters, message)
}

fn cursor(text: &str, origin: Origin) -> Result<CompanyCursor, ValueError> {
    if origin == Origin::Typed {
        values::check_chars_max(text, COMPANY_CURSOR_CHARS_MAX)?;
    }
    CompanyCursor::parse(text).map_err(values::no_cursor)
}

impl From<CompanyQuery> for CompanyQueryBuilder {
    fn from(query: CompanyQuery) -> CompanyQueryBuilder {
        let mut own = query.filter;
        let shared = QueryBuilder {
            filter: std::mem::take(&mut own.company),
            limit: Some(query.limit),
            key: query.key,
            ..QueryBuilder::default()
        };
        let (page, cursor) = match query.start {
            CompanyStart::First => (None, None),
            CompanyStart::Page(number) => (Some(number), None),
            CompanyStart::After(cursor) => (None, Some(cursor)),
        };
        CompanyQueryBuilder {
            shared,
            own,
            order: query.order,
            page,
            cursor,
            count_only: query.count_only,
            facets: query.facets,
        }
    }
}
