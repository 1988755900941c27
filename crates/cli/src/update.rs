//! `signaldex update`: upserts and deletes, committed as one.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use signaldex::json::{CheckSink, Sink};
use signaldex::{CompanyDeletion, Index, SignalId, Writer};

use crate::Failure;
#[cfg(feature = "cluster")]
use crate::cluster;
use crate::input::{Input, LoadTarget};
use crate::place::{Place, Target};
use crate::progress::{self, ProgressLine};
use crate::stderr::{companies, say, signals};

/// Add, replace and delete records of an index in one atomic commit
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Update {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    files: Files,
    /// Publish the shards afterwards, as `publish-shards` does
    #[arg(long, value_name = "STORE-URL", requires = "shards", hide = cfg!(not(feature = "cluster")))]
    publish: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  signaldex update index --signals new.jsonl --delete-signals gone.txt
  signaldex update --shards parts --companies companies.csv --signals new.jsonl --publish s3://bucket/signals

Of shards, each commits on its own. If the update ends early, the same command again completes it.";

/// The files of an update.
#[derive(Debug, clap::Args)]
pub(crate) struct Files {
    /// Companies to add or replace, one JSON object a line, or a table with a header
    #[arg(long, value_name = "FILE")]
    companies: Option<PathBuf>,
    /// Signals to add or replace, one JSON object a line, or a table with a header
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

/// What takes the records of an update and its deletions.
pub(crate) trait Updated: Sink {
    fn delete_signal(&mut self, id: SignalId) -> signaldex::Result<bool>;

    fn delete_company(&mut self, slug: &str, deletion: CompanyDeletion) -> signaldex::Result<bool>;
}

impl Updated for Writer {
    fn delete_signal(&mut self, id: SignalId) -> signaldex::Result<bool> {
        Writer::delete_signal(self, id)
    }

    fn delete_company(&mut self, slug: &str, deletion: CompanyDeletion) -> signaldex::Result<bool> {
        Writer::delete_company(self, slug, deletion)
    }
}

impl Update {
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.files.refuse_none()?;
        self.files.refuse_overwriting()?;
        match self.place.target()? {
            Target::Index(directory) => update_index(&directory, &self.files),
            #[cfg(feature = "cluster")]
            Target::Shards(folder) => {
                cluster::update_shards(&folder, &self.files, self.publish.as_deref())
            }
        }
    }
}

fn update_index(directory: &Path, files: &Files) -> Result<(), Failure> {
    let index = Index::open(directory)?;
    if files.is_check() {
        let snapshot = index.snapshot();
        let mut sink = CheckSink::over(Arc::clone(&snapshot));
        let (company_file, signal_file) = (files.companies.as_deref(), files.signals.as_deref());
        let checked = files.input.load(
            &mut sink,
            company_file,
            signal_file,
            LoadTarget::Index(&snapshot),
        )?;
        say(format_args!("{checked}; nothing is changed"));
        return Ok(());
    }
    let mut writer = index.writer()?;
    let loaded = files.apply(&mut writer, LoadTarget::Index(&index.snapshot()))?;
    let report = progress::phase("committing", || writer.commit())?;
    progress::phase("merging", || writer.wait_for_merges());
    say(format_args!(
        "{loaded}; deleted {} and {}; generation {}",
        signals(report.signals_deleted),
        companies(report.companies_deleted),
        report.generation
    ));
    Ok(())
}

impl Files {
    /// Whether nothing is to be changed.
    pub(crate) fn is_check(&self) -> bool {
        self.input.is_check()
    }

    fn refuse_none(&self) -> Result<(), Failure> {
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
        Ok(())
    }

    /// The lists of deletions; [`Input::load`] looks at the other files.
    fn refuse_overwriting(&self) -> Result<(), Failure> {
        let lists = [&self.delete_signals, &self.delete_companies];
        let lists = lists.into_iter().flatten().map(PathBuf::as_path);
        self.input.refuse_overwriting(lists)
    }

    /// Hands over the records, and then the deletions. Returns a summary of what was read.
    pub(crate) fn apply(
        &self,
        to: &mut impl Updated,
        target: LoadTarget<'_>,
    ) -> Result<String, Failure> {
        let (company_file, signal_file) = (self.companies.as_deref(), self.signals.as_deref());
        let loaded = self.input.load(to, company_file, signal_file, target)?;
        let mut bar = ProgressLine::new();
        let gone = lines_of(self.delete_signals.as_deref())?;
        bar.begin_counting("deleting signals", Some(gone.len() as u64));
        for (path, number, line) in gone {
            bar.add(1);
            let id: SignalId = line
                .parse()
                .map_err(|error| format!("{}:{number}: {error}", path.display()))?;
            to.delete_signal(id)?;
        }
        let on_signals = if self.with_signals {
            CompanyDeletion::Cascade
        } else {
            CompanyDeletion::Restrict
        };
        let gone = lines_of(self.delete_companies.as_deref())?;
        bar.begin_counting("deleting companies", Some(gone.len() as u64));
        for (path, number, slug) in gone {
            bar.add(1);
            to.delete_company(&slug, on_signals)
                .map_err(|error| format!("{}:{number}: {error}", path.display()))?;
        }
        Ok(loaded)
    }

    /// The companies that are deleted with their signals.
    #[cfg(feature = "cluster")]
    pub(crate) fn deleted_with_signals(&self) -> Result<Vec<String>, Failure> {
        let file = self.delete_companies.as_deref();
        let lines = lines_of(file.filter(|_| self.with_signals))?;
        Ok(lines.into_iter().map(|(_, _, slug)| slug).collect())
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
