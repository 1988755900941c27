//! Reads a sheet of an .xlsx workbook, cell by cell, on a thread of its own that the workbook never leaves.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;

use calamine::{Data, DataRef, Reader, Xlsx, XlsxFormulaMetadata};
use time::{Date, PrimitiveDateTime};

use super::csv::COLUMNS_MAX;
use super::error::RecordError;
use super::lines::LINE_BYTES_MAX;
use super::moment::{ExcelDates, Moment, serial};
use super::options::FileOptions;
use super::rows::{RowBatch, StoredCell, TableSource, unless_panic};
use crate::{Error, Result};

/// Maximum bytes of the sheet's XML: a sheet of more is no spreadsheet's.
const SHEET_BYTES_MAX: u64 = 4 << 30;

/// Maximum bytes of the XML of the texts that cells share, which are held in memory.
const SHARED_STRINGS_BYTES_MAX: u64 = 1 << 30;

/// Rows that are passed at once, and how many such messages wait.
const ROWS_PER_MESSAGE: usize = 256;
const MESSAGES_WAITING_MAX: usize = 2;

/// A cell that owns its text.
enum SheetCell {
    Empty,
    Text(String),
    Number(f64),
    Day(Date),
    LocalTime(PrimitiveDateTime),
    Other(String),
}

/// A row with its number, counted from 1.
struct SheetRow {
    number: u64,
    cells: Vec<SheetCell>,
    bytes: usize,
}

type Message = Result<Vec<SheetRow>>;

/// A sheet of a workbook.
pub(super) struct Workbook {
    path: PathBuf,
    header: Vec<String>,
    rows: Receiver<Message>,
    /// Rows that have arrived, the next one last.
    waiting: Vec<SheetRow>,
    total_bytes: u64,
}

impl Workbook {
    /// Opens the sheet that has records, and reads its header.
    ///
    /// # Errors
    /// The file is no workbook, is too large, or has several sheets and the option names none of them.
    pub(super) fn open(path: &Path, options: &FileOptions) -> Result<Workbook> {
        if path == Path::new("-") {
            return Err(Error::invalid(
                "a workbook cannot be read from standard input; save it as a file",
            ));
        }
        let sizes = check_sizes(path, SHEET_BYTES_MAX, SHARED_STRINGS_BYTES_MAX);
        let total_bytes = sizes.map_err(|error| error.at(path))?;
        let (sender, rows) = mpsc::sync_channel(MESSAGES_WAITING_MAX);
        let (sheet, skip_rows) = (options.sheet.clone(), options.skip_rows);
        let thread_path = path.to_owned();
        let read = move || {
            let read = || send_rows(&thread_path, sheet.as_deref(), skip_rows, &sender);
            if let Err(error) = unless_panic("the workbook", read) {
                // Sending fails only if the load has already ended.
                let _ = sender.send(Err(error.at(&thread_path)));
            }
        };
        let started = thread::Builder::new().spawn(read);
        started.map_err(|error| Error::io("start a thread", error))?;
        let mut workbook = Workbook {
            path: path.to_owned(),
            header: Vec::new(),
            rows,
            waiting: Vec::new(),
            total_bytes,
        };
        workbook.read_header()?;
        Ok(workbook)
    }

    fn read_header(&mut self) -> Result<()> {
        let Some(row) = self.next_sheet_row()? else {
            return Ok(());
        };
        let names = row.cells.iter().map(|cell| match cell {
            SheetCell::Text(text) | SheetCell::Other(text) => text.trim().to_owned(),
            SheetCell::Number(number) => number.to_string(),
            SheetCell::Day(day) => day.to_string(),
            SheetCell::LocalTime(time) => time.to_string(),
            SheetCell::Empty => String::new(),
        });
        self.header = names.collect();
        Ok(())
    }

    fn next_sheet_row(&mut self) -> Result<Option<SheetRow>> {
        if self.waiting.is_empty() {
            let Ok(message) = self.rows.recv() else {
                return Ok(None);
            };
            self.waiting = message?;
            self.waiting.reverse();
        }
        Ok(self.waiting.pop())
    }
}

impl TableSource for Workbook {
    fn path(&self) -> &Path {
        &self.path
    }

    fn header(&self) -> &[String] {
        &self.header
    }

