//! Every match of a filter: as records, ids, dicts, or Arrow.

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{self, PyArrowStream};
use crate::records;
use crate::stream::{MatchOptions, PyIterator};

/// Every match of a filter in an order. Each iteration starts anew, in the same snapshot.
#[pyclass(name = "Matches", module = "signaldex", frozen)]
pub(crate) struct PyMatches(pub(crate) MatchOptions);

#[pymethods]
impl PyMatches {
    /// The matches that come after an id in the order. The id need not match, nor exist.
    fn after(&self, id: &Bound<'_, PyAny>) -> PyResult<PyMatches> {
        let after = Some(records::read_id(id)?);
        Ok(PyMatches(MatchOptions {
            after,
            ..self.0.clone()
        }))
    }

    /// The ids of the matches; no record is read.
    fn ids(&self) -> PyIterator {
        PyIterator(self.0.ids())
    }

    /// The matches as flat dicts, with the names of the Arrow columns.
    fn rows(&self) -> PyIterator {
        PyIterator(self.0.rows())
    }

    /// Some columns of the matches as Arrow, or all. With ``["id"]`` alone no record is read.
    #[pyo3(signature = (columns = None, batch_rows = 65536))]
    fn arrow(&self, columns: Option<Vec<String>>, batch_rows: usize) -> PyResult<PyArrowStream> {
        PyArrowStream::new(&self.0, columns.as_deref(), batch_rows)
    }

    /// All columns through Arrow's C data interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.arrow(None, arrow::BATCH_ROWS)?
            .__arrow_c_stream__(py, requested_schema)
    }

    fn __iter__(&self) -> PyIterator {
        PyIterator(self.0.items())
    }
}
