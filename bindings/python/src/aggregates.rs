//! Figures over all matches of a filter, in groups: as records, or as a table of Arrow.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyIterator, PyList, PyString};
use signaldex::query::{AggregateOrder, GroupBy, Measure, ParameterError, TimeUnit};
use signaldex::{
    AggregateGroup, AggregateQuery, Aggregates, AmountFigures, ErrorKind, Figures, Filter,
    KeyValue, Snapshot,
};
use time::Date;

use crate::arguments::list_of;
use crate::arrow::{self, PyArrowStream, days, python_name};
use crate::errors::{self, QueryError};
use crate::records::new_record;

/// Which figures are wanted, as the arguments of a call say.
pub(crate) struct WantedFigures<'a, 'py> {
    pub(crate) by: Option<&'a Bound<'py, PyAny>>,
    pub(crate) measures: Option<&'a Bound<'py, PyAny>>,
    pub(crate) order: Option<&'a str>,
    pub(crate) limit: Option<i64>,
}

/// Figures over all matches of a filter, in groups. It is a sequence of its groups.
#[pyclass(name = "Aggregates", module = "signaldex", frozen, sequence)]
pub(crate) struct PyAggregates {
    query: AggregateQuery,
    found: Aggregates,
}

impl PyAggregates {
    /// Asks a snapshot; raises `InvalidQuery` with everything that is wrong.
    pub(crate) fn of(
        py: Python<'_>,
        snapshot: &Snapshot,
        filter: &Filter,
        wanted: &WantedFigures<'_, '_>,
        today: Date,
    ) -> PyResult<PyAggregates> {
        let query = wanted.query(py, filter)?;
        match py.detach(|| snapshot.aggregate(&query, today)) {
            Ok(found) => Ok(PyAggregates { query, found }),
            Err(error) if error.kind() == ErrorKind::TooManyGroups => {
                let errors = errors::query_errors(&query.too_many_groups());
                Err(errors::invalid_query(py, &errors))
            }
            Err(error) => Err(errors::of_library(py, &error)),
        }
    }
}

impl WantedFigures<'_, '_> {
    fn query(&self, py: Python<'_>, filter: &Filter) -> PyResult<AggregateQuery> {
        let mut faults = Vec::new();
        let by = names_of(self.by)?;
        let by = chosen("by", &by, &GroupBy::NAMES, &mut faults);
        let measures = names_of(self.measures)?;
        let measures = chosen("measures", &measures, &Measure::NAMES, &mut faults);
        let order = self.order.map(|order| [order.to_owned()]);
        let order = order.as_ref().map_or(&[][..], |order| &order[..]);
        let order = chosen("order", order, &AggregateOrder::NAMES, &mut faults);
        // The builder says which numbers are allowed; 0 is not among them, nor is anything below.
        let limit = self.limit.map(|limit| usize::try_from(limit).unwrap_or(0));
        let builder = AggregateQuery::builder(filter.clone())
            .by(by.into_iter().map(group_by))
            .measures(measures.into_iter().map(|number| Measure::ALL[number]))
            .order(order.first().map(|&number| AggregateOrder::ALL[number]))
            .limit(limit);
        match builder.build() {
            Ok(query) if faults.is_empty() => return Ok(query),
            Ok(_) => {}
            Err(error) => faults.extend(errors::query_errors(&error)),
        }
        Err(errors::invalid_query(py, &faults))
    }
}

