//! Names that no field has: noted with each record, and counted over a load.

use std::collections::BTreeMap;

use crate::tables::{Binding, FileOptions, RecordKind, binding_of, object_named};
use crate::text::{quoted, shortened};

/// The unknown names of a record.
#[derive(Clone, Debug, Default)]
pub(super) enum UnknownNames {
    /// Stands in while the names are elsewhere.
    #[default]
    Away,
    /// The names of the members of a record of this kind.
    Noted(RecordKind, Vec<String>),
}

impl UnknownNames {
    /// No names, of a record of this kind.
    pub(super) fn of(kind: RecordKind) -> UnknownNames {
        UnknownNames::Noted(kind, Vec::new())
    }

    /// Notes a name. Returns whether it is unknown; if not, it is another spelling of a field.
    pub(super) fn note(&mut self, outer: Option<&str>, name: &str) -> bool {
        let UnknownNames::Noted(kind, names) = self else {
            return true;
        };
        let path = match outer {
            Some(outer) => format!("{outer}.{name}"),
            None => name.to_owned(),
        };
        let options = FileOptions::default();
        let is_known = binding_of(*kind, &path, &options, |_| false) != Binding::Unknown
            || object_named(*kind, &path).is_some();
        if !is_known {
            names.push(path);
        }
        !is_known
    }

    /// Takes the names, for the next record.
    pub(super) fn take(&mut self) -> Vec<String> {
        match self {
            UnknownNames::Away => Vec::new(),
            UnknownNames::Noted(_, names) => std::mem::take(names),
        }
    }
}

/// An unknown field of input records; its values were not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownField {
    /// The kind of record.
    pub record: RecordKind,
    /// The path of the field, truncated to 64 characters; empty for columns without a name.
    pub name: String,
    /// The number of occurrences.
    pub count: u64,
    /// The field that was probably meant.
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
        if name.is_empty() {
            return write!(f, "{count} {records} a value in a column without a name");
        }
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

/// The unknown names of the records of a file, with their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct UnknownCounts(BTreeMap<String, u64>);

impl UnknownCounts {
    pub(super) fn count(&mut self, names: &[String]) {
        for name in names {
            let name = shortened(name);
            let is_known = self.0.contains_key(&name);
            let name = if is_known || self.0.len() < NAMES_MAX {
                name
            } else {
                OTHERS.to_owned()
            };
            *self.0.entry(name).or_default() += 1;
        }
    }

    /// The names of records of a kind.
    pub(super) fn of(&self, kind: RecordKind) -> impl Iterator<Item = UnknownField> {
        self.0.iter().map(move |(name, &count)| UnknownField {
            record: kind,
            name: name.clone(),
            count,
            nearest: kind.nearest_field(name),
        })
    }
}

/// Why a strict load refuses a record with this field.
pub(super) fn refusal(kind: RecordKind, name: &str) -> String {
    if name.is_empty() {
        return "has a value in a column without a name".to_owned();
    }
    let hint = match kind.nearest_field(name) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!(
            "its fields are {}",
            kind.fields().collect::<Vec<&str>>().join(", ")
        ),
    };
    format!(
        "{} is not a field of a {}; {hint}",
        quoted(name),
        kind.name()
    )
}
