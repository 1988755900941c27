//! `signaldex build`: builds an index from files of records.

use std::path::PathBuf;
use std::time::Instant;

use signaldex::IndexBuilder;

use crate::Failure;
use crate::input::{Input, LoadTarget, NEEDS_OUT};
use crate::progress;
use crate::stderr::{companies, say, signals};
use crate::unfinished::{Unfinished, Untouched};

/// Build an index from JSON lines or tables: CSV, .xlsx, .parquet; - for standard input
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Build {
    /// The companies, one JSON object a line, or a table with a header
    #[arg(long, value_name = "FILE")]
    companies: PathBuf,
    /// The signals, one JSON object a line, or a table with a header
    #[arg(long, value_name = "FILE")]
    signals: PathBuf,
    /// The directory of the new index
    #[arg(long, value_name = "DIR", required_unless_present = "check")]
    out: Option<PathBuf>,
    /// Store records uncompressed: twice the disk space, but faster to build and read
    #[arg(long)]
    plain_records: bool,
    #[command(flatten)]
    input: Input,
}

const EXAMPLES: &str = "\
Examples:
  signaldex build --companies companies.jsonl --signals signals.jsonl.gz --out index
  signaldex build --companies companies.csv --signals signals.csv --out index --map headline=title --strict

`signaldex fields` lists the fields.";

impl Build {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let started = Instant::now();
        let (company_file, signal_file) = (Some(&*self.companies), Some(&*self.signals));
        if self.input.is_check() {
            return self.input.check_new(company_file, signal_file);
        }
        let out = self.out.ok_or(NEEDS_OUT)?;
        let untouched = Untouched::new(&out);
        let mut builder = IndexBuilder::in_directory(&out)?.compress_records(!self.plain_records);
        let unfinished = Unfinished::new(untouched)?;
        let loaded = self
            .input
            .load(&mut builder, company_file, signal_file, LoadTarget::New)?;
        let index =
            progress::shared_phase("sorting and writing", |tell| builder.finish_with(tell))?;
        drop(unfinished);
        let snapshot = index.snapshot();
        say(format_args!(
            "{loaded}; {} of {} in {}, {:.1?}",
            signals(snapshot.signal_count()),
            companies(snapshot.company_count()?),
            out.display(),
            started.elapsed()
        ));
        Ok(())
    }
}
