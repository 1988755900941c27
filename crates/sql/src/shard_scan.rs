//! What a node asks another one of its shards: rows or counts under some conditions, as bytes and as batches.
//!
//! Only nodes of one release ask each other, so the bytes have no versions. They are read with care all the same: anyone
//! who reaches the port of a node may send them.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use prost::Message;
use signaldex::Facet;
use time::Date;

use crate::columns::{
    COMPANY_COLUMNS, COUNTS_SCHEMA, SIGNAL_COLUMNS, SignalColumn, companies_schema, signals_schema,
};
use crate::conditions::{Comparison, Nullable, SqlCondition};
use crate::error::SqlError;

/// A scan of some shards, for a statement at another node.
///
/// A table makes it; [`to_bytes`](ShardScan::to_bytes) sends it, and `ShardScans` runs it.
#[derive(Clone, Debug, PartialEq)]
pub struct ShardScan {
    pub(crate) output: ScanOutput,
    /// On signals.
    pub(crate) conditions: Vec<SqlCondition>,
    /// The companies that are looked up; all without any.
    pub(crate) slugs: Option<BTreeSet<String>>,
    /// Most rows.
    pub(crate) limit: Option<usize>,
    /// The day that counts as today.
    pub(crate) as_of: Date,
}

/// What is sent back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ScanOutput {
    /// Columns of signals, by index; at least one.
    Signals(Vec<usize>),
    /// Columns of companies, by index; at least one.
    Companies(Vec<usize>),
    /// The numbers of signals by a facet's label, or of all.
    SignalCounts(Option<Facet>),
    /// The number of companies.
    CompanyCount,
}

impl ShardScan {
    /// The columns of the batches.
    ///
    /// ```
    /// use signaldex_sql::ShardScan;
    ///
    /// let bytes = [8, 1, 18, 2, 0, 17, 40, 204, 184, 172, 2];
    /// let scan = ShardScan::from_bytes(&bytes)?;
    /// assert_eq!(scan.schema().fields().len(), 2);
    /// assert_eq!(scan.to_bytes(), bytes);
    /// # Ok::<(), signaldex_sql::SqlError>(())
    /// ```
    pub fn schema(&self) -> SchemaRef {
        let schema = match &self.output {
            ScanOutput::Signals(columns) => signals_schema().project(columns),
            ScanOutput::Companies(columns) => companies_schema().project(columns),
            ScanOutput::SignalCounts(_) | ScanOutput::CompanyCount => {
                return Arc::clone(&COUNTS_SCHEMA);
            }
        };
        // The columns were checked when the scan was made.
        Arc::new(schema.unwrap_or_else(|_| datafusion::arrow::datatypes::Schema::empty()))
    }

    /// The scan as another node reads it.
    ///
    /// ```
    /// # use signaldex_sql::ShardScan;
    /// # let scan = ShardScan::from_bytes(&[8, 4, 40, 204, 184, 172, 2])?;
    /// assert_eq!(ShardScan::from_bytes(&scan.to_bytes())?, scan);
    /// # Ok::<(), signaldex_sql::SqlError>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, columns, facet) = match &self.output {
            ScanOutput::Signals(columns) => (SIGNALS, &columns[..], None),
            ScanOutput::Companies(columns) => (COMPANIES, &columns[..], None),
            ScanOutput::SignalCounts(facet) => (SIGNAL_COUNTS, &[][..], *facet),
            ScanOutput::CompanyCount => (COMPANY_COUNT, &[][..], None),
        };
        ScanMessage {
            kind: Some(kind),
            columns: columns.iter().map(|&column| column as u32).collect(),
            facet: facet.map(|facet| facet as u32),
            conditions: self.conditions.iter().map(ConditionMessage::of).collect(),
            as_of: Some(self.as_of.to_julian_day()),
            limit: self.limit.map(|limit| limit as u64),
            slugs: self.slugs.iter().flatten().cloned().collect(),
            has_slugs: self.slugs.as_ref().map(|_| true),
        }
        .encode_to_vec()
    }

    /// Reads a scan.
    ///
    /// ```
    /// use signaldex_sql::ShardScan;
    ///
    /// let error = ShardScan::from_bytes(&[8, 9]).expect_err("there is no such kind");
    /// assert_eq!(error.to_string(), "the scan is malformed: kind");
    /// ```
    ///
    /// # Errors
    /// It is malformed; the message names the field.
    ///
    /// Cost: memory of a few times the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<ShardScan, SqlError> {
        let read = ScanMessage::decode(bytes).map_err(|_| malformed("bytes"))?;
        let columns: Vec<usize> = read.columns.iter().map(|&column| column as usize).collect();
        let has_columns = |count: usize| {
            // As a projection has them: each once.
            let distinct: BTreeSet<usize> = columns.iter().copied().collect();
            let is_valid = distinct.len() == columns.len() && columns.iter().all(|&of| of < count);
            (is_valid && !columns.is_empty())
                .then_some(())
                .ok_or_else(|| malformed("columns"))
        };
        let output = match read.kind {
            Some(SIGNALS) => {
                has_columns(SIGNAL_COLUMNS.len())?;
                ScanOutput::Signals(columns)
            }
            Some(COMPANIES) => {
                has_columns(COMPANY_COLUMNS.len())?;
                ScanOutput::Companies(columns)
            }
            Some(SIGNAL_COUNTS) => ScanOutput::SignalCounts(read.facet.map(facet_of).transpose()?),
            Some(COMPANY_COUNT) => ScanOutput::CompanyCount,
            _ => return Err(malformed("kind")),
        };
        let conditions = read.conditions.into_iter().map(ConditionMessage::read);
        let as_of = read.as_of.and_then(|day| Date::from_julian_day(day).ok());
        let slugs = read.slugs.into_iter();
        Ok(ShardScan {
            output,
            conditions: conditions.collect::<Result<_, SqlError>>()?,
            slugs: (read.has_slugs == Some(true)).then(|| slugs.collect()),
            limit: read
                .limit
                .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            as_of: as_of.ok_or_else(|| malformed("day"))?,
        })
    }
}

