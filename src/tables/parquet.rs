//! Reads Parquet row by row: flat columns, or those of the structs `funding` and `hiring`.

mod columns;
mod lengths;
mod pages;
mod thrift;

use std::fmt::Display;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::{self, Utf8Error};

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type as PhysicalType};
use parquet::data_type::Decimal;
use parquet::errors::ParquetError;
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::record::Field;
use parquet::schema::types::ColumnDescriptor;
use time::{Date, Duration, Month, PrimitiveDateTime, UtcDateTime};

use self::columns::{GroupColumns, LeafValue};
use super::csv::COLUMNS_MAX;
use super::error::RecordError;
use super::lines::LINE_BYTES_MAX;
use super::rows::{RowBatch, StoredCell, TableSource, unless_panic};
use crate::{Error, Result};

/// A file of Parquet.
pub(super) struct ParquetTable {
    path: PathBuf,
    header: Vec<String>,
    columns: Vec<LeafType>,
    reader: SerializedFileReader<File>,
    /// The row groups that have been begun, and the columns of the last.
    groups: usize,
    group: Option<GroupColumns>,
    /// The values of the row that is read.
    values: Vec<LeafValue>,
    number: u64,
    total_rows: u64,
    total_bytes: u64,
}

/// What the values of a column are, where the values do not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeafType {
    Plain,
    /// A time since 1970, in units of which `ticks` are a second.
    Timestamp {
        ticks: i64,
        is_utc: bool,
    },
}

impl ParquetTable {
    /// Reads the schema.
    ///
    /// # Errors
    /// The file is no Parquet, has too many columns, or one of a type that is not read.
    pub(super) fn open(path: &Path) -> Result<ParquetTable> {
        if path == Path::new("-") {
            return Err(Error::invalid(
                "Parquet cannot be read from standard input; save it as a file",
            ));
        }
        ParquetTable::of_file(path).map_err(|error| error.at(path))
    }

    fn of_file(path: &Path) -> Result<ParquetTable> {
        let unreadable = |error| Error::io("open the file", error);
        let file = File::open(path).map_err(unreadable)?;
        let total_bytes = file.metadata().map_err(unreadable)?.len();
        pages::check_footer(&file)?;
        let reader = opened(file.try_clone().map_err(unreadable)?)?;
        let metadata = reader.metadata();
        let schema = metadata.file_metadata().schema_descr();
        if schema.num_columns() > COLUMNS_MAX {
            return Err(Error::invalid(format!(
                "has {} columns; at most {COLUMNS_MAX} are allowed",
                schema.num_columns()
            )));
        }
        let leaves = schema.columns().iter().map(|column| leaf_of(column));
        let leaves: std::result::Result<Vec<_>, String> = leaves.collect();
        let (header, columns) = leaves.map_err(Error::invalid)?.into_iter().unzip();
        pages::check_pages(&file, &reader, pages::HELD_BYTES_MAX)?;
        let total_rows = u64::try_from(metadata.file_metadata().num_rows()).unwrap_or(0);
        Ok(ParquetTable {
            path: path.to_owned(),
            header,
            columns,
            reader,
            groups: 0,
            group: None,
            values: Vec::new(),
            number: 0,
            total_rows,
            total_bytes,
        })
    }

    /// Reads the values of the next row; false at the end.
    fn next_values(&mut self) -> std::result::Result<bool, ParquetError> {
        loop {
            if let Some(group) = &mut self.group
                && group.next_row(&mut self.values)?
            {
                return Ok(true);
            }
            if self.groups == self.reader.num_row_groups() {
                return Ok(false);
            }
            let group = self.reader.get_row_group(self.groups)?;
            self.group = Some(GroupColumns::open(&*group)?);
            self.groups += 1;
        }
    }

    /// Adds the row that was read; false if it is blank.
    ///
    /// # Errors
    /// A text is not UTF-8.
    fn take(&self, rows: &mut RowBatch) -> std::result::Result<bool, Utf8Error> {
        let bytes: usize = self.values.iter().map(byte_count).sum();
        if bytes > LINE_BYTES_MAX {
            let reason = format!("the row is longer than {LINE_BYTES_MAX} bytes");
            rows.push_error(self.number, RecordError::of_line(reason));
            return Ok(true);
        }
        let mut cells = Vec::with_capacity(self.columns.len());
        for (value, leaf) in self.values.iter().zip(&self.columns) {
            cells.push(match value {
                LeafValue::Text(text) => rows.stored_text(str::from_utf8(text.data())?),
                LeafValue::Field(field) => stored(field, *leaf, rows),
            });
        }
        let is_blank = cells.iter().all(|cell| matches!(cell, StoredCell::Empty));
        if !is_blank {
            rows.push_cells(self.number, cells);
        }
        Ok(!is_blank)
    }
}

