//! Companies by themselves and by their signals: pages as records, or as a table of Arrow.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyIterator, PyList, PyString};
use signaldex::query::{
    CompanyOrder, CompanyQuery, CompanyQueryBuilder, Condition, MatchedCompany, ParameterError,
};
use signaldex::{Company, Snapshot};
use time::Date;

use crate::arguments::list_of;
use crate::arrow::{self, PyArrowStream, days};
use crate::errors::{self, QueryError};
use crate::query::{query_string_of, with_filter};
use crate::records::{self, new_record};

/// Which companies are wanted, as the arguments of a call say.
pub(crate) struct WantedCompanies<'a, 'py> {
    pub(crate) query: &'a str,
    pub(crate) has: Option<&'a Bound<'py, PyAny>>,
    pub(crate) has_not: Option<&'a Bound<'py, PyAny>>,
}

/// Which page of them.
#[derive(Default)]
pub(crate) struct WantedPage<'a> {
    pub(crate) order: Option<&'a str>,
    pub(crate) limit: Option<i64>,
    pub(crate) cursor: Option<&'a str>,
}

/// Companies that fulfil a query, with what each of its conditions counts. It is a sequence of them.
#[pyclass(name = "CompanyPage", module = "signaldex", frozen, sequence)]
pub(crate) struct PyCompanyPage {
    items: Vec<MatchedCompany<'static>>,
    conditions: usize,
    next_cursor: Option<String>,
}

impl PyCompanyPage {
    /// Asks a snapshot; raises `InvalidQuery` with everything that is wrong.
    pub(crate) fn of(
        py: Python<'_>,
        snapshot: &Snapshot,
        query: &CompanyQuery,
        today: Date,
    ) -> PyResult<PyCompanyPage> {
        let found = py.detach(|| {
            let page = snapshot.companies(query, today)?;
            let next_cursor = page.next_cursor().map(ToString::to_string);
            let items = page.into_items().into_iter();
            let items = items.map(MatchedCompany::into_owned).collect();
            signaldex::Result::Ok((items, next_cursor))
        });
        let (items, next_cursor) = found.map_err(|error| errors::of_library(py, &error))?;
        Ok(PyCompanyPage {
            items,
            conditions: query.filter().has().len(),
            next_cursor,
        })
    }
}

impl WantedCompanies<'_, '_> {
    /// The query; raises `InvalidQuery` with everything that is wrong.
    pub(crate) fn query(&self, py: Python<'_>, page: &WantedPage<'_>) -> PyResult<CompanyQuery> {
        let mut faults = Vec::new();
        let parsed = CompanyQuery::from_query_string(&query_string_of("company", self.query));
        let mut builder = match parsed {
            Ok(query) => query.into_builder(),
            Err(error) => {
                faults.extend(errors::query_errors(&error));
                CompanyQuery::builder()
            }
        };
        if let Some(has) = self.has {
            builder = builder.has(conditions_of(has)?);
        }
        if let Some(has_not) = self.has_not {
            builder = builder.has_not(conditions_of(has_not)?);
        }
        builder = page.set(builder, &mut faults);
        match builder.build() {
            Ok(query) if faults.is_empty() => return Ok(query),
            Ok(_) => {}
            Err(error) => faults.extend(errors::query_errors(&error)),
        }
        Err(errors::invalid_query(py, &faults))
    }
}

impl WantedPage<'_> {
    fn set(
        &self,
        mut builder: CompanyQueryBuilder,
        faults: &mut Vec<QueryError>,
    ) -> CompanyQueryBuilder {
        if let Some(name) = self.order {
            let mut orders = CompanyOrder::ALL.into_iter();
            match orders.find(|order| order.as_str() == name) {
                Some(order) => builder = builder.order(order),
                None => {
                    let error = ParameterError::not_a_choice("order", name, &CompanyOrder::NAMES);
                    faults.extend(errors::query_errors(&error.into()));
                }
            }
        }
        if let Some(limit) = self.limit {
            // The builder says which numbers are allowed; 0 is not among them, nor is anything below.
            builder = builder.limit(usize::try_from(limit).unwrap_or(0));
        }
        match self.cursor {
            Some(cursor) => builder.cursor(cursor),
            None => builder,
        }
    }
}

/// Conditions: a `Condition` each, or what stands for a filter; one alone, or several.
fn conditions_of(value: &Bound<'_, PyAny>) -> PyResult<Vec<Condition>> {
    let is_list = !value.is_instance_of::<PyString>() && value.try_iter().is_ok();
    if is_list {
        list_of(value, condition_of)
    } else {
        Ok(vec![condition_of(value)?])
    }
}

fn condition_of(value: &Bound<'_, PyAny>) -> PyResult<Condition> {
    let class = value
        .py()
        .import("signaldex._records")?
        .getattr("Condition")?;
    if !value.is_instance(&class)? {
        return with_filter(value, |filter| Ok(Condition::new(filter.clone())));
    }
    let condition = with_filter(&value.getattr("filter")?, |filter| {
        Ok(Condition::new(filter.clone()))
    })?;
    let bound = |name: &str| -> PyResult<Option<u32>> {
        let bound: Option<i64> = value.getattr(name)?.extract()?;
        let within = |bound| u32::try_from(bound).map_err(|_| bound);
        bound.map(within).transpose().map_err(|bound| {
            PyValueError::new_err(format!(
                "{name}: {bound} is not allowed; a whole number from 0 to {} is",
                u32::MAX
            ))
        })
    };
    let condition = match bound("min")? {
        Some(min) => condition.with_min(min),
        None => condition,
    };
    Ok(condition.with_max(bound("max")?))
}

