//! Reads CSV: a header row of field names, and a row per record, which becomes a line of JSON.
//!
//! The separator is a comma, a semicolon or a tab, whichever is most frequent in the header. Rows follow
//! RFC 4180; quoted cells may contain line ends.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::error::RecordError;
use super::fields::RecordKind;
use super::lines::{LINE_BYTES_MAX, Lines};
use super::rename::{ObjectWriter, Renames, write_text};
use crate::text::quoted;
use crate::{Error, Result};

/// Maximum number of columns.
const COLUMNS_MAX: usize = 1000;

/// The possible separators.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// A parser with its header and the current row.
pub(super) struct Csv {
    reader: Reader,
    columns: Vec<CsvColumn>,
    /// The columns in output order: those of one object together.
    order: Vec<usize>,
    /// The bytes of the row's cells.
    cells: Vec<u8>,
    ends: Vec<usize>,
    cells_length: usize,
    cell_count: usize,
    /// The record as a line of JSON.
    line: Vec<u8>,
}

struct CsvColumn {
    outer: Option<String>,
    name: String,
}

/// The first line number of a row, and the error if it is not a record.
pub(super) type CsvRow = (u64, Result<(), RecordError>);

/// Whether this is a header: one of its cells is the name of a field, and it is not JSON.
pub(super) fn is_header(line: &[u8], kind: RecordKind, renames: &Renames) -> bool {
    if line.trim_ascii_start().starts_with(b"{") {
        return false;
    }
    let Ok(line) = std::str::from_utf8(line) else {
        return false;
    };
    let mut cells = line.split([',', ';', '\t']);
    cells.any(|cell| {
        let cell = cell.trim().trim_matches('"').trim();
        kind.field(cell).is_some() || renames.ours(cell).is_some()
    })
}

impl Csv {
    /// Reads the header.
    ///
    /// # Errors
    /// The file cannot be read, or the header is not one.
    pub(super) fn open(lines: &mut Lines, kind: RecordKind, renames: &Renames) -> Result<Csv> {
        let header = lines.peek_line()?.and_then(|line| line.content.ok());
        let separator = separator_of(header.unwrap_or_default());
        let mut csv = Csv {
            reader: ReaderBuilder::new()
                .delimiter(separator)
                .terminator(Terminator::Any(b'\n'))
                .build(),
            columns: Vec::new(),
            order: Vec::new(),
            cells: vec![0; 1 << 12],
            ends: vec![0; COLUMNS_MAX + 1],
            cells_length: 0,
            cell_count: 0,
            line: Vec::new(),
        };
        if let Some((_, read)) = csv.read_row(lines)? {
            let columns = read.and_then(|()| csv.header(kind, renames));
            csv.columns = columns
                .map_err(|error| Error::invalid(format!("the header: {error}")).at(lines.path()))?;
        }
        csv.order = (0..csv.columns.len()).collect();
        csv.order
            .sort_by(|&one, &other| csv.columns[one].outer.cmp(&csv.columns[other].outer));
        csv.ends.truncate(csv.columns.len() + 1);
        Ok(csv)
    }

    /// Reads the next row that is not blank; [`line`](Self::line) is then the record.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn next_row(&mut self, lines: &mut Lines) -> Result<Option<CsvRow>> {
        let row = self.read_row(lines)?;
        Ok(row.map(|(number, read)| (number, read.and_then(|()| self.write_line()))))
    }

    /// The current record as a line of JSON.
    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    fn header(&self, kind: RecordKind, renames: &Renames) -> Result<Vec<CsvColumn>, RecordError> {
        let mut names: Vec<&str> = Vec::new();
        for cell in self.texts()? {
            let cell = cell.trim();
            let name = renames.ours(cell).unwrap_or(cell);
            if names.contains(&name) {
                return Err(RecordError::of_line(format!(
                    "the column {} is given twice; a column is given once",
                    quoted(name)
                )));
            }
            names.push(name);
        }
        let columns = names.into_iter().map(|name| {
            let nested = kind.field(name).and_then(|field| field.split_once('.'));
            let (outer, name) = match nested {
                Some((outer, name)) => (Some(outer), name),
                None => (None, name),
            };
            CsvColumn {
                outer: outer.map(str::to_owned),
                name: name.to_owned(),
            }
        });
        Ok(columns.collect())
    }

    fn read_row(&mut self, lines: &mut Lines) -> Result<Option<CsvRow>> {
        self.reader.reset();
        (self.cells_length, self.cell_count) = (0, 0);
        let (mut start, mut bytes) = (None, 0);
        loop {
            // The row continues from earlier lines, because of a quoted cell.
            let next = match start {
                None => lines.next_line()?,
                Some(_) => lines.next_line_or_blank()?,
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
            if self.feed(content) || self.feed(b"\n") {
                return Ok(Some((number, Ok(()))));
            }
        }
    }

    /// Parses part of a row. Returns whether the row is complete.
    fn feed(&mut self, mut input: &[u8]) -> bool {
        while !input.is_empty() {
            // In a row with more cells than the header, the last end is overwritten.
            let end = self.cell_count.min(self.ends.len() - 1);
            let (result, read, written, cells) = self.reader.read_record(
                input,
                &mut self.cells[self.cells_length..],
                &mut self.ends[end..],
            );
            input = &input[read..];
            self.cells_length += written;
            self.cell_count += cells;
            match result {
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::OutputFull => self.cells.resize(self.cells.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => {}
                ReadRecordResult::Record | ReadRecordResult::End => return true,
            }
        }
        false
    }

    /// The cells of the row.
    fn texts(&self) -> Result<impl Iterator<Item = &str>, RecordError> {
        if self.cell_count >= self.ends.len() {
            let allowed = self.ends.len() - 1;
            let count = self.cell_count;
            return Err(RecordError::of_line(format!(
                "has {count} cells or more; at most {allowed} are allowed"
            )));
        }
        let text = std::str::from_utf8(&self.cells[..self.cells_length]);
        let text = text.map_err(|_| RecordError::of_line("not UTF-8"))?;
        let ends = &self.ends[..self.cell_count];
        let starts = std::iter::once(0).chain(ends.iter().copied());
        // Cells end at ASCII characters, so never within a character of valid UTF-8.
        Ok(starts
            .zip(ends)
            .map(move |(start, &end)| text.get(start..end).unwrap_or_default()))
    }

    fn write_line(&mut self) -> Result<(), RecordError> {
        if self.cell_count != self.columns.len() {
            let [cells, columns] = [self.cell_count, self.columns.len()];
            return Err(RecordError::of_line(format!(
                "the row has {cells} cells and the header {columns}; quote a cell that holds the separator"
            )));
        }
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let cells: Vec<&str> = self.texts()?.collect();
        let mut object = ObjectWriter::new(&mut line);
        for &index in &self.order {
            let (CsvColumn { outer, name }, cell) = (&self.columns[index], cells[index]);
            if !cell.is_empty() {
                object.member(outer.as_deref(), name, |output| write_text(output, cell));
            }
        }
        object.end();
        self.line = line;
        Ok(())
    }
}

/// The most frequent separator of a header; a comma if it has none.
fn separator_of(header: &[u8]) -> u8 {
    let count = |separator: u8| header.iter().filter(|&&byte| byte == separator).count();
    let mut most = SEPARATORS[0];
    for separator in SEPARATORS {
        if count(separator) > count(most) {
            most = separator;
        }
    }
    most
}

#[cfg(test)]
mod tests;
