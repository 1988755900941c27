//! Errors of the library as the exceptions of `signaldex._errors`.

use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use signaldex::json::RecordError;
use signaldex::query::{InvalidQuery, ParseCursorError};
use signaldex::{Error, ErrorKind, ParsePositionError, PositionError};

use crate::records::new_record;

/// One thing that is wrong with a query: parameter, code, message.
pub(crate) type QueryError = (String, &'static str, String);

/// An exception of a class of `signaldex._errors`.
pub(crate) fn exception(py: Python<'_>, class: &str, message: &str) -> PyErr {
    raised(instance(py, class, (message,)))
}

fn instance<'py>(
    py: Python<'py>,
    class: &str,
    arguments: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import("signaldex._errors")?
        .getattr(class)?
        .call1(arguments)
}

/// The exception that was made, or why it could not be.
fn raised(made: PyResult<Bound<'_, PyAny>>) -> PyErr {
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// The exception of the library's one error: its class by what the error is, its path beside it.
pub(crate) fn of_library(py: Python<'_>, error: &Error) -> PyErr {
    let made = || {
        let exception = instance(py, class_of(error), (format!("{error:#}"),))?;
        if let Some(path) = error.path() {
            exception.setattr("path", path.to_string_lossy())?;
        }
        if let Some(code) = error.io_error().and_then(std::io::Error::raw_os_error)
            && error.kind() == ErrorKind::Io
        {
            exception.setattr("errno", code)?;
        }
        Ok(exception)
    };
    raised(made())
}

fn class_of(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::UnknownCompany => "UnknownCompany",
        ErrorKind::Invalid => "InvalidRecord",
        ErrorKind::Missing => "IndexMissing",
        ErrorKind::Foreign => "ForeignFile",
        ErrorKind::NewerFormat => "NewerFormat",
        ErrorKind::Corrupt => "CorruptIndex",
        ErrorKind::Locked => "IndexLocked",
        ErrorKind::Full => "IndexFull",
        ErrorKind::Poisoned => "WriterPoisoned",
        ErrorKind::Io => "IndexIoError",
        _ => "SignaldexError",
    }
}

/// The errors of a query in the form that exceptions take.
pub(crate) fn query_errors(error: &InvalidQuery) -> Vec<QueryError> {
    let errors = error.errors().iter();
    errors
        .map(|error| {
            let parameter = error.parameter.clone();
            (parameter, error.code.as_str(), error.message.clone())
        })
        .collect()
}

/// `InvalidQuery` with these errors.
pub(crate) fn invalid_query(py: Python<'_>, errors: &[QueryError]) -> PyErr {
    let made = || {
        let records = errors.iter().map(|(parameter, code, message)| {
            new_record(py, "ParameterError", (parameter, *code, message))
        });
        let records = PyList::new(py, records.collect::<PyResult<Vec<_>>>()?)?;
        let messages: Vec<&str> = errors.iter().map(|error| error.2.as_str()).collect();
        instance(py, "InvalidQuery", (messages.join("\n"), records))
    };
    raised(made())
}

/// `InvalidRecord` of a line of JSON.
pub(crate) fn invalid_record(py: Python<'_>, error: &RecordError) -> PyErr {
    of_field(py, error.field(), &error.to_string())
}

/// `InvalidRecord` of a field.
pub(crate) fn invalid_field(py: Python<'_>, field: &str, reason: &str) -> PyErr {
    of_field(py, Some(field), &format!("{field}: {reason}"))
}

fn of_field(py: Python<'_>, field: Option<&str>, message: &str) -> PyErr {
    let made = || {
        let exception = instance(py, "InvalidRecord", (message,))?;
        exception.setattr("field", field)?;
        Ok(exception)
    };
    raised(made())
}

pub(crate) fn position(py: Python<'_>, error: PositionError) -> PyErr {
    let class = match error {
        PositionError::OtherIndex | PositionError::OtherKeyFilter => "PositionOfOtherIndex",
        PositionError::Expired => "PositionExpired",
        PositionError::Diverged => "PositionDiverged",
        PositionError::Ahead => "PositionAhead",
        _ => "PositionError",
    };
    exception(py, class, &error.to_string())
}

pub(crate) fn invalid_position(py: Python<'_>, error: ParsePositionError) -> PyErr {
    exception(py, "InvalidPosition", &error.to_string())
}

pub(crate) fn invalid_cursor(py: Python<'_>, error: ParseCursorError) -> PyErr {
    exception(py, "InvalidCursor", &error.to_string())
}

/// A lock is poisoned only where the engine panicked; the panic has reached Python already.
pub(crate) fn panicked_before() -> PyErr {
    PyRuntimeError::new_err("a call on this object has panicked before")
}
