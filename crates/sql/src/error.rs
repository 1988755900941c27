//! What is wrong with a statement, in words.

use std::fmt;

use datafusion::common::{DataFusionError, SchemaError};
use signaldex::text::nearest_name;

use crate::columns::{CATALOG, COMPANY_COLUMNS, SCHEMA, SIGNAL_COLUMNS};

/// Why a statement has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    kind: SqlErrorKind,
    message: String,
}

/// What an [`SqlError`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SqlErrorKind {
    /// The statement is wrong.
    Statement,
    /// The statement is of a kind that is not allowed.
    Refused,
    /// It needs more memory than [`StatementLimits::memory`](crate::StatementLimits::memory).
    Memory,
    /// It took longer than [`StatementLimits::timeout`](crate::StatementLimits::timeout).
    Timeout,
    /// The index cannot be read, or the result not be written.
    Io,
}

impl SqlError {
    pub(crate) fn new(kind: SqlErrorKind, message: impl Into<String>) -> SqlError {
        SqlError {
            kind,
            message: message.into(),
        }
    }

    /// An error of what takes the result.
    ///
    /// ```
    /// use signaldex_sql::{SqlError, SqlErrorKind};
    ///
    /// let error = SqlError::io("the disk is full");
    /// assert_eq!((error.kind(), error.to_string()), (SqlErrorKind::Io, "the disk is full".to_owned()));
    /// ```
    pub fn io(message: impl fmt::Display) -> SqlError {
        SqlError::new(SqlErrorKind::Io, message.to_string())
    }

    /// What it is about.
    pub fn kind(&self) -> SqlErrorKind {
        self.kind
    }

    pub(crate) fn of_engine(error: &DataFusionError) -> SqlError {
        let root = error.find_root();
        match root {
            DataFusionError::ResourcesExhausted(_) => SqlError::new(
                SqlErrorKind::Memory,
                "the statement needs more memory than it may take",
            ),
            DataFusionError::SchemaError(error, _) => {
                SqlError::new(SqlErrorKind::Statement, of_schema(error))
            }
            DataFusionError::External(error) if error.is::<signaldex::Error>() => {
                SqlError::new(SqlErrorKind::Io, error.to_string())
            }
            DataFusionError::External(error) if error.is::<SqlError>() => {
                let known = error.downcast_ref::<SqlError>().cloned();
                known.unwrap_or_else(|| SqlError::io(error))
            }
            DataFusionError::SQL(error, _) => {
                SqlError::new(SqlErrorKind::Statement, error.to_string())
            }
            DataFusionError::Plan(text) => SqlError::new(SqlErrorKind::Statement, of_plan(text)),
            other => SqlError::new(
                SqlErrorKind::Statement,
                other.strip_backtrace().trim().to_owned(),
            ),
        }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SqlError {}

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> SqlError {
        SqlError::of_engine(&error)
    }
}

/// An error of the library as one of the engine.
pub(crate) fn of_corpus(error: signaldex::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn of_schema(error: &SchemaError) -> String {
    let SchemaError::FieldNotFound {
        field,
        valid_fields,
    } = error
    else {
        return error.to_string();
    };
    let known: Vec<&str> = if valid_fields.is_empty() {
        let signals = SIGNAL_COLUMNS.iter().map(|column| column.name);
        let companies = COMPANY_COLUMNS.iter().map(|column| column.name);
        signals.chain(companies).collect()
    } else {
        valid_fields.iter().map(|field| field.name()).collect()
    };
    let name = field.name();
    match nearest_name(name, known.iter().copied()) {
        Some(nearest) => format!("there is no column {name}; did you mean {nearest}?"),
        None => format!("there is no column {name}; there are {}", known.join(", ")),
    }
}

/// An unknown table is an error of planning, known by its text alone.
fn of_plan(text: &str) -> String {
    let unknown = text
        .strip_prefix("table '")
        .and_then(|rest| rest.strip_suffix("' not found"));
    match unknown {
        Some(name) => {
            let within = name.strip_prefix(CATALOG).and_then(|rest| {
                let rest = rest.strip_prefix('.')?.strip_prefix(SCHEMA)?;
                rest.strip_prefix('.')
            });
            let name = within.unwrap_or(name);
            let nearest = nearest_name(name, ["signals", "companies"]);
            let hint = nearest.map(|nearest| format!("; did you mean {nearest}?"));
            format!(
                "there is no table {name}{}",
                hint.unwrap_or("; the tables are signals and companies".to_owned())
            )
        }
        None => text.trim().to_owned(),
    }
}
