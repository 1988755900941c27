//! A small index, everything it says, and copies of it that are damaged.

use std::fs;
use std::path::{Path, PathBuf};

use signaldex::{
    Change, Error, ErrorKind, Facets, Filter, Index, IndexBuilder, Position, Query, Result,
    SignalId, Snapshot,
};
use signaldex_synthetic::Corpus;
use tempfile::TempDir;
use time::Date;

use super::MEMORY;

/// Signals of the index that is damaged: a segment of more than 64 KiB.
const SIGNALS: u64 = 130;

/// What opening and asking an index may allocate beside four times the file.
const MEMORY_BYTES: usize = 16 << 20;

/// Questions that read every section but those of commits and records.
const QUERIES: [&str; 11] = [
    "",
    "q=series",
    "q=ser*",
    "days=90",
    "exact=machine learning",
    "exact=series a",
    "fundingMin=1000",
    "country=Germany",
    "country=Germany&size=1-49",
    "company=labs group",
    "any=series machine&exclude=a",
];

/// An index in a directory of its own.
pub(crate) struct Whole {
    directory: TempDir,
    corpus: Corpus,
    pub(crate) segment: PathBuf,
}

/// Everything an index has to say.
#[derive(Debug, PartialEq)]
pub(crate) struct Answers {
    pages: Vec<Vec<SignalId>>,
    counts: Vec<u64>,
    facets: Vec<Facets>,
    companies: usize,
    record_bytes: usize,
    changes: usize,
}

/// The environment asks for the long run.
pub(crate) fn is_long() -> bool {
    std::env::var_os("SIGNALDEX_EVERY_BIT").is_some()
}

impl Whole {
    pub(crate) fn build() -> Whole {
        let directory = TempDir::new().expect("a temporary directory");
        let corpus = Corpus::new(SIGNALS, 5).expect("a size within bounds");
        let mut builder = IndexBuilder::in_directory(directory.path()).expect("an empty directory");
        for company in corpus.companies() {
            builder.add_company(&company).expect("a writable directory");
        }
        for signal in corpus.signals() {
            builder.add_signal(&signal).expect("a writable directory");
        }
        builder.finish().expect("a writable directory");
        let files = fs::read_dir(directory.path()).expect("a readable directory");
        let mut paths = files.map(|file| file.expect("a readable directory").path());
        let is_segment = |path: &PathBuf| path.to_string_lossy().contains("segment-");
        let segment = paths.find(is_segment).expect("a segment");
        Whole {
            directory,
            corpus,
            segment,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn manifest(&self) -> PathBuf {
        self.path().join("manifest")
    }

    /// Puts another file in the place of one: what is mapped must not be altered.
    pub(crate) fn replace(&self, file: &Path, bytes: &[u8]) {
        fs::remove_file(file).expect("a removable file");
        fs::write(file, bytes).expect("a writable directory");
    }

    /// What the index says now, within the memory that it may take.
    pub(crate) fn answers(&self, damage: &str) -> Result<Answers> {
        self.bounded(damage, || answers(self.path(), self.corpus.as_of()))
    }

    /// Runs `ask` within the memory that the index may take.
    pub(crate) fn bounded<T>(&self, damage: &str, ask: impl FnOnce() -> T) -> T {
        let length = fs::metadata(&self.segment).expect("a file").len() as usize;
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let asked = ask();
        let used = MEMORY.peak_usage().saturating_sub(before);
        assert!(used <= 4 * length + MEMORY_BYTES, "{damage}: {used} bytes");
        asked
    }
}

fn answers(directory: &Path, today: Date) -> Result<Answers> {
    let index = Index::open(directory)?;
    let snapshot = index.snapshot();
    ask(&snapshot, today)
}

fn ask(snapshot: &Snapshot, today: Date) -> Result<Answers> {
    let queries = QUERIES.map(|text| Query::from_query_string(text).expect("a valid query"));
    let page = |query: &Query| Ok(snapshot.search(query, today)?.ids().collect());
    let filters = || queries.iter().map(Query::filter);
    let mut record_bytes = 0;
    for found in snapshot.scan() {
        let found = found?;
        record_bytes += found.signal.title.len() + found.company.name.len();
        record_bytes += found.signal.evidence.map_or(0, |evidence| evidence.len());
    }
    let everything = Filter::default();
    let changes = snapshot.changes(&everything, today, &Position::START);
    let changes = changes.expect("a position of every index");
    let changes: Vec<Change<'_>> = changes.collect::<Result<_>>()?;
    Ok(Answers {
        pages: queries.iter().map(page).collect::<Result<_>>()?,
        counts: filters()
            .map(|filter| snapshot.count(filter, today))
            .collect::<Result<_>>()?,
        facets: filters()
            .map(|filter| snapshot.facets(filter, today))
            .collect::<Result<_>>()?,
        companies: snapshot.scan_companies().collect::<Result<Vec<_>>>()?.len(),
        record_bytes,
        changes: changes.len(),
    })
}

/// Whether an error says that a file is not what it was.
pub(crate) fn is_damage(error: &Error) -> bool {
    error.kind() == ErrorKind::Corrupt
        || error.kind() == ErrorKind::Foreign
        || error.kind() == ErrorKind::NewerFormat
}
