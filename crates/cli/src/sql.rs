//! `signaldex sql`: a statement over an index, or over all shards of a folder as one corpus.

use std::io::{self, BufWriter, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use signaldex::Snapshot;
#[cfg(feature = "cluster")]
use signaldex_cluster::ShardFolder;
use signaldex_sql::{
    Database, OutputFormat, ResultWriter, STATEMENT_BYTES_MAX, SqlError, SqlErrorKind,
    StatementLimits,
};
use time::{Date, UtcDateTime};

#[cfg(not(feature = "cluster"))]
use crate::absent::absent;
use crate::output_file::OutputFile;
use crate::stderr::say;
use crate::{Failure, source, terminal};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum SqlCommand {
    Sql(SqlArguments),
}

impl SqlCommand {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            SqlCommand::Sql(arguments) => arguments.run(),
        }
    }
}

/// Ask in SQL over the tables signals and companies
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "signaldex sql [OPTIONS] DIR STATEMENT\n       signaldex sql [OPTIONS] --shards DIR STATEMENT",
    after_help = EXAMPLES
)]
pub(crate) struct SqlArguments {
    /// The directory of the index, or @sample; then the statement, or - for standard input
    #[arg(value_name = "DIR STATEMENT", required = true, num_args = 1..=2)]
    words: Vec<String>,
    /// All shards of this folder, which `signaldex shard` has created, instead of one index
    #[arg(long, value_name = "DIR", hide = cfg!(not(feature = "cluster")))]
    shards: Option<PathBuf>,
    /// The output format; by default a table on a terminal, NDJSON elsewhere
    #[arg(long, value_enum)]
    format: Option<SqlFormat>,
    /// Write to this file, which must not exist yet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show how the statement would run, and what of it the index does
    #[arg(long, conflicts_with_all = ["format", "out"])]
    explain: bool,
    /// The day that counts as today in searches
    #[arg(long, value_name = "DATE", value_parser = source::parse_date)]
    as_of: Option<Date>,
    /// Threads; by default one per processor
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<usize>,
    /// Most memory for groups, joins and sorts
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = parse_size)]
    memory: ByteSize,
    /// Most seconds to wait for the rows
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

const EXAMPLES: &str = "\
Examples:
  signaldex sql @sample \"SELECT country, count(*) FROM signals GROUP BY country ORDER BY 2 DESC\"
  signaldex sql @sample \"SELECT date, title FROM signals WHERE query = 'q=robots&days=90'\" --format csv
  signaldex sql index - --format arrow --out month.arrows < month.sql

The column query takes a search as `signaldex search` does; docs/sql.md lists the columns.";

/// Output formats of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SqlFormat {
    /// A table of at most 1,000 rows
    Table,
    /// A header and one line a row
    Csv,
    /// One JSON object a row, with nulls and with ids as strings
    Ndjson,
    /// The stream format of Apache Arrow
    Arrow,
    /// Apache Parquet, with --out only
    Parquet,
}

impl From<SqlFormat> for OutputFormat {
    fn from(format: SqlFormat) -> OutputFormat {
        match format {
            SqlFormat::Table => OutputFormat::Table,
            SqlFormat::Csv => OutputFormat::Csv,
            SqlFormat::Ndjson => OutputFormat::Ndjson,
            SqlFormat::Arrow => OutputFormat::Arrow,
            SqlFormat::Parquet => OutputFormat::Parquet,
        }
    }
}

/// A number of bytes as typed.
#[derive(Clone, Debug)]
pub(crate) struct ByteSize {
    pub(crate) bytes: usize,
    typed: String,
}

pub(crate) fn parse_size(text: &str) -> Result<ByteSize, String> {
    const UNITS: [(&str, usize); 6] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("kB", 1000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
    ];
    let wrong = || "a size from 1MiB on, such as 512MiB or 2GiB, is needed".to_owned();
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
    let (unit, factor) = unit.ok_or_else(wrong)?;
    let number: usize = text[..text.len() - unit.len()]
        .trim_end()
        .parse()
        .map_err(|_| wrong())?;
    let bytes = number
        .checked_mul(*factor)
        .filter(|bytes| *bytes >= 1 << 20);
    Ok(ByteSize {
        bytes: bytes.ok_or_else(wrong)?,
        typed: text.to_owned(),
    })
}

fn parse_threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|n| (1..=256).contains(n));
    number.ok_or_else(|| "a number from 1 to 256 is needed".to_owned())
}

impl SqlArguments {
    fn run(self) -> Result<(), Failure> {
        let format = self.format()?;
        let (place, statement) = self.place_and_statement()?;
        let as_of = self.as_of.unwrap_or_else(|| match place {
            Some(directory) => source::today_of(directory),
            None => UtcDateTime::now().date(),
        });
        let database = Database::new(self.snapshots(place)?, as_of, self.limits())?;
        let runtime = signaldex_sql::runtime(self.limits().threads)?;
        let done = if self.explain {
            let plan = database.explain(&runtime, &statement);
            plan.map_err(|error| self.failure(&error))
                .and_then(|plan| Ok(write!(io::stdout(), "{plan}")?))
        } else {
            match &self.out {
                Some(path) => self.write_file(path, &database, &runtime, &statement, format),
                None => self.write(io::stdout(), &database, &runtime, &statement, format),
            }
        };
        // A statement that has timed out may still be computing.
        runtime.shutdown_background();
        done
    }

