//! Loading: lines become records, records go into an index, and what is refused gets a reason.

use std::fmt;
use std::path::{Path, PathBuf};

use super::input::{RecordFault, parse_company, parse_signal};
use super::lines::{LINE_BYTES_MAX, Line, Lines};
use crate::index::{IndexBuilder, Writer};
use crate::segment::Added;
use crate::signal::{Company, Signal};
use crate::{Error, Result};

/// What records are loaded into.
pub trait Sink {
    /// Adds a company.
    ///
    /// # Errors
    /// As the sink has them; the load ends with it.
    fn add_company(&mut self, company: &Company<'_>) -> Result<Added>;

    /// Adds a signal.
    ///
    /// # Errors
    /// As the sink has them; the load ends with it.
    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<Added>;
}

/// What to do with a record that breaks a rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInvalid {
    /// End the load.
    #[default]
    Stop,
    /// Count it and go on.
    Skip,
}

/// A record that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The file, `-` for standard input.
    pub file: PathBuf,
    /// The line, from 1 on.
    pub line: u64,
    /// The rule that it breaks.
    pub fault: RecordFault,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.fault)
    }
}

/// What a load did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Company records that were added.
    pub companies: u64,
    /// Signal records that were added.
    pub signals: u64,
    /// Of these, companies in place of an earlier one.
    pub companies_replaced: u64,
    /// Of these, signals in place of an earlier one.
    pub signals_replaced: u64,
    /// Records that were refused.
    pub rejected: u64,
}

/// How far a load is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file that were read, as they stand there.
    pub bytes_read: u64,
    /// The length of the file, where it is known.
    pub bytes_total: Option<u64>,
    /// Lines that were read.
    pub lines: u64,
}

/// Loads files of records into a sink: companies first, then their signals.
pub struct Loader<'s, S> {
    sink: &'s mut S,
    on_invalid: OnInvalid,
    on_rejected: Box<dyn FnMut(&Rejected) + 's>,
    on_progress: Box<dyn FnMut(Progress) + 's>,
    report: LoadReport,
    line: Vec<u8>,
}

/// Lines between two reports of progress.
const PROGRESS_LINES: u64 = 4096;

impl<'s, S: Sink> Loader<'s, S> {
    /// A loader into a sink, which stops at the first record that breaks a rule.
    pub fn new(sink: &'s mut S) -> Loader<'s, S> {
        Loader {
            sink,
            on_invalid: OnInvalid::Stop,
            on_rejected: Box::new(|_| ()),
            on_progress: Box::new(|_| ()),
            report: LoadReport::default(),
            line: Vec::new(),
        }
    }

    /// Says what to do with a record that breaks a rule.
    pub fn on_invalid(mut self, on_invalid: OnInvalid) -> Self {
        self.on_invalid = on_invalid;
        self
    }

    /// Calls a function with each record that is passed over.
    pub fn on_rejected(mut self, call: impl FnMut(&Rejected) + 's) -> Self {
        self.on_rejected = Box::new(call);
        self
    }

    /// Calls a function every few thousand lines and at the end of each file.
    pub fn on_progress(mut self, call: impl FnMut(Progress) + 's) -> Self {
        self.on_progress = Box::new(call);
        self
    }

    /// Loads a file of companies; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read; a record breaks a rule, where that stops the load.
    pub fn companies(&mut self, path: &Path) -> Result<()> {
        self.load(path, |loader, line| {
            let company = parse_company(line)?;
            Ok(loader.sink.add_company(&company).map(|added| {
                loader.report.companies += 1;
                loader.report.companies_replaced += u64::from(added == Added::Replaced);
            }))
        })
    }

    /// Loads a file of signals, whose companies are known; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read; a record breaks a rule, where that stops the load.
    pub fn signals(&mut self, path: &Path) -> Result<()> {
        self.load(path, |loader, line| {
            let signal = parse_signal(line)?;
            let added = match loader.sink.add_signal(&signal) {
                Ok(added) => added,
                Err(error) => return Ok(Err(error)),
            };
            if added == Added::UnknownCompany {
                let reason = format!(
                    "is {}, which no company has; load the company first",
                    crate::error::quoted(&signal.company_slug)
                );
                return Err(RecordFault { field: Some("companySlug"), reason });
            }
            loader.report.signals += 1;
            loader.report.signals_replaced += u64::from(added == Added::Replaced);
            Ok(Ok(()))
        })
    }

    /// What was loaded so far.
    pub fn report(&self) -> LoadReport {
        self.report
    }

    /// Hands each line to `add`, which refuses the record or fails as the sink does.
    fn load(
        &mut self,
        path: &Path,
        add: impl Fn(&mut Self, &[u8]) -> Result<Result<()>, RecordFault>,
    ) -> Result<()> {
        let mut lines = Lines::open(path)?;
        let mut line = std::mem::take(&mut self.line);
        while let Some(content) = lines.next_line(&mut line)? {
            let outcome = match content {
                Line::Text => add(self, &line),
                Line::TooLong => Err(RecordFault {
                    field: None,
                    reason: format!("the line has more than {LINE_BYTES_MAX} bytes"),
                }),
            };
            match outcome {
                Ok(added) => added?,
                Err(fault) => self.reject(&lines, fault)?,
            }
            if lines.number() % PROGRESS_LINES == 0 {
                self.show_progress(&lines);
            }
        }
        self.show_progress(&lines);
        self.line = line;
        Ok(())
    }

    fn reject(&mut self, lines: &Lines, fault: RecordFault) -> Result<()> {
        let rejected = Rejected { file: lines.path().to_owned(), line: lines.number(), fault };
        if self.on_invalid == OnInvalid::Stop {
            return Err(Error::invalid(rejected.to_string()));
        }
        self.report.rejected += 1;
        (self.on_rejected)(&rejected);
        Ok(())
    }

    fn show_progress(&mut self, lines: &Lines) {
        (self.on_progress)(Progress {
            bytes_read: lines.bytes_read(),
            bytes_total: lines.bytes_total(),
            lines: lines.number(),
        });
    }
}

impl Sink for IndexBuilder {
    fn add_company(&mut self, company: &Company<'_>) -> Result<Added> {
        IndexBuilder::add_company(self, company)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<Added> {
        IndexBuilder::add_signal(self, signal)
    }
}

impl Sink for Writer {
    fn add_company(&mut self, company: &Company<'_>) -> Result<Added> {
        let added = if self.has_company(&company.slug) { Added::Replaced } else { Added::New };
        self.upsert_company(company).map(|()| added)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<Added> {
        if !self.has_company(&signal.company_slug) {
            return Ok(Added::UnknownCompany);
        }
        let added = if self.has_signal(signal.id) { Added::Replaced } else { Added::New };
        self.upsert_signal(signal).map(|()| added)
    }
}
