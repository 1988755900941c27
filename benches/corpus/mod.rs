//! The corpus that benches run over: generated, or the one in a folder.
//!
//! `SIGNALDEX_SIGNALS` says how many signals are generated, a million unless it is set;
//! `SIGNALDEX_CORPUS` names a folder with `companies.jsonl.zst` and `signals.jsonl.zst` instead. `SIGNALDEX_COPIES`
//! says how many times each signal is there, under ids of its own.

use std::error::Error;
use std::path::Path;

use signaldex::json::{Loader, OnInvalid};
use signaldex::{Index, IndexBuilder, SignalId};
use signaldex_synthetic::Corpus;

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What is built from.
pub(crate) enum Source {
    /// Made as it is asked for.
    Generated(Corpus),
    /// JSON lines in a folder.
    Files(String),
}

impl Source {
    /// The corpus that the environment names.
    pub(crate) fn of_environment() -> Result<Source> {
        const SIGNALS: u64 = 1_000_000;
        const SEED: u64 = 1;
        if let Ok(folder) = std::env::var("SIGNALDEX_CORPUS") {
            return Ok(Source::Files(folder));
        }
        let signals = std::env::var("SIGNALDEX_SIGNALS").ok();
        let signals = signals.map_or(Ok(SIGNALS), |text| text.parse())?;
        Ok(Source::Generated(Corpus::new(signals, SEED)?))
    }

    /// Adds everything to a builder and finishes it.
    pub(crate) fn build(&self, mut builder: IndexBuilder) -> Result<Index> {
        match self {
            Source::Generated(corpus) => {
                for company in corpus.companies() {
                    builder.add_company(&company)?;
                }
                for signal in corpus.signals() {
                    builder.add_signal(&signal)?;
                }
            }
            Source::Files(folder) => {
                let mut loader = Loader::new(OnInvalid::Stop);
                let path = |name| Path::new(folder).join(name);
                loader.companies(path("companies.jsonl.zst"), &mut builder)?;
                loader.signals(path("signals.jsonl.zst"), &mut builder)?;
            }
        }
        let copies = std::env::var("SIGNALDEX_COPIES").ok();
        let copies = copies.map_or(Ok(1), |text| text.parse())?;
        copied(builder.finish()?, copies)
    }
}

/// An index in memory with `copies` of each signal, or the index itself if that is one.
fn copied(index: Index, copies: u64) -> Result<Index> {
    if copies == 1 {
        return Ok(index);
    }
    let snapshot = index.snapshot();
    let mut builder = IndexBuilder::in_memory();
    for company in snapshot.scan_companies() {
        builder.add_company(&company?)?;
    }
    for copy in 0..copies {
        for (number, found) in (1..).zip(snapshot.scan()) {
            let mut signal = found?.signal;
            let id = copy * snapshot.signal_count() + number;
            signal.id = SignalId::new(id).ok_or("more signals than ids")?;
            builder.add_signal(&signal)?;
        }
    }
    Ok(builder.finish()?)
}
