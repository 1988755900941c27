//! Filters: what a signal has to be like, and the plain meaning of that.

use time::Date;

use super::{Facet, Phrase};
use crate::signal::{Company, Currency, Signal, SignalId, SizeBucket};
use crate::text;

/// What a signal has to be like to be found; all that is given must hold together.
///
/// Lists are sorted and free of duplicates, text is analysed, so that two filters that were typed
/// differently and mean the same are equal as far as that can be told without an index.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "cluster", derive(serde::Serialize, serde::Deserialize))]
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
    /// Keys as of [`Facet::key`](super::Facet::key).
    pub(crate) country: Option<String>,
    pub(crate) industry: Option<String>,
    pub(crate) size: Option<SizeBucket>,
    pub(crate) days: Option<Days>,
    /// Any of these; empty: no such filter.
    pub(crate) date_ranges: Vec<DateRange>,
    pub(crate) date_from: Option<Date>,
    pub(crate) date_to: Option<Date>,
    pub(crate) categories: Vec<String>,
    pub(crate) hiring_types: Vec<String>,
    pub(crate) job_functions: Vec<String>,
    pub(crate) seniorities: Vec<String>,
    pub(crate) employment_types: Vec<String>,
    pub(crate) work_arrangements: Vec<String>,
    pub(crate) funding_stage: Option<String>,
    pub(crate) funding_currency: Option<Currency>,
    pub(crate) funding_min: Option<f64>,
    pub(crate) funding_max: Option<f64>,
    pub(crate) ids: Option<Vec<SignalId>>,
    pub(crate) activity_ids: Option<Vec<SignalId>>,
}

/// A company by its slug or by its whole name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "cluster", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct CompanyReference {
    /// As typed: compared with slugs exactly.
    pub(crate) slug: String,
    /// Folded, where that is another text: what is compared with folded names.
    pub(crate) name_key: Option<String>,
}

impl CompanyReference {
    fn means(&self, company: &Company<'_>) -> bool {
        let name_key = self.name_key.as_ref().unwrap_or(&self.slug);
        self.slug == company.slug || *name_key == text::fold_value(&company.name)
    }
}

/// The last 7, 30 or 90 days, today included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "cluster", derive(serde::Serialize, serde::Deserialize))]
pub enum Days {
    /// `7`
    Seven,
    /// `30`
    Thirty,
    /// `90`
    Ninety,
}

/// A window of dates relative to today.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "cluster", derive(serde::Serialize, serde::Deserialize))]
pub enum DateRange {
    /// The last days, today included.
    Last(Days),
    /// On or before the day 90 days ago.
    Older,
}

impl Filter {
    /// Whether a signal of a company is found: the meaning of a filter, in plain slow code. The
    /// engine is defined as agreeing with it.
    ///
    /// `company` has to be the signal's. `today` is what `days` and `date_ranges` count from.
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
            && self.matches_dates(signal.date, today)
            && self.matches_amount(signal.funding.as_ref().and_then(|funding| funding.amount))
            && self.matches_title(&signal.title)
            && self.matches_company_name(&company.name)
    }

    /// Whether dates or amounts are bounded.
    #[cfg(feature = "http")]
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
        let mut lifted = self.clone();
        match facet {
            Facet::Category => lifted.categories.clear(),
            Facet::Country => lifted.country = None,
            Facet::Industry => lifted.industry = None,
            Facet::Size => lifted.size = None,
            Facet::FundingStage => lifted.funding_stage = None,
            Facet::FundingCurrency => lifted.funding_currency = None,
            Facet::HiringType => lifted.hiring_types.clear(),
            Facet::JobFunction => lifted.job_functions.clear(),
            Facet::Seniority => lifted.seniorities.clear(),
            Facet::EmploymentType => lifted.employment_types.clear(),
            Facet::WorkArrangement => lifted.work_arrangements.clear(),
        }
        lifted
    }

    /// The facets that are filtered on. Asked field by field, since most filters have few, and going
    /// over all [`value_keys`](Self::value_keys) takes as long as all else about a short page.
    #[inline]
    pub(crate) fn filtered_facets(&self) -> impl Iterator<Item = Facet> + use<> {
        let is_filtered = [
            !self.categories.is_empty(),
            self.country.is_some(),
            self.industry.is_some(),
            self.size.is_some(),
            self.funding_stage.is_some(),
            self.funding_currency.is_some(),
            !self.hiring_types.is_empty(),
            !self.job_functions.is_empty(),
            !self.seniorities.is_empty(),
            !self.employment_types.is_empty(),
            !self.work_arrangements.is_empty(),
        ];
        let places = is_filtered.into_iter().enumerate();
        let mut left = places.fold(0_u16, |left, (place, is_filtered)| {
            left | u16::from(is_filtered) << place
        });
        std::iter::from_fn(move || {
            let facet = Facet::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(*facet)
        })
    }

    /// The keys of which a signal has to have one; none where the facet is not filtered on.
    #[inline]
    pub(crate) fn value_keys(&self, facet: Facet) -> ValueKeys<'_> {
        use ValueKeys::{Any, One};
        match facet {
            Facet::Category => Any(&self.categories),
            Facet::Country => One(self.country.as_deref()),
            Facet::Industry => One(self.industry.as_deref()),
            Facet::Size => One(self.size.map(SizeBucket::as_str)),
            Facet::FundingStage => One(self.funding_stage.as_deref()),
            Facet::FundingCurrency => One(self.funding_currency.as_ref().map(Currency::as_str)),
            Facet::HiringType => Any(&self.hiring_types),
            Facet::JobFunction => Any(&self.job_functions),
            Facet::Seniority => Any(&self.seniorities),
            Facet::EmploymentType => Any(&self.employment_types),
            Facet::WorkArrangement => Any(&self.work_arrangements),
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
                .is_some_and(|label| keys.contains(&facet.key(&label)))
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

/// The keys of a facet's values in a filter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ValueKeys<'f> {
    One(Option<&'f str>),
    Any(&'f [String]),
}

impl<'f> ValueKeys<'f> {
    /// How many they are.
    pub(crate) fn len(&self) -> usize {
        match self {
            ValueKeys::One(key) => usize::from(key.is_some()),
            ValueKeys::Any(keys) => keys.len(),
        }
    }

    /// Whether the facet is not filtered on.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a key is one of them.
    pub(crate) fn contains(&self, key: &str) -> bool {
        self.iter().any(|other| other == key)
    }

    /// The keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &'f str> + use<'f> {
        let (one, any) = match *self {
            ValueKeys::One(key) => (key, [].as_slice()),
            ValueKeys::Any(keys) => (None, keys),
        };
        one.into_iter().chain(any.iter().map(String::as_str))
    }
}
