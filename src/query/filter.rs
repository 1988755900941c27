//! Filters, and their reference semantics.

use smallvec::SmallVec;
use smol_str::SmolStr;
use time::Date;

use super::{Facet, Parameter, ParameterKind, Phrase};
use crate::signal::{Company, Signal, SignalId};
use crate::text::{self, CompanyName};

/// The conditions of a search, combined with AND.
///
/// `Display` writes a query string that [`FromStr`](std::str::FromStr) reads back as an equal filter:
///
/// ```
/// use signaldex::Filter;
///
/// let filter = Filter::from_query_string(r#"q="Series A" -crypto&country=Germany&size=501%2B"#)?;
/// let text = filter.to_string();
/// assert_eq!(text, "all=%22series+a%22&exclude=crypto&country=germany&size=501%2B");
/// assert_eq!(text.parse::<Filter>()?, filter);
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
///
/// Text is analysed, and lists are sorted and free of duplicates, so filters with the same meaning are
/// equal as far as that can be decided without an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Each occurs in the title.
    pub(crate) all: Vec<Phrase>,
    /// At least one occurs in the title; empty means no filter.
    pub(crate) any: Vec<Phrase>,
    /// None occurs in the title.
    pub(crate) none: Vec<Phrase>,
    /// Each occurs in the company's name.
    pub(crate) company_words: Vec<Phrase>,
    /// The company's slug.
    pub(crate) company_slug: Option<SmolStr>,
    /// The company is one of these; empty means no filter.
    pub(crate) companies: Vec<CompanyReference>,
    /// The required values of facets.
    pub(super) facets: FacetKeys,
    pub(crate) days: Option<Days>,
    /// Any of these; empty means no filter.
    pub(crate) date_ranges: Vec<DateRange>,
    pub(crate) date_from: Option<Date>,
    pub(crate) date_to: Option<Date>,
    pub(crate) funding_min: Option<f64>,
    pub(crate) funding_max: Option<f64>,
    pub(crate) ids: Option<Vec<SignalId>>,
    pub(crate) activity_ids: Option<Vec<SignalId>>,
}

/// A company by its slug or by its whole name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CompanyReference {
    /// The slug as typed, compared exactly.
    pub(crate) slug: SmolStr,
    /// What was typed, as a name.
    pub(crate) name: CompanyName,
    /// Whether one key look-up finds both the slug and the names that are meant: the name's key is what was typed, and
    /// there is no legal form to compare.
    pub(crate) is_key: bool,
}

impl CompanyReference {
    pub(super) fn new(text: &str) -> CompanyReference {
        let name = CompanyName::new(text);
        CompanyReference {
            slug: text.into(),
            is_key: name.key() == text && !name.has_legal_form(),
            name,
        }
    }

    fn means(&self, slug: &str, name: &CompanyName) -> bool {
        *self.slug == *slug || self.name.agrees_with(name)
    }
}

/// The last 7, 30 or 90 days, today included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Days {
    /// `7`
    Seven,
    /// `30`
    Thirty,
    /// `90`
    Ninety,
}

parse_error!(
    ParseDaysError,
    "A text is not a number of days.",
    "days are 7, 30 or 90"
);
parse_error!(
    ParseDateRangeError,
    "A text is not a range of dates.",
    "a range of dates is 7, 30, 90 or older"
);

#[cfg(feature = "serde")]
serde_as_text!(Days, DateRange, Filter);

/// A window of dates relative to today.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DateRange {
    /// The last days, today included.
    Last(Days),
    /// On or before the day 90 days ago.
    Older,
}

