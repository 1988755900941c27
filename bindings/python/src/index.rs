//! Indexes and their builder.

use std::path::PathBuf;
use std::time::SystemTime;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use signaldex::json::RecordKind;
use signaldex::{Index, IndexBuilder, Refreshed};
use time::UtcDateTime;

use crate::aggregates::PyAggregates;
use crate::arrow::Renames;
use crate::changes::{PyChanges, PyPosition};
use crate::dates::Today;
use crate::loading::{ReadOptions, load};
use crate::matches::PyMatches;
use crate::page::PyPage;
use crate::snapshot::PySnapshot;
use crate::synthetic::PyCorpus;
use crate::writer::{Closeable, PyWriter};
use crate::{errors, records};

/// An index: in a directory, or in memory.
///
/// The methods that search ask the newest snapshot. Take a ``snapshot`` where several calls have to see one
/// state.
#[pyclass(name = "Index", module = "signaldex", frozen)]
pub(crate) struct PyIndex(pub(crate) Index);

impl PyIndex {
    fn newest(&self) -> PySnapshot {
        PySnapshot(self.0.snapshot())
    }

    fn of(py: Python<'_>, index: signaldex::Result<Index>) -> PyResult<PyIndex> {
        index
            .map(PyIndex)
            .map_err(|error| errors::of_library(py, &error))
    }
}

#[pymethods]
impl PyIndex {
    /// Opens the index of a directory. It maps the files: some hundredths of a second for a million signals.
    #[staticmethod]
    fn open(py: Python<'_>, directory: PathBuf) -> PyResult<PyIndex> {
        let index = py.detach(|| Index::open(directory));
        PyIndex::of(py, index)
    }

    /// An empty index that ends with the process.
    #[staticmethod]
    fn in_memory(py: Python<'_>) -> PyResult<PyIndex> {
        PyIndex::of(py, Index::in_memory())
    }

