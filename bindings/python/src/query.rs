//! Queries, filters and cursors.

use std::borrow::Cow;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use signaldex::query::{Cursor, InvalidQuery, Order, PARAMETERS, Start};
use signaldex::{Facet, Filter, Query};

use crate::dates::{Today, today_of};
use crate::errors;
use crate::parameters::build;
use crate::records;

/// The facets by their names in Python.
pub(crate) const FACETS: [(&str, Facet); 11] = [
    ("category", Facet::Category),
    ("country", Facet::Country),
    ("industry", Facet::Industry),
    ("size", Facet::Size),
    ("funding_stage", Facet::FundingStage),
    ("funding_currency", Facet::FundingCurrency),
    ("hiring_type", Facet::HiringType),
    ("job_function", Facet::JobFunction),
    ("seniority", Facet::Seniority),
    ("employment_type", Facet::EmploymentType),
    ("work_arrangement", Facet::WorkArrangement),
];

/// The order of a name.
pub(crate) fn order_of(name: &str) -> PyResult<Order> {
    name.parse().map_err(|_| {
        let names = Order::ALL.map(Order::as_str).join(", ");
        PyValueError::new_err(format!("order: {name:?} is not an order; they are {names}"))
    })
}

/// The facet of a name.
pub(crate) fn facet_of(name: &str) -> PyResult<Facet> {
    let mut facets = FACETS.iter();
    let known = facets.find(|(known, _)| *known == name);
    known.map(|(_, facet)| *facet).ok_or_else(|| {
        let names: Vec<&str> = FACETS.iter().map(|(name, _)| *name).collect();
        PyValueError::new_err(format!(
            "facet: {name:?} is not a facet; they are {}",
            names.join(", ")
        ))
    })
}

/// What is wanted: a filter, an order, and which page.
///
/// Keyword arguments are combined with AND; ``None`` and an empty list are no filter. ``Query.parse`` takes what
/// users type. Either raises ``InvalidQuery``, which has all errors.
#[pyclass(name = "Query", module = "signaldex", frozen)]
pub(crate) struct PyQuery(pub(crate) Query);

#[pymethods]
impl PyQuery {
    #[new]
    #[pyo3(signature = (**parameters))]
    fn new(py: Python<'_>, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<PyQuery> {
        build(py, Query::builder(), parameters)
    }

    /// Reads a query string, or words without any ``name=``, within the limits of the HTTP API.
    #[staticmethod]
    fn parse(py: Python<'_>, query_string: &str) -> PyResult<PyQuery> {
        parse_query(py, query_string).map(PyQuery)
    }

    /// Reads what ``str()`` of a query has written, which ``parse`` may find too long.
    #[staticmethod]
    fn from_str(py: Python<'_>, text: &str) -> PyResult<PyQuery> {
        valid(py, text.parse()).map(PyQuery)
    }

    /// The same query with some parameters replaced.
    #[pyo3(signature = (**parameters))]
    fn replace(&self, py: Python<'_>, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<PyQuery> {
        build(py, self.0.clone().into_builder(), parameters)
    }

    /// The filter of the query.
    #[getter]
    fn filter(&self) -> PyFilter {
        PyFilter(self.0.filter().clone())
    }

    /// The order of the result.
    #[getter]
    fn order(&self) -> &'static str {
        self.0.order().as_str()
    }

    /// The maximum number of signals per page.
    #[getter]
    fn limit(&self) -> usize {
        self.0.limit()
    }

    /// The page number, if the query asks for a page by number.
    #[getter]
    fn page(&self) -> Option<u16> {
        match self.0.start() {
            Start::Page(number) => Some(*number),
            Start::First | Start::After(_) => None,
        }
    }

    /// The cursor at which the page starts, if it continues another page.
    #[getter]
    fn cursor(&self) -> Option<PyCursor> {
        match self.0.start() {
            Start::After(cursor) => Some(PyCursor(cursor.clone())),
            Start::First | Start::Page(_) => None,
        }
    }

    /// Whether only the number of matches is wanted.
    #[getter]
    fn count_only(&self) -> bool {
        self.0.count_only()
    }

    /// Equal for queries that ask for the same.
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Query.from_str({:?})", self.0.to_string())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<PyQuery>()
            .is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        hash(self.0.fingerprint().as_bytes())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        Ok((
            slf.get_type().getattr("from_str")?.unbind(),
            (slf.get().0.to_string(),),
        ))
    }
}

