//! Loads files of companies and signals into an index.

use std::fmt;
use std::path::Path;
use std::thread;

use super::file_run::{FileRun, LoadState};
use super::headers;
use super::load_report::write_summary;
use super::open_file::{OpenFile, some_loaded};
use super::read_ahead;
use super::record_type::{CompanyRecord, RecordType, SignalRecord};
use super::{FaultGroup, LoadReport, Progress, Rejected, Replaced, Sink, UnknownField};
use crate::tables::{Header, LoadOptions, RecordKind, Source};
use crate::{Error, Result, Snapshot};

/// The handling of invalid records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnInvalid {
    /// End the load with an error.
    #[default]
    Stop,
    /// Count and report the record, and continue.
    Skip,
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
/// As [`Loader::load`].
pub fn load(
    companies: impl AsRef<Path>,
    signals: impl AsRef<Path>,
    sink: &mut impl Sink,
    on_invalid: OnInvalid,
) -> Result<LoadReport> {
    let mut loader = Loader::new(on_invalid);
    loader.load(Some(companies.as_ref()), Some(signals.as_ref()), sink)?;
    Ok(loader.report())
}

/// Loads files one after another, companies before their signals, with callbacks for progress and rejected
/// records.
///
/// ```
/// use signaldex::IndexBuilder;
/// use signaldex::json::{Loader, OnInvalid};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("companies");
///
/// std::fs::write(&path, "slug,name\nacme,Acme GmbH\n,nameless\n")?; // CSV
/// let mut skipped = Vec::new();
/// let mut loader = Loader::new(OnInvalid::Skip).on_rejected(|record| skipped.push(record.line));
/// loader.companies(&path, &mut IndexBuilder::in_memory())?;
/// assert_eq!((loader.report().companies, loader.report().rejected), (1, 1));
/// drop(loader);
/// assert_eq!(skipped, [3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Loader<'c> {
    state: LoadState<'c>,
    suggested: Vec<String>,
}

