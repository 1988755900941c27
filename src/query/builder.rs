//! Checking and converting what was typed, whether in a query string or in Rust.
//!
//! Every rule stands here once: typed methods write their value as the text that a query string
//! would have, and all text goes through [`QueryBuilder::set`].

use time::Date;

use super::dates::calendar_date;
use super::fault::{Fault, FaultCode, InvalidQuery};
use super::keywords::{self, Keywords};
use super::limits::{FAULTS_MAX, LIMIT_MAX};
use super::list::{self, ListFault};
use super::parameter::{Parameter, ParameterKind};
use super::{
    CompanyReference, Cursor, CursorFault, DateRange, Days, Facet, Filter, Memo, Order, Phrase,
    Query, Start,
};
use crate::error::quoted;
use crate::signal::{Currency, SignalId, SizeBucket};
use crate::text;

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
    faults: Vec<Fault>,
}

/// The kind of fault of a value, and its message without the parameter's name.
type ValueFault = (FaultCode, String);

impl QueryBuilder {
    /// `q`: title keywords, quoted phrases, and both excluded behind a `-`.
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
        self.with(Parameter::Companies, &list::join(companies))
    }

    /// `country`: the company's.
    pub fn country(self, country: &str) -> Self {
        self.with(Parameter::Country, country)
    }

    /// `industry`: the company's.
    pub fn industry(self, industry: &str) -> Self {
        self.with(Parameter::Industry, industry)
    }

    /// `size`: the company's.
    pub fn size(self, size: SizeBucket) -> Self {
        self.with(Parameter::Size, size.as_str())
    }

    /// `days`: dated within the last days.
    pub fn days(self, days: Days) -> Self {
        self.with(Parameter::Days, &days.count().to_string())
    }

    /// `dateRanges`: dated within any of these.
    pub fn date_ranges(self, ranges: impl IntoIterator<Item = DateRange>) -> Self {
        let items = ranges.into_iter().map(|range| match range {
            DateRange::Last(days) => days.count().to_string(),
            DateRange::Older => "older".to_owned(),
        });
        self.with(Parameter::DateRanges, &list::join(items))
    }

    /// `dateFrom`: dated on this day or later.
    pub fn date_from(self, date: Date) -> Self {
        self.with(Parameter::DateFrom, &date.to_string())
    }

    /// `dateTo`: dated on this day or earlier.
    pub fn date_to(self, date: Date) -> Self {
        self.with(Parameter::DateTo, &date.to_string())
    }

    /// `categories`: 1 to 30 category IDs.
    pub fn categories<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.with(Parameter::Categories, &list::join(ids))
    }

    /// `hiringType`: IDs of at most 180 characters in all.
    pub fn hiring_types<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.with(Parameter::HiringType, &list::join(ids))
    }

    /// `jobFunction`: IDs of at most 180 characters in all.
    pub fn job_functions<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.with(Parameter::JobFunction, &list::join(ids))
    }

    /// `seniority`: IDs of at most 180 characters in all.
    pub fn seniorities<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.with(Parameter::Seniority, &list::join(ids))
    }

    /// `employmentType`: IDs of at most 180 characters in all.
    pub fn employment_types<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.with(Parameter::EmploymentType, &list::join(ids))
    }

    /// `workArrangement`: IDs of at most 180 characters in all.
    pub fn work_arrangements<T: AsRef<str>>(self, ids: impl IntoIterator<Item = T>) -> Self {
        self.with(Parameter::WorkArrangement, &list::join(ids))
    }

    /// `fundingStage`: the stage of the funding.
    pub fn funding_stage(self, stage: &str) -> Self {
        self.with(Parameter::FundingStage, stage)
    }

    /// `fundingCurrency`: USD, EUR or GBP.
    pub fn funding_currency(self, currency: Currency) -> Self {
        self.with(Parameter::FundingCurrency, currency.as_str())
    }

    /// `fundingMin`: funding of at least this amount.
    pub fn funding_min(self, amount: f64) -> Self {
        self.with(Parameter::FundingMin, &unsigned_zero(amount).to_string())
    }

    /// `fundingMax`: funding of at most this amount.
    pub fn funding_max(self, amount: f64) -> Self {
        self.with(Parameter::FundingMax, &unsigned_zero(amount).to_string())
    }

    /// `ids`: the signal is one of 1 to 50.
    pub fn ids(self, ids: impl IntoIterator<Item = SignalId>) -> Self {
        let items = ids.into_iter().map(|id| id.to_string());
        self.with(Parameter::Ids, &list::join(items))
    }

    /// `activityIds`: the signal is one of 1 to 50.
    pub fn activity_ids(self, ids: impl IntoIterator<Item = SignalId>) -> Self {
        let items = ids.into_iter().map(|id| id.to_string());
        self.with(Parameter::ActivityIds, &list::join(items))
    }

    /// The order of the result; newest first where it is not set.
    pub fn order(mut self, order: Order) -> Self {
        self.order = order;
        self
    }

    /// `limit`: the most signals of a page, 1 to 50.
    pub fn limit(self, limit: usize) -> Self {
        self.with(Parameter::Limit, &limit.to_string())
    }

    /// `cursor`: goes on behind a former page, given the text of its cursor.
    pub fn cursor(self, cursor: &str) -> Self {
        self.with(Parameter::Cursor, cursor)
    }

    /// Goes on behind a former page.
    pub fn after(mut self, cursor: &Cursor) -> Self {
        self.cursor = Some(cursor.clone());
        self
    }

    /// `page`: the page of this number, 1 to 100.
    pub fn page(self, number: u16) -> Self {
        self.with(Parameter::Page, &number.to_string())
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
        self.find_conflicts(&filter);
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
            filter_fingerprint: Memo::default(),
        })
    }

    /// Sets a parameter from text, as a query string has it, decoded.
    pub(super) fn set(&mut self, parameter: Parameter, text: &str) {
        let name = parameter.name();
        let outcome = check_length(parameter, text).and_then(|()| self.convert(parameter, text));
        if let Err((code, fault)) = outcome {
            self.fault(Fault {
                parameter: name.into(),
                code,
                message: format!("{name} {fault}"),
            });
        }
    }

    /// Notes a fault. Faults beyond what is reported are only counted as present.
    pub(super) fn fault(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }

    fn with(mut self, parameter: Parameter, text: &str) -> Self {
        self.set(parameter, text);
        self
    }

    fn convert(&mut self, parameter: Parameter, text: &str) -> Result<(), ValueFault> {
        let filter = &mut self.filter;
        match parameter {
            Parameter::Q => {
                self.keywords = keywords::keywords(text);
                searchable(
                    &[&self.keywords.all[..], &self.keywords.none].concat(),
                    text,
                )?;
            }
            Parameter::All => self.all = searchable(&keywords::phrases(text), text)?,
            Parameter::Exact => {
                self.exact = searchable(Phrase::new(text).as_slice(), text)?;
            }
            Parameter::Any => filter.any = sorted(searchable(&keywords::phrases(text), text)?),
            Parameter::Exclude => self.exclude = searchable(&keywords::phrases(text), text)?,
            Parameter::Company => {
                filter.company_words = sorted(searchable(&keywords::words(text), text)?);
            }
            Parameter::CompanySlug => filter.company_slug = Some(text.to_owned()),
            Parameter::Companies => filter.companies = companies(items(parameter, text)?),
            Parameter::Country => filter.country = Some(value_key(Facet::Country, text)?),
            Parameter::Industry => filter.industry = Some(value_key(Facet::Industry, text)?),
            Parameter::Size => filter.size = Some(size(text)?),
            Parameter::Days => {
                filter.days = Some(days(text).ok_or_else(|| not_allowed(parameter, text))?)
            }
            Parameter::DateRanges => filter.date_ranges = date_ranges(items(parameter, text)?)?,
            Parameter::DateFrom => filter.date_from = Some(date(text)?),
            Parameter::DateTo => filter.date_to = Some(date(text)?),
            Parameter::Categories => {
                filter.categories = value_keys(Facet::Category, parameter, text)?
            }
            Parameter::HiringType => {
                filter.hiring_types = value_keys(Facet::HiringType, parameter, text)?
            }
            Parameter::JobFunction => {
                filter.job_functions = value_keys(Facet::JobFunction, parameter, text)?
            }
            Parameter::Seniority => {
                filter.seniorities = value_keys(Facet::Seniority, parameter, text)?
            }
            Parameter::EmploymentType => {
                filter.employment_types = value_keys(Facet::EmploymentType, parameter, text)?
            }
            Parameter::WorkArrangement => {
                filter.work_arrangements = value_keys(Facet::WorkArrangement, parameter, text)?
            }
            Parameter::FundingStage => {
                filter.funding_stage = Some(value_key(Facet::FundingStage, text)?)
            }
            Parameter::FundingCurrency => filter.funding_currency = Some(currency(text)?),
            Parameter::FundingMin => filter.funding_min = Some(amount(text)?),
            Parameter::FundingMax => filter.funding_max = Some(amount(text)?),
            Parameter::Ids => filter.ids = Some(ids(items(parameter, text)?)?),
            Parameter::ActivityIds => filter.activity_ids = Some(ids(items(parameter, text)?)?),
            Parameter::Limit => self.limit = Some(number(parameter, text)? as usize),
            Parameter::Cursor => self.cursor = Some(cursor(text)?),
            Parameter::Page => self.page = Some(number(parameter, text)? as u16),
            Parameter::CountOnly => self.count_only = flag(text)?,
        }
        Ok(())
    }

    fn find_conflicts(&mut self, filter: &Filter) {
        let conflict = |parameter: Parameter, message: &str| Fault {
            parameter: parameter.name().into(),
            code: FaultCode::ConflictingParameters,
            message: message.into(),
        };
        let mut found = Vec::new();
        if let (Some(from), Some(to)) = (filter.date_from, filter.date_to)
            && from > to
        {
            let message = format!(
                "dateFrom {from} is after dateTo {to}; it has to be the same day or before"
            );
            found.push(conflict(Parameter::DateFrom, &message));
        }
        if let (Some(min), Some(max)) = (filter.funding_min, filter.funding_max)
            && min > max
        {
            let message =
                format!("fundingMin {min} is over fundingMax {max}; it has to be the same or less");
            found.push(conflict(Parameter::FundingMin, &message));
        }
        if self.cursor.is_some() && self.page.is_some() {
            found.push(conflict(
                Parameter::Page,
                "page cannot be given with cursor; give one of them",
            ));
        }
        let given = [
            (Parameter::Cursor, self.cursor.is_some()),
            (Parameter::Page, self.page.is_some()),
        ];
        for (parameter, _) in given
            .iter()
            .filter(|(_, is_given)| self.count_only && *is_given)
        {
            let name = parameter.name();
            let message =
                format!("{name} cannot be given with countOnly=true; leave one of them out");
            found.push(conflict(*parameter, &message));
        }
        found.extend(self.cursor_mismatch(filter));
        found.into_iter().for_each(|fault| self.fault(fault));
    }

    /// A cursor belongs to the filters and the order that it was made for. Where a filter is
    /// faulty that is reported, and nothing can be said about the cursor.
    fn cursor_mismatch(&self, filter: &Filter) -> Option<Fault> {
        let cursor = self.cursor.as_ref()?;
        let is_for_this = cursor.order() == self.order && cursor.is_for(filter);
        (self.faults.is_empty() && !is_for_this).then(|| Fault {
            parameter: Parameter::Cursor.name().into(),
            code: FaultCode::CursorMismatch,
            message: "cursor belongs to other filters; give it with exactly the filters of the \
                      answer that it came with"
                .into(),
        })
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

/// The bound on the whole text; items have their own. A list is as long as its items allow.
fn check_length(parameter: Parameter, text: &str) -> Result<(), ValueFault> {
    let most = match parameter.description().kind {
        ParameterKind::Text(most)
        | ParameterKind::AttributeList(most)
        | ParameterKind::Cursor(most) => most,
        _ => usize::MAX,
    };
    if text.is_empty() {
        let fault = "is empty; give it a value or leave it out".to_owned();
        return Err((FaultCode::EmptyValue, fault));
    }
    let length = text.chars().count();
    match length <= most {
        true => Ok(()),
        false => Err((
            FaultCode::TooLong,
            format!("has {length} characters; at most {most} are allowed"),
        )),
    }
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort();
    values.dedup();
    values
}

fn searchable(phrases: &[Phrase], text: &str) -> Result<Vec<Phrase>, ValueFault> {
    match phrases.is_empty() {
        false => Ok(phrases.to_vec()),
        true => Err((
            FaultCode::UnsearchableText,
            format!(
                "is {}, which has no searchable word; give at least one letter or digit",
                quoted(text)
            ),
        )),
    }
}

/// The items of a list, their number and lengths checked.
fn items(parameter: Parameter, text: &str) -> Result<Vec<String>, ValueFault> {
    let (most, chars_max) = match parameter.description().kind {
        ParameterKind::List { items, chars } => (items, chars),
        ParameterKind::IdList(items) | ParameterKind::ChoiceList { items, .. } => {
            (items, usize::MAX)
        }
        _ => (usize::MAX, usize::MAX),
    };
    let items = list::split(text).map_err(|fault| match fault {
        ListFault::EmptyItem(place) => (
            FaultCode::EmptyValue,
            format!("has an empty item at place {place}; separate items by single commas"),
        ),
        ListFault::OpenQuote(place) => (
            FaultCode::InvalidValue,
            format!("has an open quote in item {place}; close it, and double quotes within"),
        ),
        ListFault::BehindQuote(place) => (
            FaultCode::InvalidValue,
            format!("has text behind the closing quote of item {place}; a comma has to follow"),
        ),
    })?;
    if items.len() > most {
        let fault = format!("has {} items; at most {most} are allowed", items.len());
        return Err((FaultCode::TooManyItems, fault));
    }
    let lengths = items.iter().map(|item| item.chars().count());
    if let Some((place, length)) = lengths.enumerate().find(|&(_, length)| length > chars_max) {
        let fault = format!(
            "has {length} characters in item {}; at most {chars_max} are allowed",
            place + 1
        );
        return Err((FaultCode::TooLong, fault));
    }
    Ok(items)
}

fn not_allowed(parameter: Parameter, text: &str) -> ValueFault {
    let allowed = match parameter.description().kind {
        ParameterKind::Choice(choices) | ParameterKind::ChoiceList { choices, .. } => {
            choices.join(", ")
        }
        ParameterKind::Number(most) => format!("whole numbers from 1 to {most}"),
        _ => String::new(),
    };
    (
        FaultCode::InvalidValue,
        format!("is {}; allowed are {allowed}", quoted(text)),
    )
}

fn value_key(facet: Facet, text: &str) -> Result<String, ValueFault> {
    let key = facet.key(text);
    match key.is_empty() {
        false => Ok(key.into_owned()),
        true => Err((
            FaultCode::EmptyValue,
            "is blank; give it a value or leave it out".into(),
        )),
    }
}

/// The keys of a list of values.
fn value_keys(facet: Facet, parameter: Parameter, text: &str) -> Result<Vec<String>, ValueFault> {
    let items = items(parameter, text)?;
    let keys = items.iter().map(|item| facet.key(item).into_owned());
    Ok(sorted(keys.collect()))
}

fn companies(items: Vec<String>) -> Vec<CompanyReference> {
    let reference = |slug: String| {
        let folded = text::fold_value(&slug);
        let name_key = (folded != slug).then(|| folded.into_owned());
        CompanyReference { slug, name_key }
    };
    sorted(items.into_iter().map(reference).collect())
}

/// A `+` that arrived as a space is accepted.
fn size(text: &str) -> Result<SizeBucket, ValueFault> {
    let matches = |size: &SizeBucket| {
        size.as_str() == text || (text == "501 " && *size == SizeBucket::From501)
    };
    let found = SizeBucket::ALL.into_iter().find(matches);
    found.ok_or_else(|| not_allowed(Parameter::Size, text))
}

fn days(text: &str) -> Option<Days> {
    [Days::Seven, Days::Thirty, Days::Ninety]
        .into_iter()
        .find(|days| days.count().to_string() == text)
}

fn date_ranges(items: Vec<String>) -> Result<Vec<DateRange>, ValueFault> {
    let range = |item: &String| match item.as_str() {
        "older" => Ok(DateRange::Older),
        _ => days(item).map(DateRange::Last).ok_or_else(|| {
            let (code, fault) = not_allowed(Parameter::DateRanges, item);
            (code, fault.replacen("is", "has the item", 1))
        }),
    };
    items
        .iter()
        .map(range)
        .collect::<Result<_, _>>()
        .map(sorted)
}

fn date(text: &str) -> Result<Date, ValueFault> {
    calendar_date(text).ok_or_else(|| {
        let fault = format!(
            "is {}; allowed are calendar dates as YYYY-MM-DD",
            quoted(text)
        );
        (FaultCode::InvalidValue, fault)
    })
}

fn currency(text: &str) -> Result<Currency, ValueFault> {
    let ParameterKind::Choice(choices) = Parameter::FundingCurrency.description().kind else {
        return Err(not_allowed(Parameter::FundingCurrency, text));
    };
    let allowed = choices
        .contains(&text)
        .then(|| Currency::new(text))
        .flatten();
    allowed.ok_or_else(|| not_allowed(Parameter::FundingCurrency, text))
}

fn amount(text: &str) -> Result<f64, ValueFault> {
    let parsed = is_amount(text).then(|| text.parse::<f64>().ok()).flatten();
    parsed.filter(|amount| amount.is_finite()).ok_or_else(|| {
        let fault = format!(
            "is {}; allowed are finite decimal numbers from 0 on, without a sign or leading zeros",
            quoted(text)
        );
        (FaultCode::InvalidValue, fault)
    })
}

/// Whether a text is a number as JSON writes it, without a sign: Rust's own parser takes `inf`,
/// `+1`, `007` and `1.` too.
fn is_amount(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = |text: &str| are_digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    are_digits(whole)
        && !has_leading_zero(whole)
        && fraction.is_none_or(are_digits)
        && exponent.is_none_or(unsigned)
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

/// An amount without the sign of a negative zero, which no query string may have.
fn unsigned_zero(amount: f64) -> f64 {
    amount + 0.0
}

fn ids(items: Vec<String>) -> Result<Vec<SignalId>, ValueFault> {
    let id = |item: &String| {
        item.parse::<SignalId>().map_err(|_| {
            let fault = format!(
                "has the item {}; allowed are whole numbers of 1 to 19 digits without a leading zero",
                quoted(item)
            );
            (FaultCode::InvalidValue, fault)
        })
    };
    items.iter().map(id).collect::<Result<_, _>>().map(sorted)
}

fn number(parameter: Parameter, text: &str) -> Result<u32, ValueFault> {
    let ParameterKind::Number(most) = parameter.description().kind else {
        return Err(not_allowed(parameter, text));
    };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !has_leading_zero(text);
    let number = is_number.then(|| text.parse::<u32>().ok()).flatten();
    let in_range = number.filter(|number| (1..=most).contains(number));
    in_range.ok_or_else(|| not_allowed(parameter, text))
}

fn flag(text: &str) -> Result<bool, ValueFault> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err((
            FaultCode::InvalidValue,
            format!("is {}; allowed are true, false", quoted(text)),
        )),
    }
}

fn cursor(text: &str) -> Result<Cursor, ValueFault> {
    Cursor::parse(text).map_err(|fault: CursorFault| {
        let fault = format!("{fault}; give the nextCursor of a former answer unchanged");
        (FaultCode::InvalidCursor, fault)
    })
}