/// The index of a column in the list of all.
pub(crate) fn signal_index(column: &SignalColumn) -> Option<usize> {
    SIGNAL_COLUMNS.iter().position(|of| of.name == column.name)
}

const SIGNALS: u32 = 1;
const COMPANIES: u32 = 2;
const SIGNAL_COUNTS: u32 = 3;
const COMPANY_COUNT: u32 = 4;

#[derive(Clone, PartialEq, prost::Message)]
struct ScanMessage {
    #[prost(uint32, optional, tag = "1")]
    kind: Option<u32>,
    #[prost(uint32, repeated, tag = "2")]
    columns: Vec<u32>,
    #[prost(uint32, optional, tag = "3")]
    facet: Option<u32>,
    #[prost(message, repeated, tag = "4")]
    conditions: Vec<ConditionMessage>,
    /// A Julian day.
    #[prost(sint32, optional, tag = "5")]
    as_of: Option<i32>,
    #[prost(uint64, optional, tag = "6")]
    limit: Option<u64>,
    #[prost(string, repeated, tag = "7")]
    slugs: Vec<String>,
    #[prost(bool, optional, tag = "8")]
    has_slugs: Option<bool>,
}

const SEARCH: u32 = 1;
const LABELS: u32 = 2;
const SLUGS: u32 = 3;
const IDS: u32 = 4;
const ID_RANGE: u32 = 5;
const DAYS: u32 = 6;
const AMOUNT: u32 = 7;
const HAS_VALUE: u32 = 8;

/// Numbers of what may have no value, apart from facets.
const DATE: u32 = 1;
const AMOUNT_VALUE: u32 = 2;

/// In the order of their numbers.
const COMPARISONS: [Comparison; 5] = [
    Comparison::Equal,
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
];

#[derive(Clone, PartialEq, prost::Message)]
struct ConditionMessage {
    #[prost(uint32, optional, tag = "1")]
    kind: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    facet: Option<u32>,
    #[prost(string, repeated, tag = "3")]
    texts: Vec<String>,
    #[prost(uint64, repeated, tag = "4")]
    ids: Vec<u64>,
    /// The first and the last one of a range of ids.
    #[prost(uint64, optional, tag = "5")]
    first: Option<u64>,
    #[prost(uint64, optional, tag = "6")]
    last: Option<u64>,
    /// Of a range of days since 1970.
    #[prost(sint32, optional, tag = "7")]
    first_day: Option<i32>,
    #[prost(sint32, optional, tag = "8")]
    last_day: Option<i32>,
    #[prost(uint32, optional, tag = "9")]
    comparison: Option<u32>,
    #[prost(double, optional, tag = "10")]
    amount: Option<f64>,
    /// What may have no value, where it is no facet.
    #[prost(uint32, optional, tag = "11")]
    nullable: Option<u32>,
    #[prost(bool, optional, tag = "12")]
    has_value: Option<bool>,
}

