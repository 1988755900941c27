//! Loads files of companies and signals into an index.

use std::collections::BTreeMap;
use std::fmt;
use std::mem;
use std::path::{Path, PathBuf};
use std::thread;

use super::error::RecordError;
use super::fields::{RecordKind, UnknownField, UnknownFields};
use super::input::{parse_company_noting, parse_signal_noting};
use super::read_ahead;
use super::records::RecordReader;
use super::rename::Renames;
use crate::signal::{Company, Signal};
use crate::text::shortened;
use crate::{Added, Error, ErrorKind, IndexBuilder, Result, Writer};

/// The target of a load: an [`IndexBuilder`] or a [`Writer`].
/// Implement it for a target of your own, such as several indexes.
pub trait Sink {
    /// Adds a company; a later one with the same slug replaces it.
    ///
    /// # Errors
    /// An error that does not concern this record alone; it ends the load.
    fn add_company(&mut self, company: &Company<'_>) -> Result<Added>;

    /// Adds a signal; a later one with the same id replaces it.
    ///
    /// # Errors
    /// [`UnknownCompany`](crate::ErrorKind::UnknownCompany), which rejects only this record, or an error that does
    /// not concern this record alone and ends the load.
    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<Added>;
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
        let added = if self.has_company(&company.slug)? {
            Added::Replaced
        } else {
            Added::New
        };
        self.upsert_company(company).map(|()| added)
    }

    fn add_signal(&mut self, signal: &Signal<'_>) -> Result<Added> {
        let added = if self.has_signal(signal.id)? {
            Added::Replaced
        } else {
            Added::New
        };
        self.upsert_signal(signal).map(|()| added)
    }
}

/// The handling of invalid lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInvalid {
    /// End the load with an error.
    #[default]
    Stop,
    /// Count and report the line, and continue.
    Skip,
}

/// A rejected line. `Display` writes `signals.jsonl:17: id: ...`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The file.
    pub path: PathBuf,
    /// The line number, counted from 1.
    pub line: u64,
    /// The field, the error and what is allowed.
    pub error: RecordError,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.error)
    }
}

/// The progress of loading a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Bytes read from the file, before decompression.
    pub bytes_read: u64,
    /// The size of the file, if known.
    pub total_bytes: Option<u64>,
    /// Records read from the file, including rejected ones.
    pub records: u64,
}

/// A summary of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoadReport {
    /// Companies added, including those that replaced others.
    pub companies: u64,
    /// Signals added, including those that replaced others.
    pub signals: u64,
    /// Companies that replaced an earlier one with the same slug.
    pub companies_replaced: u64,
    /// Signals that replaced an earlier one with the same id.
    pub signals_replaced: u64,
    /// Rejected records.
    pub rejected: u64,
    /// Rejected companies.
    pub companies_rejected: u64,
    /// Rejected signals whose company is unknown, perhaps because it was rejected.
    pub signals_without_company: u64,
}

/// Loads a file of companies and a file of signals; `-` is standard input.
///
/// ```
/// use signaldex::IndexBuilder;
/// use signaldex::json::{self, OnInvalid};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let (companies, signals) = (folder.path().join("c"), folder.path().join("s"));
/// std::fs::write(&companies, r#"{"slug": "acme", "name": "Acme GmbH"}"#)?;
/// std::fs::write(&signals, r#"{"id": 7, "slug": "7", "title": "Hiring", "companySlug": "acme"}"#)?;
/// let mut builder = IndexBuilder::in_memory();
/// let report = json::load(&companies, &signals, &mut builder, OnInvalid::Stop)?;
/// assert_eq!((report.companies, report.signals), (1, 1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`Loader::signals`].
pub fn load(
    companies: impl AsRef<Path>,
    signals: impl AsRef<Path>,
    sink: &mut impl Sink,
    on_invalid: OnInvalid,
) -> Result<LoadReport> {
    let mut loader = Loader::new(on_invalid);
    loader.companies(companies, sink)?;
    loader.signals(signals, sink)?;
    Ok(loader.report())
}

/// Loads files one after another, companies before their signals, with callbacks for progress and skipped
/// lines.
///
/// ```
/// use signaldex::IndexBuilder;
/// use signaldex::json::{Loader, OnInvalid};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("companies");
///
/// std::fs::write(&path, "slug,name\nacme,Acme GmbH\n,nameless\n")?; // CSV
/// let mut skipped = Vec::new();
/// let mut loader = Loader::new(OnInvalid::Skip).on_rejected(|line| skipped.push(line.line));
/// loader.companies(&path, &mut IndexBuilder::in_memory())?;
/// assert_eq!((loader.report().companies, loader.report().rejected), (1, 1));
/// drop(loader);
/// assert_eq!(skipped, [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Loader<'c> {
    on_invalid: OnInvalid,
    on_rejected: Box<dyn FnMut(&Rejected) + 'c>,
    on_progress: Box<dyn FnMut(Progress) + 'c>,
    report: LoadReport,
    renames: Renames,
    company_fields: UnknownFields,
    signal_fields: UnknownFields,
}