    /// Builds an index from two files of JSON lines or CSV: in a directory, or in memory for ``None``.
    #[staticmethod]
    #[pyo3(signature = (directory, companies, signals, **options))]
    fn build(
        py: Python<'_>,
        directory: Option<PathBuf>,
        companies: PathBuf,
        signals: PathBuf,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyIndex> {
        let builder = match directory {
            Some(directory) => PyIndexBuilder::in_directory(py, directory, true, None)?,
            None => PyIndexBuilder::in_memory(true, None),
        };
        let files = (Some(companies), Some(signals));
        load(py, &builder.0, files, &ReadOptions::read(options)?, true)?;
        builder.finish(py)
    }

    /// The current state. Cost: one atomic load.
    fn snapshot(&self) -> PySnapshot {
        self.newest()
    }

    /// Opens the writer. Raises ``IndexLocked`` while a writer is open in this or another process.
    fn writer(&self, py: Python<'_>) -> PyResult<PyWriter> {
        let writer = py.detach(|| self.0.writer());
        let writer = writer.map_err(|error| errors::of_library(py, &error))?;
        Ok(PyWriter(Closeable::new(writer)))
    }

    /// Loads what other processes have committed. Raises ``CorruptIndex`` while a file of the index does not match the manifest. Cost: a small read if nothing has changed.
    fn refresh(&self, py: Python<'_>) -> PyResult<&'static str> {
        let refreshed = py.detach(|| self.0.refresh());
        match refreshed.map_err(|error| errors::of_library(py, &error))? {
            Refreshed::Unchanged => Ok("unchanged"),
            Refreshed::Changed => Ok("changed"),
            Refreshed::Reloaded => Ok("reloaded"),
            // Whatever later releases tell apart, what was known of the index no longer holds.
            _ => Ok("replaced"),
        }
    }

    /// When the index last changed, if known.
    #[getter]
    fn changed_at(&self) -> Option<UtcDateTime> {
        self.0
            .changed_at()
            .map(|instant: SystemTime| instant.into())
    }

    /// As ``Snapshot.search``, of the newest snapshot.
    #[pyo3(signature = (query, today = None))]
    fn search(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<PyPage> {
        self.newest().search(py, query, today)
    }

    /// As ``Snapshot.matches``, of the newest snapshot.
    #[pyo3(signature = (filter, today = None, order = "newest"))]
    fn matches(
        &self,
        filter: &Bound<'_, PyAny>,
        today: Option<Today>,
        order: &str,
    ) -> PyResult<PyMatches> {
        self.newest().matches(filter, today, order)
    }

    /// As ``Snapshot.count``, of the newest snapshot.
    #[pyo3(signature = (filter, today = None))]
    fn count(
        &self,
        py: Python<'_>,
        filter: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<u64> {
        self.newest().count(py, filter, today)
    }

    /// As ``Snapshot.facets``, of the newest snapshot.
    #[pyo3(signature = (filter, today = None, facets = None))]
    fn facets<'py>(
        &self,
        py: Python<'py>,
        filter: &Bound<'py, PyAny>,
        today: Option<Today>,
        facets: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.newest().facets(py, filter, today, facets)
    }

    /// As ``Snapshot.aggregate``, of the newest snapshot.
    #[pyo3(signature = (query, by = None, measures = None, order = None, limit = None, today = None))]
    #[allow(clippy::too_many_arguments)]
    fn aggregate(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        by: Option<&Bound<'_, PyAny>>,
        measures: Option<&Bound<'_, PyAny>>,
        order: Option<&str>,
        limit: Option<i64>,
        today: Option<Today>,
    ) -> PyResult<PyAggregates> {
        let newest = self.newest();
        newest.aggregate(py, query, by, measures, order, limit, today)
    }

    /// As ``Snapshot.explain``, of the newest snapshot.
    #[pyo3(signature = (query, today = None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyAny>,
        today: Option<Today>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.newest().explain(py, query, today)
    }

    /// As ``Snapshot.changes``, of the newest snapshot.
    #[pyo3(signature = (filter, since, today = None))]
    fn changes(
        &self,
        py: Python<'_>,
        filter: &Bound<'_, PyAny>,
        since: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<PyChanges> {
        self.newest().changes(py, filter, since, today)
    }

    /// As ``Snapshot.position``, of the newest snapshot.
    #[getter]
    fn position(&self) -> PyPosition {
        PyPosition(self.newest().0.position())
    }

    /// As ``Snapshot.signal``, of the newest snapshot.
    fn signal<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.newest().signal(py, id)
    }

    /// As ``Snapshot.company``, of the newest snapshot.
    fn company<'py>(&self, py: Python<'py>, slug: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.newest().company(py, slug)
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// Builds an index of one segment.
#[pyclass(name = "IndexBuilder", module = "signaldex", frozen)]
pub(crate) struct PyIndexBuilder(Closeable<IndexBuilder>);

/// The settings of a builder.
fn with_settings(
    builder: IndexBuilder,
    compress_records: bool,
    remember_deletions: Option<u64>,
) -> PyIndexBuilder {
    let builder = builder.compress_records(compress_records);
    PyIndexBuilder(Closeable::new(match remember_deletions {
        Some(commits) => builder.remember_deletions(commits),
        None => builder,
    }))
}

#[pymethods]
impl PyIndexBuilder {
    /// Builds in memory. The index can be changed later, and ends with the process.
    #[staticmethod]
    #[pyo3(signature = (*, compress_records = true, remember_deletions = None))]
    fn in_memory(compress_records: bool, remember_deletions: Option<u64>) -> PyIndexBuilder {
        with_settings(
            IndexBuilder::in_memory(),
            compress_records,
            remember_deletions,
        )
    }

    /// Builds in a directory, which is created if it does not exist and must not contain an index.
    #[staticmethod]
    #[pyo3(signature = (directory, *, compress_records = true, remember_deletions = None))]
    fn in_directory(
        py: Python<'_>,
        directory: PathBuf,
        compress_records: bool,
        remember_deletions: Option<u64>,
    ) -> PyResult<PyIndexBuilder> {
        let builder = py.detach(|| IndexBuilder::in_directory(directory));
        let builder = builder.map_err(|error| errors::of_library(py, &error))?;
        Ok(with_settings(builder, compress_records, remember_deletions))
    }

    /// Adds a company; a later one with the same slug replaces it.
    fn add_company(&self, py: Python<'_>, company: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let company = records::read_company(company)?;
        let added = self
            .0
            .try_with(py, |builder| builder.add_company(&company))?;
        Ok(added_name(added))
    }

    /// Adds a signal of a company that was added; a later one with the same id replaces it.
    fn add_signal(&self, py: Python<'_>, signal: &Bound<'_, PyAny>) -> PyResult<&'static str> {
        let signal = records::read_signal(signal)?;
        let added = self.0.try_with(py, |builder| builder.add_signal(&signal))?;
        Ok(added_name(added))
    }

    /// Adds the companies of a table or an iterable; returns how many. Those before an error stay added.
    ///
    /// The columns of a table have the names of the fields of ``Company``, in any spelling as headers of files;
    /// ``rename={"theirs": "ours"}`` names a column otherwise, and ``None`` leaves one out.
    #[pyo3(signature = (companies, *, rename = None))]
    fn add_companies(
        &self,
        py: Python<'_>,
        companies: &Bound<'_, PyAny>,
        rename: Option<Renames>,
    ) -> PyResult<u64> {
        self.0.add_all(py, companies, RecordKind::Company, rename)
    }

    /// Adds the signals of a table or an iterable; returns how many. Those before an error stay added.
    ///
    /// The columns of a table are ``id``, ``company_slug``, ``title`` and the other fields of ``Signal``, with
    /// ``funding_stage``, ``funding_amount``, ``funding_currency``, ``hiring_type``, ``job_function``,
    /// ``seniority``, ``employment_type`` and ``work_arrangement`` for those of its inner records; ``rename`` as
    /// for companies.
    #[pyo3(signature = (signals, *, rename = None))]
    fn add_signals(
        &self,
        py: Python<'_>,
        signals: &Bound<'_, PyAny>,
        rename: Option<Renames>,
    ) -> PyResult<u64> {
        self.0.add_all(py, signals, RecordKind::Signal, rename)
    }

    /// Adds all companies and signals of a generated corpus.
    fn add_corpus(&self, py: Python<'_>, corpus: &Bound<'_, PyCorpus>) -> PyResult<()> {
        let corpus = corpus.get().0;
        self.0.try_with(py, |builder| {
            for company in corpus.companies() {
                builder.add_company(&company)?;
            }
            for signal in corpus.signals() {
                builder.add_signal(&signal)?;
            }
            Ok(())
        })
    }

    /// Loads files of JSON lines or CSV, plain or compressed with gzip or zstd.
    ///
    /// The options of the command line are keyword arguments: ``decimal=","``, ``date_format=["%d.%m.%Y"]``,
    /// ``strict=True``. ``on_invalid="skip"`` is ``skip_invalid=True``; ``rename={"theirs": "ours"}`` renames fields.
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
            true,
        )
    }

    /// Completes the index. The builder is closed.
    fn finish(&self, py: Python<'_>) -> PyResult<PyIndex> {
        let Some(builder) = self.0.take(py)? else {
            return Err(errors::exception(py, "Closed", "the builder has finished"));
        };
        let index = py.detach(|| builder.finish());
        PyIndex::of(py, index)
    }
}

fn added_name(is_replaced: bool) -> &'static str {
    if is_replaced { "replaced" } else { "new" }
}