impl Filter {
    /// The words that the filter looks for in titles, as [`text::terms`] returns them, without excluded ones; prefix
    /// words with their star.
    ///
    /// ```
    /// use signaldex::Filter;
    ///
    /// let filter = Filter::from_query_string("q=\"Series A\" -crypto&any=robots engin*")?;
    /// assert_eq!(filter.title_words(), ["series", "a", "robots", "engin*"]);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn title_words(&self) -> Vec<String> {
        let phrases = self.all.iter().chain(&self.any);
        let words = phrases.flat_map(|phrase| {
            let star = if phrase.is_prefix() { "*" } else { "" };
            phrase.terms().map(move |word| format!("{word}{star}"))
        });
        words.collect()
    }

    /// Whether a signal of a company matches. This slow, plain function defines the meaning of a filter: the
    /// engine must agree with it.
    ///
    /// `company` must be the company of the signal. `days` and `date_ranges` are relative to `today`.
    ///
    /// ```
    /// # use signaldex::{Company, Filter, Signal, SignalId};
    /// let acme = Company::new("acme", "Acme GmbH");
    /// let signal = Signal::new(SignalId::MIN, "acme", "Acme raises Series A");
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// assert!(Filter::from_query_string("exact=series a&exclude=b")?.matches(&signal, &acme, today));
    /// assert!(!Filter::from_query_string("exact=a series")?.matches(&signal, &acme, today));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn matches(&self, signal: &Signal<'_>, company: &Company<'_>, today: Date) -> bool {
        self.matches_ids(signal.id)
            && self.matches_company(company)
            && Facet::ALL
                .into_iter()
                .all(|facet| self.matches_facet(facet, signal, company))
            && self.matches_ranges(signal, today)
            && self.matches_title(&signal.title)
            && self.matches_company_name(&company.name)
    }

    /// Whether a signal is within the ranges of dates and amounts.
    pub(crate) fn matches_ranges(&self, signal: &Signal<'_>, today: Date) -> bool {
        let amount = signal.funding.as_ref().and_then(|funding| funding.amount);
        self.matches_dates(signal.date, today) && self.matches_amount(amount)
    }

    /// Whether a company named with its legal form is among those that may match.
    pub(crate) fn has_legal_forms(&self) -> bool {
        let mut references = self.companies.iter();
        references.any(|reference| reference.name.has_legal_form())
    }

    /// Whether the company is one of those that are named, if any are.
    pub(crate) fn names_company(&self, company: &Company<'_>) -> bool {
        self.companies.is_empty() || self.is_one_of_companies(company)
    }

    /// Whether dates or amounts are bounded.
    pub(crate) fn has_ranges(&self) -> bool {
        let has_days = self.days.is_some() || !self.date_ranges.is_empty();
        let dates = [self.date_from, self.date_to];
        let amounts = [self.funding_min, self.funding_max];
        has_days || dates.iter().any(Option::is_some) || amounts.iter().any(Option::is_some)
    }

    /// Whether every signal matches.
    ///
    /// ```
    /// use signaldex::Filter;
    ///
    /// assert!(Filter::default().is_empty());
    /// assert!(!Filter::from_query_string("q=robots")?.is_empty());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        *self == Filter::default()
    }

    /// The slug of the one company whose signals can match, if the filter names it.
    ///
    /// ```
    /// let filter = signaldex::Filter::from_query_string("companySlug=acme")?;
    /// assert_eq!(filter.company_slug(), Some("acme"));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn company_slug(&self) -> Option<&str> {
        self.company_slug.as_deref()
    }

    /// The filter without the condition on a facet.
    ///
    /// ```
    /// use signaldex::{Facet, Filter};
    ///
    /// let filter = Filter::from_query_string("q=robots&country=Germany")?;
    /// assert_eq!(filter.without(Facet::Country), Filter::from_query_string("q=robots")?);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn without(&self, facet: Facet) -> Filter {
        let mut rest = self.clone();
        rest.facets.clear(facet);
        rest
    }

    /// The facets that are filtered on, in the order of [`Facet::ALL`].
    #[inline]
    pub(crate) fn filtered_facets(&self) -> impl Iterator<Item = Facet> + use<'_> {
        self.facets.0.iter().map(|(facet, _)| *facet)
    }

    /// The values of a facet that the filter chooses, as [`Facet::key`] compares them, sorted.
    ///
    /// ```
    /// use signaldex::{Facet, Filter};
    ///
    /// let filter = Filter::from_query_string("country=Germany")?;
    /// assert!(filter.chosen(Facet::Country).eq([Facet::Country.key("GERMANY")]));
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn chosen(&self, facet: Facet) -> impl Iterator<Item = &str> {
        self.value_keys(facet).iter().map(SmolStr::as_str)
    }

    /// The keys of a facet of which a signal must have one, sorted; empty if the facet is not filtered on.
    #[inline]
    pub(crate) fn value_keys(&self, facet: Facet) -> &[SmolStr] {
        let mut known = self.facets.0.iter();
        let known = known.find(|(other, _)| *other == facet);
        known.map_or(&[], |(_, keys)| keys.as_slice())
    }

    /// The parts of the filter, in the order of [`Parameter::ALL`].
    pub(super) fn parts(&self) -> impl Iterator<Item = (Parameter, FilterPart<'_>)> {
        let mut given = self.given();
        std::iter::from_fn(move || {
            // Invariant: the bits that are set belong to the parts that are left.
            let index = given.trailing_zeros() as usize;
            given &= given.wrapping_sub(1);
            let parameter = *Parameter::ALL.get(index)?;
            Some((parameter, self.part(parameter)?))
        })
    }

    /// A bit for each parameter that has a [`part`](Self::part): few do, and most queries need the parts
    /// only for the fingerprint in their cursor.
    fn given(&self) -> u64 {
        use Parameter as P;
        let others = [
            (P::All, !self.all.is_empty()),
            (P::Any, !self.any.is_empty()),
            (P::Exclude, !self.none.is_empty()),
            (P::Company, !self.company_words.is_empty()),
            (P::CompanySlug, self.company_slug.is_some()),
            (P::Companies, !self.companies.is_empty()),
            (P::Days, self.days.is_some()),
            (P::DateRanges, !self.date_ranges.is_empty()),
            (P::DateFrom, self.date_from.is_some()),
            (P::DateTo, self.date_to.is_some()),
            (P::FundingMin, self.funding_min.is_some()),
            (P::FundingMax, self.funding_max.is_some()),
            (P::Ids, self.ids.is_some()),
            (P::ActivityIds, self.activity_ids.is_some()),
        ];
        let mut given = 0;
        for (parameter, is_given) in others {
            given |= u64::from(is_given) << parameter as u32;
        }
        for facet in self.filtered_facets() {
            given |= 1 << facet.parameter() as u32;
        }
        given
    }

    /// The normalised part of a parameter, if given. Phrases of `q`, `all` and `exact` belong to `all`;
    /// excluded ones of `q` and `exclude` belong to `exclude`.
    pub(super) fn part(&self, parameter: Parameter) -> Option<FilterPart<'_>> {
        if let Some(facet) = Facet::of_parameter(parameter) {
            let keys = self.value_keys(facet);
            return match parameter.description().kind {
                ParameterKind::List { .. } | ParameterKind::AttributeList(_) => {
                    given(keys).map(FilterPart::Texts)
                }
                _ => keys.first().map(|key| FilterPart::Text(key)),
            };
        }
        match parameter {
            Parameter::All => given(&self.all).map(FilterPart::Phrases),
            Parameter::Any => given(&self.any).map(FilterPart::Phrases),
            Parameter::Exclude => given(&self.none).map(FilterPart::Phrases),
            Parameter::Company => given(&self.company_words).map(FilterPart::Words),
            Parameter::CompanySlug => self.company_slug.as_deref().map(FilterPart::Text),
            Parameter::Companies => given(&self.companies).map(FilterPart::Companies),
            Parameter::Days => self.days.map(FilterPart::Days),
            Parameter::DateRanges => given(&self.date_ranges).map(FilterPart::DateRanges),
            Parameter::DateFrom => self.date_from.map(FilterPart::Date),
            Parameter::DateTo => self.date_to.map(FilterPart::Date),
            Parameter::FundingMin => self.funding_min.map(FilterPart::Amount),
            Parameter::FundingMax => self.funding_max.map(FilterPart::Amount),
            Parameter::Ids => self.ids.as_deref().map(FilterPart::Ids),
            Parameter::ActivityIds => self.activity_ids.as_deref().map(FilterPart::Ids),
            _ => None,
        }
    }

    fn matches_ids(&self, id: SignalId) -> bool {
        let is_one_of =
            |ids: &Option<Vec<SignalId>>| ids.as_ref().is_none_or(|ids| ids.contains(&id));
        is_one_of(&self.ids) && is_one_of(&self.activity_ids)
    }

    fn matches_company(&self, company: &Company<'_>) -> bool {
        let is_the_one = self
            .company_slug
            .as_ref()
            .is_none_or(|slug| **slug == *company.slug);
        is_the_one && self.names_company(company)
    }

    fn is_one_of_companies(&self, company: &Company<'_>) -> bool {
        let name = CompanyName::new(&company.name);
        let mut references = self.companies.iter();
        references.any(|reference| reference.means(&company.slug, &name))
    }

    fn matches_facet(&self, facet: Facet, signal: &Signal<'_>, company: &Company<'_>) -> bool {
        let keys = self.value_keys(facet);
        keys.is_empty()
            || facet
                .label(signal, company)
                .is_some_and(|label| keys.iter().any(|key| **key == *facet.key(&label)))
    }

    pub(super) fn matches_dates(&self, date: Option<Date>, today: Date) -> bool {
        let Some(date) = date else {
            return self.date_intervals(today).is_none();
        };
        self.days.is_none_or(|days| days.contain(date, today))
            && (self.date_ranges.is_empty()
                || self
                    .date_ranges
                    .iter()
                    .any(|range| range.contains(date, today)))
            && self.date_from.is_none_or(|from| from <= date)
            && self.date_to.is_none_or(|to| date <= to)
    }

    fn matches_amount(&self, amount: Option<f64>) -> bool {
        let at_least = |min: f64| amount.is_some_and(|amount| min <= amount);
        let at_most = |max: f64| amount.is_some_and(|amount| amount <= max);
        self.funding_min.is_none_or(at_least) && self.funding_max.is_none_or(at_most)
    }

    fn matches_title(&self, title: &str) -> bool {
        if self.all.is_empty() && self.any.is_empty() && self.none.is_empty() {
            return true;
        }
        let words = text::words(title);
        let occurs = |phrase: &Phrase| phrase.occurs_in(&words);
        self.all.iter().all(occurs)
            && (self.any.is_empty() || self.any.iter().any(occurs))
            && !self.none.iter().any(occurs)
    }

    /// Whether all words that are looked for occur in a company's name.
    pub(crate) fn matches_company_name(&self, name: &str) -> bool {
        if self.company_words.is_empty() {
            return true;
        }
        let words = text::name_words(name);
        self.company_words
            .iter()
            .all(|phrase| phrase.occurs_in(&words))
    }
}

