//! Decodes the columns of a row group, a thousand rows of each at once, and gives them row by row.

use parquet::basic::ConvertedType;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType, FixedLenByteArray};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::record::Field;
use parquet::schema::types::ColumnDescPtr;

use super::lengths::DECODED_AT_ONCE;

/// A value of a row.
pub(super) enum LeafValue {
    Text(ByteArray),
    /// Any other value, or null.
    Field(Field),
}

/// The columns of a row group.
pub(super) struct GroupColumns {
    columns: Vec<Box<dyn DecodedColumn>>,
    /// Rows that are decoded and not yet given.
    decoded: usize,
    /// Rows that are not yet decoded.
    left: u64,
}

/// The decoded rows of one column.
trait DecodedColumn: Send {
    /// Decodes further rows in place of the former; returns their number.
    fn decode(&mut self) -> Result<usize>;

    /// The value of the next decoded row.
    fn next(&mut self) -> Result<LeafValue>;
}

struct TypedColumn<T: DataType> {
    reader: ColumnReaderImpl<T>,
    descriptor: ColumnDescPtr,
    /// The values that are not null.
    values: Vec<T::T>,
    /// How much of its path each row has; those that have all of it have a value. Empty if no value can be null.
    levels: Vec<i16>,
    row: usize,
    value: usize,
    convert: fn(&ColumnDescPtr, T::T) -> Result<LeafValue>,
}

impl GroupColumns {
    /// Begins to read a row group.
    ///
    /// # Errors
    /// The group is damaged.
    pub(super) fn open(group: &dyn RowGroupReader) -> Result<GroupColumns> {
        let metadata = group.metadata();
        let columns = (0..metadata.num_columns())
            .map(|index| {
                let descriptor = metadata.column(index).column_descr_ptr();
                Ok(decoded_column(group.get_column_reader(index)?, descriptor))
            })
            .collect::<Result<_>>()?;
        Ok(GroupColumns {
            columns,
            decoded: 0,
            left: u64::try_from(metadata.num_rows()).unwrap_or(0),
        })
    }

    /// Puts the values of the next row in place of the former; false at the end of the group.
    ///
    /// # Errors
    /// A column is damaged, or has not as many rows as the group.
    pub(super) fn next_row(&mut self, values: &mut Vec<LeafValue>) -> Result<bool> {
        if self.decoded == 0 && !self.decode()? {
            return Ok(false);
        }
        self.decoded -= 1;
        values.clear();
        for column in &mut self.columns {
            values.push(column.next()?);
        }
        Ok(true)
    }

    fn decode(&mut self) -> Result<bool> {
        let expected = self.left.min(DECODED_AT_ONCE as u64);
        for column in &mut self.columns {
            if column.decode()? as u64 != expected {
                let reason = "a column has not as many rows as its row group";
                return Err(ParquetError::General(reason.to_owned()));
            }
        }
        self.left -= expected;
        // At most `DECODED_AT_ONCE`.
        self.decoded = expected as usize;
        Ok(expected > 0)
    }
}

impl<T: DataType> DecodedColumn for TypedColumn<T>
where
    ColumnReaderImpl<T>: Send,
{
    fn decode(&mut self) -> Result<usize> {
        self.values.clear();
        self.levels.clear();
        (self.row, self.value) = (0, 0);
        let levels = Some(&mut self.levels);
        let read = self
            .reader
            .read_records(DECODED_AT_ONCE, levels, None, &mut self.values);
        read.map(|(rows, _, _)| rows)
    }

    fn next(&mut self) -> Result<LeafValue> {
        let level = self.levels.get(self.row).copied();
        self.row += 1;
        if level.is_some_and(|level| level < self.descriptor.max_def_level()) {
            return Ok(LeafValue::Field(Field::Null));
        }
        let missing = || ParquetError::General("a column lacks a value".to_owned());
        let value = self.values.get_mut(self.value).ok_or_else(missing)?;
        self.value += 1;
        (self.convert)(&self.descriptor, std::mem::take(value))
    }
}

fn decoded_column(reader: ColumnReader, descriptor: ColumnDescPtr) -> Box<dyn DecodedColumn> {
    use ColumnReader as R;
    use LeafValue as V;
    match reader {
        R::BoolColumnReader(reader) => typed(reader, descriptor, |descriptor, value| {
            Ok(V::Field(Field::convert_bool(descriptor, value)))
        }),
        R::Int32ColumnReader(reader) => typed(reader, descriptor, |descriptor, value| {
            Ok(V::Field(Field::convert_int32(descriptor, value)))
        }),
        R::Int64ColumnReader(reader) => typed(reader, descriptor, |descriptor, value| {
            Ok(V::Field(Field::convert_int64(descriptor, value)))
        }),
        R::Int96ColumnReader(reader) => typed(reader, descriptor, |descriptor, value| {
            Ok(V::Field(Field::convert_int96(descriptor, value)))
        }),
        R::FloatColumnReader(reader) => typed(reader, descriptor, |descriptor, value| {
            Ok(V::Field(Field::convert_float(descriptor, value)))
        }),
        R::DoubleColumnReader(reader) => typed(reader, descriptor, |descriptor, value| {
            Ok(V::Field(Field::convert_double(descriptor, value)))
        }),
        R::ByteArrayColumnReader(reader) => match descriptor.converted_type() {
            ConvertedType::UTF8 | ConvertedType::ENUM | ConvertedType::JSON => {
                typed(reader, descriptor, |_, value| Ok(V::Text(value)))
            }
            _ => typed(reader, descriptor, field_of_bytes),
        },
        R::FixedLenByteArrayColumnReader(reader) => typed(
            reader,
            descriptor,
            |descriptor, value: FixedLenByteArray| field_of_bytes(descriptor, value.into()),
        ),
    }
}

fn field_of_bytes(descriptor: &ColumnDescPtr, value: ByteArray) -> Result<LeafValue> {
    Field::convert_byte_array(descriptor, value).map(LeafValue::Field)
}

fn typed<T: DataType>(
    reader: ColumnReaderImpl<T>,
    descriptor: ColumnDescPtr,
    convert: fn(&ColumnDescPtr, T::T) -> Result<LeafValue>,
) -> Box<dyn DecodedColumn>
where
    ColumnReaderImpl<T>: Send,
{
    Box::new(TypedColumn {
        reader,
        descriptor,
        values: Vec::new(),
        levels: Vec::new(),
        row: 0,
        value: 0,
        convert,
    })
}
