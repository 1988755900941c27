//! `signaldex build`: JSON lines to an index.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use signaldex::IndexBuilder;
use signaldex::json::{Loader, OnInvalid, Rejected, Sink};

use crate::Failure;
use crate::progress::ProgressLine;
use crate::stderr::say;

/// Build an index from JSON lines: plain, .gz or .zst, or - for standard input
#[derive(Debug, clap::Args)]
pub(crate) struct Build {
    /// The companies, one JSON object a line
    #[arg(long, value_name = "FILE")]
    companies: PathBuf,
    /// The signals, one JSON object a line
    #[arg(long, value_name = "FILE")]
    signals: PathBuf,
    /// The directory of the new index
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    invalid: Invalid,
}

/// What to do with records that break a rule.
#[derive(Debug, clap::Args)]
pub(crate) struct Invalid {
    /// Go on behind records that break a rule, and count them
    #[arg(long)]
    skip_invalid: bool,
    /// Write each record that was passed over to this file: file, line, field and reason
    #[arg(long, value_name = "FILE", requires = "skip_invalid")]
    report: Option<PathBuf>,
}

impl Build {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let started = Instant::now();
        let mut builder = IndexBuilder::in_directory(&self.out)?;
        let loaded = self
            .invalid
            .load(&mut builder, Some(&self.companies), Some(&self.signals))?;
        let index = builder.finish()?;
        let snapshot = index.snapshot();
        say(format_args!(
            "{loaded}; {} signals of {} companies in {}, {:.1?}",
            snapshot.signal_count(),
            snapshot.company_count(),
            self.out.display(),
            started.elapsed()
        ));
        Ok(())
    }
}

impl Invalid {
    /// Loads companies and signals, with progress on a terminal, and says what was done.
    pub(crate) fn load(
        &self,
        sink: &mut impl Sink,
        companies: Option<&Path>,
        signals: Option<&Path>,
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
        let mut loader = Loader::new(on_invalid)
            .on_progress(|progress| bar.borrow_mut().show(progress))
            .on_rejected(|rejected| {
                if let (Some(report), Ok(())) = (&mut report, &unreported) {
                    unreported = write_rejected(report, rejected);
                }
            });
        for (name, path) in [("companies", companies), ("signals", signals)] {
            let Some(path) = path else { continue };
            bar.borrow_mut().begin(name);
            match name {
                "companies" => loader.companies(path, sink)?,
                _ => loader.signals(path, sink)?,
            }
        }
        bar.borrow().end();
        let done = loader.report();
        drop(loader);
        unreported?;
        report.as_mut().map(Write::flush).transpose()?;
        Ok(format!(
            "loaded {} companies ({} replaced) and {} signals ({} replaced), {} rejected",
            done.companies,
            done.companies_replaced,
            done.signals,
            done.signals_replaced,
            done.rejected
        ))
    }
}

fn write_rejected(report: &mut impl Write, rejected: &Rejected) -> std::io::Result<()> {
    writeln!(report, "{rejected}")
}
