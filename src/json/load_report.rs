//! What a load tells: numbers, faults by field and reason, unknown names, replaced records.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::unknown::UnknownField;
use crate::tables::{RecordError, RecordKind};

/// A rejected record. `Display` writes a line such as `signals.jsonl:17: id: ...` for each fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The file.
    pub path: PathBuf,
    /// The line or row number, counted from 1.
    pub line: u64,
    /// Every fault: the field, the value, what is wrong and what is allowed.
    pub errors: Vec<RecordError>,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.errors.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{}:{}: {error}", self.path.display(), self.line)?;
        }
        Ok(())
    }
}

/// A record that replaced an earlier one of the same load, or one of the index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replaced {
    /// The kind of record.
    pub record: RecordKind,
    /// The file of the later record.
    pub path: PathBuf,
    /// Its line or row number, counted from 1.
    pub line: u64,
    /// Its slug or id.
    pub key: String,
}

/// Faults of one field for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FaultGroup {
    /// The kind of record.
    pub record: RecordKind,
    /// The file.
    pub path: PathBuf,
    /// The field; `None` if the faults are of whole rows.
    pub field: Option<&'static str>,
    /// What is wrong.
    pub reason: String,
    /// The number of cells, or of rows.
    pub count: u64,
    /// The line of the first.
    pub line: u64,
    /// The value of the first, as it is written.
    pub value: Option<String>,
    /// The options that would read some of these cells, and how many: the most first.
    pub options: Vec<(String, u64)>,
}

/// The progress of loading a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes read from the file, before decompression.
    pub bytes_read: u64,
    /// The size of the file, if known.
    pub total_bytes: Option<u64>,
    /// Records read from the file, including rejected ones.
    pub records: u64,
}

/// A summary of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// Companies added, including those that replaced others.
    pub companies: u64,
    /// Signals added, including those that replaced others.
    pub signals: u64,
    /// Companies that replaced an earlier one with the same slug.
    pub companies_replaced: u64,
    /// Signals that replaced an earlier one with the same id.
    pub signals_replaced: u64,
    /// Rejected records.
    pub rejected: u64,
    /// Rejected companies.
    pub companies_rejected: u64,
    /// Rejected signals whose company is unknown, perhaps because it was rejected.
    pub signals_without_company: u64,
    /// Of these, the signals of companies that were rejected.
    pub signals_of_rejected_companies: u64,
    /// Rejected companies that would be loaded with their invalid cells as null.
    pub companies_nulls_would_keep: u64,
    /// Cells that were made null because they are invalid.
    pub nulled: u64,
}

/// Groups of faults that are kept; further ones are counted in the last.
const GROUPS_MAX: usize = 1000;

/// Replaced records that are kept of each kind.
const REPLACED_MAX: usize = 10;

/// What is collected beside the numbers.
#[derive(Debug, Default)]
pub(super) struct Findings {
    groups: Vec<Group>,
    pub(super) replaced: Vec<Replaced>,
}

#[derive(Debug)]
struct Group {
    first: FaultGroup,
    options: BTreeMap<String, u64>,
}

impl Findings {
    /// Counts a fault.
    pub(super) fn count(
        &mut self,
        record: RecordKind,
        path: &Path,
        line: u64,
        error: &RecordError,
    ) {
        let is_same = |group: &Group| {
            let first = &group.first;
            first.field == error.field()
                && first.reason == error.reason()
                && first.record == record
                && first.path == path
        };
        let known = self.groups.iter().position(is_same);
        let index = known.unwrap_or_else(|| {
            if self.groups.len() < GROUPS_MAX {
                self.groups.push(Group::new(record, path, line, error));
            }
            self.groups.len() - 1
        });
        let group = &mut self.groups[index];
        group.first.count += 1;
        for option in error.options() {
            *group.options.entry(option.clone()).or_default() += 1;
        }
    }

