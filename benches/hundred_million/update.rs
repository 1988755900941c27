//! Commits and merges of a large index.

use std::path::Path;
use std::time::Instant;

use signaldex::{Index, SignalId, Writer};
use signaldex_synthetic::Corpus;

use crate::{Result, SEED, report};

/// Commits some signals twice, half of them new, half of them changed. The second commit leads to a merge.
pub(crate) fn commit(directory: &Path, signals: u64, count: u64) -> Result<()> {
    let corpus = Corpus::new(signals, SEED)?;
    let index = Index::open(directory)?;
    let mut writer = index.writer()?;
    for round in 0..2 {
        collect(&mut writer, &corpus, round, count)?;
        let started = Instant::now();
        writer.commit()?;
        report(&format!("commit {}", round + 1), started);
        let started = Instant::now();
        writer.wait_for_merges();
        report(&format!("merge {}", round + 1), started);
        println!("segments {}\t{}", round + 1, segments(&index)?);
    }
    Ok(())
}

/// Collects signals of companies from all over the corpus.
fn collect(writer: &mut Writer, corpus: &Corpus, round: u64, count: u64) -> Result<()> {
    let step = corpus.signal_count() / count;
    for number in 0..count {
        let mut signal = corpus
            .signal(number * step + round)
            .ok_or("fewer signals than are committed")?;
        if number % 2 == 0 {
            // Ids have gaps, so that the next one is hardly ever taken.
            let next = signal.id.get().saturating_add(1);
            signal.id = SignalId::new(next).ok_or("an id")?;
        }
        signal.title = format!("{} (updated)", signal.title).into();
        writer.upsert_signal(&signal)?;
    }
    Ok(())
}

/// Merges all segments into one.
pub(crate) fn compact(directory: &Path) -> Result<()> {
    let index = Index::open(directory)?;
    let mut writer = index.writer()?;
    let started = Instant::now();
    writer.compact()?;
    report("compact", started);
    println!("segments\t{}", segments(&index)?);
    Ok(())
}

fn segments(index: &Index) -> Result<u64> {
    Ok(index.snapshot().statistics()?.segments)
}
