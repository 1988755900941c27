//! Takes the records of a file one by one: adds each, or rejects it with every fault.

use std::path::PathBuf;

use super::load_report::Findings;
use super::members::{flat_members, read_members};
use super::record_type::RecordType;
use super::sink::RejectedCompanies;
use super::unknown::{UnknownCounts, UnknownNames, refusal};
use super::{LoadReport, Progress, Rejected, Replaced, Sink};
use crate::signal::SignalId;
use crate::tables::{
    Binding, Draft, Header, KeyMaker, LoadOptions, RecordError, RecordKind, RowCells, Value,
};
use crate::text::quoted;
use crate::{Error, ErrorKind, Result};

/// What a load has found so far, and whom it tells.
pub(super) struct LoadState<'c> {
    pub(super) options: LoadOptions,
    pub(super) makes_ids: bool,
    pub(super) on_rejected: Box<dyn FnMut(&Rejected) + 'c>,
    pub(super) on_progress: Box<dyn FnMut(RecordKind, Progress) + 'c>,
    pub(super) report: LoadReport,
    pub(super) findings: Findings,
    /// The unknown names of each kind of record.
    pub(super) unknown: [UnknownCounts; 2],
    pub(super) keys: KeyMaker,
    pub(super) rejected_companies: RejectedCompanies,
}

impl<'c> LoadState<'c> {
    pub(super) fn new(options: LoadOptions) -> LoadState<'c> {
        LoadState {
            options,
            makes_ids: false,
            on_rejected: Box::new(|_| ()),
            on_progress: Box::new(|_, _| ()),
            report: LoadReport::default(),
            findings: Findings::default(),
            unknown: Default::default(),
            keys: KeyMaker::default(),
            rejected_companies: RejectedCompanies::new(),
        }
    }
}

/// A file while its records are added.
pub(super) struct FileRun<'l, 'c, 'o, S> {
    pub(super) state: &'l mut LoadState<'c>,
    pub(super) options: &'o LoadOptions,
    pub(super) defaults: Vec<(&'static str, Value<'static>)>,
    pub(super) path: PathBuf,
    pub(super) sink: &'l mut S,
    pub(super) records: u64,
}