/// Opens a file whose footer is bounded.
fn opened(file: File) -> Result<SerializedFileReader<File>> {
    // The older form of LZ4 has no length that bounds it.
    let properties = ReaderProperties::builder().set_backward_compatible_lz4(false);
    let options = ReadOptionsBuilder::new().with_reader_properties(properties.build());
    let open = || SerializedFileReader::new_with_options(file, options.build());
    unless_panic("the Parquet", || {
        open().map_err(|error| Error::corrupt(format!("the Parquet is damaged: {error}")))
    })
}

impl TableSource for ParquetTable {
    fn path(&self) -> &Path {
        &self.path
    }

    fn header(&self) -> &[String] {
        &self.header
    }

    fn next_row(&mut self, rows: &mut RowBatch) -> Result<bool> {
        loop {
            self.number += 1;
            let number = self.number;
            let damaged = |error: &dyn Display| {
                Error::corrupt(format!("the Parquet is damaged at row {number}: {error}"))
            };
            let is_row = unless_panic("the Parquet", || {
                self.next_values().map_err(|error| damaged(&error))
            });
            if !is_row.map_err(|error| error.at(&self.path))? {
                return Ok(false);
            }
            let taken = self.take(rows).map_err(|error| damaged(&error));
            if taken.map_err(|error| error.at(&self.path))? {
                return Ok(true);
            }
        }
    }

    fn bytes_read(&self) -> u64 {
        // By the share of the rows.
        let share = self.number.min(self.total_rows) as f64 / self.total_rows.max(1) as f64;
        (share * self.total_bytes as f64) as u64
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.total_bytes)
    }
}

/// The name of a column, with that of its struct, and what its values are.
///
/// # Errors
/// The column is a list, or of a type that is not read.
fn leaf_of(column: &ColumnDescriptor) -> std::result::Result<(String, LeafType), String> {
    use PhysicalType as P;
    let name = column.path().string();
    let is_flat = column.max_rep_level() == 0;
    let logical = column.logical_type_ref();
    let leaf = match logical {
        Some(LogicalType::Timestamp(timestamp)) => LeafType::Timestamp {
            ticks: match timestamp.unit {
                TimeUnit::MILLIS => 1_000,
                TimeUnit::MICROS => 1_000_000,
                TimeUnit::NANOS => 1_000_000_000,
            },
            is_utc: timestamp.is_adjusted_to_u_t_c,
        },
        _ => LeafType::Plain,
    };
    // What turns them into fields panics at other pairs.
    let is_read = matches!(
        (column.physical_type(), column.converted_type()),
        (P::BOOLEAN | P::FLOAT | P::DOUBLE | P::INT96, _)
            | (
                P::INT32,
                ConvertedType::NONE
                    | ConvertedType::INT_8
                    | ConvertedType::INT_16
                    | ConvertedType::INT_32
                    | ConvertedType::UINT_8
                    | ConvertedType::UINT_16
                    | ConvertedType::UINT_32
                    | ConvertedType::DATE
                    | ConvertedType::TIME_MILLIS
                    | ConvertedType::DECIMAL
            )
            | (
                P::INT64,
                ConvertedType::NONE
                    | ConvertedType::INT_64
                    | ConvertedType::UINT_64
                    | ConvertedType::TIME_MICROS
                    | ConvertedType::TIMESTAMP_MILLIS
                    | ConvertedType::TIMESTAMP_MICROS
                    | ConvertedType::DECIMAL
            )
            | (
                P::BYTE_ARRAY,
                ConvertedType::UTF8
                    | ConvertedType::ENUM
                    | ConvertedType::JSON
                    | ConvertedType::BSON
                    | ConvertedType::NONE
                    | ConvertedType::DECIMAL
            )
            | (
                P::FIXED_LEN_BYTE_ARRAY,
                ConvertedType::NONE | ConvertedType::DECIMAL
            )
    );
    if is_flat && is_read {
        Ok((name, leaf))
    } else {
        Err(format!(
            "the column \"{name}\" is a list or of a type that is not read; leave it out of the file"
        ))
    }
}

