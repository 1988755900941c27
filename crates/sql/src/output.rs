//! Results as text or files.

use std::io::{self, Write};
use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::csv;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::arrow::json::writer::LineDelimited;
use datafusion::arrow::json::{Writer as JsonWriter, WriterBuilder as JsonWriterBuilder};
use datafusion::arrow::util::pretty::pretty_format_batches;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use crate::error::SqlError;

/// Most rows of a table, all of which are in memory and as wide as the widest.
const TABLE_ROWS_MAX: usize = 1000;

/// Rows of a row group of Parquet, which is in memory until it is full.
const ROW_GROUP_ROWS: usize = 131_072;

/// How a result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// A table of at most 1,000 rows.
    Table,
    /// A header, and a line for each row.
    Csv,
    /// A JSON object for each row, with nulls. Unsigned numbers of 64 bits, such as ids, are strings, because many
    /// programs round them.
    Ndjson,
    /// The stream format of Arrow.
    Arrow,
    /// Parquet, compressed with Snappy. Nothing can be read before [`ResultWriter::finish`] has written the end.
    Parquet,
}

/// Writes a result batch by batch.
///
/// ```
/// use signaldex::sample;
/// use signaldex_sql::{Database, StatementLimits, OutputFormat, ResultWriter, runtime};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let snapshot = sample::index()?.snapshot();
/// let database = Database::new(vec![snapshot], sample::AS_OF, StatementLimits::default())?;
/// let mut output = Vec::new();
/// let mut writer = ResultWriter::new(OutputFormat::Csv, &mut output);
/// let statement = "SELECT slug, name FROM companies WHERE slug = 'cpp-foundry'";
/// database.run(&runtime(1)?, statement, |batch| writer.write(batch))?;
/// writer.finish()?;
/// assert_eq!(String::from_utf8(output)?, "slug,name\ncpp-foundry,C++ Foundry\n");
/// # Ok(())
/// # }
/// ```
pub struct ResultWriter<W: Write + Send> {
    state: WriterState<W>,
}

enum WriterState<W: Write + Send> {
    /// No batch has been written.
    New(OutputFormat, W),
    Table(W, Vec<RecordBatch>, usize),
    Csv(Box<csv::Writer<W>>),
    Ndjson(Box<JsonWriter<W, LineDelimited>>),
    Arrow(Box<StreamWriter<W>>),
    Parquet(Box<ArrowWriter<W>>),
    /// Writing failed.
    Failed,
}

impl<W: Write + Send> ResultWriter<W> {
    /// A writer that has written nothing.
    pub fn new(format: OutputFormat, output: W) -> ResultWriter<W> {
        ResultWriter {
            state: WriterState::New(format, output),
        }
    }

    /// Writes a batch. The first one, which may be empty, tells the columns.
    ///
    /// # Errors
    /// The output takes no more bytes.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        if let WriterState::New(..) = self.state {
            let WriterState::New(format, output) =
                std::mem::replace(&mut self.state, WriterState::Failed)
            else {
                return Ok(());
            };
            self.state = WriterState::begun(format, output, &batch.schema())?;
        }
        self.state.write(batch)
    }

    /// Writes what is left. Returns the number of rows that a table leaves out.
    ///
    /// # Errors
    /// The output takes no more bytes.
    pub fn finish(self) -> Result<usize, SqlError> {
        match self.state {
            WriterState::New(..) | WriterState::Failed => Ok(0),
            WriterState::Table(mut output, batches, rows) => {
                let text = pretty_format_batches(&batches).map_err(SqlError::io)?;
                for line in text.to_string().lines() {
                    // Control characters of texts could command a terminal.
                    let line: String = line.chars().filter(|c| !c.is_control()).collect();
                    writeln!(output, "{line}").map_err(SqlError::io)?;
                }
                output.flush().map_err(SqlError::io)?;
                Ok(rows.saturating_sub(TABLE_ROWS_MAX))
            }
            WriterState::Csv(writer) => flushed(&mut writer.into_inner()),
            WriterState::Ndjson(mut writer) => {
                writer.finish().map_err(SqlError::io)?;
                flushed(&mut writer.into_inner())
            }
            WriterState::Arrow(mut writer) => {
                writer.finish().map_err(SqlError::io)?;
                flushed(writer.get_mut())
            }
            WriterState::Parquet(writer) => {
                let mut output = writer.into_inner().map_err(SqlError::io)?;
                flushed(&mut output)
            }
        }
    }
}

fn flushed(output: &mut impl Write) -> Result<usize, SqlError> {
    let flushed: io::Result<()> = output.flush();
    flushed.map(|()| 0).map_err(SqlError::io)
}

impl<W: Write + Send> WriterState<W> {
    fn begun(
        format: OutputFormat,
        output: W,
        schema: &SchemaRef,
    ) -> Result<WriterState<W>, SqlError> {
        Ok(match format {
            OutputFormat::Table => WriterState::Table(output, Vec::new(), 0),
            OutputFormat::Csv => WriterState::Csv(Box::new(
                csv::WriterBuilder::new().with_header(true).build(output),
            )),
            OutputFormat::Ndjson => {
                let builder = JsonWriterBuilder::new().with_explicit_nulls(true);
                WriterState::Ndjson(Box::new(builder.build::<_, LineDelimited>(output)))
            }
            OutputFormat::Arrow => {
                let writer = StreamWriter::try_new(output, schema).map_err(SqlError::io)?;
                WriterState::Arrow(Box::new(writer))
            }
            OutputFormat::Parquet => {
                let properties = WriterProperties::builder()
                    .set_compression(Compression::SNAPPY)
                    .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
                    .build();
                let schema = Arc::clone(schema);
                let writer = ArrowWriter::try_new(output, schema, Some(properties));
                WriterState::Parquet(Box::new(writer.map_err(SqlError::io)?))
            }
        })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), SqlError> {
        match self {
            WriterState::Table(_, batches, rows) => {
                let room = TABLE_ROWS_MAX.saturating_sub(*rows).min(batch.num_rows());
                *rows += batch.num_rows();
                if room > 0 || batches.is_empty() {
                    batches.push(batch.slice(0, room));
                }
                Ok(())
            }
            WriterState::Csv(writer) => writer.write(batch).map_err(SqlError::io),
            WriterState::Ndjson(writer) => {
                let batch = with_ids_as_texts(batch).map_err(SqlError::io)?;
                writer.write(&batch).map_err(SqlError::io)
            }
            WriterState::Arrow(writer) => writer.write(batch).map_err(SqlError::io),
            WriterState::Parquet(writer) => writer.write(batch).map_err(SqlError::io),
            WriterState::New(..) | WriterState::Failed => Ok(()),
        }
    }
}

/// The batch with unsigned numbers of 64 bits as texts.
fn with_ids_as_texts(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        if *column.data_type() == DataType::UInt64 {
            fields.push(Field::new(
                field.name(),
                DataType::Utf8,
                field.is_nullable(),
            ));
            columns.push(cast(column, &DataType::Utf8)?);
        } else {
            fields.push(field.as_ref().clone());
            columns.push(Arc::clone(column));
        }
    }
    if columns.is_empty() {
        return Ok(batch.clone());
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}
