//! What a key may see: filters that select signals, and exceptions from them.

use std::fmt::{self, Write};
use std::str::FromStr;

use time::Date;

use super::limits::{KEY_FILTER_BYTES_MAX, KEY_FILTERS_MAX};
use super::{Filter, Fingerprint, ParameterSet, QueryBuilder};
use crate::signal::{Company, Signal};

const EMPTY: &str = "is empty; give a query string such as country=Germany, or leave it out";

/// Filters and exceptions that say which signals are visible, as to an API key.
///
/// [`matches`](Self::matches) defines what is visible. Equal sets of filters and exceptions are equal, in whatever order
/// they are given.
///
/// ```
/// use signaldex::query::KeyFilter;
///
/// let filter = KeyFilter::parse(["country=Germany", "country=Austria"], ["q=layoffs"])?;
/// assert_eq!(filter, KeyFilter::parse(["country=AUSTRIA", "country=germany"], ["q=Layoffs"])?);
/// assert_eq!(filter, filter.to_string().parse()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFilter {
    filters: Vec<Filter>,
    exceptions: Vec<Filter>,
    fingerprint: Fingerprint,
}

// Amounts in filters are finite, so each filter equals itself.
impl Eq for KeyFilter {}

/// Filters or exceptions that cannot be used, with every fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidKeyFilter {
    faults: Vec<KeyFilterFault>,
}

/// A fault of a filter or an exception.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyFilterFault {
    /// Which it is: `filter 2`, `exception 1`, or `filters` and `exceptions` for too many of them.
    pub which: String,
    /// The parameter, if the fault is of one.
    pub parameter: Option<String>,
    /// What is wrong, and what is allowed.
    pub message: String,
}

