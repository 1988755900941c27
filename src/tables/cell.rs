//! What a cell means: the one slow function that every reader of records agrees with.

use std::borrow::Cow;

use time::{Date, PrimitiveDateTime, UtcDateTime};

use super::formula::without_escape;
use super::moment::{self, Moment, MomentFault};
use super::money::{self, MoneyFault};
use super::number::{self, NumberFault};
use super::options::CellOptions;
use crate::signal::{Currency, SignalId};
use crate::text::{quoted, shortened};

/// Maximum bytes of a text: 1 MiB of UTF-8, far above any real title or abstract, so that a broken export
/// cannot fill an index.
pub const FIELD_BYTES_MAX: usize = 1 << 20;

/// The type of a field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldType {
    /// A text.
    Text,
    /// The slug of a company: a text of 1 to 180 characters.
    Key,
    /// A signal's id.
    Id,
    /// A whole number.
    WholeNumber,
    /// A number of employees.
    Employees,
    /// An amount of money.
    Amount,
    /// A currency.
    Currency,
    /// A day.
    Day,
    /// An instant.
    Instant,
}

/// A cell of a table, or a member of a JSON object.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cell<'a> {
    /// An empty cell, or null.
    Empty,
    /// The text of a table's cell.
    Text(&'a str),
    /// A JSON string, whose white space counts.
    JsonString(&'a str),
    /// A JSON number as it is written.
    JsonNumber(&'a str),
    /// A whole or decimal number of a typed column, as JSON writes it without an exponent.
    Number(&'a str),
    /// A number that is stored as a float.
    Float(f64),
    /// A day of a typed column.
    Day(Date),
    /// A time of a typed column, without an offset from UTC.
    LocalTime(PrimitiveDateTime),
    /// An instant of a typed column.
    Instant(UtcDateTime),
    /// Anything else, as it is written: true, a list, `#N/A`.
    Other(&'a str),
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// A signal's id.
    Id(SignalId),
    /// A whole number.
    WholeNumber(i64),
    /// An amount, with the currency that stands beside it in the cell.
    Amount(f64, Option<Currency>),
    /// A currency.
    Currency(Currency),
    /// A day.
    Day(Date),
    /// An instant.
    Instant(UtcDateTime),
}

impl FieldType {
    /// Completes "must be …".
    pub fn expected(self) -> &'static str {
        match self {
            FieldType::Text | FieldType::Key => "a string",
            FieldType::Id => {
                "a whole number of 1 to 19 digits without a leading zero, as a number or a string"
            }
            FieldType::WholeNumber => {
                "a whole number from -9223372036854775808 to 9223372036854775807, without point or exponent"
            }
            FieldType::Employees => {
                "a whole number from 0 to 9223372036854775807, without point or exponent"
            }
            FieldType::Amount => "a finite number of at least 0",
            FieldType::Currency => "a currency of three letters, such as \"USD\"",
            FieldType::Day => "a day of the calendar as \"YYYY-MM-DD\"",
            FieldType::Instant => {
                "an instant of RFC 3339 in the years 0000 to 9999, such as \"2026-06-30T12:00:00Z\""
            }
        }
    }
}

impl Value<'_> {
    /// The same value with a text of its own.
    pub(crate) fn into_owned(self) -> Value<'static> {
        match self {
            Value::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
            Value::Id(id) => Value::Id(id),
            Value::WholeNumber(number) => Value::WholeNumber(number),
            Value::Amount(amount, currency) => Value::Amount(amount, currency),
            Value::Currency(currency) => Value::Currency(currency),
            Value::Day(day) => Value::Day(day),
            Value::Instant(instant) => Value::Instant(instant),
        }
    }
}

impl Cell<'_> {
    /// Whether the cell holds nothing but white space.
    pub(crate) fn is_blank(&self) -> bool {
        match self {
            Cell::Empty => true,
            Cell::Text(text) => text.trim().is_empty(),
            _ => false,
        }
    }

    /// The cell as a message shows it: texts in quotes, at most 64 characters.
    pub(crate) fn shown(&self) -> String {
        match *self {
            Cell::Empty => "an empty cell".to_owned(),
            Cell::Text(text) | Cell::JsonString(text) => quoted(text),
            Cell::JsonNumber(text) | Cell::Number(text) | Cell::Other(text) => shortened(text),
            Cell::Float(number) => number.to_string(),
            Cell::Day(day) => day.to_string(),
            Cell::LocalTime(time) => time.to_string(),
            Cell::Instant(instant) => instant.to_string(),
        }
    }
}

/// Why a cell has no value: what follows the cell in a message.
pub type CellFault = Cow<'static, str>;

const TWO_NUMBERS: &str =
    "has two readings: the mark before three digits may group them or begin a fraction";