    /// Remembers a replaced record, if it is one of the first.
    pub(super) fn replace(&mut self, replaced: Replaced) {
        let same = self
            .replaced
            .iter()
            .filter(|other| other.record == replaced.record);
        if same.count() < REPLACED_MAX {
            self.replaced.push(replaced);
        }
    }

    /// The groups of faults, in the order of their first.
    pub(super) fn groups(&self) -> Vec<FaultGroup> {
        let groups = self.groups.iter().map(|group| {
            let mut options: Vec<(String, u64)> = group.options.clone().into_iter().collect();
            options.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            FaultGroup {
                options,
                ..group.first.clone()
            }
        });
        groups.collect()
    }
}

impl Group {
    fn new(record: RecordKind, path: &Path, line: u64, error: &RecordError) -> Group {
        Group {
            first: FaultGroup {
                record,
                path: path.to_owned(),
                field: error.field(),
                reason: error.reason().to_owned(),
                count: 0,
                line,
                value: error.value().map(str::to_owned),
                options: Vec::new(),
            },
            options: BTreeMap::new(),
        }
    }
}

/// A load as JSON: numbers, faults and unknown names.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'s> {
    companies: RecordCounts,
    signals: SignalCounts,
    nulled: u64,
    faults: Vec<SummaryFault<'s>>,
    unknown: Vec<SummaryUnknown<'s>>,
}

#[derive(Debug, Serialize)]
struct RecordCounts {
    read: u64,
    loaded: u64,
    replaced: u64,
    rejected: u64,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct SignalCounts {
    #[serde(flatten)]
    counts: RecordCounts,
    without_company: u64,
}

#[derive(Debug, Serialize)]
struct SummaryFault<'s> {
    record: &'static str,
    field: Option<&'static str>,
    reason: &'s str,
    count: u64,
    example: FaultExample<'s>,
}

#[derive(Debug, Serialize)]
struct FaultExample<'s> {
    file: String,
    line: u64,
    value: Option<&'s str>,
}

#[derive(Debug, Serialize)]
struct SummaryUnknown<'s> {
    record: &'static str,
    header: &'s str,
    count: u64,
    nearest: Option<&'static str>,
}

/// Writes the summary of a load as one line of JSON.
pub(super) fn write_summary(
    output: &mut Vec<u8>,
    report: LoadReport,
    groups: &[FaultGroup],
    unknown: &[UnknownField],
) {
    let counts = |loaded: u64, replaced, rejected: u64| RecordCounts {
        read: loaded + rejected,
        loaded,
        replaced,
        rejected,
    };
    let signals_rejected = report.rejected - report.companies_rejected;
    let summary = Summary {
        companies: counts(
            report.companies,
            report.companies_replaced,
            report.companies_rejected,
        ),
        signals: SignalCounts {
            counts: counts(report.signals, report.signals_replaced, signals_rejected),
            without_company: report.signals_without_company,
        },
        nulled: report.nulled,
        faults: groups.iter().map(SummaryFault::of).collect(),
        unknown: unknown.iter().map(SummaryUnknown::of).collect(),
    };
    serde_json::to_writer(&mut *output, &summary)
        .expect("a summary is valid JSON, and memory can be written to");
    output.push(b'\n');
}

impl<'s> SummaryFault<'s> {
    fn of(group: &'s FaultGroup) -> SummaryFault<'s> {
        SummaryFault {
            record: group.record.name(),
            field: group.field,
            reason: &group.reason,
            count: group.count,
            example: FaultExample {
                file: group.path.display().to_string(),
                line: group.line,
                value: group.value.as_deref(),
            },
        }
    }
}

impl<'s> SummaryUnknown<'s> {
    fn of(field: &'s UnknownField) -> SummaryUnknown<'s> {
        SummaryUnknown {
            record: field.record.name(),
            header: &field.name,
            count: field.count,
            nearest: field.nearest,
        }
    }
}
