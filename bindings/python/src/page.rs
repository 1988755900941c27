//! A page: ids, their records, and the cursor of the next one.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};
use signaldex::{Item, Page, Snapshot};

use crate::{errors, records};

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
        format!("<{:?}>", self.page)
    }
}
