//! The corpus of a run: where its files are, how every engine is built from it, and its questions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use signaldex::json::{Loader, OnInvalid};
use signaldex::{Company, Index, IndexBuilder, Signal, SignalId, Snapshot, sample};
use signaldex_synthetic::Corpus as GeneratedCorpus;

use crate::classes::{self, Statistics, Wanted};
use crate::engine::{Build, Engine, bytes_on_disk};
use crate::engines::Kind;
use crate::question::{Questions, questions};
use crate::record::{Dictionary, FACETS};
use crate::{Result, Source};

/// Records that are made ready at a time, outside of what is measured.
const CHUNK: usize = 10_000;

/// Where signals come from, and where the engines built from them are.
pub struct Corpus {
    signals: u64,
    files: Option<PathBuf>,
    folder: PathBuf,
}

/// What it took to build an engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Built {
    /// Seconds on one core.
    pub seconds: f64,
    /// Bytes of its files.
    pub bytes: u64,
}

/// All that engines are asked, and the numbers in it.
pub struct Asked {
    /// The number of signals.
    pub signals: u64,
    /// The numbers of values.
    pub dictionary: Dictionary,
    /// The questions by class.
    pub classes: Vec<Questions>,
}

impl Corpus {
    /// The corpus that the command line names.
    pub fn of(source: &Source) -> Result<Corpus> {
        let mut corpus = Corpus::generated(source.signals);
        if let Some(files) = &source.corpus {
            corpus.files = Some(files.clone());
            corpus.folder = corpora_folder().join("real");
        }
        std::fs::create_dir_all(&corpus.folder)?;
        Ok(corpus)
    }

    /// So many generated signals.
    pub fn generated(signals: u64) -> Corpus {
        Corpus {
            signals,
            files: None,
            folder: corpora_folder().join(signals.to_string()),
        }
    }

    /// Where its engines are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of its results.
    pub fn name(&self) -> String {
        match (&self.files, self.signals) {
            (Some(_), _) => "real".into(),
            (None, signals) if signals.is_multiple_of(1_000_000) => {
                format!("{}m", signals / 1_000_000)
            }
            (None, signals) if signals.is_multiple_of(1000) => format!("{}k", signals / 1000),
            (None, signals) => signals.to_string(),
        }
    }

    /// For readers.
    pub fn description(&self) -> String {
        match self.files {
            Some(_) => "the real corpus".into(),
            None => format!("{} generated signals", self.signals),
        }
    }

