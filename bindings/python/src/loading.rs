//! Files of records, into a builder or a writer.

use std::collections::HashMap;
use std::path::PathBuf;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use signaldex::json::{Loader, OnInvalid, Rejected, Sink};

use crate::records::new_record;
use crate::writer::Closeable;

/// How many rejected records a report names.
const REJECTIONS_MAX: usize = 100;

/// How files are read.
#[derive(Default)]
pub(crate) struct LoadOptions {
    on_invalid: OnInvalid,
    rename: HashMap<String, String>,
    strict: bool,
}

impl LoadOptions {
    /// The options of keyword arguments.
    pub(crate) fn read(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<LoadOptions> {
        let mut options = LoadOptions::default();
        for (name, value) in arguments.into_iter().flat_map(|arguments| arguments.iter()) {
            match &*name.extract::<String>()? {
                "on_invalid" => options.on_invalid = on_invalid_of(&value.extract::<String>()?)?,
                "rename" => options.rename = value.extract()?,
                "strict" => options.strict = value.extract()?,
                other => {
                    return Err(PyTypeError::new_err(format!(
                        "there is no option {other:?}"
                    )));
                }
            }
        }
        Ok(options)
    }
}

/// Whether an invalid record stops a load, by its name in Python.
fn on_invalid_of(name: &str) -> PyResult<OnInvalid> {
    match name {
        "stop" => Ok(OnInvalid::Stop),
        "skip" => Ok(OnInvalid::Skip),
        other => Err(PyValueError::new_err(format!(
            "{other:?} is neither stop nor skip"
        ))),
    }
}

/// Loads the files that are given, companies first.
pub(crate) fn load<'py, T: Sink + Send>(
    py: Python<'py>,
    sink: &Closeable<T>,
    (companies, signals): (Option<PathBuf>, Option<PathBuf>),
    options: &LoadOptions,
) -> PyResult<Bound<'py, PyAny>> {
    if companies.is_none() && signals.is_none() {
        return Err(PyTypeError::new_err(
            "a file of companies, of signals, or both are wanted",
        ));
    }
    let mut rejections: Vec<Rejected> = Vec::new();
    let (report, unknown) = sink.try_with(py, |sink| {
        let mut loader = Loader::new(options.on_invalid).on_rejected(|rejected| {
            if rejections.len() < REJECTIONS_MAX {
                rejections.push(rejected.clone());
            }
        });
        for (theirs, ours) in &options.rename {
            loader = loader.renamed(theirs, ours)?;
        }
        if options.strict {
            loader = loader.strict();
        }
        if let Some(companies) = companies {
            loader.companies(companies, sink)?;
        }
        if let Some(signals) = signals {
            loader.signals(signals, sink)?;
        }
        Ok((loader.report(), loader.unknown_fields()))
    })?;
    let rejections = rejections.iter().map(|rejected| {
        let (field, reason) = (rejected.error.field(), rejected.error.reason());
        let fields = (
            rejected.path.to_string_lossy(),
            rejected.line,
            field,
            reason,
        );
        new_record(py, "Rejected", fields)
    });
    let unknown = unknown.iter().map(|unknown| {
        let fields = (
            unknown.record.name(),
            &unknown.name,
            unknown.count,
            unknown.nearest,
        );
        new_record(py, "UnknownField", fields)
    });
    let fields = (
        report.companies,
        report.signals,
        report.companies_replaced,
        report.signals_replaced,
        report.rejected,
        report.companies_rejected,
        report.signals_without_company,
        PyList::new(py, rejections.collect::<PyResult<Vec<_>>>()?)?,
        PyList::new(py, unknown.collect::<PyResult<Vec<_>>>()?)?,
    );
    new_record(py, "LoadReport", fields)
}
