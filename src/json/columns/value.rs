//! The values of columns and their types.

use std::borrow::Cow;

use time::{Date, UtcDateTime};

use crate::json::page::{write_text, write_value};
use crate::json::text_encoding;
use crate::json::written::AmountNumber;
use crate::signal::SignalId;

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ColumnValue<'a> {
    /// Nothing: an empty cell, or null.
    Null,
    /// An id.
    Id(SignalId),
    /// A text.
    Text(&'a str),
    /// A day.
    Day(Date),
    /// An instant.
    Instant(UtcDateTime),
    /// A whole number.
    Whole(i64),
    /// An amount.
    Amount(f64),
}

/// The type of a column: what its values are where they are not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnType {
    /// [`ColumnValue::Id`]
    Id,
    /// [`ColumnValue::Text`]
    Text,
    /// [`ColumnValue::Day`]
    Day,
    /// [`ColumnValue::Instant`]
    Instant,
    /// [`ColumnValue::Whole`]
    Whole,
    /// [`ColumnValue::Amount`]
    Amount,
}

impl ColumnValue<'_> {
    /// The value as the cell of a table; empty for null.
    ///
    /// ```
    /// use signaldex::json::ColumnValue;
    ///
    /// assert_eq!(ColumnValue::Amount(1500000.5).to_text(), "1500000.5");
    /// assert_eq!(ColumnValue::Null.to_text(), "");
    /// ```
    pub fn to_text(&self) -> Cow<'_, str> {
        match self {
            ColumnValue::Null => Cow::Borrowed(""),
            ColumnValue::Text(text) => Cow::Borrowed(text),
            ColumnValue::Id(id) => Cow::Owned(id.to_string()),
            ColumnValue::Day(day) => Cow::Owned(text_encoding::day(*day).as_str().to_owned()),
            ColumnValue::Instant(instant) => {
                Cow::Owned(text_encoding::instant(*instant).as_str().to_owned())
            }
            ColumnValue::Whole(number) => Cow::Owned(number.to_string()),
            ColumnValue::Amount(amount) => Cow::Owned(amount.to_string()),
        }
    }

    pub(super) fn write_json(&self, output: &mut Vec<u8>) {
        match self {
            ColumnValue::Null => output.extend_from_slice(b"null"),
            ColumnValue::Text(text) => write_text(output, Some(text)),
            ColumnValue::Id(id) => text_encoding::id(*id).write_quoted(output),
            ColumnValue::Day(day) => text_encoding::day(*day).write_quoted(output),
            ColumnValue::Instant(instant) => {
                text_encoding::instant(*instant).write_quoted(output);
            }
            ColumnValue::Whole(number) => write_value(output, number),
            ColumnValue::Amount(amount) => write_value(output, &AmountNumber(*amount)),
        }
    }
}
