//! Reads the records of a file in any supported format as lines of JSON.

use std::path::Path;

use super::csv::{self, Csv};
use super::fields::RecordKind;
use super::lines::{Line, Lines};
use super::rename::Renames;
use crate::{Error, Result};

/// Reads records one by one.
pub(super) struct RecordReader {
    lines: Lines,
    form: RecordFormat,
}

enum RecordFormat {
    Json,
    /// The buffer holds the renamed line.
    Renamed(Renames, Vec<u8>),
    Csv(Box<Csv>),
}

impl RecordReader {
    /// Opens a file, or standard input if the path is `-`, and detects its format.
    ///
    /// # Errors
    /// The file cannot be opened, its beginning cannot be read, or it holds a JSON array.
    pub(super) fn open(path: &Path, kind: RecordKind, renames: &Renames) -> Result<RecordReader> {
        let mut lines = Lines::open(path)?;
        let renames = renames.of(kind);
        let first = lines.peek_line()?.and_then(|line| line.content.ok());
        let first = first.unwrap_or_default();
        if first.trim_ascii_start().starts_with(b"[") {
            let name = lines.path().display();
            let reason = format!(
                "is a JSON array; one object a line is needed: jq -c '.[]' {name} > lines.jsonl"
            );
            return Err(Error::invalid(reason).at(lines.path()));
        }
        let form = if csv::is_header(first, kind, &renames) {
            RecordFormat::Csv(Box::new(Csv::open(&mut lines, kind, &renames)?))
        } else if renames.is_empty() {
            RecordFormat::Json
        } else {
            RecordFormat::Renamed(renames, Vec::new())
        };
        Ok(RecordReader { lines, form })
    }

    /// The lines of the file.
    pub(super) fn lines(&self) -> &Lines {
        &self.lines
    }

    /// The next record as a line of JSON; `None` at the end.
    ///
    /// # Errors
    /// As [`Lines::next_line`].
    pub(super) fn next(&mut self) -> Result<Option<Line<'_>>> {
        match &mut self.form {
            RecordFormat::Json => self.lines.next_line(),
            RecordFormat::Renamed(renames, renamed) => {
                let Some(line) = self.lines.next_line()? else {
                    return Ok(None);
                };
                let number = line.number;
                let content = line.content.map(|content| {
                    renames.rewrite(content, renamed);
                    &renamed[..]
                });
                Ok(Some(Line { number, content }))
            }
            RecordFormat::Csv(csv) => {
                let Some((number, read)) = csv.next_row(&mut self.lines)? else {
                    return Ok(None);
                };
                let content = read.map(|()| csv.line());
                Ok(Some(Line { number, content }))
            }
        }
    }
}