    fn next_row(&mut self, rows: &mut RowBatch) -> Result<bool> {
        let Some(mut row) = self.next_sheet_row()? else {
            return Ok(false);
        };
        let (cells, columns) = (row.cells.len(), self.header.len());
        if row.bytes > LINE_BYTES_MAX {
            let reason = format!("the row is longer than {LINE_BYTES_MAX} bytes");
            rows.push_error(row.number, RecordError::of_line(reason));
        } else if cells > columns {
            let reason = format!("the row has {cells} cells and the header {columns}");
            rows.push_error(row.number, RecordError::of_line(reason));
        } else {
            row.cells.resize_with(columns, || SheetCell::Empty);
            let stored: Vec<StoredCell> = row.cells.iter().map(|cell| stored(cell, rows)).collect();
            rows.push_cells(row.number, stored);
        }
        Ok(true)
    }

    fn bytes_read(&self) -> u64 {
        // The zip archive is read from several places; nothing better is known of it.
        0
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.total_bytes)
    }
}

fn stored(cell: &SheetCell, rows: &mut RowBatch) -> StoredCell {
    match cell {
        SheetCell::Empty => StoredCell::Empty,
        SheetCell::Text(text) => rows.stored_text(text),
        SheetCell::Number(number) => StoredCell::Float(*number),
        SheetCell::Day(day) => StoredCell::Day(*day),
        SheetCell::LocalTime(time) => StoredCell::LocalTime(*time),
        SheetCell::Other(text) => StoredCell::Other(rows.stored(text)),
    }
}

/// Refuses a workbook whose parts are too large when decompressed. What the archive says of a size is not believed: the
/// shared texts are decompressed and counted, in the memory of a buffer.
fn check_sizes(path: &Path, sheet_max: u64, shared_strings_max: u64) -> Result<u64> {
    let file = File::open(path).map_err(|error| Error::io("open the file", error))?;
    let bytes = file
        .metadata()
        .map_err(|error| Error::io("read the file", error))?
        .len();
    let damaged =
        |error: &dyn std::fmt::Display| Error::corrupt(format!("the workbook is damaged: {error}"));
    let mut archive =
        zip::ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(&error))?;
    for index in 0..archive.len() {
        let mut part = archive.by_index(index).map_err(|error| damaged(&error))?;
        let name = part.name().map_err(|error| damaged(&error))?;
        let name = name.to_ascii_lowercase();
        let max = if name.ends_with("sharedstrings.xml") {
            shared_strings_max
        } else if name.contains("worksheets/") {
            sheet_max
        } else {
            continue;
        };
        let too_large = || {
            let part = part_name(&name);
            Error::invalid(format!(
                "{part} has more than {max} bytes; save the sheet as CSV"
            ))
        };
        if part.size() > max {
            return Err(too_large());
        }
        let counted = std::io::copy(&mut part.by_ref().take(max + 1), &mut std::io::sink());
        if counted.map_err(|error| damaged(&error))? > max {
            return Err(too_large());
        }
    }
    Ok(bytes)
}

fn part_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Sends the rows of the sheet that are not blank.
fn send_rows(
    path: &Path,
    sheet: Option<&str>,
    skip_rows: u64,
    sender: &SyncSender<Message>,
) -> Result<()> {
    let damaged =
        |error: calamine::XlsxError| Error::corrupt(format!("the workbook is damaged: {error}"));
    let file = File::open(path).map_err(|error| Error::io("open the file", error))?;
    let mut workbook = Xlsx::new(BufReader::new(file)).map_err(damaged)?;
    let name = chosen_sheet(&mut workbook, sheet)?;
    let system = system_of(&workbook);
    let mut reader = workbook.worksheet_cells_reader(&name).map_err(damaged)?;
    let mut message: Vec<SheetRow> = Vec::new();
    let mut row = SheetRow {
        number: 0,
        cells: Vec::new(),
        bytes: 0,
    };
    loop {
        let cell = reader.next_cell_with_formula_metadata().map_err(damaged)?;
        let position = cell.as_ref().map(|cell| cell.pos);
        let number = position.map_or(u64::MAX, |(row, _)| u64::from(row) + 1);
        if number != row.number {
            let whole = std::mem::replace(
                &mut row,
                SheetRow {
                    number,
                    cells: Vec::new(),
                    bytes: 0,
                },
            );
            if !whole.cells.is_empty() && whole.number > skip_rows {
                message.push(whole);
            }
        }
        let is_due = message.len() >= ROWS_PER_MESSAGE || (cell.is_none() && !message.is_empty());
        if is_due && sender.send(Ok(std::mem::take(&mut message))).is_err() {
            return Ok(());
        }
        let (Some(cell), Some((_, column))) = (cell, position) else {
            return Ok(());
        };
        let column = column as usize;
        let value = match (sheet_cell(&cell.value, system), cell.formula) {
            (SheetCell::Empty, Some(formula)) => unevaluated(formula),
            (value, _) => value,
        };
        if matches!(value, SheetCell::Empty) {
            continue;
        }
        if column >= COLUMNS_MAX {
            return Err(Error::invalid(format!(
                "row {number} has a cell in column {}; at most {COLUMNS_MAX} are allowed",
                column + 1
            )));
        }
        row.bytes += match &value {
            SheetCell::Text(text) | SheetCell::Other(text) => text.len(),
            _ => 0,
        };
        // A cell may be missing, or come before an earlier one.
        if row.cells.len() <= column {
            row.cells.resize_with(column + 1, || SheetCell::Empty);
        }
        row.cells[column] = value;
    }
}

