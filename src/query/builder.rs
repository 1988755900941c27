//! Builds queries, parameter by parameter.
//!
//! Text, from a query string or from Rust, goes through [`QueryBuilder::set`]; values that Rust
//! gives in types of their own are checked as they are. The rules are in [`values`](super::values),
//! what parameters exclude each other is in [`conflicts`](super::conflicts).

use time::Date;

use super::conflicts;
use super::derived::Derived;
use super::fault::{Fault, InvalidQuery};
use super::keywords::{self, Keywords};
use super::limits::{DATE_RANGES_MAX, FAULTS_MAX, IDS_MAX, LIMIT_MAX};
use super::parameter::Parameter;
use super::values::{self, Origin, ValueFault, searchable, sorted};
use super::{Cursor, DateRange, Days, Facet, Filter, Order, Phrase, Query, Start};
use crate::signal::{Currency, SignalId, SizeBucket};

/// Builds a query, parameter by parameter. What is wrong is collected and reported by
/// [`build`](Self::build); setting a parameter again replaces it.
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
/// assert_eq!(query.filter(), Query::parse("q=\"series a\"&country=germany&categories=funding")?.filter());
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct QueryBuilder {
    /// Everything but what has to occur in the title or must not.
    filter: Filter,
    keywords: Keywords,
    all: Vec<Phrase>,
    exact: Vec<Phrase>,
    exclude: Vec<Phrase>,
    order: Order,
    limit: Option<usize>,
    page: Option<u16>,
    cursor: Option<Cursor>,
    count_only: bool,
    origin: Origin,
    faults: Vec<Fault>,
}

impl QueryBuilder {
    /// `q`: title keywords, quoted phrases, and each excluded after a `-`.
    pub fn keywords(self, text: &str) -> Self {
        self.with(Parameter::Q, text)
    }

    /// `all`: every word or quoted phrase occurs in the title.
    pub fn all(self, text: &str) -> Self {
        self.with(Parameter::All, text)
    }

    /// `exact`: these words occur in the title next to each other.
    pub fn exact(self, text: &str) -> Self {
        self.with(Parameter::Exact, text)
    }

    /// `any`: at least one word or quoted phrase occurs in the title.
    pub fn any(self, text: &str) -> Self {
        self.with(Parameter::Any, text)
    }

    /// `exclude`: none of the words or quoted phrases occurs in the title.
    pub fn exclude(self, text: &str) -> Self {
        self.with(Parameter::Exclude, text)
    }

    /// `company`: every word occurs in the company's name.
    pub fn company(self, text: &str) -> Self {
        self.with(Parameter::Company, text)
    }

    /// `companySlug`: the company with this slug.
    pub fn company_slug(self, slug: &str) -> Self {
        self.with(Parameter::CompanySlug, slug)
    }

    /// `companies`: 1 to 50 slugs or whole names.
    pub fn companies<T: AsRef<str>>(self, companies: impl IntoIterator<Item = T>) -> Self {
        let items = strings(companies);
        self.value(Parameter::Companies, |filter| {
            values::check_items(Parameter::Companies, &items, Origin::Typed)?;
            filter.companies = values::companies(items);
            Ok(())
        })
    }

    /// `country`: the company's.
    pub fn country(self, country: &str) -> Self {
        self.facet(Facet::Country, [country])
    }

    /// `industry`: the company's.
    pub fn industry(self, industry: &str) -> Self {
        self.facet(Facet::Industry, [industry])
    }

    /// `size`: the company's.
    pub fn size(self, size: SizeBucket) -> Self {
        self.facet(Facet::Size, [size.as_str()])
    }

    /// `days`: dated within the last days.
    pub fn days(self, days: Days) -> Self {
        self.value(Parameter::Days, |filter| {
            filter.days = Some(days);
            Ok(())
        })
    }

    /// `dateRanges`: dated within any of these.
    pub fn date_ranges(self, ranges: impl IntoIterator<Item = DateRange>) -> Self {
        let ranges: Vec<DateRange> = ranges.into_iter().collect();
        self.value(Parameter::DateRanges, |filter| {
            values::check_count(ranges.len(), DATE_RANGES_MAX)?;
            filter.date_ranges = sorted(ranges);
            Ok(())
        })
    }

    /// `dateFrom`: dated on this day or later.
    pub fn date_from(self, date: Date) -> Self {
        self.value(Parameter::DateFrom, |filter| {
            filter.date_from = Some(values::date_of(date)?);
            Ok(())
        })
    }

    /// `dateTo`: dated on this day or earlier.
    pub fn date_to(self, date: Date) -> Self {
        self.value(Parameter::DateTo, |filter| {
            filter.date_to = Some(values::date_of(date)?);
            Ok(())
        })
    }

