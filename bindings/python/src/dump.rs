//! Dumps to binary files of Python.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use signaldex::{Error, Snapshot};

use crate::errors;

/// Bytes for each call of a file's `write`.
const BUFFER_BYTES: usize = 1 << 20;

/// A binary file of Python. The interpreter's lock is taken for each buffer.
struct BinaryFile(Py<PyAny>);

impl Write for BinaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let written = self.0.call_method1(py, "write", (PyBytes::new(py, bytes),));
            let written = written.and_then(|written| written.extract::<Option<usize>>(py));
            // A file that does not say how much it took has taken all.
            Ok(written.map_err(io::Error::other)?.unwrap_or(bytes.len()))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Python::attach(|py| {
            let flushed = self.0.call_method0(py, "flush");
            flushed.map(drop).map_err(io::Error::other)
        })
    }
}

/// Writes the dump of a snapshot, and returns how many companies and signals it has.
pub(crate) fn dump(
    py: Python<'_>,
    snapshot: &Arc<Snapshot>,
    companies: Py<PyAny>,
    signals: Py<PyAny>,
) -> PyResult<(u64, u64)> {
    let buffered = |file| BufWriter::with_capacity(BUFFER_BYTES, BinaryFile(file));
    let (mut companies, mut signals) = (buffered(companies), buffered(signals));
    let dumped = py.detach(|| snapshot.dump(&mut companies, &mut signals));
    // After an error, what is in the buffers is not written.
    let dumped = dumped.map_err(|error| {
        drop(companies.into_parts());
        drop(signals.into_parts());
        raised(py, &error)
    })?;
    Ok((dumped.companies, dumped.signals))
}

/// The exception of the file itself, if that is what ended the dump.
fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let source = error.io_error().and_then(io::Error::get_ref);
    match source.and_then(|source| source.downcast_ref::<PyErr>()) {
        Some(exception) => exception.clone_ref(py),
        None => errors::of_library(py, error),
    }
}
