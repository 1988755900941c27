//! `signaldex update`: upserts and deletes, committed as one.

use std::fs;
use std::path::{Path, PathBuf};

use signaldex::{CompanyDeletion, Index, SignalId};

use crate::Failure;
use crate::build::Input;
use crate::stderr::{companies, say, signals};

/// Add, replace and delete records of an index in one atomic commit
#[derive(Debug, clap::Args)]
pub(crate) struct Update {
    /// The directory of the index
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Companies to add or replace, one JSON object a line, or CSV with a header
    #[arg(long, value_name = "FILE")]
    companies: Option<PathBuf>,
    /// Signals to add or replace, one JSON object a line, or CSV with a header
    #[arg(long, value_name = "FILE")]
    signals: Option<PathBuf>,
    /// Signals to delete, one id a line
    #[arg(long, value_name = "FILE")]
    delete_signals: Option<PathBuf>,
    /// Companies to delete, one slug a line
    #[arg(long, value_name = "FILE")]
    delete_companies: Option<PathBuf>,
    /// Delete the signals of deleted companies, too, instead of failing
    #[arg(long, requires = "delete_companies")]
    with_signals: bool,
    #[command(flatten)]
    input: Input,
}

impl Update {
    pub(crate) fn run(self) -> Result<(), Failure> {
        let files = [
            &self.companies,
            &self.signals,
            &self.delete_signals,
            &self.delete_companies,
        ];
        if files.iter().all(|file| file.is_none()) {
            return Err(
                "nothing to update: give --companies, --signals, --delete-signals or \
                 --delete-companies"
                    .into(),
            );
        }
        let index = Index::open(&self.directory)?;
        let mut writer = index.writer()?;
        let (company_file, signal_file) = (self.companies.as_deref(), self.signals.as_deref());
        let loaded = self.input.load(&mut writer, company_file, signal_file)?;
        for (path, number, line) in lines_of(self.delete_signals.as_deref())? {
            let id: SignalId = line
                .parse()
                .map_err(|error| format!("{}:{number}: {error}", path.display()))?;
            writer.delete_signal(id)?;
        }
        let on_signals = if self.with_signals {
            CompanyDeletion::Cascade
        } else {
            CompanyDeletion::Restrict
        };
        for (path, number, slug) in lines_of(self.delete_companies.as_deref())? {
            writer
                .delete_company(&slug, on_signals)
                .map_err(|error| format!("{}:{number}: {error}", path.display()))?;
        }
        let report = writer.commit()?;
        writer.wait_for_merges();
        say(format_args!(
            "{loaded}; deleted {} and {}; generation {}",
            signals(report.signals_deleted),
            companies(report.companies_deleted),
            report.generation
        ));
        Ok(())
    }
}

/// The lines of a file that are not blank, with their numbers.
fn lines_of(path: Option<&Path>) -> Result<Vec<(&Path, usize, String)>, Failure> {
    let Some(path) = path else {
        return Ok(Vec::new());
    };
    let text = fs::read_to_string(path)
        .map_err(|error| format!("{}: cannot read the file: {error}", path.display()))?;
    let lines = text
        .lines()
        .map(str::trim)
        .enumerate()
        .filter(|(_, line)| !line.is_empty());
    Ok(lines
        .map(|(index, line)| (path, index + 1, line.to_owned()))
        .collect())
}
