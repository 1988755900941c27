//! A page: ids, their records, and the cursor of the next one.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyIterator, PyList};
use signaldex::{Item, Page, Snapshot};

use crate::arrow::{self, ColumnNames, PyArrowStream, Streamed};
use crate::{errors, html, records};

/// The signals that a query asked for, by id, and where to go on. It keeps the snapshot it was found in.
#[pyclass(name = "Page", module = "signaldex", frozen)]
pub(crate) struct PyPage {
    pub(crate) page: Page,
    pub(crate) snapshot: Arc<Snapshot>,
}

impl PyPage {
    /// The records of a page in a snapshot, each as `make` has it.
    pub(crate) fn records_in<'py>(
        &self,
        py: Python<'py>,
        snapshot: &Snapshot,
        make: impl Fn(Python<'py>, &Item<'_>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let items = py.detach(|| snapshot.records(&self.page));
        let items = items.map_err(|error| errors::of_library(py, &error))?;
        let records = items.iter().map(|item| make(py, item));
        PyList::new(py, records.collect::<PyResult<Vec<_>>>()?)
    }
}

#[pymethods]
impl PyPage {
    /// The ids, in the order of the page.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.page.ids().map(|id| id.get()))
    }

    /// The records as dataclasses. Cost: about two microseconds a signal.
    fn records<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.records_in(py, &self.snapshot, records::item)
    }

    /// The records as flat dicts, with the names of the Arrow columns.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.records_in(py, &self.snapshot, records::row)
    }

    /// Some columns of the records as Arrow, or those of items.
    #[pyo3(signature = (columns = None, batch_rows = 65536))]
    fn arrow(&self, columns: Option<ColumnNames>, batch_rows: usize) -> PyResult<PyArrowStream> {
        let streamed = Streamed::Page(self.page.clone(), Arc::clone(&self.snapshot));
        PyArrowStream::new(streamed, columns, batch_rows)
    }

    /// The records as a ``pyarrow.Table``, with the columns of items, or those wanted.
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

    /// The records as a ``polars.DataFrame``; columns as for ``to_arrow``.
    #[pyo3(signature = (columns = None))]
    fn to_polars<'py>(
        &self,
        py: Python<'py>,
        columns: Option<ColumnNames>,
    ) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_polars(py, self.arrow(columns, arrow::BATCH_ROWS)?)
    }

    /// The records as a ``pandas.DataFrame``; columns as for ``to_arrow``. Needs pyarrow, too.
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
        Err(arrow::no_array("Page"))
    }

    /// What ``Query(cursor=...)`` takes for the next page; ``None`` on the last.
    #[getter]
    fn next_cursor(&self) -> Option<String> {
        self.page.next_cursor().map(ToString::to_string)
    }

    /// Rows that were checked individually.
    #[getter]
    fn rows_checked(&self) -> u64 {
        self.page.rows_checked()
    }

    /// Blocks whose candidates were formed.
    #[getter]
    fn blocks_visited(&self) -> u64 {
        self.page.blocks_visited()
    }

    /// Blocks that were skipped.
    #[getter]
    fn blocks_skipped(&self) -> u64 {
        self.page.blocks_skipped()
    }

    fn __len__(&self) -> usize {
        self.page.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.ids(py)?.try_iter()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<PyPage>()
            .is_ok_and(|other| other.get().page == self.page)
    }

    fn __repr__(&self) -> String {
        let next = self.page.next_cursor();
        let next = next.map(|cursor| format!(", next_cursor='{cursor}'"));
        let signals = html::signals(self.page.len() as u64);
        format!("<Page: {signals}{}>", next.unwrap_or_default())
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let items = py.detach(|| self.snapshot.records(&self.page));
        let items = items.map_err(|error| errors::of_library(py, &error))?;
        let next = self.page.next_cursor();
        let next = next.map_or("", |_| ", and there are more");
        let caption = format!("{}{next}", html::signals(items.len() as u64));
        Ok(html::table(&items, &caption))
    }
}