#[pymethods]
impl PyCompanyPage {
    /// The companies, in the query's order.
    #[getter]
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let items = self.items.iter().map(|item| record(py, item));
        PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
    }

    /// What ``companies(cursor=...)`` takes for the next page; ``None`` on the last.
    #[getter]
    fn next_cursor(&self) -> Option<&str> {
        self.next_cursor.as_deref()
    }

    /// The companies as Arrow, one row each.
    fn arrow(&self) -> PyResult<PyArrowStream> {
        let batch = batch(&self.items, self.conditions);
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyArrowStream::of_batch(batch))
    }

    /// The companies as a ``pyarrow.Table``, one row each.
    ///
    /// The columns are the texts and numbers of ``Company``, ``signal_count`` and ``latest_signal_date``, and of each
    /// condition of ``has`` ``has1_count`` and ``has1_latest_date``, and so on.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_arrow(py, self.arrow()?)
    }

    /// The companies as a ``polars.DataFrame``; columns as for ``to_arrow``.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_polars(py, self.arrow()?)
    }

    /// The companies as a ``pandas.DataFrame``; columns as for ``to_arrow``. Needs pyarrow, too.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_pandas(py, self.arrow()?)
    }

    /// The companies through Arrow's C data interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        self.arrow()?.__arrow_c_stream__(py, requested_schema)
    }

    /// Raises ``TypeError``: frames are made by ``to_pandas`` and ``to_polars``.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__(
        &self,
        dtype: Option<&Bound<'_, PyAny>>,
        copy: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let _ = (dtype, copy);
        Err(arrow::no_array("CompanyPage"))
    }

    fn __len__(&self) -> usize {
        self.items.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.items(py)?.try_iter()
    }

    fn __repr__(&self) -> String {
        let next = self.next_cursor.as_ref();
        let next = next.map(|cursor| format!(", next_cursor='{cursor}'"));
        let plural = if self.items.len() == 1 { "y" } else { "ies" };
        format!(
            "<CompanyPage: {} compan{plural}{}>",
            self.items.len(),
            next.unwrap_or_default()
        )
    }
}

fn record<'py>(py: Python<'py>, item: &MatchedCompany<'_>) -> PyResult<Bound<'py, PyAny>> {
    let matches = item.matches.iter();
    let matches = matches.map(|of| new_record(py, "ConditionMatches", (of.count, of.latest_date)));
    let matches = PyList::new(py, matches.collect::<PyResult<Vec<_>>>()?)?;
    let profile = &item.profile;
    let company = records::company(py, &profile.company)?;
    let fields = (
        company,
        profile.signal_count,
        profile.latest_signal_date,
        matches,
    );
    new_record(py, "MatchedCompany", fields)
}

/// Companies as columns, one row each.
fn batch(items: &[MatchedCompany<'_>], conditions: usize) -> Result<RecordBatch, ArrowError> {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    columns.extend(text_columns(items));
    let profiles = || items.iter().map(|item| &item.profile);
    let employees = profiles().map(|profile| profile.company.employees);
    let years = profiles().map(|profile| profile.company.founded_year);
    let counts = profiles().map(|profile| Some(profile.signal_count as i64));
    for (name, numbers) in [
        ("employees", employees.collect::<Int64Array>()),
        ("founded_year", years.collect::<Int64Array>()),
        ("signal_count", counts.collect::<Int64Array>()),
    ] {
        columns.push((name.to_owned(), Arc::new(numbers)));
    }
    let latest = profiles().map(|profile| profile.latest_signal_date.map(days));
    columns.push((
        "latest_signal_date".to_owned(),
        Arc::new(latest.collect::<Date32Array>()),
    ));
    for condition in 0..conditions {
        let number = condition + 1;
        let matches = || items.iter().map(|item| item.matches.get(condition));
        let counts = matches().map(|matches| matches.map(|of| of.count as i64));
        let latest = matches().map(|matches| matches.and_then(|of| of.latest_date).map(days));
        let counts = Arc::new(counts.collect::<Int64Array>());
        columns.push((format!("has{number}_count"), counts));
        let latest = Arc::new(latest.collect::<Date32Array>());
        columns.push((format!("has{number}_latest_date"), latest));
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| {
        let is_nullable = !name.ends_with("_count") && name != "slug" && name != "name";
        (name, column, is_nullable)
    }))
}

/// The columns of texts of a company, in the order of its fields.
fn text_columns(items: &[MatchedCompany<'_>]) -> Vec<(String, ArrayRef)> {
    type ReadText = for<'a> fn(&'a Company<'_>) -> Option<&'a str>;
    let fields: [(&str, ReadText); 9] = [
        ("slug", |company| Some(&company.slug)),
        ("name", |company| Some(&company.name)),
        ("about", |company| company.about.as_deref()),
        ("tagline", |company| company.tagline.as_deref()),
        ("logo_url", |company| company.logo_url.as_deref()),
        ("country", |company| company.country.as_deref()),
        ("city", |company| company.city.as_deref()),
        ("industry", |company| company.industry.as_deref()),
        ("linkedin_url", |company| company.linkedin_url.as_deref()),
    ];
    let column = |(name, read): (&str, ReadText)| {
        let texts = items.iter().map(|item| read(&item.profile.company));
        let texts = Arc::new(texts.collect::<StringArray>()) as ArrayRef;
        (name.to_owned(), texts)
    };
    fields.into_iter().map(column).collect()
}
