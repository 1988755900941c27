//! Where the commands find their index, today, and standard output.

use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use signaldex::json::Data;
use signaldex::text::nearest_name;
use signaldex::{ErrorKind, Index, sample};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, UtcDateTime};

use crate::Failure;

/// What stands for the sample corpus where a directory is asked for.
const SAMPLE: &str = "@sample";

/// Whether a directory stands for the sample corpus.
pub(crate) fn is_sample(directory: &Path) -> bool {
    directory == Path::new(SAMPLE)
}

/// The sample's own day, or the UTC date.
pub(crate) fn today_of(directory: &Path) -> Date {
    if is_sample(directory) {
        sample::AS_OF
    } else {
        UtcDateTime::now().date()
    }
}

/// Opens the index in a directory, or builds that of the sample corpus.
pub(crate) fn open(directory: &Path) -> Result<Index, Failure> {
    if is_sample(directory) {
        return Ok(sample::index()?);
    }
    let opened = Index::open(directory);
    opened.map_err(|error| {
        if error.kind() == ErrorKind::Missing {
            format!("{error:#}; {}", hint_of_missing(directory)).into()
        } else {
            Failure::from(error)
        }
    })
}

fn hint_of_missing(directory: &Path) -> &'static str {
    let name = directory.to_string_lossy();
    if name.starts_with('@') || nearest_name(&name, [SAMPLE]).is_some() {
        "did you mean @sample?"
    } else {
        "the first argument is the directory of an index, or @sample for the sample data; `signaldex build` creates \
         an index"
    }
}

/// Reads a date from the command line.
pub(crate) fn parse_date(text: &str) -> Result<Date, String> {
    const FORMAT: &[BorrowedFormatItem<'_>] = format_description!("[year]-[month]-[day]");
    Date::parse(text, FORMAT).map_err(|_| "a calendar date as YYYY-MM-DD is needed".to_owned())
}

/// Writes the data of an answer as indented JSON.
pub(crate) fn print_json(data: &impl Serialize) -> Result<(), Failure> {
    let mut output = BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer_pretty(&mut output, data)?;
    output.write_all(b"\n")?;
    Ok(output.flush()?)
}

/// Writes a whole answer, `{"data": ...}`, as indented JSON.
pub(crate) fn print_answer(data: impl Serialize) -> Result<(), Failure> {
    print_json(&Data { data })
}
