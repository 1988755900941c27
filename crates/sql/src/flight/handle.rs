//! What clients carry: a statement as its text, with values of its parameters. The listener keeps none of it, so nothing
//! has to be closed, expires or fills the memory.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ParamValues;
use datafusion::scalar::ScalarValue;
use prost::bytes::Bytes;
use prost::{Message, Oneof};

use crate::error::{SqlError, SqlErrorKind};

/// Bytes of the number with which a statement is cancelled.
const ID_BYTES: usize = 16;

/// Most parameters: as many as a statement may have words.
const PARAMETERS_MAX: usize = 500;

/// A ticket, or a prepared statement.
#[derive(Clone, PartialEq, Message)]
pub(super) struct StatementHandle {
    #[prost(bytes = "bytes", tag = "1")]
    pub(super) id: Bytes,
    #[prost(string, tag = "2")]
    pub(super) text: String,
    #[prost(message, repeated, tag = "3")]
    values: Vec<ParameterValue>,
}

/// A value for a parameter; without one it is null.
#[derive(Clone, PartialEq, Message)]
struct ParameterValue {
    #[prost(oneof = "BoundValue", tags = "1, 2, 3, 4, 5, 6")]
    kind: Option<BoundValue>,
}

#[derive(Clone, PartialEq, Oneof)]
enum BoundValue {
    #[prost(bool, tag = "1")]
    Bool(bool),
    #[prost(int64, tag = "2")]
    Int(i64),
    #[prost(uint64, tag = "3")]
    UInt(u64),
    #[prost(double, tag = "4")]
    Float(f64),
    #[prost(string, tag = "5")]
    Text(String),
    /// Days since 1970.
    #[prost(int32, tag = "6")]
    Day(i32),
}

impl StatementHandle {
    /// A handle with a number of its own.
    ///
    /// # Errors
    /// The system gives no random bytes.
    pub(super) fn new(text: String) -> Result<StatementHandle, SqlError> {
        let mut id = [0; ID_BYTES];
        getrandom::fill(&mut id).map_err(SqlError::io)?;
        Ok(StatementHandle {
            id: Bytes::copy_from_slice(&id),
            text,
            values: Vec::new(),
        })
    }

    /// # Errors
    /// The bytes are none of a handle.
    pub(super) fn read(bytes: &[u8]) -> Result<StatementHandle, SqlError> {
        let handle = StatementHandle::decode(bytes).ok();
        let handle = handle.filter(|handle| handle.id.len() == ID_BYTES);
        handle.ok_or_else(|| {
            wrong("the handle is none that this service gave: prepare the statement again")
        })
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.encode_to_vec().into()
    }

    /// The same statement and values, to run once more.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub(super) fn again(&self) -> Result<StatementHandle, SqlError> {
        Ok(StatementHandle {
            values: self.values.clone(),
            ..StatementHandle::new(self.text.clone())?
        })
    }

    /// The same statement with the values of the only row of a batch.
    ///
    /// # Errors
    /// There is not one row, or a value has a type that parameters cannot have.
    pub(super) fn bound(&self, rows: &[RecordBatch]) -> Result<StatementHandle, SqlError> {
        let count: usize = rows.iter().map(RecordBatch::num_rows).sum();
        let row = rows.iter().find(|batch| batch.num_rows() == 1);
        let row = row.filter(|_| count == 1).ok_or_else(|| {
            wrong(format!(
                "{count} rows of parameters were sent; a statement runs with one: execute it once for each"
            ))
        })?;
        if row.num_columns() > PARAMETERS_MAX {
            return Err(wrong(format!(
                "{} parameters were sent; {PARAMETERS_MAX} are allowed",
                row.num_columns()
            )));
        }
        let values = row.columns().iter().enumerate().map(|(number, column)| {
            let value = ScalarValue::try_from_array(column, 0)?;
            ParameterValue::of(value).ok_or_else(|| {
                wrong(format!(
                    "${} is a {}; a parameter is a number, a text, a date, true, false or null",
                    number + 1,
                    column.data_type()
                ))
            })
        });
        Ok(StatementHandle {
            values: values.collect::<Result<_, _>>()?,
            ..StatementHandle::new(self.text.clone())?
        })
    }

    /// The values of `$1`, `$2`, …; `None` if none were bound.
    pub(super) fn values(&self) -> Option<ParamValues> {
        if self.values.is_empty() {
            return None;
        }
        let values = self.values.iter().map(ParameterValue::scalar);
        Some(ParamValues::from(values.collect::<Vec<ScalarValue>>()))
    }
}

