//! The columns of matches: the library's, by the names of the dataclasses' fields, and how they are filled.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    Date32Builder, Float64Builder, Int64Builder, StringBuilder, TimestampMicrosecondBuilder,
    UInt64Builder,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use signaldex::json::{CSV_COLUMNS, ColumnSource, ColumnType, ColumnValue, SignalColumns};
use signaldex::text::nearest_name;
use time::{Date, UtcDateTime};

use crate::arguments::{self, list_of};

/// What every instant is in.
const UTC: &str = "UTC";

/// The days from 0000-12-31, which is day 0 of the Julian count that `time` gives, to 1970-01-01.
const UNIX_EPOCH: i32 = 2_440_588;

/// The name of a column in Python: that of the dataclass's field, with the name of an outer record before it.
pub(crate) fn python_name(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.strip_prefix("hiring.").unwrap_or(name).chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(match letter {
            '.' => '_',
            _ => letter.to_ascii_lowercase(),
        });
    }
    snake
}

/// The names of columns, as an argument.
pub(crate) struct ColumnNames(pub(super) Vec<String>);

impl<'a, 'py> FromPyObject<'a, 'py> for ColumnNames {
    type Error = PyErr;

    fn extract(names: Borrowed<'a, 'py, PyAny>) -> PyResult<ColumnNames> {
        let read = list_of(&names, |name| name.extract::<String>());
        let read = read.map_err(|error| arguments::named(names.py(), "columns", error));
        read.map(ColumnNames)
    }
}

/// Columns that were chosen.
#[derive(Clone)]
pub(crate) struct ChosenColumns {
    columns: SignalColumns,
    /// Their names in Python.
    pub(crate) names: Vec<String>,
}

impl ChosenColumns {
    /// The columns of these names, in their order; those of an item where there are none.
    pub(crate) fn of(names: Option<ColumnNames>) -> PyResult<ChosenColumns> {
        let all: Vec<(String, &str)> = SignalColumns::all()
            .names()
            .map(|name| (python_name(name), name))
            .collect();
        let chosen = match names {
            None => CSV_COLUMNS.to_vec(),
            Some(ColumnNames(names)) if names.is_empty() => {
                return Err(PyValueError::new_err(
                    "columns: at least one column is wanted",
                ));
            }
            Some(ColumnNames(names)) => names
                .iter()
                .map(|name| {
                    let known = all.iter().find(|(python, _)| python == name);
                    known
                        .map(|(_, name)| *name)
                        .ok_or_else(|| unknown(name, &all))
                })
                .collect::<PyResult<_>>()?,
        };
        let columns = SignalColumns::parse(&chosen.join(","));
        let columns =
            columns.map_err(|error| PyValueError::new_err(format!("columns: {error}")))?;
        Ok(ChosenColumns {
            names: columns.names().map(python_name).collect(),
            columns,
        })
    }

    /// Whether the ids are all that is wanted, for which no record is read.
    pub(crate) fn are_ids(&self) -> bool {
        self.columns.names().eq(["id"])
    }

    pub(crate) fn need_company(&self) -> bool {
        self.columns.need_company()
    }

    pub(crate) fn values<'s>(&self, source: ColumnSource<'s>) -> Vec<ColumnValue<'s>> {
        self.columns.values(source)
    }

    pub(super) fn schema(&self) -> Schema {
        let types = self.columns.types().zip(&self.names);
        let fields = types.map(|(column_type, name)| {
            // Of the other types, only a reader of records could tell whether a value may be missing.
            let is_nullable = column_type != ColumnType::Id;
            Field::new(name, data_type(column_type), is_nullable)
        });
        Schema::new(fields.collect::<Vec<_>>())
    }

    pub(super) fn builders(&self, rows: usize) -> Vec<ColumnBuilder> {
        let types = self.columns.types();
        types
            .map(|column_type| ColumnBuilder::of(column_type, rows))
            .collect()
    }
}

