//! Columns through Arrow's C data interface: matches out, records in.

mod columns;
mod frames;
mod input;
mod output;
mod values;

pub(crate) use columns::{ChosenColumns, ColumnNames, days, python_name};
pub(crate) use frames::{no_array, to_arrow, to_pandas, to_polars};
pub(crate) use input::{ArrowTable, Renames};
pub(crate) use output::{BATCH_ROWS, PyArrowStream, Streamed};
