//! A file of records that is open, and the values of what its records have not.

use std::path::Path;

use crate::tables::{Cell, FileOptions, Header, RecordError, RecordKind, Source, Value, read_cell};
use crate::text::quoted;
use crate::{Error, Result};

/// A file that is open, and whose columns are bound.
pub(super) struct OpenFile {
    pub(super) source: Source,
    pub(super) header: Option<Header>,
    /// The values of fields that a record has not.
    pub(super) defaults: Vec<(&'static str, Value<'static>)>,
}

impl OpenFile {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// As [`Source::open`]; or the header has two columns for one field, or a default is no value of its field.
    pub(super) fn open(path: &Path, kind: RecordKind, options: &FileOptions) -> Result<OpenFile> {
        let source = Source::open(path, options)?;
        let header = match &source {
            Source::Json(_) => None,
            Source::Table(table) => {
                let header = Header::bind(kind, table.header().to_vec(), options);
                let invalid = |error: RecordError| {
                    Error::invalid(format!("the header: {error}")).at(table.path())
                };
                Some(header.map_err(invalid)?)
            }
        };
        let mut defaults = Vec::new();
        for (field, text) in &options.defaults {
            let Some(field_type) = kind.field_type(field) else {
                continue;
            };
            let value = read_cell(field_type, Cell::Text(text), &options.cells);
            let invalid =
                |reason| Error::invalid(format!("--set {field}: {} {reason}", quoted(text)));
            let value = value.map_err(invalid)?;
            defaults.extend(value.map(|value| (*field, value.into_owned())));
        }
        Ok(OpenFile {
            source,
            header,
            defaults,
        })
    }
}

/// A file of which records were read and none loaded is an error.
pub(super) fn some_loaded(path: &Path, loaded: u64, rejected: u64) -> Result<()> {
    if loaded > 0 || rejected == 0 {
        return Ok(());
    }
    let reason = match rejected {
        1 => "its only record could not be loaded".to_owned(),
        _ => format!("none of its {rejected} records could be loaded"),
    };
    Err(Error::invalid(reason).at(path))
}