/// A name, or several.
fn names_of(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<String>> {
    let Some(value) = value else {
        return Ok(Vec::new());
    };
    match value.cast::<PyString>() {
        Ok(name) => Ok(vec![name.to_cow()?.into_owned()]),
        Err(_) => list_of(value, |name| name.extract()),
    }
}

/// The numbers of names in a list, written as there or in Python's way; others are faults.
fn chosen(
    parameter: &str,
    names: &[String],
    known: &[&str],
    faults: &mut Vec<QueryError>,
) -> Vec<usize> {
    let number = |name: &String| {
        let is_same = |known: &&str| *known == name || python_name(known) == *name;
        let found = known.iter().position(is_same);
        if found.is_none() {
            let error = ParameterError::not_a_choice(parameter, name, known);
            faults.extend(errors::query_errors(&error.into()));
        }
        found
    };
    names.iter().filter_map(number).collect()
}

/// What the name with a number in [`GroupBy::NAMES`] stands for.
fn group_by(number: usize) -> GroupBy {
    let name = GroupBy::NAMES[number];
    let units = TimeUnit::ALL.into_iter().map(GroupBy::Time);
    let facets = signaldex::Facet::ALL.into_iter().map(GroupBy::Facet);
    let mut known = units.chain(facets);
    known
        .find(|known| known.as_str() == name)
        .unwrap_or(GroupBy::Company)
}

#[pymethods]
impl PyAggregates {
    /// The groups, in their order: ``AggregateGroup`` of each.
    #[getter]
    fn groups<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let groups = self.found.groups.iter();
        let groups = groups.map(|group| group_record(py, &self.query, group));
        PyList::new(py, groups.collect::<PyResult<Vec<_>>>()?)
    }

    /// Whether there are more groups.
    #[getter]
    fn truncated(&self) -> bool {
        self.found.truncated
    }

    /// The figures over all matches, and the number of all groups.
    #[getter]
    fn totals<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let totals = &self.found.totals;
        let (count, companies, amounts) = figures(py, &totals.figures)?;
        new_record(
            py,
            "AggregateTotals",
            (totals.groups, count, companies, amounts),
        )
    }

    /// The groups as Arrow, one row each.
    fn arrow(&self) -> PyResult<PyArrowStream> {
        let batch = batch(&self.query, &self.found);
        let batch = batch.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(PyArrowStream::of_batch(batch))
    }

    /// The groups as a ``pyarrow.Table``, one row each.
    ///
    /// The columns are what is grouped by (``company_slug`` and ``company_name`` for companies), ``count``,
    /// ``companies`` if measured, and for each currency ``EUR_count``, ``EUR_sum`` and so on; ``none_count`` and so on
    /// for amounts without one.
    fn to_arrow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_arrow(py, self.arrow()?)
    }

    /// The groups as a ``polars.DataFrame``; columns as for ``to_arrow``.
    fn to_polars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_polars(py, self.arrow()?)
    }

    /// The groups as a ``pandas.DataFrame``; columns as for ``to_arrow``. Needs pyarrow, too.
    fn to_pandas<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        arrow::to_pandas(py, self.arrow()?)
    }

    /// The groups through Arrow's C data interface.
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
        Err(arrow::no_array("table of Aggregates"))
    }

    fn __len__(&self) -> usize {
        self.found.groups.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.groups(py)?.try_iter()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let query = PyString::new(py, &self.query.to_string()).repr()?;
        let totals = &self.found.totals;
        let (shown, all) = (self.found.groups.len(), totals.groups);
        let count = totals.figures.count;
        Ok(format!(
            "<Aggregates({query}): {shown} of {all} groups, {count} signals>"
        ))
    }
}

fn group_record<'py>(
    py: Python<'py>,
    query: &AggregateQuery,
    group: &AggregateGroup,
) -> PyResult<Bound<'py, PyAny>> {
    let key = PyDict::new(py);
    for (by, value) in query.by().iter().zip(&group.key) {
        key.set_item(python_name(by.as_str()), key_value(py, value.as_ref())?)?;
    }
    let (count, companies, amounts) = figures(py, &group.figures)?;
    new_record(py, "AggregateGroup", (key, count, companies, amounts))
}

/// A value of a key: a date for days and weeks, a text for other periods and labels, a record for companies.
fn key_value<'py>(py: Python<'py>, value: Option<&KeyValue>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        None => Ok(py.None().into_bound(py)),
        Some(KeyValue::Time(period)) => match period.unit() {
            TimeUnit::Day | TimeUnit::Week => Ok(period.first_day().into_pyobject(py)?.into_any()),
            _ => Ok(PyString::new(py, &period.to_string()).into_any()),
        },
        Some(KeyValue::Label(label)) => Ok(PyString::new(py, label).into_any()),
        Some(KeyValue::Company { slug, name }) => new_record(py, "CompanyKey", (slug, name)),
    }
}

type FigureFields<'py> = (u64, Option<u64>, Option<Bound<'py, PyList>>);