    fn format(&self) -> Result<SqlFormat, Failure> {
        if self.format == Some(SqlFormat::Parquet) && self.out.is_none() {
            return Err(
                "--format parquet needs --out FILE: a file of Parquet cannot be read before its end is written; \
                 --format arrow can be piped"
                    .into(),
            );
        }
        let is_table = self.out.is_none() && terminal::is_terminal();
        let default = if is_table {
            SqlFormat::Table
        } else {
            SqlFormat::Ndjson
        };
        Ok(self.format.unwrap_or(default))
    }

    /// The directory of the index, unless shards are asked, and the statement.
    fn place_and_statement(&self) -> Result<(Option<&Path>, String), Failure> {
        let (place, statement) = match (&self.shards, &self.words[..]) {
            (None, [directory, statement]) => (Some(Path::new(directory)), statement),
            (Some(_), [statement]) => (None, statement),
            (None, _) => {
                return Err(
                    "sql takes a directory and a statement: signaldex sql DIR \"SELECT …\"".into(),
                );
            }
            (Some(_), _) => {
                return Err(
                    "sql takes --shards or a directory, not both: signaldex sql --shards DIR \"SELECT …\""
                        .into(),
                );
            }
        };
        if statement != "-" {
            return Ok((place, statement.clone()));
        }
        let mut text = String::new();
        // One byte more than is allowed shows that the statement is too long.
        let most = STATEMENT_BYTES_MAX as u64 + 1;
        let read = io::stdin().lock().take(most).read_to_string(&mut text);
        read.map_err(|error| format!("cannot read the statement from standard input: {error}"))?;
        Ok((place, text))
    }

    fn snapshots(&self, place: Option<&Path>) -> Result<Vec<Arc<Snapshot>>, Failure> {
        match (place, &self.shards) {
            (Some(directory), _) => Ok(vec![source::open(directory)?.snapshot()]),
            (None, Some(folder)) => shards(folder),
            (None, None) => Ok(Vec::new()),
        }
    }

    fn limits(&self) -> StatementLimits {
        let processors = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        StatementLimits {
            memory: self.memory.bytes,
            threads: self.threads.unwrap_or_else(processors),
            timeout: Duration::from_secs(self.timeout),
        }
    }

    /// Writes a new file, which exists afterwards only if it is whole.
    fn write_file(
        &self,
        path: &Path,
        database: &Database,
        runtime: &tokio::runtime::Runtime,
        statement: &str,
        format: SqlFormat,
    ) -> Result<(), Failure> {
        let file = OutputFile::create(path)?;
        self.write(file.output()?, database, runtime, statement, format)?;
        file.publish()
    }

    fn write(
        &self,
        output: impl Write + Send,
        database: &Database,
        runtime: &tokio::runtime::Runtime,
        statement: &str,
        format: SqlFormat,
    ) -> Result<(), Failure> {
        let is_closed = Arc::new(AtomicBool::new(false));
        let output = Watched {
            output,
            is_closed: Arc::clone(&is_closed),
        };
        let output = BufWriter::with_capacity(1 << 16, output);
        let mut writer = ResultWriter::new(format.into(), output);
        let run = database.run(runtime, statement, |batch| writer.write(batch));
        match run.and_then(|()| writer.finish()) {
            Ok(0) => Ok(()),
            Ok(left_out) => {
                say(format_args!(
                    "note: {left_out} more rows; a table shows the first 1000, and --format csv all"
                ));
                Ok(())
            }
            // The reader has seen enough.
            Err(_) if is_closed.load(Ordering::Relaxed) => Ok(()),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// An error with the option that helps.
    fn failure(&self, error: &SqlError) -> Failure {
        match error.kind() {
            SqlErrorKind::Memory => format!(
                "{error}: --memory {} is all of it; give it more, or group and sort less",
                self.memory.typed
            ),
            SqlErrorKind::Timeout => format!("{error}; --timeout allows more"),
            _ => error.to_string(),
        }
        .into()
    }
}

#[cfg(feature = "cluster")]
fn shards(folder: &Path) -> Result<Vec<Arc<Snapshot>>, Failure> {
    let folder = ShardFolder::open(folder)?;
    let open = |shard| Ok(signaldex::Index::open(folder.directory(shard))?.snapshot());
    (0..folder.count()).map(open).collect()
}

#[cfg(not(feature = "cluster"))]
fn shards(_: &Path) -> Result<Vec<Arc<Snapshot>>, Failure> {
    absent("cluster")
}

/// An output that remembers whether its reader has gone.
struct Watched<W> {
    output: W,
    is_closed: Arc<AtomicBool>,
}

impl<W> Watched<W> {
    fn seen<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            self.is_closed.store(true, Ordering::Relaxed);
        }
        result
    }
}

impl<W: Write> Write for Watched<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.output.write(bytes);
        self.seen(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.output.flush();
        self.seen(flushed)
    }
}
