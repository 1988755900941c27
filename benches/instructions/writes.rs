//! The tasks that write: builds, a commit and a merge.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use signaldex::{Index, IndexBuilder, Signal};
use signaldex_synthetic::Corpus;

use crate::{Result, SEED, WHOLE};

/// Signals of the smallest build: most of its cost is that of one segment, whatever its size.
const FEW_SIGNALS: u64 = 2_000;
/// Signals of the other builds: with this many, records are compressed.
const SIGNALS: u64 = 20_000;
/// Signals of the index that is written to, and those upserted by a commit.
const WRITTEN_SIGNALS: u64 = 50_500;
/// One of this many signals is upserted as a new one, and one more replaces its earlier version.
const NEW_ONE_IN: usize = 101;
/// The folder of the index before the commit, and that of the copy that is written to.
const BEFORE: &str = "before";
const WRITTEN: &str = "written";

/// Builds the index that [`run`] writes to a copy of.
pub(crate) fn build_before(folder: &Path) -> Result<()> {
    let corpus = Corpus::new(WRITTEN_SIGNALS, SEED)?;
    let signals = (0..).zip(corpus.signals());
    let older = signals.filter(|(number, _)| number % NEW_ONE_IN != 0);
    let builder = IndexBuilder::in_directory(folder.join(BEFORE))?;
    build_of(&corpus, older.map(|(_, signal)| signal), builder).map(drop)
}

/// Builds an index of generated signals.
pub(crate) fn build(signals: u64, builder: IndexBuilder) -> Result<Index> {
    let corpus = Corpus::new(signals, SEED)?;
    build_of(&corpus, corpus.signals(), builder)
}

fn build_of<'s>(
    corpus: &Corpus,
    signals: impl Iterator<Item = Signal<'s>>,
    mut builder: IndexBuilder,
) -> Result<Index> {
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for signal in signals {
        builder.add_signal(&signal)?;
    }
    Ok(builder.finish()?)
}

/// Hands each task to `sink` with its name, always in the same order.
pub(crate) fn run(folder: &Path, sink: &impl Fn(&str, &mut dyn FnMut())) -> Result<()> {
    let builds = [
        ("build", FEW_SIGNALS, true),
        ("build, compressed", SIGNALS, true),
        ("build, plain", SIGNALS, false),
    ];
    for (name, signals, compresses) in builds {
        sink(name, &mut || {
            let builder = IndexBuilder::in_memory().compress_records(compresses);
            black_box(build(signals, builder).expect(WHOLE));
        });
    }
    let written = folder.join(WRITTEN);
    copy_files(&folder.join(BEFORE), &written)?;
    let corpus = Corpus::new(WRITTEN_SIGNALS, SEED)?;
    let signals = (0..).zip(corpus.signals());
    let upserted = signals.filter(|(number, _)| number % NEW_ONE_IN < 2);
    let upserted: Vec<Signal<'_>> = upserted.map(|(_, signal)| signal).collect();
    let index = Index::open(&written)?;
    // Without what only the first use of a file costs.
    index.snapshot().check()?;
    let mut writer = index.writer()?;
    sink("commit", &mut || {
        for signal in &upserted {
            writer.upsert_signal(signal).expect(WHOLE);
        }
        writer.commit().expect(WHOLE);
    });
    sink("merge", &mut || writer.compact().expect(WHOLE));
    drop(writer);
    Ok(fs::remove_dir_all(written)?)
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}
