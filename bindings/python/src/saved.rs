//! Saved searches: named filters, matched against signals as they come.

use std::sync::{Arc, Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::{PyIterator, PyList};
use signaldex::{Filter, Position, SavedSearches};
use time::Date;

use crate::changes::{PyMatchedSignals, read_position};
use crate::dates::{Today, today_of};
use crate::query::{PyFilter, with_filter};
use crate::snapshot::PySnapshot;
use crate::stream::{Owner, Stream};
use crate::{errors, records};

/// Named filters with an index over them, which finds those that match a signal without testing each.
#[pyclass(name = "SavedSearches", module = "signaldex", frozen)]
pub(crate) struct PySavedSearches(Mutex<Arc<SavedSearches>>);

impl PySavedSearches {
    fn of(searches: SavedSearches) -> PySavedSearches {
        PySavedSearches(Mutex::new(Arc::new(searches)))
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, Arc<SavedSearches>>> {
        let searches = self.0.lock_py_attached(py);
        searches.map_err(|_| errors::panicked_before())
    }

    fn stream(
        &self,
        py: Python<'_>,
        (snapshot, before): (&PySnapshot, Option<&PySnapshot>),
        since: &Position,
        today: Date,
    ) -> PyResult<PyMatchedSignals> {
        let mut owner = Owner::new(&snapshot.0, Filter::default());
        owner.searches = Some(Arc::clone(&*self.lock(py)?));
        owner.before = before.map(|before| Arc::clone(&before.0));
        let stream = py.detach(|| Stream::matched(owner, today, since));
        let stream = stream.map_err(|error| errors::position(py, error))?;
        Ok(PyMatchedSignals(stream))
    }
}

#[pymethods]
impl PySavedSearches {
    #[new]
    fn new() -> PySavedSearches {
        PySavedSearches::of(SavedSearches::new())
    }

    /// No searches yet. How frequent values are is sampled from an index, which makes matching faster.
    #[staticmethod]
    #[pyo3(signature = (snapshot, today = None))]
    fn for_index(
        py: Python<'_>,
        snapshot: &Bound<'_, PySnapshot>,
        today: Option<Today>,
    ) -> PyResult<PySavedSearches> {
        let today = today_of(today);
        let snapshot = &snapshot.get().0;
        let searches = py.detach(|| SavedSearches::for_index(snapshot, today));
        let searches = searches.map_err(|error| errors::of_library(py, &error))?;
        Ok(PySavedSearches::of(searches))
    }

    /// Saves a search under a name, and returns the filter that it had before.
    fn insert(
        &self,
        py: Python<'_>,
        name: String,
        filter: &Bound<'_, PyAny>,
    ) -> PyResult<Option<PyFilter>> {
        let filter = with_filter(filter, |filter| Ok(filter.clone()))?;
        let mut searches = self.lock(py)?;
        let before = Arc::make_mut(&mut searches).insert(name, filter);
        Ok(before.map(PyFilter))
    }

    /// Removes a search, and returns its filter.
    fn remove(&self, py: Python<'_>, name: &str) -> PyResult<Option<PyFilter>> {
        let mut searches = self.lock(py)?;
        Ok(Arc::make_mut(&mut searches).remove(name).map(PyFilter))
    }

    /// The filter of a search.
    fn get(&self, py: Python<'_>, name: &str) -> PyResult<Option<PyFilter>> {
        let searches = self.lock(py)?;
        Ok(searches.get(name).map(|filter| PyFilter(filter.clone())))
    }

    /// The searches with their filters, in the order in which they were saved.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let searches = self.lock(py)?;
        let items = searches.iter();
        let items = items.map(|(name, filter)| (name.to_owned(), PyFilter(filter.clone())));
        PyList::new(py, items.collect::<Vec<_>>())
    }

    /// The names of the searches that a signal matches, in the order in which they were saved.
    #[pyo3(signature = (signal, company, today = None))]
    fn matches(
        &self,
        py: Python<'_>,
        signal: &Bound<'_, PyAny>,
        company: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<Vec<String>> {
        let today = today_of(today);
        let signal = records::read_signal(signal)?;
        let company = records::read_company(company)?;
        let searches = self.lock(py)?;
        let names = searches.matches(&signal, &company, today);
        Ok(names.into_iter().map(ToOwned::to_owned).collect())
    }

    /// Which searches match what has changed since a position.
    #[pyo3(signature = (snapshot, since, today = None))]
    fn matching(
        &self,
        py: Python<'_>,
        snapshot: &Bound<'_, PySnapshot>,
        since: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<PyMatchedSignals> {
        let (since, today) = (read_position(since)?, today_of(today));
        self.stream(py, (snapshot.get(), None), &since, today)
    }

    /// As ``matching``, without the searches that a signal matched in the earlier snapshot.
    #[pyo3(signature = (before, after, today = None))]
    fn newly_matching(
        &self,
        py: Python<'_>,
        before: &Bound<'_, PySnapshot>,
        after: &Bound<'_, PySnapshot>,
        today: Option<Today>,
    ) -> PyResult<PyMatchedSignals> {
        let (before, after, today) = (before.get(), after.get(), today_of(today));
        self.stream(py, (after, Some(before)), &before.0.position(), today)
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.lock(py)?.len())
    }

    fn __contains__(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        Ok(self.lock(py)?.get(name).is_some())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let searches = self.lock(py)?;
        let names: Vec<&str> = searches.iter().map(|(name, _)| name).collect();
        PyList::new(py, names)?.try_iter()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<{:?}>", self.lock(py)?))
    }
}
