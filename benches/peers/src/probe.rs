//! What opening an engine takes, each in a process of its own so that nothing of another counts.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::corpus::Corpus;
use crate::engines::Kind;
use crate::question::Start;
use crate::{Result, Source};

/// What opening takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    /// Milliseconds until it is open and has given a first page.
    pub milliseconds: f64,
    /// Bytes of memory, mapped files included, once every page and count was asked for; that of an
    /// engine in a process of its own with its runtime.
    pub memory: u64,
}

/// Probes all engines, each in a process of its own.
pub fn all(source: &Source) -> Result<BTreeMap<Kind, Opened>> {
    let numbered = Kind::ALL.into_iter().enumerate();
    let probed = numbered.filter(|(_, kind)| kind.is_probed());
    probed
        .map(|(number, kind)| Ok((kind, in_process(source, number)?)))
        .collect()
}

/// Probes signaldex alone, over generated signals.
pub fn own(signals: u64) -> Result<Opened> {
    let source = Source {
        signals,
        corpus: None,
        rebuild: false,
    };
    let own = Kind::ALL.iter().position(|&kind| kind == Kind::Signaldex);
    in_process(&source, own.unwrap_or_default())
}

fn in_process(source: &Source, number: usize) -> Result<Opened> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["probe", "--engine", &number.to_string()]);
    command.args(["--signals", &source.signals.to_string()]);
    if let Some(corpus) = &source.corpus {
        command.arg("--corpus").arg(corpus);
    }
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Opens an engine, asks it everything once and prints what that took.
pub fn print(corpus: &Corpus, kind: Kind) -> Result<()> {
    let asked = corpus.questions()?;
    let value_bounds = asked.dictionary.value_bounds();
    let questions: Vec<_> = asked
        .classes
        .into_iter()
        .flat_map(|class| class.questions)
        .collect();
    drop(asked.dictionary);
    let before = resident_bytes()?;
    let started = Instant::now();
    let engine = corpus.open_one(kind, value_bounds)?;
    // The first class has no filter, so the second query is the first that looks something up.
    engine.prepare(&questions[1])?.page(Start::First)?;
    let milliseconds = started.elapsed().as_secs_f64() * 1e3;
    for question in &questions {
        let mut prepared = engine.prepare(question)?;
        prepared.page(Start::First)?;
        prepared.page(Start::Middle)?;
        prepared.count()?;
    }
    let memory = match engine.resident_bytes() {
        Some(bytes) => bytes?,
        None => resident_bytes()?.saturating_sub(before),
    };
    let opened = Opened {
        milliseconds,
        memory,
    };
    println!("{}", serde_json::to_string(&opened)?);
    Ok(())
}

/// The memory of this process, once freed memory is given back.
fn resident_bytes() -> Result<u64> {
    // SAFETY: the call takes a number and touches only memory that is free.
    unsafe { libc::malloc_trim(0) };
    resident_bytes_of("self")
}

/// The memory of a process, by its number or `self`; shared pages included.
pub fn resident_bytes_of(process: &str) -> Result<u64> {
    const PAGE_BYTES: u64 = 4096;
    let statistics = std::fs::read_to_string(format!("/proc/{process}/statm"))?;
    let resident = statistics.split(' ').nth(1).ok_or("statm has two fields")?;
    Ok(resident.parse::<u64>()? * PAGE_BYTES)
}