impl<'c> Loader<'c> {
    /// Creates a loader without callbacks.
    pub fn new(on_invalid: OnInvalid) -> Loader<'c> {
        Loader {
            on_invalid,
            on_rejected: Box::new(|_| ()),
            on_progress: Box::new(|_| ()),
            report: LoadReport::default(),
            renames: Renames::default(),
            company_fields: UnknownFields::Counted(RecordKind::Company, BTreeMap::new()),
            signal_fields: UnknownFields::Counted(RecordKind::Signal, BTreeMap::new()),
        }
    }

    /// Rejects records with unknown fields instead of counting the fields.
    ///
    /// ```
    /// use signaldex::json::{Loader, OnInvalid};
    /// use signaldex::{ErrorKind, IndexBuilder};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("companies");
    ///
    /// std::fs::write(&path, r#"{"slug": "acme", "name": "Acme", "contry": "Germany"}"#)?;
    /// let mut loader = Loader::new(OnInvalid::Stop).strict();
    /// let refused = loader.companies(&path, &mut IndexBuilder::in_memory());
    /// assert_eq!(refused.map_err(|error| error.kind()), Err(ErrorKind::Invalid));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn strict(mut self) -> Loader<'c> {
        self.company_fields = UnknownFields::Refused(RecordKind::Company);
        self.signal_fields = UnknownFields::Refused(RecordKind::Signal);
        self
    }

    /// Reads the field `theirs` of the files as the field `ours`, such as `funding.stage`.
    ///
    /// ```
    /// use signaldex::IndexBuilder;
    /// use signaldex::json::{Loader, OnInvalid};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("companies");
    ///
    /// std::fs::write(&path, r#"{"id": "acme", "title": "Acme GmbH"}"#)?;
    /// let mut loader = Loader::new(OnInvalid::Stop).renamed("id", "slug")?.renamed("title", "name")?;
    /// loader.companies(&path, &mut IndexBuilder::in_memory())?;
    /// assert_eq!(loader.report().companies, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no field `ours` ([`Invalid`](crate::ErrorKind::Invalid)).
    pub fn renamed(mut self, theirs: &str, ours: &str) -> Result<Loader<'c>> {
        self.renames.add(theirs, ours)?;
        Ok(self)
    }

    /// Sets a callback for skipped lines. With [`OnInvalid::Stop`] it is not called.
    #[must_use]
    pub fn on_rejected(mut self, tell: impl FnMut(&Rejected) + 'c) -> Loader<'c> {
        self.on_rejected = Box::new(tell);
        self
    }

    /// Sets a callback for progress, called every few hundred records and at the end of a file.
    ///
    /// ```
    /// use signaldex::IndexBuilder;
    /// use signaldex::json::{Loader, OnInvalid};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("companies");
    ///
    /// std::fs::write(&path, r#"{"slug": "acme", "name": "Acme GmbH"}"#)?;
    /// let mut records = 0;
    /// let mut loader = Loader::new(OnInvalid::Stop).on_progress(|progress| records = progress.records);
    /// loader.companies(&path, &mut IndexBuilder::in_memory())?;
    /// drop(loader);
    /// assert_eq!(records, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_progress(mut self, tell: impl FnMut(Progress) + 'c) -> Loader<'c> {
        self.on_progress = Box::new(tell);
        self
    }

    /// Loads a file of companies; `-` is standard input.
    ///
    /// # Errors
    /// The file cannot be read, the sink fails, or, with [`OnInvalid::Stop`], a line breaks a
    /// rule ([`Invalid`](crate::ErrorKind::Invalid)).
    ///
    /// Cost: as [`signals`](Self::signals).
    pub fn companies(&mut self, path: impl AsRef<Path>, sink: &mut impl Sink) -> Result<()> {
        let mut unknown = mem::take(&mut self.company_fields);
        let rejected_before = self.report.rejected;
        let loaded = self.load(path.as_ref(), RecordKind::Company, |report, line| {
            let added = match parse_company_noting(line, &mut unknown) {
                Ok(company) => sink.add_company(&company)?,
                Err(error) => return Ok(Some(error)),
            };
            report.companies += 1;
            report.companies_replaced += u64::from(added == Added::Replaced);
            Ok(None)
        });
        self.company_fields = unknown;
        self.report.companies_rejected += self.report.rejected - rejected_before;
        loaded
    }

    /// Loads a file of signals, whose companies the sink knows; `-` is standard input.
    ///
    /// ```
    /// use signaldex::json::{Loader, OnInvalid};
    /// use signaldex::{Company, Index};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("signals");
    ///
    /// std::fs::write(&path, "id,slug,title,companySlug\n7,acme-7,Acme hires,acme\n")?; // CSV
    /// let (index, mut loader) = (Index::in_memory()?, Loader::new(OnInvalid::Stop));
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
    /// loader.signals(&path, &mut writer)?;
    /// assert_eq!(writer.commit()?.signals_written, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The file cannot be read, the sink fails, or, with [`OnInvalid::Stop`], a line breaks a
    /// rule or names an unknown company ([`Invalid`](crate::ErrorKind::Invalid)).
    ///
    /// Cost: a microsecond per signal in addition to the sink's work, and another for decompression on a second
    /// thread. Memory is bounded regardless of the size of the file.
    pub fn signals(&mut self, path: impl AsRef<Path>, sink: &mut impl Sink) -> Result<()> {
        let mut unknown = mem::take(&mut self.signal_fields);
        let loaded = self.load(path.as_ref(), RecordKind::Signal, |report, line| {
            let signal = match parse_signal_noting(line, &mut unknown) {
                Ok(signal) => signal,
                Err(error) => return Ok(Some(error)),
            };
            let added = match sink.add_signal(&signal) {
                Err(error) if error.kind() == ErrorKind::UnknownCompany => {
                    report.signals_without_company += 1;
                    return Ok(Some(unknown_company(&signal)));
                }
                added => added?,
            };
            report.signals += 1;
            report.signals_replaced += u64::from(added == Added::Replaced);
            Ok(None)
        });
        self.signal_fields = unknown;
        loaded
    }

    /// The summary so far, over all files.
    pub fn report(&self) -> LoadReport {
        self.report
    }

    /// The unknown fields, over all files; empty if [`strict`](Self::strict) rejects their records.
    ///
    /// ```
    /// use signaldex::IndexBuilder;
    /// use signaldex::json::{Loader, OnInvalid};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("companies");
    ///
    /// std::fs::write(&path, r#"{"slug": "acme", "name": "Acme GmbH", "contry": "Germany"}"#)?;
    /// let mut loader = Loader::new(OnInvalid::Stop);
    /// loader.companies(&path, &mut IndexBuilder::in_memory())?;
    /// let [unknown] = &loader.unknown_fields()[..] else { panic!("one field is misspelt") };
    /// assert_eq!((&*unknown.name, unknown.nearest), ("contry", Some("country")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn unknown_fields(&self) -> Vec<UnknownField> {
        let fields = [&self.company_fields, &self.signal_fields];
        fields
            .into_iter()
            .flat_map(UnknownFields::counted)
            .collect()
    }

    /// Passes each line to `take`, which returns the error if it rejects the line.
    fn load(
        &mut self,
        path: &Path,
        kind: RecordKind,
        mut take: impl FnMut(&mut LoadReport, &[u8]) -> Result<Option<RecordError>>,
    ) -> Result<()> {
        let source = RecordReader::open(path, kind, &self.renames)?;
        let path = source.lines().path().to_owned();
        let total_bytes = source.lines().total_bytes();
        let mut records = 0;
        thread::scope(|scope| {
            for batch in read_ahead::start(scope, source)? {
                let batch = batch?;
                for (number, line) in batch.lines() {
                    let error = match line {
                        Ok(line) => take(&mut self.report, line)?,
                        Err(error) => Some(error.clone()),
                    };
                    if let Some(error) = error {
                        self.reject(Rejected {
                            path: path.clone(),
                            line: number,
                            error,
                        })?;
                    }
                }
                records += batch.len() as u64;
                (self.on_progress)(Progress {
                    bytes_read: batch.bytes_read,
                    total_bytes,
                    records,
                });
            }
            Ok(())
        })
    }

    fn reject(&mut self, rejected: Rejected) -> Result<()> {
        if self.on_invalid == OnInvalid::Stop {
            return Err(Error::invalid(rejected.to_string()));
        }
        self.report.rejected += 1;
        (self.on_rejected)(&rejected);
        Ok(())
    }
}

impl fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader")
            .field("on_invalid", &self.on_invalid)
            .field("report", &self.report)
            .finish_non_exhaustive()
    }
}

fn unknown_company(signal: &Signal<'_>) -> RecordError {
    let slug = shortened(&signal.company_slug);
    RecordError::of_field(
        "companySlug",
        format!("there is no company \"{slug}\"; companies are loaded before their signals"),
    )
}

#[cfg(test)]
mod tests;