impl ParameterValue {
    /// `None` if parameters cannot have its type.
    fn of(value: ScalarValue) -> Option<ParameterValue> {
        use BoundValue as P;
        if value.is_null() {
            return Some(ParameterValue { kind: None });
        }
        let wider = match value.data_type() {
            DataType::Boolean | DataType::Date32 => value,
            data_type if data_type.is_unsigned_integer() => {
                value.cast_to(&DataType::UInt64).ok()?
            }
            data_type if data_type.is_integer() => value.cast_to(&DataType::Int64).ok()?,
            data_type if data_type.is_floating() => value.cast_to(&DataType::Float64).ok()?,
            DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Dictionary(..) => value.cast_to(&DataType::Utf8).ok()?,
            _ => return None,
        };
        let kind = match wider {
            ScalarValue::Boolean(Some(value)) => P::Bool(value),
            ScalarValue::Int64(Some(value)) => P::Int(value),
            ScalarValue::UInt64(Some(value)) => P::UInt(value),
            ScalarValue::Float64(Some(value)) => P::Float(value),
            ScalarValue::Utf8(Some(value)) => P::Text(value),
            ScalarValue::Date32(Some(value)) => P::Day(value),
            _ => return None,
        };
        Some(ParameterValue { kind: Some(kind) })
    }

    fn scalar(&self) -> ScalarValue {
        use BoundValue as P;
        match &self.kind {
            None => ScalarValue::Null,
            Some(P::Bool(value)) => ScalarValue::Boolean(Some(*value)),
            Some(P::Int(value)) => ScalarValue::Int64(Some(*value)),
            Some(P::UInt(value)) => ScalarValue::UInt64(Some(*value)),
            Some(P::Float(value)) => ScalarValue::Float64(Some(*value)),
            Some(P::Text(value)) => ScalarValue::Utf8(Some(value.clone())),
            Some(P::Day(value)) => ScalarValue::Date32(Some(*value)),
        }
    }
}

fn wrong(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlErrorKind::Statement, message)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int32Array, StringArray, TimestampSecondArray};

    use super::*;

    fn handle() -> StatementHandle {
        StatementHandle::new("SELECT $1".to_owned()).expect("random bytes")
    }

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("1", column)]).expect("a batch")
    }

    #[test]
    fn a_handle_is_read_as_it_was_written() {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["a"]));
        let number: ArrayRef = Arc::new(Int32Array::from(vec![Some(7)]));
        let null: ArrayRef = Arc::new(Int32Array::from(vec![None]));
        for (column, expected) in [
            (text, ScalarValue::from("a")),
            (number, ScalarValue::from(7_i64)),
            (null, ScalarValue::Null),
        ] {
            let bound = handle().bound(&[batch(column)]).expect("one row");
            let read = StatementHandle::read(&bound.bytes()).expect("a handle");
            assert_eq!(read, bound);
            assert_eq!(read.values[0].scalar(), expected);
        }
        assert!(handle().values().is_none());
        assert_ne!(handle().id, handle().id);
    }

    #[test]
    fn what_is_no_handle_or_no_value_is_refused() {
        for bytes in [&b""[..], b"SELECT 1", &[0x0a, 0xff, 0xff]] {
            assert!(StatementHandle::read(bytes).is_err(), "{bytes:?}");
        }
        let two: ArrayRef = Arc::new(Int32Array::from(vec![1, 2]));
        let error = handle().bound(&[batch(two)]).expect_err("two rows");
        assert!(
            error.to_string().starts_with("2 rows of parameters"),
            "{error}"
        );
        let instant: ArrayRef = Arc::new(TimestampSecondArray::from(vec![1]));
        let error = handle().bound(&[batch(instant)]).expect_err("an instant");
        assert!(
            error.to_string().starts_with("$1 is a Timestamp"),
            "{error}"
        );
    }
}