impl<S: Sink> FileRun<'_, '_, '_, S> {
    pub(super) fn tell_progress(
        &mut self,
        kind: RecordKind,
        bytes_read: u64,
        total_bytes: Option<u64>,
    ) {
        let progress = Progress {
            bytes_read,
            total_bytes,
            records: self.records,
        };
        (self.state.on_progress)(kind, progress);
    }

    /// Takes a line of JSON: by the fast path, unless an option may change what it means.
    pub(super) fn take_line<R: RecordType>(
        &mut self,
        number: u64,
        line: Result<&[u8], &RecordError>,
    ) -> Result<()> {
        self.records += 1;
        let options = self.options;
        let file = options.file(R::KIND);
        let line = match line {
            Ok(line) => line,
            Err(error) => return self.reject(R::KIND, number, vec![error.clone()]),
        };
        let mut unknown = UnknownNames::of(R::KIND);
        let parsed = R::parse(line, &mut unknown);
        let error = match parsed {
            Ok(record) if !file.changes_json() => {
                let names = unknown.take();
                if !options.strict || names.is_empty() {
                    self.state.unknown[R::KIND as usize].count(&names);
                    return self.add::<R>(number, &record, 0);
                }
                None
            }
            Ok(_) => None,
            Err(error) => Some(error),
        };
        let Some(members) = flat_members(line, R::KIND, file) else {
            let error =
                error.unwrap_or_else(|| RecordError::of_line("the line must be a JSON object"));
            return self.reject(R::KIND, number, vec![error]);
        };
        let mut draft = Draft::new(R::KIND, options.invalid_as_null);
        let names = read_members(&members, R::KIND, file, &mut draft);
        self.take_draft::<R>(number, draft, &names)
    }

    pub(super) fn take_row<R: RecordType>(
        &mut self,
        number: u64,
        row: Result<RowCells<'_>, &RecordError>,
        header: &Header,
    ) -> Result<()> {
        self.records += 1;
        let options = self.options;
        let cells = match row {
            Ok(cells) => cells,
            Err(error) => return self.reject(R::KIND, number, vec![error.clone()]),
        };
        let mut draft = Draft::new(R::KIND, options.invalid_as_null);
        let mut names = Vec::new();
        let file = options.file(R::KIND);
        for (cell, column) in cells.iter().zip(&header.columns) {
            match column.binding {
                Binding::Field(index) => draft.read(index, cell, &file.cells),
                Binding::CompanyName => draft.read_company_name(cell, &file.cells),
                Binding::Unknown if !cell.is_blank() => names.push(column.name.clone()),
                Binding::Unknown | Binding::LeftOut => {}
            }
        }
        self.take_draft::<R>(number, draft, &names)
    }

    /// Adds a record whose cells have been read, or rejects it.
    fn take_draft<R: RecordType>(
        &mut self,
        number: u64,
        mut draft: Draft<'_>,
        unknown: &[String],
    ) -> Result<()> {
        if self.options.strict {
            let refusals = unknown
                .iter()
                .map(|name| RecordError::of_line(refusal(R::KIND, name)));
            draft.faults.extend(refusals);
        } else {
            self.state.unknown[R::KIND as usize].count(unknown);
        }
        for (field, value) in &self.defaults {
            if draft.is_missing(field) {
                draft.set(field, value.clone());
            }
        }
        if self.options.file(R::KIND).make_keys {
            let id = SignalId::new(self.records).filter(|_| self.state.makes_ids);
            self.state.keys.complete(R::KIND, &mut draft, id);
        }
        draft.check();
        for error in &draft.nulled {
            self.state
                .findings
                .count(R::KIND, &self.path, number, error);
        }
        let nulled = draft.nulled.len() as u64;
        if !draft.faults.is_empty() {
            let key = draft.text(R::COMPANY_KEY).map(|key| key.to_string());
            return self.reject_draft::<R>(number, std::mem::take(&mut draft.faults), key);
        }
        let Some(record) = R::build(&mut draft) else {
            return self.reject(R::KIND, number, vec![RecordError::of_line("is no record")]);
        };
        if self.options.file(R::KIND).make_keys
            && let Some((name, slug)) = R::company_name(&record)
        {
            self.state.keys.remember(name, slug);
        }
        self.add::<R>(number, &record, nulled)
    }

    /// Adds a record of which some cells were made null.
    fn add<R: RecordType>(
        &mut self,
        number: u64,
        record: &R::Record<'_>,
        nulled: u64,
    ) -> Result<()> {
        match R::add(self.sink, record) {
            Ok(is_replaced) => {
                let report = &mut self.state.report;
                report.nulled += nulled;
                let (loaded, replaced) = R::counts(report);
                *loaded += 1;
                if is_replaced {
                    *replaced += 1;
                    self.state.findings.replace(Replaced {
                        record: R::KIND,
                        path: self.path.clone(),
                        line: number,
                        key: R::key(record),
                    });
                }
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::UnknownCompany => {
                let slug = R::company_slug(record).to_owned();
                self.count_without_company(&slug);
                self.reject(R::KIND, number, vec![unknown_company(&slug)])
            }
            Err(error) => Err(error),
        }
    }

    /// Rejects a record with faults in its cells; that its company is unknown is one more.
    fn reject_draft<R: RecordType>(
        &mut self,
        number: u64,
        mut errors: Vec<RecordError>,
        key: Option<String>,
    ) -> Result<()> {
        match (R::KIND, key) {
            (RecordKind::Company, Some(slug)) => {
                let can_be_null = |error: &RecordError| {
                    error
                        .field()
                        .is_some_and(|field| !RecordKind::Company.is_required(field))
                };
                let is_kept_by_null = errors.iter().all(can_be_null);
                self.state.report.companies_nulls_would_keep += u64::from(is_kept_by_null);
                self.state.rejected_companies.insert(slug, is_kept_by_null);
            }
            (RecordKind::Signal, Some(slug))
                if !slug.is_empty() && !self.sink.has_company(&slug)? =>
            {
                self.count_without_company(&slug);
                errors.push(unknown_company(&slug));
            }
            _ => {}
        }
        self.reject(R::KIND, number, errors)
    }

    fn count_without_company(&mut self, slug: &str) {
        let was_rejected = self.state.rejected_companies.contains_key(slug);
        self.state.report.signals_without_company += 1;
        self.state.report.signals_of_rejected_companies += u64::from(was_rejected);
    }

    fn reject(&mut self, kind: RecordKind, line: u64, errors: Vec<RecordError>) -> Result<()> {
        let rejected = Rejected {
            path: self.path.clone(),
            line,
            errors,
        };
        if !self.options.skip_invalid {
            return Err(Error::invalid(rejected.to_string()));
        }
        for error in &rejected.errors {
            self.state.findings.count(kind, &self.path, line, error);
        }
        self.state.report.rejected += 1;
        self.state.report.companies_rejected += u64::from(kind == RecordKind::Company);
        (self.state.on_rejected)(&rejected);
        Ok(())
    }
}

fn unknown_company(slug: &str) -> RecordError {
    let reason = "is no company's slug; companies are loaded before their signals";
    RecordError::of_field("companySlug", reason).with_value(quoted(slug))
}
