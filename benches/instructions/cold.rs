//! Pages of an index that is in no cache of the processor, whose misses `benches/instructions/misses.py` counts.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;

use signaldex::{Index, IndexBuilder, Query, sample};

use super::{FRESH, SIGNALS, WHOLE, ask_page, measured, writes};
use crate::classes::{self, Statistics};

/// What can go wrong ends the bench.
type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Queries of a class: each takes the simulation of an eviction.
const QUERIES: usize = 5;
/// Four times the last level that `misses.py` simulates.
const EVICTING_BYTES: usize = 4 << 20;
const LINE_BYTES: usize = 64;

/// Builds the index in a folder and prints a line for each page: its class, a tab, and the query. Drawing queries takes
/// longer than asking them, so it is not simulated.
pub(crate) fn build(folder: &Path) -> Result<()> {
    let index = writes::build(SIGNALS, IndexBuilder::in_directory(folder.join(FRESH))?)?;
    let snapshot = index.snapshot();
    let statistics = Statistics::of(&snapshot)?;
    for class in classes::draw_each(&snapshot, &statistics, sample::AS_OF, QUERIES)? {
        for wanted in &class.queries {
            println!("{}\t{}", class.name, wanted.query(sample::AS_OF));
        }
    }
    Ok(())
}

/// Asks for the page of each line of a file, measured, after other memory has evicted the index.
///
/// The same page of a second mapping of the index comes before, so that code, stack, allocator and buffers are in the
/// cache, as they are in a process that answers searches.
pub(crate) fn run(folder: &Path, file: &Path) -> Result<()> {
    let cold = Index::open(folder.join(FRESH))?.snapshot();
    let warming = Index::open(folder.join(FRESH))?.snapshot();
    let evicting = vec![1_u8; EVICTING_BYTES];
    for line in std::fs::read_to_string(file)?.lines() {
        let (_, query) = line.split_once('\t').ok_or("a line without a tab")?;
        let query: Query = query.parse().expect(WHOLE);
        // Each part of the index is checked when a query first needs it.
        ask_page(&cold, &query);
        let lines = evicting.iter().step_by(LINE_BYTES);
        black_box(lines.map(|&byte| u64::from(byte)).sum::<u64>());
        ask_page(&warming, &query);
        measured(&mut || ask_page(&cold, &query));
    }
    Ok(())
}
