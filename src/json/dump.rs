//! Writes everything that an index holds as the lines that a load reads back without loss.

use std::io::Write;
use std::ops::ControlFlow;

use time::Date;
use time::macros::date;

use super::{RecordError, parse_company, parse_signal, write_company, write_signal};
use crate::query::{Filter, Order, Query};
use crate::signal::{Company, Signal};
use crate::{Error, Result, Snapshot};

/// Signals per page of a dump: enough that finding where to continue costs nothing.
const PAGE_SIGNALS: usize = 1000;

/// No filter depends on it.
const ANY_DAY: Date = date!(2000 - 01 - 01);

/// Bytes of a line up to which none of its texts is too long to be loaded.
const ORDINARY_LINE_BYTES: usize = super::FIELD_BYTES_MAX;

/// The number of records of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dumped {
    /// Companies written.
    pub companies: u64,
    /// Signals written.
    pub signals: u64,
}

impl Snapshot {
    /// Writes all companies, by slug, and all signals, by id, both ascending, as the lines that a load reads.
    ///
    /// An index that is built of them answers every search, count, facet and export with the same bytes, except for
    /// its identity and positions, and its dump is the same.
    ///
    /// ```
    /// use signaldex::json::{Loader, OnInvalid};
    /// use signaldex::{IndexBuilder, sample};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let (companies, signals) = (folder.path().join("companies"), folder.path().join("signals"));
    /// let snapshot = sample::index()?.snapshot();
    /// let create = std::fs::File::create_new;
    /// let dumped = snapshot.dump(create(&companies)?, create(&signals)?)?;
    ///
    /// let mut builder = IndexBuilder::in_memory();
    /// let mut loader = Loader::new(OnInvalid::Stop);
    /// loader.companies(&companies, &mut builder)?;
    /// loader.signals(&signals, &mut builder)?;
    /// let rebuilt = builder.finish()?.snapshot();
    /// assert_eq!(rebuilt.signal_count(), dumped.signals);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// Both outputs are flushed at the end, and each gets one call of `write_all` a line: give it a buffer, as
    /// [`BufWriter`](std::io::BufWriter) has.
    ///
    /// # Errors
    /// An output fails, a record is corrupt, or a record that the library was given cannot be loaded from JSON, such as
    /// one of a date before the year 0. Lines before it have been written.
    ///
    /// Cost: reads every record, one after the other. Memory: 32 bytes per company, and a page.
    pub fn dump(&self, companies: impl Write, signals: impl Write) -> Result<Dumped> {
        Ok(Dumped {
            companies: self.dump_companies(companies)?,
            signals: self.dump_signals(signals)?,
        })
    }

    fn dump_companies(&self, mut output: impl Write) -> Result<u64> {
        let (mut line, mut written) = (Vec::new(), 0);
        for company in self.companies_by_slug()? {
            let company = company?;
            line.clear();
            write_company(&mut line, &company);
            if !is_ordinary_company(&company, &line) {
                let read = parse_company(&line).map(|read| read == company);
                check(read, || format!("company {:?}", company.slug))?;
            }
            output.write_all(&line).map_err(unwritable)?;
            written += 1;
        }
        output.flush().map_err(unwritable)?;
        Ok(written)
    }

    fn dump_signals(&self, mut output: impl Write) -> Result<u64> {
        let query = Query::unchecked(Filter::default(), Order::OldestFirst, PAGE_SIGNALS);
        let (mut line, mut written) = (Vec::new(), 0);
        for page in self.pages(&query, ANY_DAY) {
            let mut outcome = Ok(());
            self.visit_records(&page?, |signal, _| {
                line.clear();
                outcome = write_checked(&mut line, signal)
                    .and_then(|()| output.write_all(&line).map_err(unwritable));
                written += u64::from(outcome.is_ok());
                match outcome {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            outcome?;
        }
        output.flush().map_err(unwritable)?;
        Ok(written)
    }
}

fn write_checked(line: &mut Vec<u8>, signal: &Signal<'_>) -> Result<()> {
    write_signal(line, signal);
    if is_ordinary_signal(signal, line) {
        return Ok(());
    }
    let read = parse_signal(line).map(|read| read == *signal);
    check(read, || format!("signal {}", signal.id))
}

/// Whether a signal can be loaded, as far as that can be told without parsing.
fn is_ordinary_signal(signal: &Signal<'_>, line: &[u8]) -> bool {
    let instants = [signal.published_at, signal.updated_at];
    let mut years = instants.iter().flatten().map(|instant| instant.year());
    let required = [&signal.slug, &signal.title, &signal.company_slug];
    line.len() <= ORDINARY_LINE_BYTES
        && required.iter().all(|text| !text.is_empty())
        && signal.date.is_none_or(|date| is_ordinary_year(date.year()))
        && years.all(is_ordinary_year)
}

/// As [`is_ordinary_signal`].
fn is_ordinary_company(company: &Company<'_>, line: &[u8]) -> bool {
    line.len() <= ORDINARY_LINE_BYTES
        && !company.slug.is_empty()
        && !company.name.is_empty()
        && company.employees.is_none_or(|number| number >= 0)
        && company
            .updated_at
            .is_none_or(|at| is_ordinary_year(at.year()))
}

fn is_ordinary_year(year: i32) -> bool {
    (0..=9999).contains(&year)
}

/// Refuses a record that a load would refuse or read differently.
fn check(read: Result<bool, RecordError>, name: impl Fn() -> String) -> Result<()> {
    let reason = match read {
        Ok(true) => return Ok(()),
        Ok(false) => "it would be loaded as another record".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Error::invalid(format!(
        "{} cannot be written as JSON that can be loaded: {reason}; change or delete it, and dump again",
        name()
    )))
}

fn unwritable(error: std::io::Error) -> Error {
    Error::io("write the dump", error)
}

#[cfg(test)]
mod tests;
