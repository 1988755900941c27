//! Plans as dataclasses.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use signaldex::query::NamedCompanies;
use signaldex::{ExecutionExplanation, Explanation, SegmentExplanation, StepExplanation};

use crate::records::new_record;

pub(crate) fn explanation<'py>(
    py: Python<'py>,
    explained: &Explanation,
) -> PyResult<Bound<'py, PyAny>> {
    let segments = explained
        .segments
        .iter()
        .map(|explained| segment(py, explained));
    let fields = (
        &explained.query,
        named_companies(py, &explained.companies)?,
        &explained.hints,
        PyList::new(py, segments.collect::<PyResult<Vec<_>>>()?)?,
        explained.matches,
        explained.page_length,
        explained.page_time.as_secs_f64(),
        explained.count_time.as_secs_f64(),
        explained.to_string(),
    );
    new_record(py, "Explanation", fields)
}

/// A dictionary from items of `companies` to the slugs of the companies that each is.
fn named_companies<'py>(
    py: Python<'py>,
    companies: &[NamedCompanies],
) -> PyResult<Bound<'py, PyDict>> {
    let named = PyDict::new(py);
    for item in companies {
        let slugs = item.companies.iter().map(|company| company.slug.as_str());
        named.set_item(&item.item, PyList::new(py, slugs.collect::<Vec<_>>())?)?;
    }
    Ok(named)
}

fn segment<'py>(py: Python<'py>, explained: &SegmentExplanation) -> PyResult<Bound<'py, PyAny>> {
    let page = explained
        .page
        .as_ref()
        .map(|page| execution(py, page))
        .transpose()?;
    let count = execution(py, &explained.count)?;
    new_record(
        py,
        "SegmentExplanation",
        (explained.rows, explained.matches, page, count),
    )
}

fn execution<'py>(
    py: Python<'py>,
    explained: &ExecutionExplanation,
) -> PyResult<Bound<'py, PyAny>> {
    let steps = explained.steps.iter().map(|explained| step(py, explained));
    let fields = (
        &explained.strategy,
        &explained.no_match,
        PyList::new(py, steps.collect::<PyResult<Vec<_>>>()?)?,
        explained.rows_checked,
        explained.blocks_visited,
        explained.blocks_skipped,
        explained.bytes_read,
    );
    new_record(py, "ExecutionExplanation", fields)
}

fn step<'py>(py: Python<'py>, explained: &StepExplanation) -> PyResult<Bound<'py, PyAny>> {
    let estimate = &explained.estimate;
    let estimate = new_record(
        py,
        "Estimate",
        (estimate.min, estimate.expected, estimate.max),
    )?;
    let fields = (
        &explained.clause,
        &explained.strategy,
        explained.reason,
        estimate,
        explained.actual,
        explained.time.as_secs_f64(),
    );
    new_record(py, "StepExplanation", fields)
}
