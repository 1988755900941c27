//! Streams as tables and frames of other packages, which are imported when they are wanted.

use pyo3::exceptions::{PyImportError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::PyArrowStream;

/// A table of pyarrow.
pub(crate) fn to_arrow(py: Python<'_>, stream: PyArrowStream) -> PyResult<Bound<'_, PyAny>> {
    let pyarrow = import(py, "pyarrow", "to_arrow")?;
    pyarrow.call_method1("table", (stream,))
}

/// A frame of polars.
pub(crate) fn to_polars(py: Python<'_>, stream: PyArrowStream) -> PyResult<Bound<'_, PyAny>> {
    let polars = import(py, "polars", "to_polars")?;
    polars.call_method1("DataFrame", (stream,))
}

/// A frame of pandas: days are instants at midnight, and whole numbers stay whole where some are missing.
pub(crate) fn to_pandas(py: Python<'_>, stream: PyArrowStream) -> PyResult<Bound<'_, PyAny>> {
    let pandas = import(py, "pandas", "to_pandas")?;
    let pyarrow = import(py, "pyarrow", "to_pandas")?;
    let types = PyDict::new(py);
    let whole = pandas.getattr("Int64Dtype")?.call0()?;
    types.set_item(pyarrow.call_method0("int64")?, whole)?;
    let options = PyDict::new(py);
    options.set_item("date_as_object", false)?;
    options.set_item("types_mapper", types.getattr("get")?)?;
    let table = pyarrow.call_method1("table", (stream,))?;
    table.call_method("to_pandas", (), Some(&options))
}

/// A package, or an error with the line that installs it.
fn import<'py>(py: Python<'py>, package: &str, method: &str) -> PyResult<Bound<'py, PyAny>> {
    let imported = py.import(package).map_err(|error| {
        if !error.is_instance_of::<PyImportError>(py) {
            return error;
        }
        let missing = PyImportError::new_err(format!(
            "{method} needs the package {package}: pip install {package}"
        ));
        missing.set_cause(py, Some(error));
        missing
    })?;
    Ok(imported.into_any())
}

/// What constructors of frames and arrays that know no streams raise, instead of a column of objects.
pub(crate) fn no_array(class: &str) -> PyErr {
    PyTypeError::new_err(format!(
        "a {class} is no array; its to_pandas(), to_polars() and to_arrow() give its columns"
    ))
}
