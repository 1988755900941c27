//! Facets: the fields whose values `filter-options` lists and counts.

use std::borrow::Cow;

use super::{PARAMETERS, Parameter};
use crate::signal::{Company, Signal, SizeBucket};
use crate::text;

/// A field whose values can be filtered on and counted.
///
/// A value has a **label**, which answers show, and a **key** for comparisons. Labels with the same key
/// are one value; it is shown with the smallest of its labels, in byte order, among the counted
/// signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
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

/// The description of a facet. All modules that iterate over facets use this table, so a new facet is
/// described in one place.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FacetDescription {
    /// The search parameter that filters on it; its kind says which values are allowed.
    pub parameter: Parameter,
    /// The name of its list in `filter-options`.
    pub options: &'static str,
    /// The name in plans, in lower case.
    pub name: &'static str,
    facet: Facet,
    matching: Matching,
    value: Value,
}

/// How labels are compared.
#[derive(Clone, Copy, Debug)]
enum Matching {
    /// As [folded text](text::fold_value).
    Words,
    /// Ignoring ASCII case.
    Id,
    /// Exactly.
    Code,
}

/// The record with the value, and a function that reads it.
#[derive(Clone, Copy, Debug)]
enum Value {
    OfCompany(for<'r> fn(&'r Company<'_>) -> Option<Cow<'r, str>>),
    OfSignal(for<'r> fn(&'r Signal<'_>) -> Option<Cow<'r, str>>),
}

/// Every facet, in the order in which `filter-options` lists them.
pub(crate) const FACETS: [FacetDescription; 11] = [
    FacetDescription {
        facet: Facet::Category,
        parameter: Parameter::Categories,
        options: "categories",
        name: "category",
        matching: Matching::Id,
        value: Value::OfSignal(|signal| id(&signal.category)),
    },
    FacetDescription {
        facet: Facet::Country,
        parameter: Parameter::Country,
        options: "countries",
        name: "country",
        matching: Matching::Words,
        value: Value::OfCompany(|company| words(&company.country)),
    },
    FacetDescription {
        facet: Facet::Industry,
        parameter: Parameter::Industry,
        options: "industries",
        name: "industry",
        matching: Matching::Words,
        value: Value::OfCompany(|company| words(&company.industry)),
    },
    FacetDescription {
        facet: Facet::Size,
        parameter: Parameter::Size,
        options: "sizes",
        name: "size",
        matching: Matching::Code,
        value: Value::OfCompany(|company| {
            let size = company.employees.and_then(SizeBucket::of)?;
            Some(Cow::Borrowed(size.as_str()))
        }),
    },
    FacetDescription {
        facet: Facet::FundingStage,
        parameter: Parameter::FundingStage,
        options: "fundingStages",
        name: "funding stage",
        matching: Matching::Words,
        value: Value::OfSignal(|signal| words(&signal.funding.as_ref()?.stage)),
    },
    FacetDescription {
        facet: Facet::FundingCurrency,
        parameter: Parameter::FundingCurrency,
        options: "fundingCurrencies",
        name: "funding currency",
        matching: Matching::Code,
        value: Value::OfSignal(|signal| {
            let currency = signal.funding.as_ref()?.currency.as_ref()?;
            Some(Cow::Borrowed(currency.as_str()))
        }),
    },
    FacetDescription {
        facet: Facet::HiringType,
        parameter: Parameter::HiringType,
        options: "hiringTypes",
        name: "hiring type",
        matching: Matching::Id,
        value: Value::OfSignal(|signal| id(&signal.hiring.as_ref()?.hiring_type)),
    },
    FacetDescription {
        facet: Facet::JobFunction,
        parameter: Parameter::JobFunction,
        options: "jobFunctions",
        name: "job function",
        matching: Matching::Id,
        value: Value::OfSignal(|signal| id(&signal.hiring.as_ref()?.job_function)),
    },
    FacetDescription {
        facet: Facet::Seniority,
        parameter: Parameter::Seniority,
        options: "seniorities",
        name: "seniority",
        matching: Matching::Id,
        value: Value::OfSignal(|signal| id(&signal.hiring.as_ref()?.seniority)),
    },
    FacetDescription {
        facet: Facet::EmploymentType,
        parameter: Parameter::EmploymentType,
        options: "employmentTypes",
        name: "employment type",
        matching: Matching::Id,
        value: Value::OfSignal(|signal| id(&signal.hiring.as_ref()?.employment_type)),
    },
    FacetDescription {
        facet: Facet::WorkArrangement,
        parameter: Parameter::WorkArrangement,
        options: "workArrangements",
        name: "work arrangement",
        matching: Matching::Id,
        value: Value::OfSignal(|signal| id(&signal.hiring.as_ref()?.work_arrangement)),
    },
];