fn byte_count(value: &LeafValue) -> usize {
    match value {
        LeafValue::Text(text) => text.len(),
        LeafValue::Field(Field::Bytes(bytes)) => bytes.len(),
        LeafValue::Field(_) => size_of::<Field>(),
    }
}

fn stored(field: &Field, leaf: LeafType, rows: &mut RowBatch) -> StoredCell {
    let number =
        |rows: &mut RowBatch, number: &dyn Display| StoredCell::Number(rows.stored_display(number));
    match (field, leaf) {
        (Field::Null, _) => StoredCell::Empty,
        (Field::Long(count), LeafType::Timestamp { ticks, is_utc }) => {
            timestamp(*count, ticks, is_utc, rows)
        }
        (Field::TimestampMillis(count), LeafType::Timestamp { is_utc, .. }) => {
            timestamp(*count, 1_000, is_utc, rows)
        }
        (Field::TimestampMicros(count), LeafType::Timestamp { is_utc, .. }) => {
            timestamp(*count, 1_000_000, is_utc, rows)
        }
        // Older files say no more than that it is an instant in UTC.
        (Field::TimestampMillis(count), LeafType::Plain) => timestamp(*count, 1_000, true, rows),
        (Field::TimestampMicros(count), LeafType::Plain) => {
            timestamp(*count, 1_000_000, true, rows)
        }
        (Field::Bytes(bytes), _) => match std::str::from_utf8(bytes.data()) {
            Ok(text) => rows.stored_text(text),
            Err(_) => StoredCell::Other(rows.stored("bytes that are no text")),
        },
        (Field::Byte(value), _) => number(rows, value),
        (Field::Short(value), _) => number(rows, value),
        (Field::Int(value), _) => number(rows, value),
        (Field::Long(value), _) => number(rows, value),
        (Field::UByte(value), _) => number(rows, value),
        (Field::UShort(value), _) => number(rows, value),
        (Field::UInt(value), _) => number(rows, value),
        (Field::ULong(value), _) => number(rows, value),
        (Field::Float(value), _) if !value.is_nan() => StoredCell::Float(f64::from(*value)),
        // NaN is how pandas writes null.
        (Field::Float(_), _) => StoredCell::Empty,
        (Field::Double(value), _) if value.is_nan() => StoredCell::Empty,
        (Field::Double(value), _) => StoredCell::Float(*value),
        (Field::Decimal(decimal), _) => match decimal_text(decimal) {
            Some(text) => number(rows, &text),
            None => StoredCell::Other(rows.stored("a decimal of more than 38 digits")),
        },
        (Field::Date(days), _) => {
            let day = Date::from_calendar_date(1970, Month::January, 1).ok();
            let day = day.and_then(|first| first.checked_add(Duration::days(i64::from(*days))));
            match day {
                Some(day) => StoredCell::Day(day),
                None => StoredCell::Other(rows.stored(&format!("day {days} of 1970"))),
            }
        }
        (other, _) => StoredCell::Other(rows.stored(&other.to_string())),
    }
}

fn timestamp(count: i64, ticks: i64, is_utc: bool, rows: &mut RowBatch) -> StoredCell {
    let nanos = i128::from(count) * i128::from(1_000_000_000 / ticks);
    match UtcDateTime::from_unix_timestamp_nanos(nanos) {
        Ok(instant) if is_utc => StoredCell::Instant(instant),
        Ok(instant) => {
            StoredCell::LocalTime(PrimitiveDateTime::new(instant.date(), instant.time()))
        }
        Err(_) => StoredCell::Other(rows.stored(&format!("{count} ticks since 1970"))),
    }
}

/// A decimal as JSON writes it.
fn decimal_text(decimal: &Decimal) -> Option<String> {
    let bytes = decimal.data();
    let is_negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    if bytes.len() > size_of::<i128>() {
        return None;
    }
    let mut whole = [if is_negative { 0xFF } else { 0 }; size_of::<i128>()];
    whole[size_of::<i128>() - bytes.len()..].copy_from_slice(bytes);
    let unscaled = i128::from_be_bytes(whole);
    let scale = usize::try_from(decimal.scale()).ok()?;
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if is_negative { "-" } else { "" };
    Some(if fraction.is_empty() {
        format!("{sign}{whole}")
    } else {
        format!("{sign}{whole}.{fraction}")
    })
}

#[cfg(test)]
pub(crate) mod tests;
