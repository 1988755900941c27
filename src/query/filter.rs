//! Filters: what a signal must be like, and the plain meaning of that.

use smallvec::SmallVec;
use time::Date;

use super::{Facet, Parameter, ParameterKind, Phrase};
use crate::signal::{Company, Signal, SignalId};
use crate::text;

/// What a signal must be like to be found. The parts are combined with AND.
///
/// `Display` writes a query string that [`FromStr`](std::str::FromStr) reads back as an equal filter:
///
/// ```
/// use signaldex::Filter;
///
/// let filter = Filter::parse(r#"q="Series A" -crypto&country=Germany&size=501%2B"#)?;
/// let text = filter.to_string();
/// assert_eq!(text, "all=%22series+a%22&exclude=crypto&country=germany&size=501%2B");
/// assert_eq!(text.parse::<Filter>()?, filter);
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
///
/// Lists are sorted and free of duplicates, text is analysed, so that two filters that were typed
/// differently and mean the same are equal as far as that can be told without an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Each occurs in the title.
    pub(crate) all: Vec<Phrase>,
    /// At least one occurs in the title; empty: no such filter.
    pub(crate) any: Vec<Phrase>,
    /// None occurs in the title.
    pub(crate) none: Vec<Phrase>,
    /// Each occurs in the company's name.
    pub(crate) company_words: Vec<Phrase>,
    /// The company's slug.
    pub(crate) company_slug: Option<String>,
    /// The company is one of these; empty: no such filter.
    pub(crate) companies: Vec<CompanyReference>,
    /// The wanted values of facets.
    pub(super) facets: FacetKeys,
    pub(crate) days: Option<Days>,
    /// Any of these; empty: no such filter.
    pub(crate) date_ranges: Vec<DateRange>,
    pub(crate) date_from: Option<Date>,
    pub(crate) date_to: Option<Date>,
    pub(crate) funding_min: Option<f64>,
    pub(crate) funding_max: Option<f64>,
    pub(crate) ids: Option<Vec<SignalId>>,
    pub(crate) activity_ids: Option<Vec<SignalId>>,
}

/// The parameters that have a [`Part`] and are no facets, in the order of [`Parameter::ALL`].
const WITHOUT_FACETS: [Parameter; 14] = {
    use Parameter as P;
    [
        P::All,
        P::Any,
        P::Exclude,
        P::Company,
        P::CompanySlug,
        P::Companies,
        P::Days,
        P::DateRanges,
        P::DateFrom,
        P::DateTo,
        P::FundingMin,
        P::FundingMax,
        P::Ids,
        P::ActivityIds,
    ]
};

/// A company by its slug or by its whole name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CompanyReference {
    /// As typed: compared with slugs exactly.
    pub(crate) slug: String,
    /// Folded, where that is another text: what is compared with folded names.
    pub(crate) name_key: Option<String>,
}

impl CompanyReference {
    fn means(&self, company: &Company<'_>) -> bool {
        self.slug == company.slug || self.folded_name() == text::fold_value(&company.name)
    }

