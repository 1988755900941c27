//! Changing an index: a writer, and what it shares with a builder.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyDict, PyTuple};
use signaldex::json::{RecordKind, Sink};
use signaldex::{CompanyDeletion, Writer};

use crate::arrow::{ArrowTable, Renames};
use crate::errors;
use crate::loading::{ReadOptions, load};
use crate::records::{self, new_record};

/// A writer or builder, until it is closed. Its calls work one after the other, without the interpreter's lock.
pub(crate) struct Closeable<T>(Mutex<Option<T>>);

impl<T: Send> Closeable<T> {
    pub(crate) fn new(inner: T) -> Closeable<T> {
        Closeable(Mutex::new(Some(inner)))
    }

    /// Runs a call on what is shared.
    pub(crate) fn with<R: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&mut T) -> R + Send,
    ) -> PyResult<R> {
        let mut inner = self.lock(py)?;
        match inner.as_mut() {
            Some(inner) => Ok(py.detach(|| run(inner))),
            None => Err(errors::exception(py, "Closed", "it is closed")),
        }
    }

    /// Takes out what is shared; `None` where that was done before.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Option<T>> {
        Ok(self.lock(py)?.take())
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Option<T>>> {
        let inner = self.0.lock_py_attached(py);
        inner.map_err(|_| errors::panicked_before())
    }
}

/// How many records of an iterable are read before they are added together.
const RECORDS_AT_ONCE: usize = 1000;

impl<T: Sink + Send> Closeable<T> {
    /// Adds the records of a table, or of an iterable of dataclasses; returns how many.
    pub(crate) fn add_all(
        &self,
        py: Python<'_>,
        records: &Bound<'_, PyAny>,
        kind: RecordKind,
        rename: Option<Renames>,
    ) -> PyResult<u64> {
        let renames = rename.unwrap_or_default();
        if let Some(table) = ArrowTable::open(records, kind, &renames)? {
            let added = self.with(py, |sink| table.add_to(sink))?;
            return added.map_err(|error| error.into_python(py));
        }
        if !renames.is_empty() {
            return Err(PyTypeError::new_err(
                "rename: only tables have columns, and these are no table",
            ));
        }
        let mut records = records.try_iter()?;
        let mut added = 0;
        // Every turn adds a chunk; the last one is short or empty.
        loop {
            let chunk = records.by_ref().take(RECORDS_AT_ONCE);
            let length = if kind == RecordKind::Company {
                let chunk = chunk.map(|record| records::read_company(&record?));
                let chunk = chunk.collect::<PyResult<Vec<_>>>()?;
                self.try_with(py, |sink| {
                    chunk
                        .iter()
                        .try_for_each(|company| sink.add_company(company).map(|_| ()))
                })?;
                chunk.len()
            } else {
                let chunk = chunk.map(|record| records::read_signal(&record?));
                let chunk = chunk.collect::<PyResult<Vec<_>>>()?;
                self.try_with(py, |sink| {
                    chunk
                        .iter()
                        .try_for_each(|signal| sink.add_signal(signal).map(|_| ()))
                })?;
                chunk.len()
            };
            added += length as u64;
            if length < RECORDS_AT_ONCE {
                return Ok(added);
            }
        }
    }
}

impl<T: Send> Closeable<T> {
    /// As [`with`](Self::with), of a call that may fail.
    pub(crate) fn try_with<R: Send>(
        &self,
        py: Python<'_>,
        run: impl FnOnce(&mut T) -> signaldex::Result<R> + Send,
    ) -> PyResult<R> {
        let result = self.with(py, run)?;
        result.map_err(|error| errors::of_library(py, &error))
    }
}

/// Changes an index. What is not committed when the writer is closed is lost.
///
/// It closes at the end of a ``with`` block, which commits nothing by itself.
#[pyclass(name = "Writer", module = "signaldex", frozen)]
pub(crate) struct PyWriter(pub(crate) Closeable<Writer>);

