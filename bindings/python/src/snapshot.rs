//! Snapshots: what an index answers.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use signaldex::{Facet, Facets, Result, Snapshot};

use crate::aggregates::{PyAggregates, WantedFigures};
use crate::changes::{PyChanges, PyPosition, read_position};
use crate::companies::{PyCompanyPage, WantedCompanies, WantedPage};
use crate::dates::{Today, today_of};
use crate::matches::PyMatches;
use crate::page::PyPage;
use crate::query::{FACETS, check_order, facet_of, order_of, with_filter, with_query};
use crate::records::{self, new_record};
use crate::sql_table::PySqlTable;
use crate::stream::{MatchOptions, Owner, PyIterator, Stream};
use crate::{dump, errors, explanation};

/// The state of an index between two commits. It never changes.
#[pyclass(name = "Snapshot", module = "signaldex", frozen)]
pub(crate) struct PySnapshot(pub(crate) Arc<Snapshot>);

#[pymethods]
impl PySnapshot {
    /// The page of signals that a query asks for.
    ///
    /// ``today`` is the UTC date unless given; if the query has a cursor, the day of the first page is used instead.
    /// Cost: a few microseconds if matches are common.
    #[pyo3(signature = (query, today = None))]
    pub(crate) fn search(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<PyPage> {
        let today = today_of(today);
        with_query(query, |query| {
            Ok(PyPage {
                page: ask(py, || self.0.search(query, today))?,
                snapshot: Arc::clone(&self.0),
            })
        })
    }

    /// The records of a page's signals, in its order. ``Page.records`` needs no snapshot.
    fn records<'py>(
        &self,
        py: Python<'py>,
        page: &Bound<'py, PyPage>,
    ) -> PyResult<Bound<'py, PyList>> {
        page.get().records_in(py, &self.0, records::item)
    }

    /// The pages of a query, from the one that it asks for to the last.
    #[pyo3(signature = (query, today = None))]
    pub(crate) fn pages(
        &self,
        query: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<PyIterator> {
        let today = today_of(today);
        with_query(query, |query| {
            Ok(PyIterator(Stream::pages(&self.0, query, today)))
        })
    }

    /// All matches of a filter, found lazily.
    #[pyo3(signature = (filter, today = None, order = "newest"))]
    pub(crate) fn matches(
        &self,
        filter: &Bound<'_, PyAny>,
        today: Option<Today>,
        order: &str,
    ) -> PyResult<PyMatches> {
        let order = order_of(order)?;
        let py = filter.py();
        with_filter(filter, |filter| {
            check_order(py, filter, order)?;
            Ok(PyMatches(MatchOptions {
                snapshot: Arc::clone(&self.0),
                filter: filter.clone(),
                today: today_of(today),
                order,
                after: None,
            }))
        })
    }

    /// The exact number of matches. Cost: some hundred nanoseconds for each block of 65,536 signals.
    #[pyo3(signature = (filter, today = None))]
    pub(crate) fn count(
        &self,
        py: Python<'_>,
        filter: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<u64> {
        let today = today_of(today);
        with_filter(filter, |filter| ask(py, || self.0.count(filter, today)))
    }

    /// The values of facets with their counts, each facet without its own filter; ``None`` means all facets.
    #[pyo3(signature = (filter, today = None, facets = None))]
    pub(crate) fn facets<'py>(
        &self,
        py: Python<'py>,
        filter: &Bound<'py, PyAny>,
        today: Option<Today>,
        facets: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let today = today_of(today);
        let wanted = match facets {
            Some(names) => names
                .iter()
                .map(|name| facet_of(name))
                .collect::<PyResult<_>>()?,
            None => Facet::ALL.to_vec(),
        };
        let counted = with_filter(filter, |filter| {
            ask(py, || self.0.facets_of(filter, today, &wanted))
        })?;
        facet_counts(py, &counted, &wanted)
    }

    /// The signals as a table of DataFusion, which ``SessionContext.register_table`` of PyPI's ``datafusion`` takes.
    ///
    /// ``docs/sql.md`` lists its columns; searches on its column ``query`` count days from ``today``. Raises
    /// ``DataFusionMismatch`` where the wheel was built without the feature ``datafusion``.
    #[pyo3(signature = (today = None))]
    fn signals_table(&self, py: Python<'_>, today: Option<Today>) -> PyResult<PySqlTable> {
        PySqlTable::of_signals(py, &self.0, today_of(today))
    }

    /// The companies as a table of DataFusion, as ``signals_table``.
    fn companies_table(&self, py: Python<'_>) -> PyResult<PySqlTable> {
        PySqlTable::of_companies(py, &self.0)
    }

    /// The companies that fulfil a query, by themselves and by their signals.
    ///
    /// ``query`` is a query string of ``GET /api/v1/companies``, or words of a name. ``has`` and ``has_not`` are
    /// conditions, in place of those in the query string: ``Condition(filter, min, max)``, or a filter alone for
    /// companies with at least one match. ``order`` is ``slug``, ``-matches`` or ``-latest``. ``limit`` is 50 unless
    /// given. Raises ``InvalidQuery``.
    #[pyo3(signature = (query = "", *, has = None, has_not = None, order = None, limit = None, cursor = None, today = None))]
    #[allow(clippy::too_many_arguments)]
    fn companies(
        &self,
        py: Python<'_>,
        query: &str,
        has: Option<&Bound<'_, PyAny>>,
        has_not: Option<&Bound<'_, PyAny>>,
        order: Option<&str>,
        limit: Option<i64>,
        cursor: Option<&str>,
        today: Option<Today>,
    ) -> PyResult<PyCompanyPage> {
        let page = WantedPage {
            order,
            limit,
            cursor,
        };
        let query = WantedCompanies {
            query,
            has,
            has_not,
        };
        PyCompanyPage::of(py, &self.0, &query.query(py, &page)?, today_of(today))
    }

    /// The exact number of companies that fulfil a query; arguments as for ``companies``.
    #[pyo3(signature = (query = "", *, has = None, has_not = None, today = None))]
    fn count_companies(
        &self,
        py: Python<'_>,
        query: &str,
        has: Option<&Bound<'_, PyAny>>,
        has_not: Option<&Bound<'_, PyAny>>,
        today: Option<Today>,
    ) -> PyResult<u64> {
        let query = WantedCompanies {
            query,
            has,
            has_not,
        };
        let query = query.query(py, &WantedPage::default())?;
        let today = today_of(today);
        ask(py, || self.0.count_companies(query.filter(), today))
    }

    /// The values of ``country``, ``industry`` and ``size`` with the number of companies that have each, under everything
    /// but the value's own filter; arguments as for ``companies``.
    #[pyo3(signature = (query = "", *, has = None, has_not = None, facets = None, today = None))]
    fn company_facets<'py>(
        &self,
        py: Python<'py>,
        query: &str,
        has: Option<&Bound<'py, PyAny>>,
        has_not: Option<&Bound<'py, PyAny>>,
        facets: Option<Vec<String>>,
        today: Option<Today>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let wanted = match facets {
            Some(names) => names
                .iter()
                .map(|name| company_facet_of(name))
                .collect::<PyResult<_>>()?,
            None => COMPANY_FACETS.to_vec(),
        };
        let query = WantedCompanies {
            query,
            has,
            has_not,
        };
        let query = query.query(py, &WantedPage::default())?;
        let today = today_of(today);
        let counted = ask(py, || self.0.company_facets(query.filter(), today, &wanted))?;
        facet_counts(py, &counted, &wanted)
    }

    /// Figures over all matches of a filter, in groups.
    ///
    /// ``by`` is none, one or two of: a unit of time (``day``, ``week``, ``month``, ``quarter``, ``year``), and lists of
    /// values (``categories``, ``countries``, ``industries``, ``sizes``, ``funding_stages``, ``funding_currencies``,
    /// ``hiring_types``, ``job_functions``, ``seniorities``, ``employment_types``, ``work_arrangements``); or
    /// ``company``. ``measures`` are any of ``companies`` and, of amounts by currency, ``sum``, ``min``, ``max``,
    /// ``median``, ``p25``, ``p75``; the number of signals is always there. ``order`` is ``key``, ``-key``, ``-count``
    /// or ``-sum``. Sums are exact decimals, rounded once. Raises ``InvalidQuery``.
    #[pyo3(signature = (query, by = None, measures = None, order = None, limit = None, today = None))]
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn aggregate(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        by: Option<&Bound<'_, PyAny>>,
        measures: Option<&Bound<'_, PyAny>>,
        order: Option<&str>,
        limit: Option<i64>,
        today: Option<Today>,
    ) -> PyResult<PyAggregates> {
        let today = today_of(today);
        let wanted = WantedFigures {
            by,
            measures,
            order,
            limit,
        };
        with_filter(query, |filter| {
            PyAggregates::of(py, &self.0, filter, &wanted, today)
        })
    }

    /// How a query is answered. Cost: several times that of ``count``.
    #[pyo3(signature = (query, today = None))]
    pub(crate) fn explain<'py>(
        &self,
        py: Python<'py>,
        query: &Bound<'py, PyAny>,
        today: Option<Today>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let today = today_of(today);
        let explained = with_query(query, |query| ask(py, || self.0.explain(query, today)))?;
        explanation::explanation(py, &explained)
    }

    /// Hints for people: what a query that has found nothing (or something, with ``found=True``) probably means.
    #[pyo3(signature = (query, found = false))]
    pub(crate) fn hints(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyAny>,
        found: bool,
    ) -> PyResult<Vec<String>> {
        with_query(query, |query| ask(py, || self.0.hints(query, !found)))
    }

    /// What has changed since a position, in the order of changes: by commit, then by id.
    ///
    /// Raises ``PositionError`` if the index cannot tell: the position is of another index, ahead, of commits
    /// that are not in the history of this one, or so old that deletions since are forgotten.
    #[pyo3(signature = (filter, since, today = None))]
    pub(crate) fn changes(
        &self,
        py: Python<'_>,
        filter: &Bound<'_, PyAny>,
        since: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<PyChanges> {
        let today = today_of(today);
        let since = read_position(since)?;
        let owner = with_filter(filter, |filter| Ok(Owner::new(&self.0, filter.clone())))?;
        let changes = Stream::changes(owner, today, &since);
        changes
            .map(PyChanges)
            .map_err(|error| errors::position(py, error))
    }

    /// The snapshot's position in the index's changes: after all changes that it contains.
    #[getter]
    fn position(&self) -> PyPosition {
        PyPosition(self.0.position())
    }

    /// The signal with an id, with its company.
    pub(crate) fn signal<'py>(
        &self,
        py: Python<'py>,
        id: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.0.signal(records::read_id(id)?);
        let found = found.map_err(|error| errors::of_library(py, &error))?;
        found.map(|found| records::found(py, &found)).transpose()
    }

    /// The company with a slug, with a summary of its live signals.
    pub(crate) fn company<'py>(
        &self,
        py: Python<'py>,
        slug: &str,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let profile = py.detach(|| self.0.company(slug));
        let profile = profile.map_err(|error| errors::of_library(py, &error))?;
        profile
            .map(|profile| records::profile(py, &profile))
            .transpose()
    }

    /// Whether a signal with that id is live.
    fn contains(&self, py: Python<'_>, id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = records::read_id(id)?;
        ask(py, || self.0.contains(id))
    }

    /// Whether a company with that slug is live.
    fn has_company(&self, py: Python<'_>, slug: &str) -> PyResult<bool> {
        ask(py, || self.0.has_company(slug))
    }

    /// Every live signal, in no particular order. Cost: reads every record.
    fn scan(&self) -> PyIterator {
        PyIterator(Stream::signals(&self.0))
    }

    /// Every live company, once, in no particular order. Cost: reads every record.
    fn scan_companies(&self) -> PyIterator {
        PyIterator(Stream::companies(&self.0))
    }

    /// Writes all companies, by slug, and all signals, by id, as lines that ``build`` and ``load`` read without loss.
    ///
    /// Both are binary files open for writing; they are flushed, and stay open. Returns the numbers of companies and
    /// signals.
    fn dump(
        &self,
        py: Python<'_>,
        companies: Py<PyAny>,
        signals: Py<PyAny>,
    ) -> PyResult<(u64, u64)> {
        dump::dump(py, &self.0, companies, signals)
    }

    /// The number of live signals.
    #[getter]
    fn signal_count(&self) -> u64 {
        self.0.signal_count()
    }

    /// The number of live companies. Cost: a look-up per company if there is more than one segment.
    fn company_count(&self, py: Python<'_>) -> PyResult<u64> {
        ask(py, || self.0.company_count())
    }

    /// The number of the commit that made the snapshot; later ones have greater numbers.
    #[getter]
    fn generation(&self) -> u64 {
        self.0.generation()
    }

    /// The identity of the index, which commits, merges and replicas keep.
    #[getter]
    fn identity(&self) -> String {
        self.0.identity().to_string()
    }

    /// Figures about segments, rows and bytes.
    fn statistics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let figures = ask(py, || self.0.statistics())?;
        let fields = (
            figures.identity.to_string(),
            figures.generation,
            figures.signals,
            figures.deleted_rows,
            figures.companies,
            figures.segments,
            figures.bytes,
            figures.sections,
        );
        new_record(py, "IndexStatistics", fields)
    }

    /// Checks every byte and every record. Raises ``CorruptIndex``. Cost: reads everything.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        let verified = py.detach(|| self.0.verify());
        verified.map_err(|error| errors::of_library(py, &error))
    }

    fn __len__(&self) -> PyResult<usize> {
        Ok(usize::try_from(self.0.signal_count())?)
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// Asks with the interpreter's lock released; raises ``CorruptIndex`` if the question meets damage.
fn ask<T: Send>(py: Python<'_>, question: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(question)
        .map_err(|error| errors::of_library(py, &error))
}

/// The facets that companies have themselves.
const COMPANY_FACETS: [Facet; 3] = [Facet::Country, Facet::Industry, Facet::Size];

/// A facet of companies.
fn company_facet_of(name: &str) -> PyResult<Facet> {
    let facet = facet_of(name)?;
    if COMPANY_FACETS.contains(&facet) {
        return Ok(facet);
    }
    Err(PyValueError::new_err(format!(
        "facets: {name:?} is of signals; country, industry and size are of companies"
    )))
}

/// The values of the wanted facets by name.
fn facet_counts<'py>(
    py: Python<'py>,
    counted: &Facets,
    wanted: &[Facet],
) -> PyResult<Bound<'py, PyDict>> {
    let values = PyDict::new(py);
    for (name, facet) in FACETS.iter().filter(|(_, facet)| wanted.contains(facet)) {
        let counts = counted.values(*facet).iter();
        let counts =
            counts.map(|value| new_record(py, "FacetCount", (value.label(), value.count())));
        values.set_item(
            name,
            PyList::new(py, counts.collect::<PyResult<Vec<_>>>()?)?,
        )?;
    }
    Ok(values)
}
