//! Positions, and what has changed since one.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use signaldex::Position;

use crate::errors;
use crate::stream::Stream;

/// A place in the order of an index's changes. ``str()`` of it can be stored.
#[pyclass(name = "Position", module = "signaldex", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PyPosition(pub(crate) Position);

#[pymethods]
impl PyPosition {
    /// Before all changes of any index.
    #[classattr]
    const START: PyPosition = PyPosition(Position::START);

    /// Reads a position. Raises ``InvalidPosition``.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<PyPosition> {
        let position =
            Position::parse(text).map_err(|error| errors::invalid_position(py, error))?;
        Ok(PyPosition(position))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Position.parse({:?})", self.0.to_string())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        Ok((
            slf.get_type().getattr("parse")?.unbind(),
            (slf.get().0.to_string(),),
        ))
    }
}

/// The position of an argument: a `Position`, or its text.
pub(crate) fn read_position(position: &Bound<'_, PyAny>) -> PyResult<Position> {
    if let Ok(position) = position.cast::<PyPosition>() {
        return Ok(position.get().0);
    }
    let Ok(text) = position.extract::<String>() else {
        let given = position.get_type().name()?;
        return Err(PyTypeError::new_err(format!(
            "since: a Position or its text is wanted, not {given}"
        )));
    };
    Position::parse(&text).map_err(|error| errors::invalid_position(position.py(), error))
}

/// The changes since a position, found lazily. It ends after an error.
#[pyclass(name = "Changes", module = "signaldex", frozen)]
pub(crate) struct PyChanges(pub(crate) Stream);

#[pymethods]
impl PyChanges {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.next(py)
    }

    /// The position after the changes that were given so far, for the next call.
    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<Option<PyPosition>> {
        Ok(self.0.position(py)?.map(PyPosition))
    }

    /// Whether there is a further change.
    fn has_more(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.has_more(py)
    }
}

/// The changed signals that saved searches match.
#[pyclass(name = "MatchedSignals", module = "signaldex", frozen)]
pub(crate) struct PyMatchedSignals(pub(crate) Stream);

#[pymethods]
impl PyMatchedSignals {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.next(py)
    }

    /// The position after the signals that were given so far, for the next call.
    #[getter]
    fn position(&self, py: Python<'_>) -> PyResult<Option<PyPosition>> {
        Ok(self.0.position(py)?.map(PyPosition))
    }
}
