//! The fields whose values are listed and counted by `filter-options`.

use std::borrow::Cow;

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

    /// The label of a signal's value, or `None` where it has none (absent or blank).
    pub fn label<'r>(self, signal: &'r Signal<'_>, company: &'r Company<'_>) -> Option<Cow<'r, str>> {
        let hiring = signal.hiring.as_ref();
        let funding = signal.funding.as_ref();
        let id = |value: &'r Option<Cow<'_, str>>| value.as_deref().map(Cow::Borrowed);
        let words = |value: &'r Option<Cow<'_, str>>| value.as_deref().map(text::tidy);
        let label = match self {
            Facet::Category => id(&signal.category),
            Facet::Country => words(&company.country),
            Facet::Industry => words(&company.industry),
            Facet::Size => {
                company.employees.and_then(SizeBucket::of).map(|size| Cow::Borrowed(size.as_str()))
            }
            Facet::FundingStage => funding.and_then(|funding| words(&funding.stage)),
            Facet::FundingCurrency => funding
                .and_then(|funding| funding.currency.as_ref())
                .map(|currency| Cow::Borrowed(currency.as_str())),
            Facet::HiringType => hiring.and_then(|hiring| id(&hiring.hiring_type)),
            Facet::JobFunction => hiring.and_then(|hiring| id(&hiring.job_function)),
            Facet::Seniority => hiring.and_then(|hiring| id(&hiring.seniority)),
            Facet::EmploymentType => hiring.and_then(|hiring| id(&hiring.employment_type)),
            Facet::WorkArrangement => hiring.and_then(|hiring| id(&hiring.work_arrangement)),
        };
        label.filter(|label| !label.is_empty())
    }

    /// The key by which a label is compared: folded text for words, the label itself for IDs.
    pub fn key(self, label: &str) -> Cow<'_, str> {
        match self {
            Facet::Country | Facet::Industry | Facet::FundingStage => text::fold_value(label),
            _ => Cow::Borrowed(label),
        }
    }
}