impl KeyFilter {
    /// Reads filters and exceptions, which are query strings with the parameters of a search but `ids`, `activityIds` and
    /// those that are no filter. At most 16 of each, of at most 8,000 bytes.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    ///
    /// let error = KeyFilter::parse(["country=Germany&limit=5", ""], ["days=8"]).unwrap_err();
    /// let which: Vec<_> = error.faults().iter().map(|fault| fault.which.as_str()).collect();
    /// assert_eq!(which, ["filter 1", "filter 2", "exception 1"]);
    /// assert_eq!(error.faults()[0].parameter.as_deref(), Some("limit"));
    /// ```
    ///
    /// # Errors
    /// All faults together: a filter that is empty, too long, or has a parameter or value that is not allowed; too many
    /// of them, or none.
    pub fn parse<'t>(
        filters: impl IntoIterator<Item = &'t str>,
        exceptions: impl IntoIterator<Item = &'t str>,
    ) -> Result<KeyFilter, InvalidKeyFilter> {
        let filters: Vec<&str> = filters.into_iter().collect();
        let exceptions: Vec<&str> = exceptions.into_iter().collect();
        let parsed = KeyFilter::edited(None, Some(&filters), Some(&exceptions))?;
        let message = "are missing, and exceptions, too; give one of either";
        let missing = || vec![KeyFilterFault::new("filters", None, message)];
        parsed.ok_or_else(|| InvalidKeyFilter { faults: missing() })
    }

    /// What becomes of a filter whose filters or exceptions are replaced: `None` keeps the former ones, an empty list removes
    /// them. A text that `Display` of a former one has written is that one. `None` if none is left.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    ///
    /// let former = KeyFilter::parse(["country=Japan"], ["q=layoffs"])?;
    /// let edited = KeyFilter::edited(Some(&former), Some(&["country=Korea"]), None)?;
    /// assert_eq!(edited, Some(KeyFilter::parse(["country=Korea"], ["q=layoffs"])?));
    /// assert_eq!(KeyFilter::edited(Some(&former), Some(&[]), Some(&[]))?, None);
    /// # Ok::<(), signaldex::query::InvalidKeyFilter>(())
    /// ```
    ///
    /// # Errors
    /// As [`parse`](Self::parse), which refuses having none.
    pub fn edited(
        former: Option<&KeyFilter>,
        filters: Option<&[&str]>,
        exceptions: Option<&[&str]>,
    ) -> Result<Option<KeyFilter>, InvalidKeyFilter> {
        let mut faults = Vec::new();
        let mut read = |name: &str, texts: Option<&[&str]>, former: &[Filter]| match texts {
            None => former.to_vec(),
            Some(texts) => read_list(name, texts, former, &mut faults),
        };
        let former_filters = former.map_or(&[][..], |former| &former.filters);
        let former_exceptions = former.map_or(&[][..], |former| &former.exceptions);
        let filters = read("filter", filters, former_filters);
        let exceptions = read("exception", exceptions, former_exceptions);
        if !faults.is_empty() {
            return Err(InvalidKeyFilter { faults });
        }
        let is_left = !filters.is_empty() || !exceptions.is_empty();
        Ok(is_left.then(|| KeyFilter::of(filters, exceptions)))
    }

    fn of(filters: Vec<Filter>, exceptions: Vec<Filter>) -> KeyFilter {
        let (filters, exceptions) = (canonical(filters), canonical(exceptions));
        KeyFilter {
            fingerprint: Fingerprint::of(|text| write_lines(text, &filters, &exceptions)),
            filters,
            exceptions,
        }
    }

    /// Whether a signal is visible: one of the filters selects it, or there are none, and no exception does. `today` is the
    /// day that their `days` and `dateRanges` count from.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    /// use signaldex::{Company, Signal, SignalId, sample};
    ///
    /// let filter = KeyFilter::parse(["q=raises", "q=hires"], ["companySlug=acme"])?;
    /// let sees = |slug, title| {
    ///     let signal = Signal::new(SignalId::MIN, slug, title);
    ///     filter.matches(&signal, &Company::new(slug, slug), sample::AS_OF)
    /// };
    /// assert!(sees("beta", "Beta hires") && !sees("beta", "Beta moves") && !sees("acme", "Acme hires"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Cost: that of [`Filter::matches`] for each filter and exception.
    pub fn matches(&self, signal: &Signal<'_>, company: &Company<'_>, today: Date) -> bool {
        let selects = |filter: &Filter| filter.matches(signal, company, today);
        (self.filters.is_empty() || self.filters.iter().any(selects))
            && !self.exceptions.iter().any(selects)
    }

    /// The filters, ascending by their text; without one, every signal is selected.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    ///
    /// let filter = KeyFilter::parse(["size=501%2B", "country=Japan"], [])?;
    /// let texts: Vec<_> = filter.filters().iter().map(ToString::to_string).collect();
    /// assert_eq!(texts, ["country=japan", "size=501%2B"]);
    /// # Ok::<(), signaldex::query::InvalidKeyFilter>(())
    /// ```
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// The exceptions, ascending by their text.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    ///
    /// let filter = KeyFilter::parse([], ["categories=hiring"])?;
    /// assert_eq!(filter.exceptions().len(), 1);
    /// # Ok::<(), signaldex::query::InvalidKeyFilter>(())
    /// ```
    pub fn exceptions(&self) -> &[Filter] {
        &self.exceptions
    }

    /// A fingerprint, which equal filters share, across processes and platforms.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    ///
    /// let (one, other) = (KeyFilter::parse(["days=7"], [])?, KeyFilter::parse([], ["days=7"])?);
    /// assert_ne!(one.fingerprint(), other.fingerprint());
    /// # Ok::<(), signaldex::query::InvalidKeyFilter>(())
    /// ```
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Whether what is visible depends on the day.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    ///
    /// assert!(KeyFilter::parse(["country=Japan"], ["dateRanges=7,older"])?.depends_on_today());
    /// assert!(!KeyFilter::parse(["dateFrom=2026-01-01"], [])?.depends_on_today());
    /// # Ok::<(), signaldex::query::InvalidKeyFilter>(())
    /// ```
    pub fn depends_on_today(&self) -> bool {
        let mut all = self.filters.iter().chain(&self.exceptions);
        all.any(|filter| filter.days.is_some() || !filter.date_ranges.is_empty())
    }
}

/// Without repetitions, ascending by text.
fn canonical(filters: Vec<Filter>) -> Vec<Filter> {
    let texts = filters
        .into_iter()
        .map(|filter| (filter.to_string(), filter));
    let mut texts: Vec<(String, Filter)> = texts.collect();
    texts.sort_by(|(one, _), (other, _)| one.cmp(other));
    texts.dedup_by(|(one, _), (other, _)| one == other);
    texts.into_iter().map(|(_, filter)| filter).collect()
}

/// Reads a list, adding its faults.
fn read_list(
    name: &str,
    texts: &[&str],
    former: &[Filter],
    faults: &mut Vec<KeyFilterFault>,
) -> Vec<Filter> {
    if texts.len() > KEY_FILTERS_MAX {
        let message = format!("are {}; at most {KEY_FILTERS_MAX} are allowed", texts.len());
        faults.push(KeyFilterFault::new(format!("{name}s"), None, message));
        return Vec::new();
    }
    let mut filters = Vec::with_capacity(texts.len());
    for (number, text) in (1..).zip(texts) {
        let which = format!("{name} {number}");
        let known = former.iter().find(|known| known.to_string() == *text);
        let read = known.map_or_else(|| read_one(&which, text), |known| Ok(known.clone()));
        match read {
            Ok(filter) => filters.push(filter),
            Err(found) => faults.extend(found),
        }
    }
    filters
}