/// The number of facets of the company.
const OF_COMPANY_COUNT: usize = {
    let (mut facet, mut count) = (0, 0);
    while facet < FACETS.len() {
        count += matches!(FACETS[facet].value, Value::OfCompany(_)) as usize;
        facet += 1;
    }
    count
};

/// The facet of each parameter.
const BY_PARAMETER: [Option<Facet>; PARAMETERS.len()] = {
    let mut by_parameter = [None; PARAMETERS.len()];
    let mut number = 0;
    while number < FACETS.len() {
        by_parameter[FACETS[number].parameter as usize] = Some(FACETS[number].facet);
        number += 1;
    }
    by_parameter
};

impl Facet {
    /// Every facet, in the order in which `filter-options` lists them.
    pub const ALL: [Facet; FACETS.len()] = {
        let mut all = [Facet::Category; FACETS.len()];
        let mut number = 0;
        while number < all.len() {
            all[number] = FACETS[number].facet;
            // `description` indexes by this number.
            assert!(all[number] as usize == number);
            number += 1;
        }
        all
    };

    /// The names of the lists in `filter-options`, in that order.
    pub const LIST_NAMES: [&str; FACETS.len()] = {
        let mut names = [""; FACETS.len()];
        let mut number = 0;
        // `names[..number]` are set.
        while number < names.len() {
            names[number] = FACETS[number].options;
            number += 1;
        }
        names
    };

    /// The facets of the company, which are equal for all its signals.
    pub(crate) const OF_COMPANY: [Facet; OF_COMPANY_COUNT] = {
        let mut of_company = [Facet::Category; OF_COMPANY_COUNT];
        let (mut number, mut count) = (0, 0);
        // `of_company[..count]` holds those of the first `number` facets.
        while number < FACETS.len() {
            if matches!(FACETS[number].value, Value::OfCompany(_)) {
                of_company[count] = FACETS[number].facet;
                count += 1;
            }
            number += 1;
        }
        of_company
    };

    /// The names of the lists of these facets, which queries for companies count.
    pub const COMPANY_LIST_NAMES: [&str; OF_COMPANY_COUNT] = {
        let mut names = [""; OF_COMPANY_COUNT];
        let mut number = 0;
        while number < OF_COMPANY_COUNT {
            names[number] = FACETS[Facet::OF_COMPANY[number] as usize].options;
            number += 1;
        }
        names
    };

    /// The description of the facet.
    pub fn description(self) -> &'static FacetDescription {
        &FACETS[self as usize]
    }

    /// The facet that a parameter filters on.
    pub(crate) fn of_parameter(parameter: Parameter) -> Option<Facet> {
        BY_PARAMETER[parameter as usize]
    }

    /// The search parameter that filters on it.
    pub fn parameter(self) -> Parameter {
        self.description().parameter
    }

    /// The label of a signal's value; `None` if it is absent or blank.
    ///
    /// ```
    /// use signaldex::{Company, Facet, Signal, SignalId};
    ///
    /// let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
    /// let mut acme = Company::new("acme", "Acme GmbH");
    /// acme.employees = Some(120);
    /// assert_eq!(Facet::Size.label(&signal, &acme).as_deref(), Some("101-500"));
    /// assert_eq!(Facet::Country.label(&signal, &acme), None);
    /// ```
    pub fn label<'r>(
        self,
        signal: &'r Signal<'_>,
        company: &'r Company<'_>,
    ) -> Option<Cow<'r, str>> {
        match self.description().value {
            Value::OfCompany(read) => read(company),
            Value::OfSignal(read) => read(signal),
        }
    }

    /// Whether the facet belongs to the company.
    pub(crate) fn is_of_company(self) -> bool {
        matches!(self.description().value, Value::OfCompany(_))
    }

    /// The label of a company's value; `None` for facets of the signal itself.
    pub(crate) fn company_label<'r>(self, company: &'r Company<'_>) -> Option<Cow<'r, str>> {
        match self.description().value {
            Value::OfCompany(read) => read(company),
            Value::OfSignal(_) => None,
        }
    }

    /// The label of a signal's own value; `None` for facets of the company.
    pub(crate) fn signal_label<'r>(self, signal: &'r Signal<'_>) -> Option<Cow<'r, str>> {
        match self.description().value {
            Value::OfSignal(read) => read(signal),
            Value::OfCompany(_) => None,
        }
    }

    /// The key of a label for comparisons: [folded text](text::fold_value) for words, ASCII lower case for
    /// IDs, the label itself for sizes and currencies.
    ///
    /// ```
    /// use signaldex::Facet;
    ///
    /// assert_eq!(Facet::Country.key("Côte d’Ivoire"), Facet::Country.key("COTE D'IVOIRE"));
    /// assert_eq!(Facet::Category.key("Funding"), "funding");
    /// ```
    pub fn key(self, label: &str) -> Cow<'_, str> {
        match self.description().matching {
            Matching::Words => text::fold_value(label),
            Matching::Id => ascii_lowercase(label),
            Matching::Code => Cow::Borrowed(label),
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
