//! The fields of records: their names, their types, and which of them a record needs.

use std::borrow::Cow;

use super::cell::FieldType;
use super::cell::FieldType::{
    Amount, Currency, Day, Employees, Id, Instant, Key, Text, WholeNumber,
};
use crate::query::limits::SLUG_CHARS_MAX;

/// A kind of input record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// A company.
    Company,
    /// A signal.
    Signal,
}

/// A field: its path, its type, and whether a record must have it.
type FieldLine = (&'static str, FieldType, bool);

/// In the order in which [`Company`](crate::Company) has them.
const COMPANY_FIELDS: &[FieldLine] = &[
    ("slug", Key, true),
    ("name", Text, true),
    ("about", Text, false),
    ("tagline", Text, false),
    ("logoUrl", Text, false),
    ("country", Text, false),
    ("city", Text, false),
    ("employees", Employees, false),
    ("industry", Text, false),
    ("foundedYear", WholeNumber, false),
    ("linkedinUrl", Text, false),
    ("updatedAt", Instant, false),
];

/// In the order in which [`Signal`](crate::Signal) has them.
const SIGNAL_FIELDS: &[FieldLine] = &[
    ("id", Id, true),
    ("slug", Text, true),
    ("title", Text, true),
    ("evidence", Text, false),
    ("category", Text, false),
    ("date", Day, false),
    ("publishedAt", Instant, false),
    ("updatedAt", Instant, false),
    ("companySlug", Key, true),
    ("activityUrl", Text, false),
    ("authorName", Text, false),
    ("authorTitle", Text, false),
    ("authorUrl", Text, false),
    ("funding.stage", Text, false),
    ("funding.amount", Amount, false),
    ("funding.currency", Currency, false),
    ("hiring.hiringType", Text, false),
    ("hiring.jobFunction", Text, false),
    ("hiring.seniority", Text, false),
    ("hiring.employmentType", Text, false),
    ("hiring.workArrangement", Text, false),
];

/// The fields that are computed and never loaded.
const COMPANY_DERIVED: &[&str] = &["signalCount", "latestSignalDate"];
const SIGNAL_DERIVED: &[&str] = &[COMPANY_NAME];

/// The name by which a signal names its company where keys are made.
pub(crate) const COMPANY_NAME: &str = "companyName";

impl RecordKind {
    /// The fields of the record, as paths such as `funding.amount`.
    ///
    /// ```
    /// use signaldex::json::RecordKind;
    ///
    /// assert!(RecordKind::Signal.fields().any(|field| field == "funding.amount"));
    /// ```
    pub fn fields(self) -> impl ExactSizeIterator<Item = &'static str> {
        self.lines().iter().map(|&(path, ..)| path)
    }

    /// The type of a field; `None` if the record has no such field.
    ///
    /// ```
    /// use signaldex::json::{FieldType, RecordKind};
    ///
    /// assert_eq!(RecordKind::Signal.field_type("date"), Some(FieldType::Day));
    /// ```
    pub fn field_type(self, path: &str) -> Option<FieldType> {
        let line = self.lines().iter().find(|line| line.0 == path);
        line.map(|&(_, field_type, _)| field_type)
    }

    /// Whether a record must have the field.
    ///
    /// ```
    /// use signaldex::json::RecordKind;
    ///
    /// assert!(RecordKind::Company.is_required("name") && !RecordKind::Company.is_required("city"));
    /// ```
    pub fn is_required(self, path: &str) -> bool {
        self.lines()
            .iter()
            .any(|&(known, _, required)| known == path && required)
    }

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            RecordKind::Company => "company",
            RecordKind::Signal => "signal",
        }
    }

    /// The name of several in messages, and of their file in options.
    pub fn plural(self) -> &'static str {
        match self {
            RecordKind::Company => "companies",
            RecordKind::Signal => "signals",
        }
    }

    /// The field with this path.
    pub(crate) fn field(self, path: &str) -> Option<&'static str> {
        self.fields().find(|&field| field == path)
    }

    pub(crate) fn lines(self) -> &'static [FieldLine] {
        match self {
            RecordKind::Company => COMPANY_FIELDS,
            RecordKind::Signal => SIGNAL_FIELDS,
        }
    }

    /// The fields of responses that a record is never given.
    pub(crate) fn derived(self) -> &'static [&'static str] {
        match self {
            RecordKind::Company => COMPANY_DERIVED,
            RecordKind::Signal => SIGNAL_DERIVED,
        }
    }
}

/// Why a text is not the slug of a company.
pub(crate) fn fault_of_key(text: &str) -> Option<Cow<'static, str>> {
    // Characters are counted only where there may be too many.
    let may_be_long = text.len() > SLUG_CHARS_MAX;
    let chars = may_be_long.then(|| text.chars().count())?;
    (chars > SLUG_CHARS_MAX).then(|| {
        let reason =
            format!("has {chars} characters; a slug of a company has at most {SLUG_CHARS_MAX}");
        reason.into()
    })
}
