//! The values of foreign columns, whatever Arrow type of their kind they have.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, Date32Array, Date64Array, LargeStringArray, StringArray, StringViewArray,
};
use arrow_schema::{DataType, TimeUnit};
use signaldex::json::{Cell, CellOptions, FieldType, Value, read_cell};
use signaldex::{Currency, SignalId};
use time::{Date, UtcDateTime};

use super::columns::date_of;

const NANOSECONDS_PER_DAY: i128 = 86_400_000_000_000;

/// A column of a kind that records have. It is asked for rows that are not null, and may find that a value
/// stands for none.
pub(super) enum ArrowColumn<'b> {
    Null,
    Text(Texts<'b>),
    /// The number of each row's text, and the texts.
    Dictionary(Vec<usize>, Texts<'b>),
    Number(&'b ArrayRef),
    Float(&'b ArrayRef),
    Days(&'b Date32Array),
    Milliseconds(&'b Date64Array),
    /// Instants, and the nanoseconds of their unit.
    Instant(&'b ArrayRef, i128),
}

/// Texts in one of the forms that Arrow has for them.
#[derive(Clone, Copy)]
pub(super) enum Texts<'b> {
    Small(&'b StringArray),
    Large(&'b LargeStringArray),
    View(&'b StringViewArray),
}

impl<'b> Texts<'b> {
    fn of(array: &'b dyn Array) -> Option<Texts<'b>> {
        match array.data_type() {
            DataType::Utf8 => Some(Texts::Small(array.as_string())),
            DataType::LargeUtf8 => Some(Texts::Large(array.as_string())),
            DataType::Utf8View => Some(Texts::View(array.as_string_view())),
            _ => None,
        }
    }

    fn get(self, row: usize) -> Option<&'b str> {
        match self {
            Texts::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Texts::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Texts::View(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }

    fn is_empty(self) -> bool {
        match self {
            Texts::Small(array) => array.is_empty(),
            Texts::Large(array) => array.is_empty(),
            Texts::View(array) => array.is_empty(),
        }
    }
}

impl<'b> ArrowColumn<'b> {
    /// The values of a column, or its type where no field has that.
    pub(super) fn of(array: &'b ArrayRef) -> Result<ArrowColumn<'b>, &'b DataType> {
        let kind = array.data_type();
        match kind {
            DataType::Null => Ok(ArrowColumn::Null),
            DataType::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let texts = Texts::of(dictionary.values().as_ref()).ok_or(kind)?;
                // Without texts every row is null.
                let numbers = (!texts.is_empty()).then(|| dictionary.normalized_keys());
                Ok(ArrowColumn::Dictionary(numbers.unwrap_or_default(), texts))
            }
            DataType::Float32 | DataType::Float64 => Ok(ArrowColumn::Float(array)),
            DataType::Date32 => Ok(ArrowColumn::Days(array.as_primitive())),
            DataType::Date64 => Ok(ArrowColumn::Milliseconds(array.as_primitive())),
            DataType::Timestamp(unit, _) => Ok(ArrowColumn::Instant(array, nanoseconds(*unit))),
            _ if kind.is_integer() => Ok(ArrowColumn::Number(array)),
            _ => Texts::of(array.as_ref()).map(ArrowColumn::Text).ok_or(kind),
        }
    }

    pub(super) fn text(&self, row: usize) -> Result<Option<&'b str>, String> {
        match self {
            ArrowColumn::Null => Ok(None),
            ArrowColumn::Text(texts) => Ok(texts.get(row)),
            ArrowColumn::Dictionary(numbers, texts) => {
                let number = numbers.get(row);
                Ok(number.and_then(|number| texts.get(*number)))
            }
            _ => Err("is not a text".to_owned()),
        }
    }

    /// What a text means in a field of a type, as a string of JSON does; `None` in a column of another type.
    fn read_text(
        &self,
        row: usize,
        field_type: FieldType,
    ) -> Option<Result<Option<Value<'b>>, String>> {
        if !matches!(self, ArrowColumn::Text(_) | ArrowColumn::Dictionary(..)) {
            return None;
        }
        let cell = self
            .text(row)
            .map(|text| text.map_or(Cell::Empty, Cell::JsonString));
        Some(cell.and_then(|cell| {
            let value = read_cell(field_type, cell, &CellOptions::default());
            value.map_err(|fault| fault.to_string())
        }))
    }

    fn whole(&self, row: usize) -> Result<Option<i128>, String> {
        match self {
            ArrowColumn::Null => Ok(None),
            ArrowColumn::Number(array) => Ok(Some(integer(array, row))),
            // A column with nulls becomes one of floats on its way through pandas.
            ArrowColumn::Float(array) => match float(array, row) {
                number if number.is_nan() => Ok(None),
                number if number.fract() == 0.0 && number.abs() <= EXACT_FLOAT_MAX => {
                    Ok(Some(number as i128))
                }
                number => Err(format!(
                    "{number} is not a whole number that a float holds exactly"
                )),
            },
            _ => Err("is not a number".to_owned()),
        }
    }

    /// A whole number; a text is read as the type of its field says.
    pub(super) fn number(&self, row: usize, of_text: FieldType) -> Result<Option<i64>, String> {
        if let Some(value) = self.read_text(row, of_text) {
            return Ok(match value? {
                Some(Value::WholeNumber(number)) => Some(number),
                _ => None,
            });
        }
        let number = self.whole(row)?;
        let number = number.map(|number| i64::try_from(number).map_err(|_| out_of_range()));
        number.transpose()
    }

    /// An id: a number, or its digits.
    pub(super) fn id(&self, row: usize) -> Result<Option<SignalId>, String> {
        if let Some(value) = self.read_text(row, FieldType::Id) {
            return Ok(match value? {
                Some(Value::Id(id)) => Some(id),
                _ => None,
            });
        }
        let id = self.whole(row)?.map(|number| {
            let number = u64::try_from(number).ok();
            number.and_then(SignalId::new).ok_or_else(out_of_range)
        });
        id.transpose()
    }

    /// An amount, and the currency that stands beside it in a text.
    pub(super) fn amount(&self, row: usize) -> Result<Option<(f64, Option<Currency>)>, String> {
        if let Some(value) = self.read_text(row, FieldType::Amount) {
            return Ok(match value? {
                Some(Value::Amount(amount, currency)) => Some((amount, currency)),
                _ => None,
            });
        }
        Ok(match self {
            ArrowColumn::Float(array) => Some((float(array, row), None)),
            _ => self.whole(row)?.map(|number| (number as f64, None)),
        })
    }

    pub(super) fn instant(&self, row: usize) -> Result<Option<UtcDateTime>, String> {
        if let Some(value) = self.read_text(row, FieldType::Instant) {
            return Ok(match value? {
                Some(Value::Instant(instant)) => Some(instant),
                _ => None,
            });
        }
        let instant = self.nanoseconds(row)?.map(|nanoseconds| {
            UtcDateTime::from_unix_timestamp_nanos(nanoseconds).map_err(|_| out_of_range())
        });
        instant.transpose()
    }

    /// A date; an instant is one where it is midnight.
    pub(super) fn date(&self, row: usize) -> Result<Option<Date>, String> {
        if let Some(value) = self.read_text(row, FieldType::Day) {
            return Ok(match value? {
                Some(Value::Day(day)) => Some(day),
                _ => None,
            });
        }
        let days = match self {
            ArrowColumn::Days(array) => Some(i128::from(array.value(row))),
            _ => match self.nanoseconds(row)? {
                Some(nanoseconds) if nanoseconds % NANOSECONDS_PER_DAY != 0 => {
                    return Err("has a time of day".to_owned());
                }
                nanoseconds => nanoseconds.map(|nanoseconds| nanoseconds / NANOSECONDS_PER_DAY),
            },
        };
        let date = days.map(|days| {
            let days = i32::try_from(days).ok();
            days.and_then(date_of).ok_or_else(out_of_range)
        });
        date.transpose()
    }

    /// Nanoseconds since 1970.
    fn nanoseconds(&self, row: usize) -> Result<Option<i128>, String> {
        let (ticks, unit) = match self {
            ArrowColumn::Null => return Ok(None),
            ArrowColumn::Instant(array, unit) => (ticks(array, row), *unit),
            ArrowColumn::Milliseconds(array) => {
                (array.value(row), nanoseconds(TimeUnit::Millisecond))
            }
            _ => return Err("is not an instant".to_owned()),
        };
        Ok(Some(i128::from(ticks) * unit))
    }
}

/// Up to here every whole number is a float.
const EXACT_FLOAT_MAX: f64 = 9_007_199_254_740_992.0;

fn nanoseconds(unit: TimeUnit) -> i128 {
    match unit {
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
    }
}

fn ticks(array: &ArrayRef, row: usize) -> i64 {
    if let Some(array) = array.as_primitive_opt::<TimestampMicrosecondType>() {
        array.value(row)
    } else if let Some(array) = array.as_primitive_opt::<TimestampNanosecondType>() {
        array.value(row)
    } else if let Some(array) = array.as_primitive_opt::<TimestampMillisecondType>() {
        array.value(row)
    } else {
        array.as_primitive::<TimestampSecondType>().value(row)
    }
}

fn float(array: &ArrayRef, row: usize) -> f64 {
    match array.data_type() {
        DataType::Float32 => f64::from(array.as_primitive::<Float32Type>().value(row)),
        _ => array.as_primitive::<Float64Type>().value(row),
    }
}

fn integer(array: &ArrayRef, row: usize) -> i128 {
    match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).into(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).into(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).into(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().value(row).into(),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().value(row).into(),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        _ => array.as_primitive::<Int64Type>().value(row).into(),
    }
}

fn out_of_range() -> String {
    "is out of range".to_owned()
}
