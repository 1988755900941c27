//! signaldex for Python: the native half of the package.
//!
//! Each class wraps the library's type of that name, keeps its meaning, and adds none of its own. Documentation
//! for users is in `python/signaldex/_native.pyi`. The interpreter's lock is released (`Python::detach`) wherever
//! the engine works; what is shared between threads is locked in a way that cannot wait for that lock.

mod aggregates;
mod arguments;
mod arrow;
mod changes;
mod companies;
mod dates;
mod dump;
mod errors;
mod explanation;
mod html;
mod index;
mod json;
mod loading;
mod matches;
mod page;
mod parameters;
mod query;
mod records;
mod saved;
mod snapshot;
mod sql_table;
mod stream;
mod synthetic;
mod text;
mod writer;

use pyo3::prelude::*;

/// The module `signaldex._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::aggregates::PyAggregates;
    #[pymodule_export]
    use crate::arrow::PyArrowStream;
    #[pymodule_export]
    use crate::changes::{PyChanges, PyMatchedSignals, PyPosition};
    #[pymodule_export]
    use crate::companies::PyCompanyPage;
    #[pymodule_export]
    use crate::index::{PyIndex, PyIndexBuilder};
    #[pymodule_export]
    use crate::json::{parse_company, parse_signal, write_company, write_signal};
    #[pymodule_export]
    use crate::matches::PyMatches;
    #[pymodule_export]
    use crate::page::PyPage;
    #[pymodule_export]
    use crate::query::{PyCursor, PyFilter, PyQuery, parameters};
    #[pymodule_export]
    use crate::saved::PySavedSearches;
    #[pymodule_export]
    use crate::snapshot::PySnapshot;
    #[pymodule_export]
    use crate::sql_table::PySqlTable;
    #[pymodule_export]
    use crate::stream::PyIterator;
    #[pymodule_export]
    use crate::synthetic::{PyCorpus, sample_index};
    #[pymodule_export]
    use crate::text::{fold_value, terms, tidy, words};
    #[pymodule_export]
    use crate::writer::PyWriter;

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("SAMPLE_AS_OF", signaldex::sample::AS_OF)?;
        module.add("SAMPLE_COMPANIES", signaldex::sample::COMPANIES)?;
        module.add("SAMPLE_SIGNALS", signaldex::sample::SIGNALS)?;
        module.add("ANALYSIS_VERSION", signaldex::text::ANALYSIS_VERSION)
    }
}
