//! Where the commands find their index, today, and standard output.

use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use signaldex::json::Data;
use signaldex::{Index, sample};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, UtcDateTime};

use crate::Failure;

/// What stands for the sample corpus where a directory is asked for.
const SAMPLE: &str = "@sample";

/// Opens the index in a directory, or builds that of the sample corpus.
pub(crate) fn open(directory: &Path) -> Result<Index, Failure> {
    match directory == Path::new(SAMPLE) {
        true => Ok(sample::index()?),
        false => Ok(Index::open(directory)?),
    }
}

/// The day that counts as today: the one given, the sample's own, or the UTC date.
pub(crate) fn today(directory: &Path, as_of: Option<Date>) -> Date {
    let default = || match directory == Path::new(SAMPLE) {
        true => sample::AS_OF,
        false => UtcDateTime::now().date(),
    };
    as_of.unwrap_or_else(default)
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
