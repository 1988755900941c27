//! The fields of records, and the handling of unknown fields.

use std::collections::BTreeMap;

use crate::text::{nearest_name, quoted, shortened};

/// A kind of input record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// A company.
    Company,
    /// A signal.
    Signal,
}

const COMPANY_FIELDS: &[&str] = &[
    "slug",
    "name",
    "about",
    "tagline",
    "logoUrl",
    "country",
    "city",
    "employees",
    "industry",
    "foundedYear",
    "linkedinUrl",
    "updatedAt",
];

const SIGNAL_FIELDS: &[&str] = &[
    "id",
    "slug",
    "title",
    "evidence",
    "category",
    "date",
    "publishedAt",
    "updatedAt",
    "companySlug",
    "activityUrl",
    "authorName",
    "authorTitle",
    "authorUrl",
    "funding.stage",
    "funding.amount",
    "funding.currency",
    "hiring.hiringType",
    "hiring.jobFunction",
    "hiring.seniority",
    "hiring.employmentType",
    "hiring.workArrangement",
];

impl RecordKind {
    /// The fields of the record, as paths such as `funding.amount`.
    ///
    /// ```
    /// use signaldex::json::RecordKind;
    ///
    /// assert!(RecordKind::Signal.fields().contains(&"funding.amount"));
    /// ```
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            RecordKind::Company => COMPANY_FIELDS,
            RecordKind::Signal => SIGNAL_FIELDS,
        }
    }

    /// The name in messages.
    pub fn name(self) -> &'static str {
        match self {
            RecordKind::Company => "company",
            RecordKind::Signal => "signal",
        }
    }

    /// The field with this path.
    pub(super) fn field(self, path: &str) -> Option<&'static str> {
        let mut fields = self.fields().iter();
        fields.find(|&&field| field == path).copied()
    }
}

/// An unknown field of input records; its values were not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownField {
    /// The kind of record.
    pub record: RecordKind,
    /// The path of the field, truncated to 64 characters.
    pub name: String,
    /// The number of occurrences.
    pub count: u64,
    /// The most similar known field.
    pub nearest: Option<&'static str>,
}

impl std::fmt::Display for UnknownField {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let UnknownField {
            record,
            name,
            count,
            nearest,
        } = self;
        let records = match (record, count) {
            (RecordKind::Company, 1) => "company has",
            (RecordKind::Company, _) => "companies have",
            (RecordKind::Signal, 1) => "signal has",
            (RecordKind::Signal, _) => "signals have",
        };
        write!(f, "{count} {records} an unknown field \"{name}\"")?;
        match nearest {
            Some(nearest) => write!(f, "; did you mean {nearest}?"),
            None => Ok(()),
        }
    }
}

/// Unknown names counted separately; further ones are counted together.
const NAMES_MAX: usize = 100;

/// The name under which further ones are counted.
const OTHERS: &str = "…";

/// The handling of unknown fields.
#[derive(Clone, Debug, Default)]
pub(super) enum UnknownFields {
    /// Ignore them.
    #[default]
    Ignored,
    /// Ignore and count them.
    Counted(RecordKind, BTreeMap<String, u64>),
    /// The record is refused.
    Refused(RecordKind),
}

impl UnknownFields {
    /// Handles an unknown field.
    ///
    /// # Errors
    /// The record is refused.
    pub(super) fn note(&mut self, outer: Option<&str>, name: &str) -> Result<(), String> {
        let path = || match outer {
            Some(outer) => format!("{outer}.{name}"),
            None => name.to_owned(),
        };
        match self {
            UnknownFields::Ignored => Ok(()),
            UnknownFields::Counted(_, counts) => {
                let name = shortened(&path());
                let is_known = counts.contains_key(&name);
                let name = if is_known || counts.len() < NAMES_MAX {
                    name
                } else {
                    OTHERS.to_owned()
                };
                *counts.entry(name).or_default() += 1;
                Ok(())
            }
            UnknownFields::Refused(kind) => {
                let path = path();
                let hint = match nearest_name(&path, kind.fields().iter().copied()) {
                    Some(nearest) => format!("did you mean {nearest}?"),
                    None => format!("its fields are {}", kind.fields().join(", ")),
                };
                Err(format!(
                    "{} is not a field of a {}; {hint}",
                    quoted(&path),
                    kind.name()
                ))
            }
        }
    }

    /// The counted fields.
    pub(super) fn counted(&self) -> Vec<UnknownField> {
        let UnknownFields::Counted(kind, counts) = self else {
            return Vec::new();
        };
        let counts = counts.iter().map(|(name, &count)| UnknownField {
            record: *kind,
            name: name.clone(),
            count,
            nearest: nearest_name(name, kind.fields().iter().copied()),
        });
        counts.collect()
    }
}
