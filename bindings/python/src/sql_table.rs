//! Signals and companies of a snapshot as tables of DataFusion, handed to PyPI's `datafusion` of the same major version.
//!
//! Without the feature `datafusion` the class is there, and asking for a table says what is missing.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use signaldex::Snapshot;
use time::Date;

use crate::errors;

#[cfg(feature = "datafusion")]
use self::engine::{capsule_of, companies, signals};
#[cfg(not(feature = "datafusion"))]
use self::no_engine::{TableProvider, capsule_of, companies, signals};
#[cfg(feature = "datafusion")]
use datafusion::catalog::TableProvider;

/// A table of a snapshot, for sessions of PyPI's ``datafusion`` of the same major version.
#[pyclass(name = "SqlTable", module = "signaldex", frozen)]
pub(crate) struct PySqlTable {
    /// What ``docs/sql.md`` calls the table: ``signals`` or ``companies``.
    #[pyo3(get)]
    name: &'static str,
    table: Arc<dyn TableProvider>,
}

impl PySqlTable {
    pub(crate) fn of_signals(
        py: Python<'_>,
        snapshot: &Arc<Snapshot>,
        today: Date,
    ) -> PyResult<PySqlTable> {
        let (name, table) = ("signals", signals(py, snapshot, today)?);
        Ok(PySqlTable { name, table })
    }

    pub(crate) fn of_companies(py: Python<'_>, snapshot: &Arc<Snapshot>) -> PyResult<PySqlTable> {
        let (name, table) = ("companies", companies(py, snapshot)?);
        Ok(PySqlTable { name, table })
    }
}

#[pymethods]
impl PySqlTable {
    /// The table as a session takes it; ``register_table`` calls this.
    ///
    /// Raises ``DataFusionMismatch``, which names both versions, where another major version of ``datafusion`` asks.
    #[pyo3(signature = (session = None))]
    fn __datafusion_table_provider__<'py>(
        &self,
        py: Python<'py>,
        session: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        capsule_of(py, &self.table, session)
    }

    fn __repr__(&self) -> String {
        format!("<SqlTable {}>", self.name)
    }
}

fn mismatch(py: Python<'_>, message: &str) -> PyErr {
    errors::exception(py, "DataFusionMismatch", message)
}

#[cfg(feature = "datafusion")]
mod engine {
    use std::ffi::CStr;
    use std::sync::Arc;

    use datafusion::DATAFUSION_VERSION;
    use datafusion::catalog::TableProvider;
    use datafusion_ffi::proto::logical_extension_codec::FFI_LogicalExtensionCodec;
    use datafusion_ffi::table_provider::FFI_TableProvider;
    use pyo3::prelude::*;
    use pyo3::types::PyCapsule;
    use signaldex::Snapshot;
    use signaldex_sql::{CompaniesTable, SignalsTable};
    use time::Date;

    use super::mismatch;
    use crate::errors;

    /// The names of what is handed over, as `datafusion` expects them.
    const TABLE: &CStr = c"datafusion_table_provider";
    const CODEC: &CStr = c"datafusion_logical_extension_codec";

    pub(super) fn signals(
        py: Python<'_>,
        snapshot: &Arc<Snapshot>,
        today: Date,
    ) -> PyResult<Arc<dyn TableProvider>> {
        let table = SignalsTable::new(vec![Arc::clone(snapshot)], today);
        let table = table.map_err(|error| errors::of_library(py, &error))?;
        Ok(Arc::new(table))
    }

    pub(super) fn companies(
        _: Python<'_>,
        snapshot: &Arc<Snapshot>,
    ) -> PyResult<Arc<dyn TableProvider>> {
        Ok(Arc::new(CompaniesTable::new(vec![Arc::clone(snapshot)])))
    }

    pub(super) fn capsule_of<'py>(
        py: Python<'py>,
        table: &Arc<dyn TableProvider>,
        session: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        check_version(py)?;
        // Those of the same major version pass their session.
        let session = session.ok_or_else(|| {
            mismatch(
                py,
                "a table is handed to a session: call SessionContext.register_table(name, table)",
            )
        })?;
        let codec = codec_of(session)?;
        let table = FFI_TableProvider::new_with_ffi_codec(Arc::clone(table), true, None, codec);
        PyCapsule::new_with_value(py, table, TABLE)
    }

    /// Before anything of the other library is read: only equal major versions agree on its layout.
    fn check_version(py: Python<'_>) -> PyResult<()> {
        let installed = py.import("datafusion")?.getattr("__version__")?;
        let installed: String = installed.extract()?;
        let major = |version: &str| version.split('.').next().map(str::to_owned);
        let (own, wanted) = (DATAFUSION_VERSION, major(DATAFUSION_VERSION));
        if major(&installed) == wanted {
            return Ok(());
        }
        let wanted = wanted.unwrap_or_default();
        Err(mismatch(
            py,
            &format!(
                "datafusion {installed} is installed, and this package has tables for datafusion {own}: install a \
                 version that begins with the same number (pip install 'datafusion=={wanted}.*')"
            ),
        ))
    }

    /// How a session writes and reads what crosses between the libraries, such as its functions in a condition.
    fn codec_of(session: &Bound<'_, PyAny>) -> PyResult<FFI_LogicalExtensionCodec> {
        let method = "__datafusion_logical_extension_codec__";
        let capsule = if session.hasattr(method)? {
            session.call_method0(method)?
        } else {
            session.clone()
        };
        let capsule = capsule.cast::<PyCapsule>()?;
        let pointer = capsule.pointer_checked(Some(CODEC))?;
        // SAFETY: a capsule of this name points to a codec, which lives as long as the capsule; the layout is that of
        // the same major version, which was checked.
        Ok(unsafe { pointer.cast::<FFI_LogicalExtensionCodec>().as_ref() }.clone())
    }
}

#[cfg(not(feature = "datafusion"))]
mod no_engine {
    use std::sync::Arc;

    use pyo3::prelude::*;
    use pyo3::types::PyCapsule;
    use signaldex::Snapshot;
    use time::Date;

    use super::mismatch;

    /// Nothing is one.
    pub(super) trait TableProvider: Send + Sync {}

    pub(super) fn signals(
        py: Python<'_>,
        _: &Arc<Snapshot>,
        _: Date,
    ) -> PyResult<Arc<dyn TableProvider>> {
        Err(absent(py))
    }

    pub(super) fn companies(py: Python<'_>, _: &Arc<Snapshot>) -> PyResult<Arc<dyn TableProvider>> {
        Err(absent(py))
    }

    pub(super) fn capsule_of<'py>(
        py: Python<'py>,
        _: &Arc<dyn TableProvider>,
        _: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        Err(absent(py))
    }

    fn absent(py: Python<'_>) -> PyErr {
        mismatch(
            py,
            "this package was built without tables for datafusion: build it with them, \
             maturin build --manifest-path bindings/python/Cargo.toml --features signaldex-python/datafusion",
        )
    }
}
