//! Tables and files of records: from bytes to cells, and from cells to the fields of records.
//!
//! - [`read_cell`] defines what a cell means in a field, under [`CellOptions`].
//! - `header` finds the field of each column; `draft` collects a record's values and its faults.
//! - `source` opens a file: JSON lines, or a table behind the trait `TableSource`.

mod cell;
mod csv;
mod draft;
mod encoding;
mod error;
mod fields;
mod forms;
mod formula;
mod header;
mod hints;
mod keys;
mod lines;
mod load_options;
mod moment;
mod money;
mod number;
mod options;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod rows;
mod source;
mod words;
#[cfg(feature = "xlsx")]
pub(crate) mod xlsx;

pub use cell::{Cell, CellFault, FIELD_BYTES_MAX, FieldType, Value, read_cell};
pub use error::RecordError;
pub use fields::RecordKind;
pub use lines::{LINE_BYTES_MAX, Line, Lines};
pub use load_options::LoadOptions;
pub use options::CellOptions;
pub use words::field_words;

pub(crate) use draft::Draft;
pub(crate) use fields::fault_of_key;
pub(crate) use formula::needs_escape;
pub(crate) use header::{Binding, Header, binding_of, object_named};
pub(crate) use hints::shell_quoted;
pub(crate) use keys::KeyMaker;
pub(crate) use options::FileOptions;
pub(crate) use rows::{RowBatch, RowCells, TableSource};
pub(crate) use source::Source;
