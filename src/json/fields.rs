//! The fields that records have, and what becomes of fields that no record has.

use std::collections::BTreeMap;

use crate::error::{echo, quoted};
use crate::query::nearest_name;

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
    /// The fields of such a record, as paths such as `funding.amount`.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            RecordKind::Company => COMPANY_FIELDS,
            RecordKind::Signal => SIGNAL_FIELDS,
        }
    }

    /// What messages call it.
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

/// A field of input records that no record has; its values were not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownField {
    /// What it was found in.
    pub record: RecordKind,
    /// Its path, at most 64 characters of it.
    pub name: String,
    /// How often it was given.
    pub count: u64,
    /// The field that was most likely meant.
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

/// Unknown names that are told apart; further ones are counted together.
const NAMES_MAX: usize = 100;

/// What the names beyond [`NAMES_MAX`] are counted under.
const OTHERS: &str = "…";

/// What becomes of fields that no record has.
#[derive(Clone, Debug, Default)]
pub(super) enum UnknownFields {
    /// They are passed over.
    #[default]
    Ignored,
    /// They are passed over and counted.
    Counted(RecordKind, BTreeMap<String, u64>),
    /// The record is refused.
    Refused(RecordKind),
}

impl UnknownFields {
    /// Takes note of a field.
    ///
    /// # Errors
    /// Why the record is refused.
    pub(super) fn note(&mut self, outer: Option<&str>, name: &str) -> Result<(), String> {
        let path = || match outer {
            Some(outer) => format!("{outer}.{name}"),
            None => name.to_owned(),
        };
        match self {
            UnknownFields::Ignored => Ok(()),
            UnknownFields::Counted(_, counts) => {
                let name = echo(&path());
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

    /// What was counted.
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
