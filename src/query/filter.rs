//! Filters: what a signal has to be like, and the plain meaning of that.

use time::Date;

use super::Phrase;
use crate::signal::{Currency, SignalId, SizeBucket};

/// What a signal has to be like to be found; all that is given must hold together.
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
pub(crate) struct CompanyReference {
    /// As typed: compared with slugs exactly.
    pub(crate) slug: String,
    /// Folded: compared with folded names.
    pub(crate) name_key: String,
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

/// A window of dates relative to today.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DateRange {
    /// The last days, today included.
    Last(Days),
    /// On or before the day 90 days ago.
    Older,
}