/// The sheet of the option, or the only one that is not empty.
fn chosen_sheet(workbook: &mut Xlsx<BufReader<File>>, sheet: Option<&str>) -> Result<String> {
    let names = workbook.sheet_names();
    let listed = |names: &[String]| {
        let names: Vec<String> = names
            .iter()
            .map(|name| format!("--sheet {}", super::hints::shell_quoted(name)))
            .collect();
        names.join(" or ")
    };
    if let Some(sheet) = sheet {
        if names.iter().any(|name| name == sheet) {
            return Ok(sheet.to_owned());
        }
        let reason = format!("has no sheet {sheet:?}; give {}", listed(&names));
        return Err(Error::invalid(reason));
    }
    let mut full: Vec<String> = Vec::new();
    for name in &names {
        let has_cells = workbook
            .worksheet_cells_reader(name)
            .is_ok_and(|mut reader| {
                loop {
                    match reader.next_cell() {
                        Ok(Some(cell))
                            if matches!(
                                sheet_cell(cell.get_value(), ExcelDates::From1900),
                                SheetCell::Empty
                            ) => {}
                        // Damage is told when the sheet is read.
                        Ok(Some(_)) | Err(_) => break true,
                        Ok(None) => break false,
                    }
                }
            });
        if has_cells {
            full.push(name.clone());
        }
    }
    match full.len() {
        0 | 1 => full
            .pop()
            .or_else(|| names.first().cloned())
            .ok_or_else(|| Error::invalid("has no sheet")),
        _ => Err(Error::invalid(format!(
            "has several sheets; give {}",
            listed(&full)
        ))),
    }
}

fn sheet_cell(value: &DataRef<'_>, system: ExcelDates) -> SheetCell {
    match value {
        DataRef::Empty => SheetCell::Empty,
        DataRef::Int(number) => SheetCell::Number(*number as f64),
        DataRef::Float(number) => SheetCell::Number(*number),
        DataRef::String(text) => text_cell(text),
        DataRef::SharedString(text) => text_cell(text),
        DataRef::Bool(value) => SheetCell::Other(value.to_string().to_uppercase()),
        DataRef::DateTime(time) if time.is_datetime() => sheet_time(time.as_f64(), system),
        DataRef::DateTime(time) => SheetCell::Number(time.as_f64()),
        // Written as text by a program that has no serial numbers.
        DataRef::DateTimeIso(text) => text_cell(text),
        DataRef::DurationIso(text) => SheetCell::Other(text.clone()),
        DataRef::Error(_) => SheetCell::Other(Data::from(value.clone()).to_string()),
    }
}

/// A formula for which the program that wrote the workbook has stored no value is its text: programs write texts that
/// begin with `=` so.
fn unevaluated(formula: XlsxFormulaMetadata) -> SheetCell {
    match formula {
        XlsxFormulaMetadata::Normal { formula } | XlsxFormulaMetadata::Shared { formula, .. } => {
            SheetCell::Text(format!("={formula}"))
        }
        _ => SheetCell::Other("a formula without a value".to_owned()),
    }
}

fn text_cell(text: &str) -> SheetCell {
    if text.trim().is_empty() {
        SheetCell::Empty
    } else {
        SheetCell::Text(text.replace("\r\n", "\n"))
    }
}

fn sheet_time(days: f64, system: ExcelDates) -> SheetCell {
    match serial(days, system) {
        Some(Moment::Day(day)) => SheetCell::Day(day),
        Some(Moment::Local(local)) => SheetCell::LocalTime(local),
        _ => SheetCell::Number(days),
    }
}

fn system_of(workbook: &Xlsx<BufReader<File>>) -> ExcelDates {
    if workbook.has_1904_epoch() {
        ExcelDates::From1904
    } else {
        ExcelDates::From1900
    }
}

#[cfg(test)]
pub(crate) mod tests;
