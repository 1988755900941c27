//! Files of records, into a builder or a writer.

use std::collections::HashMap;
use std::path::PathBuf;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use signaldex::json::{LoadOptions, Loader, Rejected, Sink};

use crate::records::new_record;
use crate::writer::Closeable;

/// How many rejected records a report names.
const REJECTIONS_MAX: usize = 100;

/// How files are read.
pub(crate) struct ReadOptions(LoadOptions);

/// Whether an invalid record stops a load.
const ON_INVALID: &str = "on_invalid";

/// Names of ours and theirs, as a dictionary.
const RENAME: &str = "rename";

impl ReadOptions {
    /// The options of keyword arguments: those of the command line with underscores, a list where one may be given
    /// several times, and `True` where it has no value.
    pub(crate) fn read(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<ReadOptions> {
        let mut options = LoadOptions::default();
        for (name, value) in arguments.into_iter().flat_map(|arguments| arguments.iter()) {
            let name: String = name.extract()?;
            match &*name {
                ON_INVALID => {
                    if skips(&value.extract::<String>()?)? {
                        set(&mut options, "skip_invalid", "")?;
                    }
                }
                RENAME => {
                    for (theirs, ours) in value.extract::<HashMap<String, Option<String>>>()? {
                        set(
                            &mut options,
                            "map",
                            &format!("{theirs}={}", ours.unwrap_or_default()),
                        )?;
                    }
                }
                _ => set_all(&mut options, &name, &value)?,
            }
        }
        Ok(ReadOptions(options))
    }
}

fn set_all(options: &mut LoadOptions, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(is_given) = value.extract::<bool>() {
        return if is_given {
            set(options, name, "")
        } else {
            Ok(())
        };
    }
    let values = match value.extract::<Vec<String>>() {
        Ok(values) if !value.is_instance_of::<PyString>() => values,
        _ => vec![value.str()?.to_string()],
    };
    for value in values {
        set(options, name, &value)?;
    }
    Ok(())
}

fn set(options: &mut LoadOptions, name: &str, value: &str) -> PyResult<()> {
    let set = options.set(&name.replace('_', "-"), value);
    set.map_err(|error| PyValueError::new_err(format!("{name}: {error}")))
}

/// Whether invalid records are skipped, by the name in Python.
fn skips(name: &str) -> PyResult<bool> {
    match name {
        "stop" => Ok(false),
        "skip" => Ok(true),
        other => Err(PyValueError::new_err(format!(
            "{other:?} is neither stop nor skip"
        ))),
    }
}

/// Loads the files that are given, companies first; into a new index, ids can be made.
pub(crate) fn load<'py, T: Sink + Send>(
    py: Python<'py>,
    sink: &Closeable<T>,
    (companies, signals): (Option<PathBuf>, Option<PathBuf>),
    options: &ReadOptions,
    is_new: bool,
) -> PyResult<Bound<'py, PyAny>> {
    if companies.is_none() && signals.is_none() {
        return Err(PyTypeError::new_err(
            "a file of companies, of signals, or both are wanted",
        ));
    }
    let mut rejections: Vec<Rejected> = Vec::new();
    let (report, unknown) = sink.try_with(py, |sink| {
        let loader = Loader::with_options(options.0.clone());
        let loader = if is_new { loader.making_ids() } else { loader };
        let mut loader = loader.on_rejected(|rejected| {
            if rejections.len() < REJECTIONS_MAX {
                rejections.push(rejected.clone());
            }
        });
        loader.load(companies.as_deref(), signals.as_deref(), sink)?;
        Ok((loader.report(), loader.unknown_fields()))
    })?;
    let faults = rejections
        .iter()
        .flat_map(|rejected| rejected.errors.iter().map(move |error| (rejected, error)));
    let rejections = faults.map(|(rejected, error)| {
        let fields = (
            rejected.path.to_string_lossy(),
            rejected.line,
            error.field(),
            error.value(),
            error.reason(),
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
        report.nulled,
        PyList::new(py, rejections.collect::<PyResult<Vec<_>>>()?)?,
        PyList::new(py, unknown.collect::<PyResult<Vec<_>>>()?)?,
    );
    new_record(py, "LoadReport", fields)
}
