//! Matches as a stream of record batches.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use self_cell::self_cell;
use signaldex::{Matches, SignalId, Snapshot};

use super::columns::{COLUMNS, ColumnBuilder, ColumnKind};
use crate::stream::MatchOptions;

/// Rows of a batch, unless the caller says otherwise: enough that what a batch costs is lost among its rows,
/// few enough that their texts take some tens of megabytes.
pub(crate) const BATCH_ROWS: usize = 1 << 16;

/// A batch ends before its texts take more: offsets have 31 bits.
const BATCH_BYTES_MAX: usize = 1 << 28;

pub(super) const CAPSULE_NAME: &std::ffi::CStr = c"arrow_array_stream";

/// Matches as an Arrow stream: ``polars.DataFrame(stream)``, ``pyarrow.table(stream)``.
#[pyclass(name = "ArrowStream", module = "signaldex", frozen)]
pub(crate) struct PyArrowStream {
    wanted: MatchOptions,
    columns: Vec<ColumnKind>,
    batch_rows: usize,
}

impl PyArrowStream {
    pub(crate) fn new(
        wanted: &MatchOptions,
        names: Option<&[String]>,
        batch_rows: usize,
    ) -> PyResult<PyArrowStream> {
        if batch_rows == 0 {
            return Err(PyValueError::new_err("a batch has at least one row"));
        }
        Ok(PyArrowStream {
            wanted: wanted.clone(),
            columns: columns_of(names)?,
            batch_rows,
        })
    }
}

/// The columns of these names, in their order; all of them where there are none.
fn columns_of(names: Option<&[String]>) -> PyResult<Vec<ColumnKind>> {
    let Some(names) = names else {
        return Ok(COLUMNS.to_vec());
    };
    let column = |name: &String| {
        let known = COLUMNS.iter().find(|column| column.name == name);
        known.copied().ok_or_else(|| {
            let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
            let names = names.join(", ");
            PyValueError::new_err(format!("{name:?} is not a column; they are {names}"))
        })
    };
    let columns: Vec<ColumnKind> = names.iter().map(column).collect::<PyResult<_>>()?;
    if columns.is_empty() {
        return Err(PyValueError::new_err("at least one column is wanted"));
    }
    Ok(columns)
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
        let reader = BatchReader::new(&self.wanted, self.columns.clone(), self.batch_rows);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, CAPSULE_NAME)
    }
}

/// Where the rows of a stream come from.
enum RowSource<'a> {
    Items(Box<Matches<'a>>),
    /// Where only ids are wanted, no record is read.
    Ids(Box<dyn Iterator<Item = signaldex::Result<SignalId>> + Send + 'a>),
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
    columns: Vec<ColumnKind>,
    schema: SchemaRef,
    batch_rows: usize,
}

impl BatchReader {
    fn new(wanted: &MatchOptions, columns: Vec<ColumnKind>, batch_rows: usize) -> BatchReader {
        let needs_records = columns.iter().any(|column| column.needs_record());
        let rows = RowsCell::new(Arc::clone(&wanted.snapshot), |snapshot| {
            let matches = wanted.matches(snapshot);
            if needs_records {
                RowSource::Items(Box::new(matches))
            } else {
                RowSource::Ids(Box::new(matches.ids()))
            }
        });
        let fields: Vec<_> = columns.iter().map(|column| column.field()).collect();
        BatchReader {
            rows,
            columns,
            schema: Arc::new(Schema::new(fields)),
            batch_rows,
        }
    }

    /// The next batch; one without rows after the last.
    fn read(&mut self) -> Result<RecordBatch, ArrowError> {
        let columns = self.columns.iter();
        let capacity = self.batch_rows.min(BATCH_ROWS);
        let mut builders: Vec<_> = columns.map(|column| column.builder(capacity)).collect();
        let batch_rows = self.batch_rows;
        self.rows
            .with_dependent_mut(|_, rows| fill(&mut builders, rows, batch_rows))?;
        let columns = builders.iter_mut().map(ColumnBuilder::finish).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }
}

/// Appends rows to all columns until a batch is full.
fn fill(
    builders: &mut [ColumnBuilder],
    rows: &mut RowSource<'_>,
    batch_rows: usize,
) -> Result<(), ArrowError> {
    match rows {
        RowSource::Ids(ids) => {
            for id in ids.take(batch_rows) {
                let id = id.map_err(external)?;
                for builder in &mut *builders {
                    builder.append_id(id.get());
                }
            }
        }
        RowSource::Items(items) => {
            let mut bytes = 0;
            for item in items.take(batch_rows) {
                let item = item.map_err(external)?;
                for builder in &mut *builders {
                    bytes += builder.append(&item);
                }
                if bytes > BATCH_BYTES_MAX {
                    break;
                }
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