fn figures<'py>(py: Python<'py>, figures: &Figures) -> PyResult<FigureFields<'py>> {
    let record = |of: &AmountFigures| {
        let currency = of.currency.as_ref().map(|currency| currency.as_str());
        let fields = (
            currency, of.count, of.sum, of.min, of.max, of.median, of.p25, of.p75,
        );
        new_record(py, "AmountFigures", fields)
    };
    let amounts = figures.amounts.as_ref().map(|amounts| {
        let records = amounts.iter().map(record);
        PyList::new(py, records.collect::<PyResult<Vec<_>>>()?)
    });
    Ok((figures.count, figures.companies, amounts.transpose()?))
}

/// Groups as columns, one row each.
fn batch(query: &AggregateQuery, found: &Aggregates) -> Result<RecordBatch, ArrowError> {
    let mut columns: Vec<(String, ArrayRef)> = Vec::new();
    for (index, by) in query.by().iter().enumerate() {
        let values = found.groups.iter().map(|group| group.key[index].as_ref());
        add_key(&mut columns, *by, &values.collect::<Vec<_>>());
    }
    let whole = |read: &dyn Fn(&Figures) -> u64| {
        let numbers = found.groups.iter().map(|group| read(&group.figures) as i64);
        Arc::new(numbers.collect::<Int64Array>()) as ArrayRef
    };
    columns.push(("count".to_owned(), whole(&|figures| figures.count)));
    if query.has(Measure::Companies) {
        let companies = whole(&|figures| figures.companies.unwrap_or_default());
        columns.push(("companies".to_owned(), companies));
    }
    for of_all in found.totals.figures.amounts.iter().flatten() {
        let currency = of_all.currency.as_ref();
        let name = currency.map_or("none", |currency| currency.as_str());
        let of_group = |figures: &Figures| {
            let amounts = figures.amounts.iter().flatten();
            let mut same = amounts.filter(|amounts| amounts.currency == of_all.currency);
            same.next().cloned()
        };
        let count = whole(&|figures| of_group(figures).map_or(0, |amounts| amounts.count));
        columns.push((format!("{name}_count"), count));
        for &measure in query.measures().iter().filter(|of| of.is_of_amounts()) {
            let figures = found.groups.iter().map(|group| {
                let amounts = of_group(&group.figures);
                amounts.and_then(|amounts| amounts.figure(measure))
            });
            let figures = Arc::new(figures.collect::<Float64Array>());
            columns.push((format!("{name}_{}", measure.as_str()), figures));
        }
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| {
        let is_nullable = !matches!(column.data_type(), arrow_schema::DataType::Int64);
        (name, column, is_nullable)
    }))
}

/// Adds the columns of a value of the key.
fn add_key(columns: &mut Vec<(String, ArrayRef)>, by: GroupBy, values: &[Option<&KeyValue>]) {
    let texts = |read: &dyn Fn(&KeyValue) -> Option<String>| {
        let texts = values.iter().map(|value| value.and_then(read));
        Arc::new(texts.collect::<StringArray>()) as ArrayRef
    };
    let name = python_name(by.as_str());
    match by {
        GroupBy::Time(TimeUnit::Day | TimeUnit::Week) => {
            let first_days = values.iter().map(|value| match value {
                Some(KeyValue::Time(period)) => Some(days(period.first_day())),
                _ => None,
            });
            columns.push((name, Arc::new(first_days.collect::<Date32Array>())));
        }
        GroupBy::Time(_) | GroupBy::Facet(_) => {
            let text = |value: &KeyValue| match value {
                KeyValue::Time(period) => Some(period.to_string()),
                KeyValue::Label(label) => Some(label.clone()),
                KeyValue::Company { .. } => None,
            };
            columns.push((name, texts(&text)));
        }
        GroupBy::Company => {
            let slug = |value: &KeyValue| match value {
                KeyValue::Company { slug, .. } => Some(slug.clone()),
                _ => None,
            };
            let title = |value: &KeyValue| match value {
                KeyValue::Company { name, .. } => Some(name.clone()),
                _ => None,
            };
            columns.push((format!("{name}_slug"), texts(&slug)));
            columns.push((format!("{name}_name"), texts(&title)));
        }
    }
}
