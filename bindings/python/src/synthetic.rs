//! The sample, and generated corpora of any size.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use signaldex::sample;
use signaldex_synthetic::Corpus;
use time::Date;

use crate::index::PyIndex;
use crate::{errors, records};

/// Synthetic companies and signals in any number, the same for the same seed.
#[pyclass(name = "Corpus", module = "signaldex", frozen)]
pub(crate) struct PyCorpus(pub(crate) Corpus);

#[pymethods]
impl PyCorpus {
    #[new]
    #[pyo3(signature = (signals, seed = 1))]
    fn new(py: Python<'_>, signals: u64, seed: u64) -> PyResult<PyCorpus> {
        let corpus = Corpus::new(signals, seed);
        corpus
            .map(PyCorpus)
            .map_err(|error| errors::of_library(py, &error))
    }

    /// What counts as today: no signal is dated later.
    #[getter]
    fn as_of(&self) -> Date {
        self.0.as_of()
    }

    /// The number of signals.
    #[getter]
    fn signal_count(&self) -> u64 {
        self.0.signal_count()
    }

    /// The number of companies.
    #[getter]
    fn company_count(&self) -> u64 {
        self.0.company_count()
    }

    /// The signal of that number, from 0. Raises ``IndexError``.
    fn signal<'py>(&self, py: Python<'py>, index: u64) -> PyResult<Bound<'py, PyAny>> {
        let signal = self.0.signal(index);
        let signal =
            signal.ok_or_else(|| PyIndexError::new_err("the corpus has no such signal"))?;
        records::signal(py, &signal)
    }

    /// The company of that number, from 0. Raises ``IndexError``.
    fn company<'py>(&self, py: Python<'py>, index: u64) -> PyResult<Bound<'py, PyAny>> {
        let company = self.0.company(index);
        let company =
            company.ok_or_else(|| PyIndexError::new_err("the corpus has no such company"))?;
        records::company(py, &company)
    }
}

/// The index of the sample corpus, in memory. Cost: some milliseconds.
#[pyfunction]
pub(crate) fn sample_index(py: Python<'_>) -> PyResult<PyIndex> {
    let index = py.detach(sample::index);
    index
        .map(PyIndex)
        .map_err(|error| errors::of_library(py, &error))
}
