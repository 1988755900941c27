//! Every match of a filter: as records, ids, dicts, or Arrow.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyString};

use signaldex::query::Order;

use crate::arrow::{self, ColumnNames, PyArrowStream, Streamed};
use crate::stream::{MatchOptions, PyIterator};
use crate::{errors, html, records};

/// Every match of a filter in an order. Each iteration starts anew, in the same snapshot.
///
/// ``len`` is exact. Cost: that of ``Snapshot.count``; after an id, that of finding all of them.
#[pyclass(name = "Matches", module = "signaldex", frozen)]
pub(crate) struct PyMatches(pub(crate) MatchOptions);

#[pymethods]
impl PyMatches {
    /// The matches that come after a signal in the order: its id, or by value the text ``"VALUE,ID"``, as
    /// ``Cursor.last`` has it. The signal need not match, nor exist.
    fn after(&self, last: &Bound<'_, PyAny>) -> PyResult<PyMatches> {
        let order = self.0.order;
        let key = match last.cast::<PyString>() {
            Ok(text) => order
                .parse_key(&text.to_cow()?)
                .map_err(|error| PyValueError::new_err(format!("after: {error}")))?,
            Err(_) if matches!(order, Order::NewestFirst | Order::OldestFirst) => {
                records::read_id(last)?.into()
            }
            Err(_) => {
                let message = format!("after: order {order} needs the text VALUE,ID");
                return Err(PyTypeError::new_err(message));
            }
        };
        Ok(PyMatches(MatchOptions {
            after: Some(key),
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

    /// Some columns of the matches as Arrow, or those of items. With ``["id"]`` alone no record is read.
    #[pyo3(signature = (columns = None, batch_rows = 65536))]
    fn arrow(&self, columns: Option<ColumnNames>, batch_rows: usize) -> PyResult<PyArrowStream> {
        let streamed = Streamed::Matches(Box::new(self.0.clone()));
        PyArrowStream::new(streamed, columns, batch_rows)
    }

    /// The matches as a ``pyarrow.Table``, with the columns of items, or those wanted.
    ///
    /// ``company_country`` and the other fields of the company are columns, too, and so are ``hiring_type``,
    /// ``job_function``, ``seniority``, ``employment_type`` and ``work_arrangement``.
    #[pyo3(signature = (columns = None))]
    fn to_arrow<'py>(
        &self,
        py: Python<'py>,
        columns: Option<ColumnNames>,
    ) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_arrow(py, self.arrow(columns, arrow::BATCH_ROWS)?)
    }

    /// The matches as a ``polars.DataFrame``; columns as for ``to_arrow``.
    #[pyo3(signature = (columns = None))]
    fn to_polars<'py>(
        &self,
        py: Python<'py>,
        columns: Option<ColumnNames>,
    ) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_polars(py, self.arrow(columns, arrow::BATCH_ROWS)?)
    }

    /// The matches as a ``pandas.DataFrame``; columns as for ``to_arrow``. Needs pyarrow, too.
    ///
    /// ``date`` is an instant at midnight, as pandas has days; ``company_employees`` and ``company_founded_year`` are
    /// whole numbers that may be missing.
    #[pyo3(signature = (columns = None))]
    fn to_pandas<'py>(
        &self,
        py: Python<'py>,
        columns: Option<ColumnNames>,
    ) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_pandas(py, self.arrow(columns, arrow::BATCH_ROWS)?)
    }

    /// The columns of items through Arrow's C data interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.arrow(None, arrow::BATCH_ROWS)?
            .__arrow_c_stream__(py, requested_schema)
    }

    /// Raises ``TypeError``: frames are made by ``to_pandas`` and ``to_polars``.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__(
        &self,
        dtype: Option<&Bound<'_, PyAny>>,
        copy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let _ = (dtype, copy);
        Err(arrow::no_array("Matches"))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let count = py.detach(|| self.0.count());
        let count = count.map_err(|error| errors::of_library(py, &error))?;
        Ok(usize::try_from(count)?)
    }

    fn __iter__(&self) -> PyIterator {
        PyIterator(self.0.items())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let MatchOptions {
            filter,
            today,
            order,
            after,
            ..
        } = &self.0;
        let after = match after {
            None => String::new(),
            Some(key) => {
                let key = PyString::new(py, &order.key_text(*key)).repr()?;
                format!(".after({key})")
            }
        };
        let filter = PyString::new(py, &filter.to_string()).repr()?;
        Ok(format!("<Matches({filter}, '{today}', '{order}'){after}>"))
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let shown = py.detach(|| {
            let items = self.0.matches(&self.0.snapshot).take(html::SHOWN);
            let items = items.collect::<signaldex::Result<Vec<_>>>()?;
            let count = html::signals(self.0.count()?);
            let caption = if items.len() < html::SHOWN {
                count
            } else {
                format!("{} of {count}", items.len())
            };
            Ok(html::table(&items, &caption))
        });
        shown.map_err(|error| errors::of_library(py, &error))
    }
}
