//! Where the commands find their index, today, and standard output.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use signaldex::json::Data;
use signaldex::{Index, Snapshot, sample};
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, UtcDateTime};

use crate::Failure;

/// What stands for the sample corpus where a directory is asked for.
const SAMPLE: &str = "@sample";

/// A question to an index: where it is, what is asked, and what counts as today.
#[derive(Debug, clap::Args)]
pub(crate) struct Question {
    /// The directory of the index, or @sample
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The query, such as 'q="series a"&country=Germany'
    #[arg(default_value = "")]
    pub(crate) query: String,
    /// The day that counts as today
    #[arg(long, value_name = "DATE", value_parser = parse_date)]
    as_of: Option<Date>,
}

impl Question {
    /// The index's snapshot.
    pub(crate) fn snapshot(&self) -> Result<Arc<Snapshot>, Failure> {
        open(&self.directory).map(|index| index.snapshot())
    }

    /// The day that counts as today: the one given, the sample's own, or the UTC date.
    pub(crate) fn today(&self) -> Date {
        let default = || {
            if self.directory == Path::new(SAMPLE) {
                sample::AS_OF
            } else {
                UtcDateTime::now().date()
            }
        };
        self.as_of.unwrap_or_else(default)
    }
}

/// Opens the index in a directory, or builds that of the sample corpus.
pub(crate) fn open(directory: &Path) -> Result<Index, Failure> {
    Ok(if directory == Path::new(SAMPLE) {
        sample::index()?
    } else {
        Index::open(directory)?
    })
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