/// The part of a filter that belongs to one parameter. Lists are not empty.
#[derive(Clone, Copy, Debug)]
pub(super) enum FilterPart<'f> {
    Phrases(&'f [Phrase]),
    /// Phrases that were each typed as one word.
    Words(&'f [Phrase]),
    Text(&'f str),
    Texts(&'f [SmolStr]),
    Companies(&'f [CompanyReference]),
    Days(Days),
    DateRanges(&'f [DateRange]),
    Date(Date),
    Amount(f64),
    Ids(&'f [SignalId]),
}

/// A list, unless it is empty.
fn given<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

/// The keys of one facet, usually one.
pub(super) type ValueKeys = SmallVec<[SmolStr; 1]>;

/// The required values of facets, as keys ([`Facet::key`]).
///
/// Only the facets that are filtered on, in the order of [`Facet::ALL`]: most filters have few, and
/// iterating over all facets would take as long as the rest of a short page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FacetKeys(SmallVec<[(Facet, ValueKeys); 3]>);

impl FacetKeys {
    /// Sets the sorted `keys` of a facet; empty means no filter.
    pub(super) fn set(&mut self, facet: Facet, keys: ValueKeys) {
        self.clear(facet);
        if keys.is_empty() {
            return;
        }
        let position = self.0.partition_point(|(other, _)| *other < facet);
        self.0.insert(position, (facet, keys));
    }

    fn clear(&mut self, facet: Facet) {
        self.0.retain(|(other, _)| *other != facet);
    }
}
