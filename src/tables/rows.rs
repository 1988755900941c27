//! Rows of cells, many in one buffer, and what every kind of table is read as.

#[cfg(feature = "parquet")]
use std::fmt::{Display, Write};
use std::ops::Range;
use std::path::Path;

#[cfg(feature = "parquet")]
use time::UtcDateTime;
#[cfg(any(feature = "xlsx", feature = "parquet"))]
use time::{Date, PrimitiveDateTime};

use super::cell::Cell;
use super::error::RecordError;
#[cfg(any(feature = "xlsx", feature = "parquet"))]
use crate::Error;
use crate::Result;

/// Bytes of text in a full batch of rows, and the number of rows.
const BATCH_BYTES: usize = 256 << 10;
const BATCH_ROWS_MAX: usize = 1 << 12;

/// A table: a header, and rows of cells with their numbers. CSV, workbooks and Parquet are one each.
pub(crate) trait TableSource: Send {
    /// The path of the file, for messages.
    fn path(&self) -> &Path;

    /// The names of the columns.
    fn header(&self) -> &[String];

    /// Reads the next row that is not blank. Returns false at the end.
    ///
    /// # Errors
    /// The file cannot be read. A row that is no record is an error of that row alone.
    fn next_row(&mut self, rows: &mut RowBatch) -> Result<bool>;

    /// How much of the file has been read, for progress.
    fn bytes_read(&self) -> u64;

    /// The size of the file, if known.
    fn total_bytes(&self) -> Option<u64>;
}

/// What `read` returns; a panic is damage, since other packages panic at some of it.
///
/// # Errors
/// Those of `read`, or the damage.
#[cfg(any(feature = "xlsx", feature = "parquet"))]
pub(super) fn unless_panic<T>(what: &str, read: impl FnOnce() -> Result<T>) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)).unwrap_or_else(|_| {
        let reason = format!("{what} is damaged: its parts contradict one another");
        Err(Error::corrupt(reason))
    })
}

/// Consecutive rows of a table.
#[derive(Debug, Default)]
pub(crate) struct RowBatch {
    text: String,
    cells: Vec<StoredCell>,
    rows: Vec<StoredRow>,
    /// Bytes read from the file up to here.
    pub(crate) bytes_read: u64,
}

#[derive(Debug)]
struct StoredRow {
    number: u64,
    content: Result<Range<usize>, RecordError>,
}

/// A cell whose text is in the buffer.
#[derive(Clone, Debug)]
pub(super) enum StoredCell {
    Empty,
    Text(Range<usize>),
    #[cfg(feature = "parquet")]
    Number(Range<usize>),
    #[cfg(any(feature = "xlsx", feature = "parquet"))]
    Float(f64),
    #[cfg(any(feature = "xlsx", feature = "parquet"))]
    Day(Date),
    #[cfg(any(feature = "xlsx", feature = "parquet"))]
    LocalTime(PrimitiveDateTime),
    #[cfg(feature = "parquet")]
    Instant(UtcDateTime),
    #[cfg(any(feature = "xlsx", feature = "parquet"))]
    Other(Range<usize>),
}

/// The cells of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowCells<'r> {
    text: &'r str,
    cells: &'r [StoredCell],
}

impl<'r> RowCells<'r> {
    /// The cells in the order of the columns.
    pub(crate) fn iter(self) -> impl Iterator<Item = Cell<'r>> {
        let text = move |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
        self.cells.iter().map(move |cell| match cell {
            StoredCell::Empty => Cell::Empty,
            StoredCell::Text(range) => Cell::Text(text(range)),
            #[cfg(feature = "parquet")]
            StoredCell::Number(range) => Cell::Number(text(range)),
            #[cfg(any(feature = "xlsx", feature = "parquet"))]
            StoredCell::Float(number) => Cell::Float(*number),
            #[cfg(any(feature = "xlsx", feature = "parquet"))]
            StoredCell::Day(day) => Cell::Day(*day),
            #[cfg(any(feature = "xlsx", feature = "parquet"))]
            StoredCell::LocalTime(time) => Cell::LocalTime(*time),
            #[cfg(feature = "parquet")]
            StoredCell::Instant(instant) => Cell::Instant(*instant),
            #[cfg(any(feature = "xlsx", feature = "parquet"))]
            StoredCell::Other(range) => Cell::Other(text(range)),
        })
    }
}

impl RowBatch {
    /// Reads rows until the batch is full or the table ends.
    ///
    /// # Errors
    /// The file cannot be read; the rows before are in the batch.
    pub(crate) fn fill(&mut self, source: &mut dyn TableSource) -> Result<()> {
        let mut filled = Ok(true);
        while matches!(filled, Ok(true))
            && self.text.len() < BATCH_BYTES
            && self.rows.len() < BATCH_ROWS_MAX
        {
            filled = source.next_row(self);
        }
        self.bytes_read = source.bytes_read();
        filled.map(|_| ())
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The rows with their numbers; each is its cells or an error.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, Result<RowCells<'_>, &RecordError>)> {
        self.rows.iter().map(|row| {
            let cells = row.content.as_ref().map(|range| RowCells {
                text: &self.text,
                cells: self.cells.get(range.clone()).unwrap_or_default(),
            });
            (row.number, cells)
        })
    }

    /// Adds a row of texts.
    pub(super) fn push_texts<'t>(&mut self, number: u64, texts: impl Iterator<Item = &'t str>) {
        let start = self.cells.len();
        for text in texts {
            let cell = self.stored_text(text);
            self.cells.push(cell);
        }
        self.end_row(number, start);
    }

    /// Adds a row that is no record.
    pub(super) fn push_error(&mut self, number: u64, error: RecordError) {
        self.rows.push(StoredRow {
            number,
            content: Err(error),
        });
    }

    /// The text as a cell, whose bytes are copied into the buffer.
    pub(super) fn stored_text(&mut self, text: &str) -> StoredCell {
        if text.is_empty() {
            return StoredCell::Empty;
        }
        StoredCell::Text(self.stored(text))
    }

    pub(super) fn stored(&mut self, text: &str) -> Range<usize> {
        let start = self.text.len();
        self.text.push_str(text);
        start..self.text.len()
    }

    /// What a value shows, copied into the buffer.
    #[cfg(feature = "parquet")]
    pub(super) fn stored_display(&mut self, value: &dyn Display) -> Range<usize> {
        let start = self.text.len();
        // Writing to a string cannot fail.
        let _ = write!(self.text, "{value}");
        start..self.text.len()
    }

    fn end_row(&mut self, number: u64, start: usize) {
        let content = Ok(start..self.cells.len());
        self.rows.push(StoredRow { number, content });
    }

    /// Adds a row of cells whose texts are stored.
    #[cfg(any(feature = "xlsx", feature = "parquet"))]
    pub(super) fn push_cells(&mut self, number: u64, cells: impl IntoIterator<Item = StoredCell>) {
        let start = self.cells.len();
        self.cells.extend(cells);
        self.end_row(number, start);
    }
}