const TWO_DATES: &str = "is read differently by two of the formats";
const NO_OFFSET: &str = "has no offset from UTC";
const HAS_TIME: &str = "has a time of day, and a day is needed";
const SHARED_SIGN: &str = "has a sign of several currencies";
const EXPONENT: &str =
    "has an exponent, and a spreadsheet that writes 1.2E+06 has dropped digits; write all digits";
const LOST_DIGITS: &str =
    "is a number of more than 15 digits in a cell that keeps 15; make it a text in the spreadsheet";

/// The value of a cell in a field of this type; `None` is null. This is the definition of what cells mean.
///
/// ```
/// use signaldex::json::{Cell, CellOptions, FieldType, Value, read_cell};
///
/// let mut options = CellOptions::default();
/// let cell = Cell::Text(" 1,200 ");
/// assert!(read_cell(FieldType::Employees, cell, &options).is_err()); // 1200, or 1.2?
/// options.set("decimal", ".")?;
/// let value = read_cell(FieldType::Employees, cell, &options);
/// assert_eq!(value, Ok(Some(Value::WholeNumber(1200))));
/// # Ok::<(), signaldex::Error>(())
/// ```
///
/// # Errors
/// What is wrong with the cell, and what is allowed.
pub fn read_cell<'a>(
    field_type: FieldType,
    cell: Cell<'a>,
    options: &CellOptions,
) -> Result<Option<Value<'a>>, CellFault> {
    let text = match cell {
        Cell::Empty => return Ok(None),
        Cell::Text(text) => text_of_cell(text),
        Cell::JsonString(text) => text,
        typed => return typed_value(field_type, typed, options).map(Some),
    };
    let is_null = options.nulls.iter().any(|null| null == text);
    if text.is_empty() || is_null {
        return Ok(None);
    }
    text_value(field_type, text, options).map(Some)
}

/// The text of a table's cell: without white space at the ends, and without the apostrophe before what a
/// spreadsheet would run as a formula.
fn text_of_cell(text: &str) -> &str {
    without_escape(text.trim())
}

/// The value of a text.
fn text_value<'a>(
    field_type: FieldType,
    text: &'a str,
    options: &CellOptions,
) -> Result<Value<'a>, CellFault> {
    let unexpected = || not_expected(field_type);
    match field_type {
        FieldType::Text | FieldType::Key => checked_text(Cow::Borrowed(text)),
        FieldType::Id => text.parse().map(Value::Id).map_err(|_| unexpected()),
        FieldType::WholeNumber => whole(text, options)?.ok_or_else(unexpected),
        FieldType::Employees => {
            let number = lower_bound(text, options).unwrap_or(text);
            let whole = whole(number, options)?;
            whole.filter(is_count).ok_or_else(unexpected)
        }
        FieldType::Amount => {
            let (amount, currency) =
                money::amount(text, options).map_err(|fault| amount_fault(text, fault))?;
            Ok(Value::Amount(amount, currency))
        }
        FieldType::Currency => {
            let currency = money::currency(text, options);
            currency
                .map(Value::Currency)
                .map_err(|fault| money_fault(field_type, fault))
        }
        FieldType::Day => {
            let day = moment::day(text, &options.moments);
            day.map(Value::Day)
                .map_err(|fault| moment_fault(field_type, fault))
        }
        FieldType::Instant => {
            let instant = moment::instant(text, &options.moments);
            instant
                .map(Value::Instant)
                .map_err(|fault| moment_fault(field_type, fault))
        }
    }
}

/// The value of a number, a day or an instant, which means what it holds.
fn typed_value<'a>(
    field_type: FieldType,
    cell: Cell<'a>,
    options: &CellOptions,
) -> Result<Value<'a>, CellFault> {
    let unexpected = || not_expected(field_type);
    let moment = match cell {
        Cell::Day(day) => Some(Moment::Day(day)),
        Cell::LocalTime(time) => Some(Moment::Local(time)),
        Cell::Instant(instant) => Some(Moment::Instant(instant.into())),
        Cell::Float(number) => options
            .moments
            .excel_dates
            .and_then(|system| moment::serial(number, system)),
        _ => None,
    };
    match field_type {
        FieldType::Day => {
            let day = moment::day_at(moment.ok_or_else(unexpected)?);
            day.map(Value::Day)
                .map_err(|fault| moment_fault(field_type, fault))
        }
        FieldType::Instant => {
            let instant = moment::instant_at(moment.ok_or_else(unexpected)?, &options.moments);
            instant
                .map(Value::Instant)
                .map_err(|fault| moment_fault(field_type, fault))
        }
        FieldType::Text | FieldType::Key => match cell {
            Cell::Number(text) => checked_text(Cow::Borrowed(text)),
            Cell::Float(number) if number.is_finite() => {
                checked_text(Cow::Owned(number.to_string()))
            }
            _ => Err(unexpected()),
        },
        FieldType::Currency => Err(unexpected()),
        FieldType::Id | FieldType::WholeNumber | FieldType::Employees | FieldType::Amount => {
            number_value(field_type, cell)
        }
    }
}

