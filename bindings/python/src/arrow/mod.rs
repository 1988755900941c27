//! Columns through Arrow's C data interface: matches out, records in.

mod columns;
mod input;
mod output;
mod values;

pub(crate) use input::{ArrowTable, TableKind};
pub(crate) use output::{BATCH_ROWS, PyArrowStream};
