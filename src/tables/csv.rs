//! Reads CSV: a header row, and a row of cells per record.
//!
//! Rows follow RFC 4180; quoted cells may contain line ends.

use std::path::Path;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::encoding;
use super::error::RecordError;
use super::lines::{LINE_BYTES_MAX, Lines};
use super::options::FileOptions;
use super::rows::{RowBatch, TableSource};
use crate::{Error, Result};

/// Maximum number of columns of a table.
pub(super) const COLUMNS_MAX: usize = 1000;

/// The possible separators, unless an option gives one.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// A line that spreadsheets write above the header.
const SEPARATOR_LINE: &[u8] = b"sep=";

/// What is said of a file as spreadsheets of the former Macintosh write it.
const CR_ALONE: &str =
    "lines end with CR alone; save the file with LF or CR LF, or convert it with tr '\\r' '\\n'";

/// A table of CSV.
pub(super) struct CsvTable {
    lines: Lines,
    parser: Reader,
    header: Vec<String>,
    /// The bytes of the row's cells.
    cells: Vec<u8>,
    ends: Vec<usize>,
    cells_length: usize,
    cell_count: usize,
}

/// The first line number of a row, and the error if it is not a record.
type CsvRow = (u64, Result<(), RecordError>);

impl CsvTable {
    /// Reads the header.
    ///
    /// # Errors
    /// The file cannot be read, or there is no header.
    pub(super) fn open(mut lines: Lines, options: &FileOptions) -> Result<CsvTable> {
        for _ in 0..options.skip_rows {
            lines.next_line_or_blank()?;
        }
        let mut separator = options.delimiter;
        let first = lines
            .peek_line()?
            .and_then(|line| line.content.ok())
            .unwrap_or_default();
        if let Some(&[named]) = first.strip_prefix(SEPARATOR_LINE) {
            separator = separator.or(Some(named));
            lines.next_line()?;
        }
        let first = lines
            .peek_line()?
            .and_then(|line| line.content.ok())
            .unwrap_or_default();
        let separator = separator.unwrap_or_else(|| separator_of(first));
        let mut table = CsvTable {
            lines,
            parser: ReaderBuilder::new()
                .delimiter(separator)
                .terminator(Terminator::Any(b'\n'))
                .build(),
            header: Vec::new(),
            cells: vec![0; 1 << 12],
            ends: vec![0; COLUMNS_MAX + 1],
            cells_length: 0,
            cell_count: 0,
        };
        table.read_header()?;
        Ok(table)
    }

    fn read_header(&mut self) -> Result<()> {
        let Some((number, read)) = self.read_row()? else {
            return Ok(());
        };
        let invalid = |error: RecordError| {
            Error::invalid(format!("the header in line {number}: {error}")).at(self.lines.path())
        };
        read.map_err(invalid)?;
        // CR before LF is no part of a line, so these separate rows.
        if self.cells[..self.cells_length].contains(&b'\r') {
            return Err(invalid(RecordError::of_line(CR_ALONE)));
        }
        if self.cell_count > COLUMNS_MAX {
            let reason = format!(
                "has {} columns or more; at most {COLUMNS_MAX} are allowed",
                self.cell_count
            );
            return Err(invalid(RecordError::of_line(reason)));
        }
        let names: Vec<String> = self
            .texts(number)?
            .map(|name| name.trim().to_owned())
            .collect();
        self.ends.truncate(names.len() + 1);
        self.header = names;
        Ok(())
    }

    /// Reads the next row that is not blank.
    fn read_row(&mut self) -> Result<Option<CsvRow>> {
        loop {
            let Some(row) = self.read_any_row()? else {
                return Ok(None);
            };
            let is_blank = self.cells[..self.cells_length]
                .iter()
                .all(u8::is_ascii_whitespace);
            if row.1.is_err() || !is_blank {
                return Ok(Some(row));
            }
        }
    }