/// A condition that signals must satisfy.
#[pyclass(name = "Filter", module = "signaldex", frozen)]
pub(crate) struct PyFilter(pub(crate) Filter);

#[pymethods]
impl PyFilter {
    #[new]
    #[pyo3(signature = (**parameters))]
    fn new(py: Python<'_>, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<PyFilter> {
        for name in parameters
            .into_iter()
            .flat_map(|parameters| parameters.keys())
        {
            let name: String = name.extract()?;
            if ["order", "limit", "page", "cursor", "count_only"].contains(&&*name) {
                return Err(PyTypeError::new_err(format!(
                    "{name} says nothing about a signal"
                )));
            }
        }
        let query = build(py, Query::builder(), parameters)?;
        Ok(query.filter())
    }

    /// Reads the filters of a query string, or words.
    #[staticmethod]
    fn parse(py: Python<'_>, query_string: &str) -> PyResult<PyFilter> {
        parse_filter(py, query_string).map(PyFilter)
    }

    /// Reads what ``str()`` of a filter has written, which ``parse`` may find too long.
    #[staticmethod]
    fn from_str(py: Python<'_>, text: &str) -> PyResult<PyFilter> {
        valid(py, text.parse()).map(PyFilter)
    }

    /// Whether a signal of a company is found: the meaning of a filter, in plain slow code.
    #[pyo3(signature = (signal, company, today = None))]
    fn matches(
        &self,
        signal: &Bound<'_, PyAny>,
        company: &Bound<'_, PyAny>,
        today: Option<Today>,
    ) -> PyResult<bool> {
        let today = today_of(today);
        let signal = records::read_signal(signal)?;
        let company = records::read_company(company)?;
        Ok(self.0.matches(&signal, &company, today))
    }

    /// Equal for equal filters.
    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }

    /// Whether every signal is found.
    #[getter]
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words of a title that the filter looks for, as ranges of characters.
    fn matched_words(&self, title: &str) -> Vec<(usize, usize)> {
        let characters = |bytes: usize| title[..bytes].chars().count();
        let words = self.0.matched_words(title).into_iter();
        words
            .map(|word| (characters(word.start), characters(word.end)))
            .collect()
    }

    /// The words of titles that the filter looks for, analysed; prefix words with their star.
    fn title_words(&self) -> Vec<String> {
        self.0.title_words()
    }

    /// The same filter without the part that is about a facet.
    fn without(&self, facet: &str) -> PyResult<PyFilter> {
        Ok(PyFilter(self.0.without(facet_of(facet)?)))
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Filter.from_str({:?})", self.0.to_string())
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other
            .cast::<PyFilter>()
            .is_ok_and(|other| other.get().0 == self.0)
    }

    fn __hash__(&self) -> u64 {
        hash(self.0.fingerprint().as_bytes())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        Ok((
            slf.get_type().getattr("from_str")?.unbind(),
            (slf.get().0.to_string(),),
        ))
    }
}

/// Where the page after another begins. ``str()`` of it is what clients send back.
#[pyclass(name = "Cursor", module = "signaldex", frozen, eq, hash)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct PyCursor(pub(crate) Cursor);

#[pymethods]
impl PyCursor {
    /// Reads a cursor. Raises ``InvalidCursor``.
    #[staticmethod]
    fn parse(py: Python<'_>, text: &str) -> PyResult<PyCursor> {
        let cursor = Cursor::parse(text).map_err(|error| errors::invalid_cursor(py, error))?;
        Ok(PyCursor(cursor))
    }

    /// What counts as today on all pages of the walk.
    #[getter]
    fn day(&self) -> time::Date {
        self.0.day()
    }

    /// The last signal before the page.
    #[getter]
    fn last_id(&self) -> u64 {
        self.0.last_id().get()
    }

    /// The last signal before the page, with its value if the order is by value: what ``Matches.after`` takes.
    #[getter]
    fn last(&self) -> String {
        self.0.order().key_text(self.0.last())
    }