fn unknown(name: &str, all: &[(String, &str)]) -> PyErr {
    let names: Vec<&str> = all.iter().map(|(python, _)| &**python).collect();
    let hint = match nearest_name(name, names.iter().copied()) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None => format!("they are {}", names.join(", ")),
    };
    PyValueError::new_err(format!("columns: {name:?} is not a column; {hint}"))
}

fn data_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::Id => DataType::UInt64,
        ColumnType::Text => DataType::Utf8,
        ColumnType::Day => DataType::Date32,
        ColumnType::Instant => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        ColumnType::Whole => DataType::Int64,
        ColumnType::Amount => DataType::Float64,
    }
}

/// A column under construction.
pub(super) enum ColumnBuilder {
    Id(UInt64Builder),
    Text(StringBuilder),
    Day(Date32Builder),
    Instant(TimestampMicrosecondBuilder),
    Whole(Int64Builder),
    Amount(Float64Builder),
}

impl ColumnBuilder {
    fn of(column_type: ColumnType, rows: usize) -> ColumnBuilder {
        match column_type {
            ColumnType::Id => ColumnBuilder::Id(UInt64Builder::with_capacity(rows)),
            ColumnType::Text => ColumnBuilder::Text(StringBuilder::with_capacity(rows, 0)),
            ColumnType::Day => ColumnBuilder::Day(Date32Builder::with_capacity(rows)),
            ColumnType::Instant => {
                let builder = TimestampMicrosecondBuilder::with_capacity(rows);
                ColumnBuilder::Instant(builder.with_timezone(UTC))
            }
            ColumnType::Whole => ColumnBuilder::Whole(Int64Builder::with_capacity(rows)),
            ColumnType::Amount => ColumnBuilder::Amount(Float64Builder::with_capacity(rows)),
        }
    }

    /// Appends a value of the column's type, or null; returns the bytes of its text.
    pub(super) fn append(&mut self, value: ColumnValue<'_>) -> usize {
        match (self, value) {
            (ColumnBuilder::Id(builder), ColumnValue::Id(id)) => builder.append_value(id.get()),
            (ColumnBuilder::Text(builder), ColumnValue::Text(text)) => {
                builder.append_value(text);
                return text.len();
            }
            (ColumnBuilder::Day(builder), ColumnValue::Day(date)) => {
                builder.append_value(days(date));
            }
            (ColumnBuilder::Instant(builder), ColumnValue::Instant(instant)) => {
                builder.append_value(microseconds(instant));
            }
            (ColumnBuilder::Whole(builder), ColumnValue::Whole(number)) => {
                builder.append_value(number);
            }
            (ColumnBuilder::Amount(builder), ColumnValue::Amount(amount)) => {
                builder.append_value(amount);
            }
            (builder, _) => builder.append_null(),
        }
        0
    }

    fn append_null(&mut self) {
        match self {
            ColumnBuilder::Id(builder) => builder.append_null(),
            ColumnBuilder::Text(builder) => builder.append_null(),
            ColumnBuilder::Day(builder) => builder.append_null(),
            ColumnBuilder::Instant(builder) => builder.append_null(),
            ColumnBuilder::Whole(builder) => builder.append_null(),
            ColumnBuilder::Amount(builder) => builder.append_null(),
        }
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuilder::Id(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Text(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Day(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Instant(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Whole(builder) => Arc::new(builder.finish()),
            ColumnBuilder::Amount(builder) => Arc::new(builder.finish()),
        }
    }
}

/// Days since 1970.
pub(crate) fn days(date: Date) -> i32 {
    date.to_julian_day() - UNIX_EPOCH
}

/// The date of days since 1970.
pub(super) fn date_of(days: i32) -> Option<Date> {
    Date::from_julian_day(days.checked_add(UNIX_EPOCH)?).ok()
}

/// Microseconds since 1970; what is finer is cut off, as in Python's own instants.
fn microseconds(instant: UtcDateTime) -> i64 {
    instant.unix_timestamp() * 1_000_000 + i64::from(instant.microsecond())
}
