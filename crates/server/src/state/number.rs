//! Numbers that are never negative, in SQLite's signed integers.
//!
//! rusqlite converts `u64` itself only in some of the versions that a host may choose.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use crate::metering::Counts;

/// A stored number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number(pub(super) u64);

impl FromSql for Number {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Number> {
        let number = i64::column_result(value)?;
        let unsigned = u64::try_from(number);
        unsigned
            .map(Number)
            .map_err(|_| FromSqlError::OutOfRange(number))
    }
}

impl ToSql for Number {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let number = i64::try_from(self.0);
        let number =
            number.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(number.into())
    }
}

/// The number in a column.
pub(super) fn number(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get(column).map(|Number(number)| number)
}

/// The number of things in a column.
pub(super) fn size(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<usize> {
    number(row, column).map(|number| usize::try_from(number).unwrap_or(usize::MAX))
}

/// The counts in the columns from one on.
pub(super) fn counts(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Counts> {
    let mut counts = Counts::default();
    for (count, column) in counts.iter_mut().zip(first..) {
        *count = number(row, column)?;
    }
    Ok(counts)
}