    /// What is compared with folded names.
    pub(crate) fn folded_name(&self) -> &str {
        self.name_key.as_ref().unwrap_or(&self.slug)
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
    /// The words of titles that it looks for, as [`text::terms`] gives them; excluded ones are not among them.
    pub fn title_words(&self) -> Vec<String> {
        let phrases = self.all.iter().chain(&self.any);
        let words = phrases.flat_map(|phrase| phrase.terms());
        words.map(|word| word.to_string()).collect()
    }

    /// Whether a signal of a company is found: the meaning of a filter, in plain slow code. The
    /// engine is defined as agreeing with it.
    ///
    /// `company` must be the signal's. `today` is what `days` and `date_ranges` count from.
    ///
    /// ```
    /// # use signaldex::{Company, Filter, Signal, SignalId};
    /// let acme = Company::new("acme", "Acme GmbH");
    /// let signal = Signal::new(SignalId::MIN, "acme", "Acme raises Series A");
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// assert!(Filter::parse("exact=series a&exclude=b")?.matches(&signal, &acme, today));
    /// assert!(!Filter::parse("exact=a series")?.matches(&signal, &acme, today));
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

    /// Whether dates or amounts are bounded.
    pub(crate) fn has_ranges(&self) -> bool {
        let has_days = self.days.is_some() || !self.date_ranges.is_empty();
        let dates = [self.date_from, self.date_to];
        let amounts = [self.funding_min, self.funding_max];
        has_days || dates.iter().any(Option::is_some) || amounts.iter().any(Option::is_some)
    }

    /// Whether every signal is found.
    pub fn is_empty(&self) -> bool {
        *self == Filter::default()
    }

    /// The same filter without the part that is about a facet.
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

    /// The keys of which a signal must have one, sorted; none where the facet is not filtered on.
    #[inline]
    pub(crate) fn value_keys(&self, facet: Facet) -> &[String] {
        let mut known = self.facets.0.iter();
        let known = known.find(|(other, _)| *other == facet);
        known.map_or(&[], |(_, keys)| keys.as_slice())
    }

    /// What is wanted by each parameter that is given, in the order of [`Parameter::ALL`].
    #[inline]
    pub(super) fn parts(&self) -> impl Iterator<Item = (Parameter, Part<'_>)> {
        // Facets, which are half of the parameters, are looked up in a list: seldom is one given.
        let (all, others) = (Parameter::ALL.as_slice(), WITHOUT_FACETS.as_slice());
        let parameters = if self.facets.0.is_empty() {
            others
        } else {
            all
        };
        let part = |&parameter: &Parameter| Some((parameter, self.part(parameter)?));
        parameters.iter().filter_map(part)
    }

    /// What is wanted by a parameter, normalised; `None` where nothing is. The phrases of `q`, `all`
    /// and `exact` are all with `all`, those that `q` and `exclude` exclude with `exclude`.
    pub(super) fn part(&self, parameter: Parameter) -> Option<Part<'_>> {
        if let Some(facet) = Facet::of_parameter(parameter) {
            let keys = self.value_keys(facet);
            return match parameter.description().kind {
                ParameterKind::List { .. } | ParameterKind::AttributeList(_) => {
                    given(keys).map(Part::Texts)
                }
                _ => keys.first().map(|key| Part::Text(key)),
            };
        }
        match parameter {
            Parameter::All => given(&self.all).map(Part::Phrases),
            Parameter::Any => given(&self.any).map(Part::Phrases),
            Parameter::Exclude => given(&self.none).map(Part::Phrases),
            Parameter::Company => given(&self.company_words).map(Part::Words),
            Parameter::CompanySlug => self.company_slug.as_deref().map(Part::Text),
            Parameter::Companies => given(&self.companies).map(Part::Companies),
            Parameter::Days => self.days.map(Part::Days),
            Parameter::DateRanges => given(&self.date_ranges).map(Part::DateRanges),
            Parameter::DateFrom => self.date_from.map(Part::Date),
            Parameter::DateTo => self.date_to.map(Part::Date),
            Parameter::FundingMin => self.funding_min.map(Part::Amount),
            Parameter::FundingMax => self.funding_max.map(Part::Amount),
            Parameter::Ids => self.ids.as_deref().map(Part::Ids),
            Parameter::ActivityIds => self.activity_ids.as_deref().map(Part::Ids),
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
            .is_none_or(|slug| *slug == company.slug);
        let mut references = self.companies.iter();
        let is_meant = |reference: &CompanyReference| reference.means(company);
        is_the_one && (self.companies.is_empty() || references.any(is_meant))
    }

    fn matches_facet(&self, facet: Facet, signal: &Signal<'_>, company: &Company<'_>) -> bool {
        let keys = self.value_keys(facet);
        keys.is_empty()
            || facet
                .label(signal, company)
                .is_some_and(|label| keys.iter().any(|key| *key == facet.key(&label)))
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
        let terms = text::terms(title);
        let occurs = |phrase: &Phrase| phrase.occurs_in(&terms);
        self.all.iter().all(occurs)
            && (self.any.is_empty() || self.any.iter().any(occurs))
            && !self.none.iter().any(occurs)
    }

    fn matches_company_name(&self, name: &str) -> bool {
        if self.company_words.is_empty() {
            return true;
        }
        let terms = text::terms(name);
        self.company_words
            .iter()
            .all(|phrase| phrase.occurs_in(&terms))
    }
}

/// What a filter wants by one parameter. Lists are not empty.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part<'f> {
    Phrases(&'f [Phrase]),
    /// Phrases that were each typed as one word.
    Words(&'f [Phrase]),
    Text(&'f str),
    Texts(&'f [String]),
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

/// The keys of one facet: one, unless a list is given.
pub(super) type Keys = SmallVec<[String; 1]>;

/// The wanted values of facets, as keys ([`Facet::key`]).
///
/// Holds only the facets that are filtered on, in the order of [`Facet::ALL`]: most filters have
/// few, and going over all facets takes as long as all else about a short page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FacetKeys(SmallVec<[(Facet, Keys); 3]>);

impl FacetKeys {
    /// Wants one of `keys`, which are sorted, instead of what was wanted before; no keys are no filter.
    pub(super) fn set(&mut self, facet: Facet, keys: Keys) {
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