/// The value of a number that is not a text.
fn number_value<'a>(field_type: FieldType, cell: Cell<'_>) -> Result<Value<'a>, CellFault> {
    /// The greatest whole number of 15 digits.
    const FLOAT_ID_MAX: f64 = 999_999_999_999_999.0;
    let float_text;
    let (text, is_json) = match cell {
        Cell::JsonNumber(text) => (text, true),
        Cell::Number(text) => (text, false),
        Cell::Float(number) if field_type == FieldType::Id && number > FLOAT_ID_MAX => {
            return Err(CellFault::Borrowed(LOST_DIGITS));
        }
        Cell::Float(number) => {
            float_text = number.to_string();
            (&*float_text, false)
        }
        _ => return Err(not_expected(field_type)),
    };
    // JSON says how a whole number is written; a typed column may hold it as a decimal.
    let whole = || {
        if is_json {
            text.parse().ok()
        } else {
            number::whole(text)
        }
    };
    let value = match field_type {
        FieldType::Id => text.parse().ok().map(Value::Id),
        FieldType::WholeNumber => whole().map(Value::WholeNumber),
        FieldType::Employees => whole().map(Value::WholeNumber).filter(is_count),
        _ => {
            let amount = text.parse().ok();
            let amount = amount.filter(|amount: &f64| amount.is_finite() && *amount >= 0.0);
            // Adding zero turns -0 into 0.
            amount.map(|amount| Value::Amount(amount + 0.0, None))
        }
    };
    value.ok_or_else(|| not_expected(field_type))
}

fn checked_text(text: Cow<'_, str>) -> Result<Value<'_>, CellFault> {
    let bytes = text.len();
    if bytes > FIELD_BYTES_MAX {
        let reason = format!("has {bytes} bytes; a text has at most {FIELD_BYTES_MAX}");
        return Err(CellFault::Owned(reason));
    }
    Ok(Value::Text(text))
}

fn whole<'a>(text: &str, options: &CellOptions) -> Result<Option<Value<'a>>, CellFault> {
    match number::decimal(text, options.moments.decimal) {
        Ok(decimal) => Ok(number::whole(&decimal).map(Value::WholeNumber)),
        Err(NumberFault::Ambiguous) => Err(CellFault::Borrowed(TWO_NUMBERS)),
        Err(NumberFault::NoNumber) => Ok(None),
    }
}

fn is_count(value: &Value<'_>) -> bool {
    matches!(value, Value::WholeNumber(0..))
}

/// The first number of `51-200`, `1,001 – 5,000` and `10,001+`, where the option allows it.
fn lower_bound<'t>(text: &'t str, options: &CellOptions) -> Option<&'t str> {
    if !options.employee_ranges {
        return None;
    }
    let is_number = |text: &str| {
        number::decimal(text, options.moments.decimal)
            .is_ok_and(|number| number::whole(&number).is_some())
    };
    if let Some(number) = text.strip_suffix('+') {
        return Some(number.trim_end());
    }
    let (lower, upper) = text.split_once(['-', '\u{2013}', '\u{2014}'])?;
    let lower = lower.trim_end();
    // `-0` has a sign and is no range.
    (!lower.is_empty() && is_number(upper.trim_start())).then_some(lower)
}

fn not_expected(field_type: FieldType) -> CellFault {
    CellFault::Owned(format!("is not {}", field_type.expected()))
}

fn money_fault(field_type: FieldType, fault: MoneyFault) -> CellFault {
    match fault {
        MoneyFault::Ambiguous => CellFault::Borrowed(TWO_NUMBERS),
        MoneyFault::SharedSign => CellFault::Borrowed(SHARED_SIGN),
        MoneyFault::NoAmount => not_expected(field_type),
    }
}

fn amount_fault(text: &str, fault: MoneyFault) -> CellFault {
    match fault {
        MoneyFault::NoAmount if has_exponent(text) => CellFault::Borrowed(EXPONENT),
        fault => money_fault(FieldType::Amount, fault),
    }
}

/// Whether a text is a number such as `1.2E+06`.
fn has_exponent(text: &str) -> bool {
    let is_float = text.parse::<f64>().is_ok();
    is_float && text.contains(['e', 'E'])
}

fn moment_fault(field_type: FieldType, fault: MomentFault) -> CellFault {
    match fault {
        MomentFault::Ambiguous => CellFault::Borrowed(TWO_DATES),
        MomentFault::HasTime => CellFault::Borrowed(HAS_TIME),
        MomentFault::NoOffset => CellFault::Borrowed(NO_OFFSET),
        MomentFault::NoMoment => not_expected(field_type),
    }
}

#[cfg(test)]
mod tests;