/// Reads a filter or an exception.
fn read_one(which: &str, text: &str) -> Result<Filter, Vec<KeyFilterFault>> {
    let fault = |message: &str| vec![KeyFilterFault::new(which, None, message)];
    if text.len() > KEY_FILTER_BYTES_MAX {
        let (bytes, most) = (text.len(), KEY_FILTER_BYTES_MAX);
        return Err(fault(&format!(
            "has {bytes} bytes; at most {most} are allowed"
        )));
    }
    let text = text.trim();
    let accepted = ParameterSet::FILTERS_WITHOUT_IDS;
    let (builder, []) = QueryBuilder::from_query_string(text, accepted, []);
    let query = builder.build().map_err(|error| {
        let errors = error.errors().iter();
        let faults = errors.map(|error| {
            KeyFilterFault::new(which, Some(error.parameter.clone()), &*error.message)
        });
        faults.collect::<Vec<_>>()
    })?;
    if query.filter().is_empty() {
        return Err(fault(EMPTY));
    }
    Ok(query.filter)
}

impl KeyFilterFault {
    fn new(
        which: impl Into<String>,
        parameter: Option<String>,
        message: impl Into<String>,
    ) -> KeyFilterFault {
        KeyFilterFault {
            which: which.into(),
            parameter,
            message: message.into(),
        }
    }
}

impl InvalidKeyFilter {
    /// The faults, filters before exceptions, in the order given.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    ///
    /// let error = KeyFilter::parse(["contry=Germany"], []).unwrap_err();
    /// assert!(error.faults()[0].message.contains("did you mean country?"));
    /// ```
    pub fn faults(&self) -> &[KeyFilterFault] {
        &self.faults
    }
}

impl fmt::Display for KeyFilterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.parameter.is_some() { ": " } else { " " };
        write!(f, "{}{separator}{}", self.which, self.message)
    }
}

impl fmt::Display for InvalidKeyFilter {
    /// One fault a line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, fault) in self.faults.iter().enumerate() {
            let line_end = if position == 0 { "" } else { "\n" };
            write!(f, "{line_end}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidKeyFilter {}

/// The names of the two kinds of lines of the text form.
const LINES: [&str; 2] = ["filter ", "except "];

fn write_lines(out: &mut impl Write, filters: &[Filter], exceptions: &[Filter]) -> fmt::Result {
    let mut line_end = "";
    for (name, list) in LINES.into_iter().zip([filters, exceptions]) {
        for filter in list {
            write!(out, "{line_end}{name}{filter}")?;
            line_end = "\n";
        }
    }
    Ok(())
}

impl fmt::Display for KeyFilter {
    /// One filter or exception a line: `filter country=japan`, `except q=layoffs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_lines(f, &self.filters, &self.exceptions)
    }
}

impl FromStr for KeyFilter {
    type Err = InvalidKeyFilter;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<KeyFilter, InvalidKeyFilter> {
        let mut lists: [Vec<Filter>; 2] = Default::default();
        let fault = |message: String| InvalidKeyFilter {
            faults: vec![KeyFilterFault::new("the stored filters", None, message)],
        };
        for line in text.lines() {
            let kind = LINES.iter().position(|name| line.starts_with(name));
            let kind =
                kind.ok_or_else(|| fault("have a line that begins with neither name".to_owned()))?;
            let filter = line[LINES[kind].len()..].parse::<Filter>();
            let filter = filter.map_err(|error| fault(format!("cannot be read: {error}")))?;
            if filter.is_empty() {
                return Err(fault(EMPTY.to_owned()));
            }
            lists[kind].push(filter);
        }
        let [filters, exceptions] = lists;
        if filters.is_empty() && exceptions.is_empty() {
            return Err(fault(EMPTY.to_owned()));
        }
        Ok(KeyFilter::of(filters, exceptions))
    }
}

#[cfg(feature = "serde")]
serde_as_text!(KeyFilter);

impl QueryBuilder {
    /// Binds cursors to the filter of a key, which the query is asked under: a cursor of another is refused, as one of
    /// other filters is.
    ///
    /// ```
    /// use signaldex::query::{KeyFilter, ParameterSet, QueryBuilder};
    /// use signaldex::sample;
    ///
    /// let key = KeyFilter::parse(["categories=hiring"], [])?;
    /// let parse = |text: &str| QueryBuilder::from_query_string(text, ParameterSet::SEARCH, []).0;
    /// let snapshot = sample::index()?.snapshot().narrowed(&key, sample::AS_OF)?;
    /// let page = snapshot.search(&parse("limit=1").for_key(Some(&key)).build()?, sample::AS_OF)?;
    /// let next = format!("cursor={}", page.next_cursor().expect("there is more"));
    /// assert!(parse(&next).for_key(Some(&key)).build().is_ok());
    /// assert!(parse(&next).build().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_key(mut self, filter: Option<&KeyFilter>) -> Self {
        self.key = filter.map(KeyFilter::fingerprint);
        self
    }
}

#[cfg(test)]
mod tests;