    /// The order of the walk.
    #[getter]
    fn order(&self) -> &'static str {
        self.0.order().as_str()
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("Cursor.parse({:?})", self.0.to_string())
    }

    fn __reduce__(slf: &Bound<'_, Self>) -> PyResult<(Py<PyAny>, (String,))> {
        Ok((
            slf.get_type().getattr("parse")?.unbind(),
            (slf.get().0.to_string(),),
        ))
    }
}

/// The first bytes of a fingerprint, which are as good as any hash of it.
fn hash(fingerprint: &[u8; 16]) -> u64 {
    let first = fingerprint.first_chunk().copied().unwrap_or_default();
    u64::from_le_bytes(first)
}

fn parse_query(py: Python<'_>, text: &str) -> PyResult<Query> {
    valid(py, Query::from_query_string(&query_string_of("q", text)))
}

fn parse_filter(py: Python<'_>, text: &str) -> PyResult<Filter> {
    valid(py, Filter::from_query_string(&query_string_of("q", text)))
}

/// A query string as it is; words without any `name=` as those of a parameter, encoded.
pub(crate) fn query_string_of<'t>(parameter: &str, text: &'t str) -> Cow<'t, str> {
    let is_name = |name: &str| {
        let mut bytes = name.bytes();
        !name.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let mut parts = text.split('&').map(|part| part.split_once('='));
    if text.trim().is_empty() || parts.any(|part| part.is_some_and(|(name, _)| is_name(name))) {
        return Cow::Borrowed(text);
    }
    let encoded = text.bytes().map(|byte| format!("%{byte:02X}"));
    Cow::Owned(format!("{parameter}={}", encoded.collect::<String>()))
}

fn valid<T>(py: Python<'_>, parsed: Result<T, InvalidQuery>) -> PyResult<T> {
    parsed.map_err(|error| errors::invalid_query(py, &errors::query_errors(&error)))
}

/// Calls `run` with the query of an argument, which is a `Query` or a query string.
pub(crate) fn with_query<T>(
    query: &Bound<'_, PyAny>,
    run: impl FnOnce(&Query) -> PyResult<T>,
) -> PyResult<T> {
    if let Ok(query) = query.cast_exact::<PyQuery>() {
        return run(&query.get().0);
    }
    let Ok(text) = query.cast::<PyString>() else {
        return Err(wrong_type(query, "query: a Query, a query string or words"));
    };
    run(&parse_query(query.py(), &text.to_cow()?)?)
}

/// Checks that a filter has what an order needs: a currency, if it is by amount.
pub(crate) fn check_order(py: Python<'_>, filter: &Filter, order: Order) -> PyResult<()> {
    valid(py, Query::of_filter(filter.clone(), order, 1)).map(|_| ())
}

/// Calls `run` with the filter of an argument: a `Filter`, that of a `Query`, or a query string.
pub(crate) fn with_filter<T>(
    filter: &Bound<'_, PyAny>,
    run: impl FnOnce(&Filter) -> PyResult<T>,
) -> PyResult<T> {
    if let Ok(filter) = filter.cast_exact::<PyFilter>() {
        return run(&filter.get().0);
    }
    if let Ok(query) = filter.cast_exact::<PyQuery>() {
        return run(query.get().0.filter());
    }
    let Ok(text) = filter.cast::<PyString>() else {
        return Err(wrong_type(
            filter,
            "filter: a Filter, a Query, a query string or words",
        ));
    };
    run(&parse_filter(filter.py(), &text.to_cow()?)?)
}

fn wrong_type(given: &Bound<'_, PyAny>, wanted: &str) -> PyErr {
    match given.get_type().name() {
        Ok(given) => PyTypeError::new_err(format!("{wanted} are wanted, not {given}")),
        Err(error) => error,
    }
}

/// The parameters of query strings.
#[pyfunction]
pub(crate) fn parameters(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let described = PARAMETERS.iter().map(|known| {
        let is_filter = known.parameter.is_filter();
        records::new_record(
            py,
            "Parameter",
            (known.name, known.description, known.example, is_filter),
        )
    });
    PyList::new(py, described.collect::<PyResult<Vec<_>>>()?)
}