#[pymethods]
impl PyWriter {
    /// Adds a company, in place of the one with its slug.
    fn upsert_company(&self, py: Python<'_>, company: &Bound<'_, PyAny>) -> PyResult<()> {
        let company = records::read_company(company)?;
        self.0
            .try_with(py, |writer| writer.upsert_company(&company))
    }

    /// Adds a signal, in place of the one with its id. Raises ``UnknownCompany``.
    fn upsert_signal(&self, py: Python<'_>, signal: &Bound<'_, PyAny>) -> PyResult<()> {
        let signal = records::read_signal(signal)?;
        self.0.try_with(py, |writer| writer.upsert_signal(&signal))
    }

    /// As ``IndexBuilder.add_companies``.
    #[pyo3(signature = (companies, *, rename = None))]
    fn upsert_companies(
        &self,
        py: Python<'_>,
        companies: &Bound<'_, PyAny>,
        rename: Option<Renames>,
    ) -> PyResult<u64> {
        self.0.add_all(py, companies, RecordKind::Company, rename)
    }

    /// As ``IndexBuilder.add_signals``.
    #[pyo3(signature = (signals, *, rename = None))]
    fn upsert_signals(
        &self,
        py: Python<'_>,
        signals: &Bound<'_, PyAny>,
        rename: Option<Renames>,
    ) -> PyResult<u64> {
        self.0.add_all(py, signals, RecordKind::Signal, rename)
    }

    /// As ``IndexBuilder.load``.
    #[pyo3(signature = (companies = None, signals = None, **options))]
    fn load<'py>(
        &self,
        py: Python<'py>,
        companies: Option<PathBuf>,
        signals: Option<PathBuf>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        load(
            py,
            &self.0,
            (companies, signals),
            &ReadOptions::read(options)?,
            false,
        )
    }

    /// Deletes a signal. Returns whether it existed.
    fn delete_signal(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = records::read_id(id)?;
        self.0.try_with(py, |writer| writer.delete_signal(id))
    }

    /// Deletes a company. Returns whether it existed.
    ///
    /// Raises ``InvalidRecord`` if it has signals, unless ``cascade`` deletes them with it.
    #[pyo3(signature = (slug, *, cascade = false))]
    fn delete_company(&self, py: Python<'_>, slug: &str, cascade: bool) -> PyResult<bool> {
        let deletion = if cascade {
            CompanyDeletion::Cascade
        } else {
            CompanyDeletion::Restrict
        };
        self.0
            .try_with(py, |writer| writer.delete_company(slug, deletion))
    }

    /// Whether a signal with that id exists, pending changes included.
    fn has_signal(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = records::read_id(id)?;
        self.0.try_with(py, |writer| writer.has_signal(id))
    }

    /// Whether a company exists, pending changes included.
    fn has_company(&self, py: Python<'_>, slug: &str) -> PyResult<bool> {
        self.0.try_with(py, |writer| writer.has_company(slug))
    }

    /// Makes all changes since the last commit durable and visible, as one.
    ///
    /// Cost: a new segment and a few fsyncs.
    fn commit<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let report = self.0.try_with(py, Writer::commit)?;
        let fields = (
            report.generation,
            report.signals_written,
            report.signals_deleted,
            report.companies_written,
            report.companies_deleted,
        );
        new_record(py, "CommitReport", fields)
    }

    /// Merges all segments into one without deleted rows. Cost: that of building the index anew.
    fn compact(&self, py: Python<'_>) -> PyResult<()> {
        self.0.try_with(py, Writer::compact)
    }

    /// Waits until the background has no segments left to merge.
    fn wait_for_merges(&self, py: Python<'_>) -> PyResult<()> {
        self.0.with(py, Writer::wait_for_merges)
    }

    /// Lets another writer open the index.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let writer = self.0.take(py)?;
        // Dropping it waits for merges that have begun.
        py.detach(|| drop(writer));
        Ok(())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }
}
