//! `signaldex build`: builds an index from files of records.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use signaldex::IndexBuilder;
use signaldex::json::{LoadReport, Loader, OnInvalid, Rejected, Sink};

use crate::Failure;
use crate::progress::ProgressLine;
use crate::stderr::{companies, say, signals};

/// Build an index from JSON lines or CSV: plain, .gz or .zst, or - for standard input
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Build {
    /// The companies, one JSON object a line, or CSV with a header
    #[arg(long, value_name = "FILE")]
    companies: PathBuf,
    /// The signals, one JSON object a line, or CSV with a header
    #[arg(long, value_name = "FILE")]
    signals: PathBuf,
    /// The directory of the new index
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
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

docs/records.md lists the fields.";

/// Options for reading records.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Records")]
pub(crate) struct Input {
    /// Read the field THEIRS of the files as the field OURS, such as stage=funding.stage
    #[arg(long, value_name = "THEIRS=OURS", value_parser = parse_rename)]
    map: Vec<(String, String)>,
    /// Refuse records with unknown fields instead of counting the fields
    #[arg(long)]
    strict: bool,
    /// Skip and count invalid records instead of stopping
    #[arg(long)]
    skip_invalid: bool,
    /// Write each skipped record to this file: file, line, field and reason
    #[arg(long, value_name = "FILE", requires = "skip_invalid")]
    report: Option<PathBuf>,
}

impl Build {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let started = Instant::now();
        let mut builder =
            IndexBuilder::in_directory(&self.out)?.compress_records(!self.plain_records);
        let loaded = self
            .input
            .load(&mut builder, Some(&self.companies), Some(&self.signals))?;
        let index = builder.finish()?;
        let snapshot = index.snapshot();
        say(format_args!(
            "{loaded}; {} of {} in {}, {:.1?}",
            signals(snapshot.signal_count()),
            companies(snapshot.company_count()?),
            self.out.display(),
            started.elapsed()
        ));
        Ok(())
    }
}

impl Input {
    /// Loads companies and signals, with progress on a terminal, and prints a summary.
    pub(crate) fn load(
        &self,
        sink: &mut impl Sink,
        company_file: Option<&Path>,
        signal_file: Option<&Path>,
    ) -> Result<String, Failure> {
        let mut report = self
            .report
            .as_ref()
            .map(File::create)
            .transpose()?
            .map(BufWriter::new);
        let on_invalid = if self.skip_invalid {
            OnInvalid::Skip
        } else {
            OnInvalid::Stop
        };
        let bar = RefCell::new(ProgressLine::new());
        let mut unreported = Ok(());
        let mut loader = Loader::new(on_invalid);
        if self.strict {
            loader = loader.strict();
        }
        for (theirs, ours) in &self.map {
            loader = loader.renamed(theirs, ours)?;
        }
        let mut loader = loader
            .on_progress(|progress| bar.borrow_mut().show(progress))
            .on_rejected(|rejected| {
                if let (Some(report), Ok(())) = (&mut report, &unreported) {
                    unreported = write_rejected(report, rejected);
                }
            });
        if let Some(path) = company_file {
            bar.borrow_mut().begin("companies");
            loader.companies(path, sink)?;
        }
        if let Some(path) = signal_file {
            bar.borrow_mut().begin("signals");
            loader.signals(path, sink)?;
        }
        bar.borrow().end();
        let (done, unknown) = (loader.report(), loader.unknown_fields());
        drop(loader);
        unreported?;
        report.as_mut().map(Write::flush).transpose()?;
        for field in &unknown {
            let hint = field
                .nearest
                .map(|nearest| format!(" --map {}={nearest} reads it so", field.name));
            let hint = hint.unwrap_or_default();
            say(format_args!("warning: {field}{hint}"));
        }
        Ok(summary(done))
    }
}

/// Summarises a load in one sentence.
fn summary(done: LoadReport) -> String {
    let mut summary = format!(
        "loaded {} ({} replaced) and {} ({} replaced), {} rejected",
        companies(done.companies),
        done.companies_replaced,
        signals(done.signals),
        done.signals_replaced,
        done.rejected
    );
    if done.signals_without_company > 0 {
        let without = signals(done.signals_without_company);
        summary.push_str(&format!(
            ", of them {without} whose company was not loaded ({} rejected)",
            companies(done.companies_rejected)
        ));
    }
    summary
}

fn parse_rename(text: &str) -> Result<(String, String), String> {
    let names = text.split_once('=');
    let names = names.filter(|(theirs, ours)| !theirs.is_empty() && !ours.is_empty());
    let (theirs, ours) = names.ok_or("THEIRS=OURS is needed, such as headline=title")?;
    Ok((theirs.to_owned(), ours.to_owned()))
}

fn write_rejected(report: &mut impl Write, rejected: &Rejected) -> std::io::Result<()> {
    writeln!(report, "{rejected}")
}
