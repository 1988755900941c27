//! The fields whose values are listed and counted by `filter-options`.

use std::borrow::Cow;

use super::Parameter;
use crate::signal::{Company, Signal, SizeBucket};
use crate::text;

/// A field whose values can be filtered on and counted.
///
/// A value has a **label**, which answers show, and a **key**, by which it is compared. Labels
/// with one key are one value; it is shown by the smallest of its labels, in byte order, that
/// occurs among the signals counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Facet {
    /// [`Signal::category`], an ID.
    Category,
    /// [`Company::country`], text.
    Country,
    /// [`Company::industry`], text.
    Industry,
    /// The [`SizeBucket`] of [`Company::employees`].
    Size,
    /// [`Funding::stage`](crate::Funding::stage), text.
    FundingStage,
    /// [`Funding::currency`](crate::Funding::currency).
    FundingCurrency,
    /// [`Hiring::hiring_type`](crate::Hiring::hiring_type), an ID.
    HiringType,
    /// [`Hiring::job_function`](crate::Hiring::job_function), an ID.
    JobFunction,
    /// [`Hiring::seniority`](crate::Hiring::seniority), an ID.
    Seniority,
    /// [`Hiring::employment_type`](crate::Hiring::employment_type), an ID.
    EmploymentType,
    /// [`Hiring::work_arrangement`](crate::Hiring::work_arrangement), an ID.
    WorkArrangement,
}

impl Facet {
    /// Every facet, in the order in which `filter-options` lists them.
    pub const ALL: [Facet; 11] = [
        Facet::Category,
        Facet::Country,
        Facet::Industry,
        Facet::Size,
        Facet::FundingStage,
        Facet::FundingCurrency,
        Facet::HiringType,
        Facet::JobFunction,
        Facet::Seniority,
        Facet::EmploymentType,
        Facet::WorkArrangement,
    ];

    /// The facets whose value is the company's, and thus the same for all its signals.
    pub(crate) const OF_COMPANY: [Facet; 3] = [Facet::Country, Facet::Industry, Facet::Size];

    /// The search parameter that filters on it.
    pub fn parameter(self) -> Parameter {
        match self {
            Facet::Category => Parameter::Categories,
            Facet::Country => Parameter::Country,
            Facet::Industry => Parameter::Industry,
            Facet::Size => Parameter::Size,
            Facet::FundingStage => Parameter::FundingStage,
            Facet::FundingCurrency => Parameter::FundingCurrency,
            Facet::HiringType => Parameter::HiringType,
            Facet::JobFunction => Parameter::JobFunction,
            Facet::Seniority => Parameter::Seniority,
            Facet::EmploymentType => Parameter::EmploymentType,
            Facet::WorkArrangement => Parameter::WorkArrangement,
        }
    }

    /// The label of a signal's value, or `None` where it has none (absent or blank).
    pub fn label<'r>(
        self,
        signal: &'r Signal<'_>,
        company: &'r Company<'_>,
    ) -> Option<Cow<'r, str>> {
        match self.is_of_company() {
            true => self.company_label(company),
            false => self.signal_label(signal),
        }
    }

    /// Whether the value is the company's.
    pub(crate) fn is_of_company(self) -> bool {
        Facet::OF_COMPANY.contains(&self)
    }

    /// The label of a company's value; `None` for facets of the signal itself.
    pub(crate) fn company_label<'r>(self, company: &'r Company<'_>) -> Option<Cow<'r, str>> {
        match self {
            Facet::Country => words(&company.country),
            Facet::Industry => words(&company.industry),
            Facet::Size => company
                .employees
                .and_then(SizeBucket::of)
                .map(|size| Cow::Borrowed(size.as_str())),
            _ => None,
        }
    }

    /// The label of a signal's own value; `None` for facets of the company.
    pub(crate) fn signal_label<'r>(self, signal: &'r Signal<'_>) -> Option<Cow<'r, str>> {
        let hiring = signal.hiring.as_ref();
        let funding = signal.funding.as_ref();
        match self {
            Facet::Category => id(&signal.category),
            Facet::FundingStage => words(&funding?.stage),
            Facet::FundingCurrency => funding?
                .currency
                .as_ref()
                .map(|currency| Cow::Borrowed(currency.as_str())),
            Facet::HiringType => id(&hiring?.hiring_type),
            Facet::JobFunction => id(&hiring?.job_function),
            Facet::Seniority => id(&hiring?.seniority),
            Facet::EmploymentType => id(&hiring?.employment_type),
            Facet::WorkArrangement => id(&hiring?.work_arrangement),
            Facet::Country | Facet::Industry | Facet::Size => None,
        }
    }

    /// The key by which a label is compared: [folded text](text::fold_value) for words, ASCII lower
    /// case for IDs, the label itself for sizes and currencies.
    pub fn key(self, label: &str) -> Cow<'_, str> {
        match self {
            Facet::Country | Facet::Industry | Facet::FundingStage => text::fold_value(label),
            Facet::Size | Facet::FundingCurrency => Cow::Borrowed(label),
            Facet::Category
            | Facet::HiringType
            | Facet::JobFunction
            | Facet::Seniority
            | Facet::EmploymentType
            | Facet::WorkArrangement => ascii_lowercase(label),
        }
    }
}

fn ascii_lowercase(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

fn id<'r>(value: &'r Option<Cow<'_, str>>) -> Option<Cow<'r, str>> {
    value
        .as_deref()
        .filter(|id| !id.is_empty())
        .map(Cow::Borrowed)
}

fn words<'r>(value: &'r Option<Cow<'_, str>>) -> Option<Cow<'r, str>> {
    value
        .as_deref()
        .map(text::tidy)
        .filter(|words| !words.is_empty())
}