impl<'c> Loader<'c> {
    /// Creates a loader without callbacks.
    pub fn new(on_invalid: OnInvalid) -> Loader<'c> {
        Loader::with_options(LoadOptions::skipping(on_invalid == OnInvalid::Skip))
    }

    /// Creates a loader with options and without callbacks.
    ///
    /// ```
    /// use signaldex::IndexBuilder;
    /// use signaldex::json::{LoadOptions, Loader};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("companies");
    ///
    /// std::fs::write(&path, r#"{"id": "acme", "title": "Acme GmbH"}"#)?;
    /// let mut options = LoadOptions::default();
    /// options.set("map", "id=slug")?;
    /// options.set("map", "title=name")?;
    /// let mut loader = Loader::with_options(options);
    /// loader.companies(&path, &mut IndexBuilder::in_memory())?;
    /// assert_eq!(loader.report().companies, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_options(options: LoadOptions) -> Loader<'c> {
        Loader {
            state: LoadState::new(options),
            suggested: Vec::new(),
        }
    }

    /// Lets the option `make-keys` make ids as well: of a signal without one, the number of its record in the file.
    /// For a new index, as the numbers of another file would replace its signals.
    ///
    /// ```
    /// use signaldex::IndexBuilder;
    /// use signaldex::json::{LoadOptions, Loader};
    /// # let folder = tempfile::tempdir()?;
    /// # let [companies, signals] = ["companies", "signals"].map(|name| folder.path().join(name));
    ///
    /// std::fs::write(&companies, "name\nAcme GmbH\n")?;
    /// std::fs::write(&signals, "title,company name\nAcme hires,ACME GmbH\n")?;
    /// let mut options = LoadOptions::default();
    /// options.set("make-keys", "")?;
    /// let mut loader = Loader::with_options(options).making_ids();
    /// loader.load(Some(&companies), Some(&signals), &mut IndexBuilder::in_memory())?;
    /// assert_eq!(loader.report().signals, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn making_ids(mut self) -> Loader<'c> {
        self.state.makes_ids = true;
        self
    }

    /// Lets the signals of a load name the companies of an index that it updates, where `make-keys` finds them.
    ///
    /// ```
    /// use signaldex::json::{LoadOptions, Loader};
    /// use signaldex::{Company, Index};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("signals");
    ///
    /// let index = Index::in_memory()?;
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme GmbH"))?;
    /// writer.commit()?;
    /// std::fs::write(&path, "id,title,company name\n7,Acme hires,ACME GmbH\n")?;
    /// let mut options = LoadOptions::default();
    /// options.set("make-keys", "")?;
    /// let mut loader = Loader::with_options(options);
    /// loader.remember_companies(&index.snapshot())?;
    /// loader.signals(&path, &mut writer)?;
    /// assert_eq!(writer.commit()?.signals_written, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A company cannot be read.
    ///
    /// Cost: with `make-keys`, all companies are read, and their names and slugs held; without, none.
    pub fn remember_companies(&mut self, snapshot: &Snapshot) -> Result<()> {
        if !self.state.options.file(RecordKind::Signal).make_keys {
            return Ok(());
        }
        for company in snapshot.scan_companies() {
            let company = company?;
            self.state.keys.remember(&company.name, &company.slug);
        }
        Ok(())
    }

    /// Sets a callback for skipped records. Where a load stops at the first, it is not called.
    #[must_use]
    pub fn on_rejected(mut self, tell: impl FnMut(&Rejected) + 'c) -> Loader<'c> {
        self.state.on_rejected = Box::new(tell);
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
    /// let mut loader = Loader::new(OnInvalid::Stop).on_progress(|_, progress| records = progress.records);
    /// loader.companies(&path, &mut IndexBuilder::in_memory())?;
    /// drop(loader);
    /// assert_eq!(records, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn on_progress(mut self, tell: impl FnMut(RecordKind, Progress) + 'c) -> Loader<'c> {
        self.state.on_progress = Box::new(tell);
        self
    }

    /// Loads the files that are given, companies first; `-` is standard input. The headers of both are checked before
    /// a record is read.
    ///
    /// ```
    /// use signaldex::IndexBuilder;
    /// use signaldex::json::{Loader, OnInvalid};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("companies");
    ///
    /// std::fs::write(&path, "slug,company\nacme,Acme GmbH\n")?;
    /// let mut loader = Loader::new(OnInvalid::Stop);
    /// let refused = loader.load(Some(&path), None, &mut IndexBuilder::in_memory());
    /// assert!(refused.is_err_and(|error| error.to_string().contains("--map companies:company=name")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file cannot be read, the sink fails, no column is a required field, or no record of a file could be loaded
    /// ([`Invalid`](crate::ErrorKind::Invalid)). Unless invalid records are skipped: a record breaks a rule or names an
    /// unknown company.
    ///
    /// Cost: a microsecond per signal in addition to the sink's work, and another for decompression on a second
    /// thread. Memory is bounded regardless of the size of the files.
    pub fn load(
        &mut self,
        companies: Option<&Path>,
        signals: Option<&Path>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let open = |path, kind| OpenFile::open(path, kind, self.state.options.file(kind));
        let companies = companies
            .map(|path| open(path, RecordKind::Company))
            .transpose()?;
        let signals = signals
            .map(|path| open(path, RecordKind::Signal))
            .transpose()?;
        self.check_headers([companies.as_ref(), signals.as_ref()])?;
        let mut fruitless = Ok(());
        if let Some(file) = companies {
            let path = file.source.path().to_owned();
            self.load_file::<CompanyRecord>(file, sink)?;
            let rejected = self.state.report.companies_rejected;
            fruitless = fruitless.and(some_loaded(&path, self.state.report.companies, rejected));
        }
        if let Some(file) = signals {
            let path = file.source.path().to_owned();
            self.load_file::<SignalRecord>(file, sink)?;
            let rejected = self.state.report.rejected - self.state.report.companies_rejected;
            fruitless = fruitless.and(some_loaded(&path, self.state.report.signals, rejected));
        }
        fruitless
    }

    /// Loads a file of companies; `-` is standard input.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn companies(&mut self, path: impl AsRef<Path>, sink: &mut impl Sink) -> Result<()> {
        self.load(Some(path.as_ref()), None, sink)
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
    /// As [`load`](Self::load).
    pub fn signals(&mut self, path: impl AsRef<Path>, sink: &mut impl Sink) -> Result<()> {
        self.load(None, Some(path.as_ref()), sink)
    }

    /// The summary so far, over all files.
    pub fn report(&self) -> LoadReport {
        self.state.report
    }

    /// The unknown fields, over all files, with the records that have them.
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
        let [companies, signals] = &self.state.unknown;
        companies
            .of(RecordKind::Company)
            .chain(signals.of(RecordKind::Signal))
            .collect()
    }

    /// The faults so far by file, field and reason, those of cells that were made null among them.
    ///
    /// ```
    /// use signaldex::IndexBuilder;
    /// use signaldex::json::{Loader, OnInvalid};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("companies");
    ///
    /// std::fs::write(&path, "slug,name,updatedAt\na,A,12.06.2026\nb,B,13.06.2026\nc,C,\n")?;
    /// let mut loader = Loader::new(OnInvalid::Skip);
    /// loader.companies(&path, &mut IndexBuilder::in_memory())?;
    /// let [group] = &loader.faults()[..] else { panic!("one field has faults") };
    /// assert_eq!((group.field, group.count), (Some("updatedAt"), 2));
    /// assert_eq!(group.options[0], ("--date-format '%d.%m.%Y'".to_owned(), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn faults(&self) -> Vec<FaultGroup> {
        self.state.findings.groups()
    }

    /// The first records of each kind that replaced others.
    ///
    /// ```
    /// use signaldex::IndexBuilder;
    /// use signaldex::json::{Loader, OnInvalid};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("companies");
    ///
    /// std::fs::write(&path, "slug,name\nacme,Acme\nacme,Acme GmbH\n")?;
    /// let mut loader = Loader::new(OnInvalid::Stop);
    /// loader.companies(&path, &mut IndexBuilder::in_memory())?;
    /// assert_eq!((loader.replaced()[0].line, &*loader.replaced()[0].key), (3, "acme"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn replaced(&self) -> &[Replaced] {
        &self.state.findings.replaced
    }

    /// The options that a refused header needs, as they are typed; empty unless [`load`](Self::load) has refused one.
    ///
    /// ```
    /// use signaldex::IndexBuilder;
    /// use signaldex::json::{Loader, OnInvalid};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("companies");
    ///
    /// std::fs::write(&path, "slug,company\nacme,Acme GmbH\n")?;
    /// let mut loader = Loader::new(OnInvalid::Stop);
    /// assert!(loader.companies(&path, &mut IndexBuilder::in_memory()).is_err());
    /// assert_eq!(loader.suggested_options(), ["--map companies:company=name"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn suggested_options(&self) -> &[String] {
        &self.suggested
    }

    /// The load so far as one line of JSON.
    ///
    /// ```
    /// use signaldex::json::{Loader, OnInvalid};
    ///
    /// let summary = Loader::new(OnInvalid::Stop).summary();
    /// assert!(summary.starts_with(br#"{"companies":{"read":0,"#));
    /// ```
    pub fn summary(&self) -> Vec<u8> {
        let mut summary = Vec::new();
        write_summary(
            &mut summary,
            self.state.report,
            &self.faults(),
            &self.unknown_fields(),
        );
        summary
    }

    fn check_headers(&mut self, files: [Option<&OpenFile>; 2]) -> Result<()> {
        let tables = files.into_iter().flatten();
        let tables = tables.filter_map(|file| Some((file.source.path(), file.header.as_ref()?)));
        let tables: Vec<(&Path, &Header)> = tables.collect();
        match headers::missing_fields(&tables, &self.state.options, self.state.makes_ids) {
            None => Ok(()),
            Some(missing) => {
                self.suggested = missing.options;
                Err(Error::invalid(missing.message))
            }
        }
    }

    fn load_file<R: RecordType>(&mut self, file: OpenFile, sink: &mut impl Sink) -> Result<()> {
        let OpenFile {
            source,
            header,
            defaults,
        } = file;
        let (path, kind) = (source.path().to_owned(), R::KIND);
        let options = self.state.options.clone();
        let mut run = FileRun {
            state: &mut self.state,
            options: &options,
            defaults,
            path,
            sink,
            records: 0,
        };
        match (source, header) {
            (Source::Table(table), Some(header)) => thread::scope(|scope| {
                let total_bytes = table.total_bytes();
                for batch in read_ahead::start(scope, table)? {
                    let batch = batch?;
                    for (number, row) in batch.iter() {
                        run.take_row::<R>(number, row, &header)?;
                    }
                    run.tell_progress(kind, batch.bytes_read, total_bytes);
                }
                Ok(())
            }),
            (Source::Json(lines), _) => thread::scope(|scope| {
                let total_bytes = lines.total_bytes();
                for batch in read_ahead::start(scope, lines)? {
                    let batch = batch?;
                    for (number, line) in batch.lines() {
                        run.take_line::<R>(number, line)?;
                    }
                    run.tell_progress(kind, batch.bytes_read, total_bytes);
                }
                Ok(())
            }),
            (Source::Table(_), None) => Ok(()),
        }
    }
}

impl fmt::Debug for Loader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loader")
            .field("options", &self.state.options)
            .field("report", &self.state.report)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
