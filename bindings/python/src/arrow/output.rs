//! Matches and pages as a stream of record batches.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use self_cell::self_cell;
use signaldex::json::{ColumnSource, ColumnValue};
use signaldex::{Found, Item, Page, SignalId, Snapshot};

use super::columns::{ChosenColumns, ColumnBuilder, ColumnNames};
use crate::stream::MatchOptions;

/// Rows of a batch, unless the caller says otherwise: enough that what a batch costs is lost among its rows,
/// few enough that their texts take some tens of megabytes.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// A batch ends before its texts take more: offsets have 31 bits.
const BATCH_BYTES_MAX: usize = 1 << 28;

pub(super) const CAPSULE_NAME: &std::ffi::CStr = c"arrow_array_stream";

/// What a stream is of.
#[derive(Clone)]
pub(crate) enum Streamed {
    Matches(Box<MatchOptions>),
    Page(Page, Arc<Snapshot>),
}

/// Matches or groups as an Arrow stream: ``polars.DataFrame(stream)``, ``pyarrow.table(stream)``.
#[pyclass(name = "ArrowStream", module = "signaldex", frozen)]
pub(crate) struct PyArrowStream(StreamSource);

enum StreamSource {
    /// Columns of signals, read batch by batch.
    Signals {
        streamed: Streamed,
        columns: ChosenColumns,
        batch_rows: usize,
    },
    /// Rows that are there already.
    Batch(RecordBatch),
}

impl PyArrowStream {
    pub(crate) fn new(
        streamed: Streamed,
        names: Option<ColumnNames>,
        batch_rows: usize,
    ) -> PyResult<PyArrowStream> {
        if batch_rows == 0 {
            return Err(PyValueError::new_err("a batch has at least one row"));
        }
        Ok(PyArrowStream(StreamSource::Signals {
            streamed,
            columns: ChosenColumns::of(names)?,
            batch_rows,
        }))
    }

    pub(crate) fn of_batch(batch: RecordBatch) -> PyArrowStream {
        PyArrowStream(StreamSource::Batch(batch))
    }
}

#[pymethods]
impl PyArrowStream {
    /// A stream of record batches through Arrow's C data interface, from the first match on.
    #[pyo3(signature = (requested_schema = None))]
    pub(crate) fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader: Box<dyn RecordBatchReader + Send> = match &self.0 {
            StreamSource::Signals {
                streamed,
                columns,
                batch_rows,
            } => Box::new(BatchReader::new(streamed, columns.clone(), *batch_rows)),
            StreamSource::Batch(batch) => {
                let batches = std::iter::once(Ok(batch.clone()));
                Box::new(RecordBatchIterator::new(batches, batch.schema()))
            }
        };
        let stream = FFI_ArrowArrayStream::new(reader);
        PyCapsule::new_with_value(py, stream, CAPSULE_NAME)
    }
}

type BoxedBatches<'a, T> = Box<dyn Iterator<Item = signaldex::Result<T>> + Send + 'a>;

/// Where the rows of a stream come from.
enum RowSource<'a> {
    Items(BoxedBatches<'a, Item<'a>>),
    /// Where columns are the company's.
    Found(BoxedBatches<'a, Found<'a>>),
    /// Where only ids are wanted, no record is read.
    Ids(BoxedBatches<'a, SignalId>),
}

impl<'a> RowSource<'a> {
    fn of(streamed: &Streamed, columns: &ChosenColumns, snapshot: &'a Snapshot) -> RowSource<'a> {
        match streamed {
            Streamed::Matches(wanted) => {
                let matches = wanted.matches(snapshot);
                if columns.are_ids() {
                    RowSource::Ids(Box::new(matches.ids()))
                } else if columns.need_company() {
                    RowSource::Found(Box::new(matches.with_companies()))
                } else {
                    RowSource::Items(Box::new(matches))
                }
            }
            Streamed::Page(page, _) if columns.are_ids() => {
                let ids: Vec<SignalId> = page.ids().collect();
                RowSource::Ids(Box::new(ids.into_iter().map(Ok)))
            }
            Streamed::Page(page, _) if columns.need_company() => {
                RowSource::Found(each(snapshot.records_with_companies(page)))
            }
            Streamed::Page(page, _) => RowSource::Items(each(snapshot.records(page))),
        }
    }
}

/// Each of some records, or the error.
fn each<'a, T: Send + 'a>(records: signaldex::Result<Vec<T>>) -> BoxedBatches<'a, T> {
    match records {
        Ok(records) => Box::new(records.into_iter().map(Ok)),
        Err(error) => Box::new(std::iter::once(Err(error))),
    }
}

self_cell!(
    struct RowsCell {
        owner: Arc<Snapshot>,
        #[not_covariant]
        dependent: RowSource,
    }
);

/// Reads matches batch by batch, on whatever thread the consumer calls it; it needs no interpreter.
struct BatchReader {
    rows: RowsCell,
    columns: ChosenColumns,
    schema: SchemaRef,
    batch_rows: usize,
}

impl BatchReader {
    fn new(streamed: &Streamed, columns: ChosenColumns, batch_rows: usize) -> BatchReader {
        let snapshot = match streamed {
            Streamed::Matches(wanted) => &wanted.snapshot,
            Streamed::Page(_, snapshot) => snapshot,
        };
        let rows = RowsCell::new(Arc::clone(snapshot), |snapshot| {
            RowSource::of(streamed, &columns, snapshot)
        });
        BatchReader {
            rows,
            schema: Arc::new(columns.schema()),
            columns,
            batch_rows,
        }
    }

    /// The next batch; one without rows after the last.
    fn read(&mut self) -> Result<RecordBatch, ArrowError> {
        let mut builders = self.columns.builders(self.batch_rows.min(BATCH_ROWS));
        let (columns, batch_rows) = (&self.columns, self.batch_rows);
        self.rows
            .with_dependent_mut(|_, rows| fill(&mut builders, columns, rows, batch_rows))?;
        let columns = builders.iter_mut().map(ColumnBuilder::finish).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

/// Appends rows to all columns until a batch is full.
fn fill(
    builders: &mut [ColumnBuilder],
    columns: &ChosenColumns,
    rows: &mut RowSource<'_>,
    batch_rows: usize,
) -> Result<(), ArrowError> {
    let mut bytes = 0;
    let mut append = |source: ColumnSource<'_>| {
        for (builder, value) in builders.iter_mut().zip(columns.values(source)) {
            bytes += builder.append(value);
        }
        bytes > BATCH_BYTES_MAX
    };
    match rows {
        RowSource::Items(items) => {
            for item in items.take(batch_rows) {
                if append(ColumnSource::from(&item.map_err(external)?)) {
                    break;
                }
            }
        }
        RowSource::Found(found) => {
            for found in found.take(batch_rows) {
                if append(ColumnSource::from(&found.map_err(external)?)) {
                    break;
                }
            }
        }
        RowSource::Ids(ids) => {
            for id in ids.take(batch_rows) {
                let id = ColumnValue::Id(id.map_err(external)?);
                builders.iter_mut().for_each(|builder| {
                    builder.append(id);
                });
            }
        }
    }
    Ok(())
}

fn external(error: signaldex::Error) -> ArrowError {
    ArrowError::ExternalError(Box::new(error))
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self.read() {
            Ok(batch) if batch.num_rows() == 0 => None,
            read => Some(read),
        }
    }
}

impl RecordBatchReader for BatchReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
