//! How long queries take beside plain loops over as many bytes as their plans read.
//!
//! The loop ANDs two bitsets that together have as many bytes, and counts the bits: what any engine has to do that
//! reads them. It is repeated as the query is, so that both have their bytes in the same caches.

use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use multiversion::multiversion;
use signaldex::{Facet, Index, Query, Snapshot, sample};

use crate::panel::PANEL;
use crate::{Result, ask, median};

/// Words that are combined at a time.
const LANES: usize = 8;
/// The least that is read: a cache line of each bitset.
const BYTES_MIN: u64 = 128;

/// Prints a line for each query and task: class, task, bytes read, and the medians of the query and of the loop.
pub(crate) fn limit(directory: &Path, queries: &Path) -> Result<()> {
    let snapshot = Index::open(directory)?.snapshot();
    for line in std::fs::read_to_string(queries)?.lines() {
        let (class, query) = line.split_once('\t').ok_or("a line without a tab")?;
        let query: Query = query.parse()?;
        for (task, bytes) in bytes_read(&snapshot, &query)? {
            let time = median(|| ask(&snapshot, &query, task))?;
            let of_loop = time_of_loop(bytes)?;
            let micros = |time: Duration| time.as_nanos() as f64 / 1e3;
            let (time, of_loop) = (micros(time), micros(of_loop));
            println!("{class}\t{task}\t{bytes}\t{time:.3}\t{of_loop:.3}");
        }
    }
    Ok(())
}

/// The bytes that each task reads: those of its plan, and for facets the codes of all matches as well.
fn bytes_read(snapshot: &Snapshot, query: &Query) -> Result<[(&'static str, u64); 3]> {
    let explanation = snapshot.explain(query, sample::AS_OF)?;
    let (mut page, mut count) = (0, 0);
    for segment in &explanation.segments {
        page += segment.page.as_ref().map_or(0, |page| page.bytes_read);
        count += segment.count.bytes_read;
    }
    let codes: u64 = PANEL.into_iter().map(bits_of_code).sum::<u64>() * explanation.matches / 8;
    Ok([("page", page), ("count", count), ("facets", count + codes)])
}

/// The bits of a facet's code of one row in a large index: four where it has up to 15 values.
fn bits_of_code(facet: Facet) -> u64 {
    match facet {
        Facet::Size => 4,
        _ => 8,
    }
}

fn time_of_loop(bytes: u64) -> Result<Duration> {
    let words = (bytes.max(BYTES_MIN) as usize / 16).next_multiple_of(LANES);
    let sets = [0x5555_5555_5555_5555_u64, 0x3333_3333_3333_3333].map(|word| vec![word; words]);
    median(|| {
        black_box(count_both(black_box(&sets[0]), black_box(&sets[1])));
        Ok(())
    })
}

/// The number of bits that are in both sets.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+popcnt"
))]
fn count_both(first: &[u64], second: &[u64]) -> u64 {
    let mut counts = [0; LANES];
    for (first, second) in first.chunks_exact(LANES).zip(second.chunks_exact(LANES)) {
        for (count, (first, second)) in counts.iter_mut().zip(first.iter().zip(second)) {
            *count += u64::from((first & second).count_ones());
        }
    }
    counts.iter().sum()
}