    fn read_any_row(&mut self) -> Result<Option<CsvRow>> {
        self.parser.reset();
        (self.cells_length, self.cell_count) = (0, 0);
        let (mut start, mut bytes) = (None, 0);
        loop {
            // The row continues from earlier lines, because of a quoted cell.
            let next = match start {
                None => self.lines.next_line()?,
                Some(_) => self.lines.next_line_or_blank()?,
            };
            let Some(line) = next else {
                let unclosed = "a quoted cell is not closed before the end of the file";
                return Ok(start.map(|number| (number, Err(RecordError::of_line(unclosed)))));
            };
            let number = *start.get_or_insert(line.number);
            let content = match line.content {
                Ok(content) => content,
                Err(error) => return Ok(Some((number, Err(error)))),
            };
            bytes += content.len() + 1;
            if bytes > LINE_BYTES_MAX {
                let error = format!(
                    "the row is longer than {LINE_BYTES_MAX} bytes; perhaps a quoted cell is not closed"
                );
                return Ok(Some((number, Err(RecordError::of_line(error)))));
            }
            let mut cells = RowParser {
                parser: &mut self.parser,
                cells: &mut self.cells,
                ends: &mut self.ends,
                cells_length: &mut self.cells_length,
                cell_count: &mut self.cell_count,
            };
            if cells.feed(content) || cells.feed(b"\n") {
                return Ok(Some((number, Ok(()))));
            }
        }
    }

    /// The cells of the row, of which there are as many as ends are kept, or fewer.
    ///
    /// # Errors
    /// The row is not UTF-8, which ends the load.
    fn texts(&self, number: u64) -> Result<impl Iterator<Item = &str>> {
        let bytes = &self.cells[..self.cells_length];
        let text = simdutf8::basic::from_utf8(bytes).map_err(|_| self.not_utf8(number, bytes))?;
        let ends = &self.ends[..self.cell_count.min(self.ends.len() - 1)];
        let starts = std::iter::once(0).chain(ends.iter().copied());
        // Cells end at ASCII characters, so never within a character of valid UTF-8.
        Ok(starts
            .zip(ends)
            .map(move |(start, &end)| text.get(start..end).unwrap_or_default()))
    }

    fn not_utf8(&self, number: u64, bytes: &[u8]) -> Error {
        let reason = encoding::not_utf8(bytes);
        Error::invalid(format!(
            "{}:{number}: {reason}",
            self.lines.path().display()
        ))
    }
}

impl TableSource for CsvTable {
    fn path(&self) -> &Path {
        self.lines.path()
    }

    fn header(&self) -> &[String] {
        &self.header
    }

    fn next_row(&mut self, rows: &mut RowBatch) -> Result<bool> {
        let Some((number, read)) = self.read_row()? else {
            return Ok(false);
        };
        let (cells, columns) = (self.cell_count, self.header.len());
        let wrong_count = || {
            let reason = format!(
                "the row has {cells} cells and the header {columns}; quote a cell that holds the separator"
            );
            (cells != columns).then(|| RecordError::of_line(reason))
        };
        match read.err().or_else(wrong_count) {
            Some(error) => rows.push_error(number, error),
            None => rows.push_texts(number, self.texts(number)?),
        }
        Ok(true)
    }

    fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }

    fn total_bytes(&self) -> Option<u64> {
        self.lines.total_bytes()
    }
}

/// A row while its lines are parsed.
struct RowParser<'t> {
    parser: &'t mut Reader,
    cells: &'t mut Vec<u8>,
    ends: &'t mut [usize],
    cells_length: &'t mut usize,
    cell_count: &'t mut usize,
}

impl RowParser<'_> {
    /// Parses part of a row. Returns whether the row is complete.
    fn feed(&mut self, mut input: &[u8]) -> bool {
        while !input.is_empty() {
            // In a row with more cells than the header, the last end is overwritten.
            let end = (*self.cell_count).min(self.ends.len() - 1);
            let (result, read, written, cells) = self.parser.read_record(
                input,
                &mut self.cells[*self.cells_length..],
                &mut self.ends[end..],
            );
            input = &input[read..];
            *self.cells_length += written;
            *self.cell_count += cells;
            match result {
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::OutputFull => self.cells.resize(self.cells.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::Record | ReadRecordResult::End => return true,
            }
        }
        false
    }
}

/// The most frequent separator of a header, outside of quotes; a comma if it has none.
fn separator_of(header: &[u8]) -> u8 {
    let mut counts = [0; SEPARATORS.len()];
    let mut is_quoted = false;
    for byte in header {
        is_quoted ^= *byte == b'"';
        let separator = SEPARATORS.iter().position(|separator| separator == byte);
        if let Some(index) = separator.filter(|_| !is_quoted) {
            counts[index] += 1;
        }
    }
    let mut most = 0;
    for (index, count) in counts.iter().enumerate() {
        if *count > counts[most] {
            most = index;
        }
    }
    SEPARATORS[most]
}

#[cfg(test)]
mod tests;
