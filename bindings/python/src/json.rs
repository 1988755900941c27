//! Records as lines of JSON.

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use signaldex::json;

use crate::{errors, records};

/// A line as Python gives it.
#[derive(FromPyObject)]
pub(crate) enum JsonLine {
    Text(String),
    Bytes(Vec<u8>),
}

impl JsonLine {
    fn bytes(&self) -> &[u8] {
        match self {
            JsonLine::Text(text) => text.as_bytes(),
            JsonLine::Bytes(bytes) => bytes,
        }
    }
}

/// Reads a signal from a line of JSON. Raises ``InvalidRecord``, which names the field.
#[pyfunction]
pub(crate) fn parse_signal(py: Python<'_>, line: JsonLine) -> PyResult<Bound<'_, PyAny>> {
    let signal = json::parse_signal(line.bytes());
    records::signal(
        py,
        &signal.map_err(|error| errors::invalid_record(py, &error))?,
    )
}

/// Reads a company from a line of JSON. Raises ``InvalidRecord``, which names the field.
#[pyfunction]
pub(crate) fn parse_company(py: Python<'_>, line: JsonLine) -> PyResult<Bound<'_, PyAny>> {
    let company = json::parse_company(line.bytes());
    records::company(
        py,
        &company.map_err(|error| errors::invalid_record(py, &error))?,
    )
}

/// The line of JSON that is read as this signal, its end included.
#[pyfunction]
pub(crate) fn write_signal<'py>(signal: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut line = Vec::new();
    json::write_signal(&mut line, &records::read_signal(signal)?);
    Ok(PyBytes::new(signal.py(), &line))
}

/// The line of JSON that is read as this company, its end included.
#[pyfunction]
pub(crate) fn write_company<'py>(company: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut line = Vec::new();
    json::write_company(&mut line, &records::read_company(company)?);
    Ok(PyBytes::new(company.py(), &line))
}