impl ConditionMessage {
    fn of(condition: &SqlCondition) -> ConditionMessage {
        let empty = |kind| ConditionMessage {
            kind: Some(kind),
            ..ConditionMessage::default()
        };
        match condition {
            SqlCondition::Search(text) => ConditionMessage {
                texts: vec![text.clone()],
                ..empty(SEARCH)
            },
            SqlCondition::Labels(facet, labels) => ConditionMessage {
                facet: Some(*facet as u32),
                texts: labels.iter().cloned().collect(),
                ..empty(LABELS)
            },
            SqlCondition::Slugs(slugs) => ConditionMessage {
                texts: slugs.iter().cloned().collect(),
                ..empty(SLUGS)
            },
            SqlCondition::Ids(ids) => ConditionMessage {
                ids: ids.iter().copied().collect(),
                ..empty(IDS)
            },
            SqlCondition::IdRange(first, last) => ConditionMessage {
                first: Some(*first),
                last: Some(*last),
                ..empty(ID_RANGE)
            },
            SqlCondition::Days(first, last) => ConditionMessage {
                first_day: Some(*first),
                last_day: Some(*last),
                ..empty(DAYS)
            },
            SqlCondition::Amount(comparison, amount) => ConditionMessage {
                comparison: COMPARISONS
                    .iter()
                    .zip(0..)
                    .find_map(|(known, number)| (known == comparison).then_some(number)),
                amount: Some(*amount),
                ..empty(AMOUNT)
            },
            SqlCondition::HasValue(nullable, has_value) => ConditionMessage {
                facet: match nullable {
                    Nullable::Facet(facet) => Some(*facet as u32),
                    _ => None,
                },
                nullable: match nullable {
                    Nullable::Facet(_) => None,
                    Nullable::Date => Some(DATE),
                    Nullable::Amount => Some(AMOUNT_VALUE),
                },
                has_value: Some(*has_value),
                ..empty(HAS_VALUE)
            },
        }
    }

    fn read(self) -> Result<SqlCondition, SqlError> {
        let missing = |field: &'static str| move || malformed(field);
        let facet = self.facet.map(facet_of).transpose()?;
        Ok(match self.kind {
            Some(SEARCH) => {
                let text = self.texts.into_iter().next();
                SqlCondition::Search(text.ok_or_else(missing("search"))?)
            }
            Some(LABELS) => SqlCondition::Labels(
                facet.ok_or_else(missing("facet"))?,
                self.texts.into_iter().collect(),
            ),
            Some(SLUGS) => SqlCondition::Slugs(self.texts.into_iter().collect()),
            Some(IDS) => SqlCondition::Ids(self.ids.into_iter().collect()),
            Some(ID_RANGE) => SqlCondition::IdRange(
                self.first.ok_or_else(missing("first id"))?,
                self.last.ok_or_else(missing("last id"))?,
            ),
            Some(DAYS) => SqlCondition::Days(
                self.first_day.ok_or_else(missing("first day"))?,
                self.last_day.ok_or_else(missing("last day"))?,
            ),
            Some(AMOUNT) => {
                let known = |number: u32| COMPARISONS.get(number as usize).copied();
                let comparison = self.comparison.and_then(known);
                SqlCondition::Amount(
                    comparison.ok_or_else(missing("comparison"))?,
                    self.amount.ok_or_else(missing("amount"))?,
                )
            }
            Some(HAS_VALUE) => {
                let nullable = match (facet, self.nullable) {
                    (Some(facet), _) => Nullable::Facet(facet),
                    (None, Some(DATE)) => Nullable::Date,
                    (None, Some(AMOUNT_VALUE)) => Nullable::Amount,
                    _ => return Err(malformed("column that may have no value")),
                };
                SqlCondition::HasValue(nullable, self.has_value.ok_or_else(missing("value"))?)
            }
            _ => return Err(malformed("kind of a condition")),
        })
    }
}

fn facet_of(number: u32) -> Result<Facet, SqlError> {
    let facet = Facet::ALL.get(number as usize).copied();
    facet.ok_or_else(|| malformed("facet"))
}

fn malformed(field: &str) -> SqlError {
    SqlError::io(format!("the scan is malformed: {field}"))
}

#[cfg(test)]
mod tests;
