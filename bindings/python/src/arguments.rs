//! Arguments: lists of them, and errors that name them.

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The items of a list, of any iterable but a single text; none for `None`.
pub(crate) fn list_of<'py, T>(
    value: &Bound<'py, PyAny>,
    read: impl Fn(&Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    if value.is_none() {
        return Ok(Vec::new());
    }
    if value.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("a list is wanted, not a text"));
    }
    value.try_iter()?.map(|item| read(&item?)).collect()
}

/// An error of a type or a value with the name of its argument, unless it begins with that.
pub(crate) fn named(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    let message = error.value(py).to_string();
    if message.starts_with(&format!("{name}:")) {
        return error;
    }
    let message = format!("{name}: {message}");
    let class = error.get_type(py);
    if class.is(py.get_type::<PyTypeError>()) {
        PyTypeError::new_err(message)
    } else if class.is(py.get_type::<PyOverflowError>()) {
        PyOverflowError::new_err(message)
    } else if class.is(py.get_type::<PyValueError>()) {
        PyValueError::new_err(message)
    } else {
        error
    }
}