    /// `categories`: 1 to 30 category IDs.
    pub fn categories<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::Category, ids)
    }

    /// `hiringType`: IDs of at most 180 characters in all.
    pub fn hiring_types<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::HiringType, ids)
    }

    /// `jobFunction`: IDs of at most 180 characters in all.
    pub fn job_functions<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::JobFunction, ids)
    }

    /// `seniority`: IDs of at most 180 characters in all.
    pub fn seniorities<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::Seniority, ids)
    }

    /// `employmentType`: IDs of at most 180 characters in all.
    pub fn employment_types<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::EmploymentType, ids)
    }

    /// `workArrangement`: IDs of at most 180 characters in all.
    pub fn work_arrangements<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.facet(Facet::WorkArrangement, ids)
    }

    /// `fundingStage`: the stage of the funding.
    pub fn funding_stage(self, stage: &str) -> Self {
        self.facet(Facet::FundingStage, [stage])
    }

    /// `fundingCurrency`: USD, EUR or GBP.
    pub fn funding_currency(self, currency: Currency) -> Self {
        self.facet(Facet::FundingCurrency, [currency.as_str()])
    }

    /// Any facet: the signal has one of these values. Facets that are filtered on by one value,
    /// such as the country, take exactly one.
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
    pub fn funding_min(self, amount: f64) -> Self {
        self.value(Parameter::FundingMin, |filter| {
            filter.funding_min = Some(values::amount_of(amount)?);
            Ok(())
        })
    }

    /// `fundingMax`: funding of at most this amount.
    pub fn funding_max(self, amount: f64) -> Self {
        self.value(Parameter::FundingMax, |filter| {
            filter.funding_max = Some(values::amount_of(amount)?);
            Ok(())
        })
    }

    /// `ids`: the signal is one of 1 to 50.
    pub fn ids(self, ids: impl IntoIterator<Item = SignalId>) -> Self {
        let ids: Vec<SignalId> = ids.into_iter().collect();
        self.value(Parameter::Ids, |filter| {
            values::check_count(ids.len(), IDS_MAX)?;
            filter.ids = Some(sorted(ids));
            Ok(())
        })
    }

    /// `activityIds`: the signal is one of 1 to 50.
    pub fn activity_ids(self, ids: impl IntoIterator<Item = SignalId>) -> Self {
        let ids: Vec<SignalId> = ids.into_iter().collect();
        self.value(Parameter::ActivityIds, |filter| {
            values::check_count(ids.len(), IDS_MAX)?;
            filter.activity_ids = Some(sorted(ids));
            Ok(())
        })
    }

    /// The order of the result; newest first where it is not set.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// `limit`: the most signals of a page, 1 to 50.
    pub fn limit(mut self, limit: usize) -> Self {
        match values::number_of(Parameter::Limit, limit) {
            Ok(limit) => self.limit = Some(limit.into()),
            Err(fault) => self.value_fault(Parameter::Limit, fault),
        }
        self
    }

    /// `cursor`: continues after an earlier page, given the text of its cursor.
    pub fn cursor(self, cursor: &str) -> Self {
        self.with(Parameter::Cursor, cursor)
    }

    /// Continues after an earlier page.
    pub fn after(mut self, cursor: &Cursor) -> Self {
        self.cursor = Some(cursor.clone());
        self
    }

    /// `page`: the page of this number, 1 to 100.
    pub fn page(mut self, number: u16) -> Self {
        match values::number_of(Parameter::Page, number.into()) {
            Ok(number) => self.page = Some(number),
            Err(fault) => self.value_fault(Parameter::Page, fault),
        }
        self
    }

    /// `countOnly`: only the number of matches.
    pub fn count_only(mut self) -> Self {
        self.count_only = true;
        self
    }

    /// The query.
    ///
    /// # Errors
    /// All faults of all parameters, conflicts between them last.
    pub fn build(mut self) -> Result<Query, InvalidQuery> {
        let mut filter = std::mem::take(&mut self.filter);
        filter.all = sorted([&self.keywords.all[..], &self.all, &self.exact].concat());
        filter.none = sorted([&self.keywords.none[..], &self.exclude].concat());
        let derived = Derived::default();
        self.find_conflicts(&filter, &derived);
        if !self.faults.is_empty() {
            self.faults.truncate(FAULTS_MAX);
            return Err(InvalidQuery::new(self.faults));
        }
        let start = match (self.cursor, self.page) {
            (Some(cursor), _) => Start::After(cursor),
            (None, Some(number)) => Start::Page(number),
            (None, None) => Start::First,
        };
        Ok(Query {
            filter,
            order: self.order,
            limit: self.limit.unwrap_or(LIMIT_MAX),
            start,
            count_only: self.count_only,
            derived,
        })
    }

    /// Sets a parameter from text, as a query string has it, decoded.
    pub(super) fn set(&mut self, parameter: Parameter, text: &str) {
        let outcome = values::check_length(parameter, text, self.origin)
            .and_then(|()| self.convert(parameter, text));
        if let Err(fault) = outcome {
            self.value_fault(parameter, fault);
        }
    }

    /// A builder for text that was written from a valid query.
    pub(super) fn of_written_text() -> QueryBuilder {
        QueryBuilder {
            origin: Origin::Written,
            ..QueryBuilder::default()
        }
    }

    pub(super) fn set_order(&mut self, order: Order) {
        self.order = order;
    }

    /// Notes a fault; those beyond [`FAULTS_MAX`] are dropped.
    pub(super) fn fault(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }

    fn value_fault(&mut self, parameter: Parameter, (code, fault): ValueFault) {
        let name = parameter.name();
        self.fault(Fault {
            parameter: name.into(),
            code,
            message: format!("{name} {fault}"),
        });
    }

    fn with(mut self, parameter: Parameter, text: &str) -> Self {
        self.set(parameter, text);
        self
    }

    fn value(
        mut self,
        parameter: Parameter,
        set: impl FnOnce(&mut Filter) -> Result<(), ValueFault>,
    ) -> Self {
        if let Err(fault) = set(&mut self.filter) {
            self.value_fault(parameter, fault);
        }
        self
    }

    /// Sets a parameter; facets are those that have no case of their own here.
    fn convert(&mut self, parameter: Parameter, text: &str) -> Result<(), ValueFault> {
        let (filter, origin) = (&mut self.filter, self.origin);
        let items = || values::items(parameter, text, origin);
        if let Some(facet) = Facet::of_parameter(parameter) {
            filter
                .facets
                .set(facet, values::facet_keys(facet, text, origin)?);
            return Ok(());
        }
        match parameter {
            Parameter::Q => {
                let keywords = keywords::keywords(text);
                if keywords.all.is_empty() && keywords.none.is_empty() {
                    return Err(values::unsearchable(text));
                }
                self.keywords = keywords;
            }
            Parameter::All => self.all = searchable(keywords::phrases(text), text)?,
            Parameter::Exact => {
                self.exact = searchable(Phrase::new(text).into_iter().collect(), text)?;
            }
            Parameter::Any => filter.any = sorted(searchable(keywords::phrases(text), text)?),
            Parameter::Exclude => self.exclude = searchable(keywords::phrases(text), text)?,
            Parameter::Company => {
                let words = match origin {
                    Origin::Typed => keywords::words(text),
                    Origin::Written => keywords::written_words(text),
                };
                filter.company_words = sorted(searchable(words, text)?);
            }
            Parameter::CompanySlug => filter.company_slug = Some(text.to_owned()),
            Parameter::Companies => filter.companies = values::companies(items()?),
            Parameter::Days => {
                let days = values::days(text);
                filter.days = Some(days.ok_or_else(|| values::not_allowed(parameter, text))?);
            }
            Parameter::DateRanges => filter.date_ranges = values::date_ranges(items()?)?,
            Parameter::DateFrom => filter.date_from = Some(values::date(text)?),
            Parameter::DateTo => filter.date_to = Some(values::date(text)?),
            Parameter::FundingMin => filter.funding_min = Some(values::amount(text)?),
            Parameter::FundingMax => filter.funding_max = Some(values::amount(text)?),
            Parameter::Ids => filter.ids = Some(values::ids(items()?)?),
            Parameter::ActivityIds => filter.activity_ids = Some(values::ids(items()?)?),
            Parameter::Limit => self.limit = Some(values::number(parameter, text)?.into()),
            Parameter::Cursor => self.cursor = Some(values::cursor(text)?),
            Parameter::Page => self.page = Some(values::number(parameter, text)?),
            Parameter::CountOnly => self.count_only = values::flag(text)?,
            _ => unreachable!("{} is the parameter of a facet", parameter.name()),
        }
        Ok(())
    }

    /// Adds what parameters contradict each other. A cursor is only compared with filters that are
    /// without a fault.
    fn find_conflicts(&mut self, filter: &Filter, derived: &Derived) {
        let is_paged = (self.cursor.is_some(), self.page.is_some());
        let mut found = conflicts::of_filter(filter);
        found.extend(conflicts::of_page(is_paged, self.count_only));
        if let Some(cursor) = self.cursor.as_ref().filter(|_| self.faults.is_empty()) {
            let fingerprint = derived.filter_fingerprint(filter);
            found.extend(conflicts::of_cursor(cursor, self.order, fingerprint));
        }
        found.into_iter().for_each(|fault| self.fault(fault));
    }
}

impl From<Query> for QueryBuilder {
    fn from(query: Query) -> QueryBuilder {
        let mut filter = query.filter;
        QueryBuilder {
            all: std::mem::take(&mut filter.all),
            exclude: std::mem::take(&mut filter.none),
            filter,
            order: query.order,
            limit: Some(query.limit),
            page: match query.start {
                Start::Page(number) => Some(number),
                Start::First | Start::After(_) => None,
            },
            cursor: match query.start {
                Start::After(cursor) => Some(cursor),
                Start::First | Start::Page(_) => None,
            },
            count_only: query.count_only,
            ..QueryBuilder::default()
        }
    }
}

fn strings<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> Vec<String> {
    values
        .into_iter()
        .map(|value| value.as_ref().to_owned())
        .collect()
}