    /// signaldex's own snapshot of it, which holds the records.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        Ok(Index::open(Kind::Signaldex.folder(&self.folder))?.snapshot())
    }

    /// Builds all engines, unless they are there, and says what it took.
    pub fn build(&self, again: bool) -> Result<BTreeMap<Kind, Built>> {
        let path = self.folder.join("built.json");
        if path.exists() && !again {
            return Ok(serde_json::from_str(&std::fs::read_to_string(path)?)?);
        }
        std::fs::remove_dir_all(&self.folder)?;
        std::fs::create_dir_all(&self.folder)?;
        let mut builds = BTreeMap::new();
        builds.insert(
            Kind::Signaldex,
            self.measured(Kind::Signaldex, || self.build_own())?,
        );
        let snapshot = self.snapshot()?;
        let dictionary = Dictionary::of(&snapshot)?;
        for kind in Kind::ALL.into_iter().filter(|kind| kind.is_built()) {
            let build = || build_peer(kind.build(&self.folder)?, &snapshot, &dictionary);
            builds.insert(kind, self.measured(kind, build)?);
        }
        std::fs::write(path, serde_json::to_string_pretty(&builds)?)?;
        // Otherwise the system would still write files while the first task is measured.
        Command::new("sync").status()?;
        Ok(builds)
    }

    /// Builds signaldex and what the limit reads, unless they are there.
    pub fn build_without_peers(&self) -> Result<()> {
        let folder = Kind::Signaldex.folder(&self.folder);
        if Index::open(&folder).is_err() {
            if folder.exists() {
                std::fs::remove_dir_all(&folder)?;
            }
            std::fs::create_dir_all(&self.folder)?;
            self.build_own()?;
        }
        if !Kind::Limit.folder(&self.folder).exists() {
            let snapshot = self.snapshot()?;
            let dictionary = Dictionary::of(&snapshot)?;
            build_peer(Kind::Roaring.build(&self.folder)?, &snapshot, &dictionary)?;
        }
        Ok(())
    }

    /// Opens some engines.
    pub fn open(
        &self,
        kinds: &[Kind],
        dictionary: &Dictionary,
    ) -> Result<Vec<(Kind, Box<dyn Engine>)>> {
        let open = |&kind: &Kind| Ok((kind, self.open_one(kind, dictionary.value_bounds())?));
        kinds.iter().map(open).collect()
    }

    /// Opens one engine.
    pub fn open_one(&self, kind: Kind, value_bounds: [usize; FACETS]) -> Result<Box<dyn Engine>> {
        kind.open(&self.folder, value_bounds)
    }

    /// Draws all questions.
    pub fn questions(&self) -> Result<Asked> {
        self.questions_with(|_| ())
    }

    /// Draws all queries and changes each before it becomes a question.
    pub fn questions_with(&self, change: impl Fn(&mut Wanted)) -> Result<Asked> {
        let snapshot = self.snapshot()?;
        let statistics = Statistics::of(&snapshot)?;
        let dictionary = Dictionary::of(&snapshot)?;
        let mut classes = classes::draw(&snapshot, &statistics, sample::AS_OF)?;
        let queries = classes.iter_mut().flat_map(|class| &mut class.queries);
        queries.for_each(change);
        Ok(Asked {
            signals: snapshot.signal_count(),
            classes: questions(classes, &snapshot, &statistics, &dictionary, sample::AS_OF)?,
            dictionary,
        })
    }

    fn measured(&self, kind: Kind, build: impl FnOnce() -> Result<Duration>) -> Result<Built> {
        eprintln!("building {}", kind.name());
        let seconds = build()?.as_secs_f64();
        let bytes = bytes_on_disk(&kind.folder(&self.folder))?;
        Ok(Built { seconds, bytes })
    }

    /// Builds signaldex; says how long adding and finishing took.
    fn build_own(&self) -> Result<Duration> {
        let mut builder = IndexBuilder::in_directory(Kind::Signaldex.folder(&self.folder))?;
        if let Some(files) = &self.files {
            return load(builder, files);
        }
        let corpus = GeneratedCorpus::new(self.signals, 1)?;
        let mut clock = Duration::ZERO;
        for chunk in chunks(corpus.companies()) {
            clock += timed(|| add_companies(&mut builder, &chunk))?;
        }
        for chunk in chunks(corpus.signals()) {
            clock += timed(|| add_signals(&mut builder, &chunk))?;
        }
        clock += timed(|| finish(builder))?;
        Ok(clock)
    }
}

/// Kept with what is compiled, since it is as large and as easily made again.
fn corpora_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/corpora")
}

/// Loads files; reading them counts, since nobody has them in memory.
fn load(mut builder: IndexBuilder, files: &Path) -> Result<Duration> {
    timed(|| {
        let mut loader = Loader::new(OnInvalid::Stop);
        loader.companies(files.join("companies.jsonl.zst"), &mut builder)?;
        loader.signals(files.join("signals.jsonl.zst"), &mut builder)?;
        finish(builder)
    })
}

/// Finishes an index, which is opened again when it is needed.
fn finish(builder: IndexBuilder) -> Result<()> {
    builder.finish()?;
    Ok(())
}

fn add_companies(builder: &mut IndexBuilder, companies: &[Company<'_>]) -> Result<()> {
    for company in companies {
        builder.add_company(company)?;
    }
    Ok(())
}

fn add_signals(builder: &mut IndexBuilder, signals: &[Signal<'_>]) -> Result<()> {
    for signal in signals {
        builder.add_signal(signal)?;
    }
    Ok(())
}

/// Feeds a peer all signals, newest first; says how long making records of them, adding and
/// finishing took. Reading them does not count.
fn build_peer(
    mut build: Box<dyn Build>,
    snapshot: &Snapshot,
    dictionary: &Dictionary,
) -> Result<Duration> {
    let mut ids: Vec<SignalId> = Vec::new();
    for found in snapshot.scan() {
        ids.push(found?.signal.id);
    }
    let mut clock = Duration::ZERO;
    let mut rank = 0;
    for ids in chunks(ids.into_iter().rev()) {
        let read = ids.iter().map(|&id| snapshot.signal(id));
        let found: Vec<_> = read.collect::<signaldex::Result<_>>()?;
        clock += timed(|| {
            for found in found.iter().flatten() {
                build.add(dictionary.record(found, rank))?;
                rank += 1;
            }
            Ok(())
        })?;
    }
    clock += timed(|| build.finish())?;
    Ok(clock)
}

/// Some items at a time.
fn chunks<T>(mut items: impl Iterator<Item = T>) -> impl Iterator<Item = Vec<T>> {
    std::iter::from_fn(move || {
        let chunk: Vec<T> = items.by_ref().take(CHUNK).collect();
        (!chunk.is_empty()).then_some(chunk)
    })
}

fn timed(work: impl FnOnce() -> Result<()>) -> Result<Duration> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed())
}
