//! A replica that swaps generations under readers holds one of them when the swap is over.
//!
//! `SIGNALDEX_SIGNALS=300000 cargo test --release --test replica_memory -- --nocapture` is the long run.

mod mapped;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use peak_alloc::PeakAlloc;
use signaldex::replicate::{PublishOptions, Replica, Store, publish};
use signaldex::{Index, IndexBuilder, Query};
use signaldex_synthetic::Corpus;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Signals of a generation in the ordinary run.
const SIGNALS: u64 = 20_000;

/// Generations after the first, each of entirely other content.
const SWAPS: u64 = 4;

fn build(directory: &Path, signals: u64, seed: u64) {
    let corpus = Corpus::new(signals, seed).expect("a valid size");
    let mut builder = IndexBuilder::in_directory(directory).expect("a new directory");
    for company in corpus.companies() {
        builder.add_company(&company).expect("added");
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal).expect("added");
    }
    builder.finish().expect("an index");
}

/// Bytes allocated, and bytes of the copy's files that are mapped, removed ones included.
fn memory(cache: &Path) -> (usize, usize) {
    (MEMORY.current_usage(), mapped::mapped(cache))
}

/// Bytes of the index files in a directory, in whole pages as mappings have them.
fn paged(directory: &Path) -> usize {
    let entries = fs::read_dir(directory).expect("a readable folder");
    let files = entries.map(|entry| entry.expect("an entry"));
    let segments = files.filter(|file| file.file_name().to_string_lossy().starts_with("segment-"));
    let length = |file: fs::DirEntry| file.metadata().expect("a file").len() as usize;
    segments
        .map(|file| length(file).next_multiple_of(4096))
        .sum()
}

fn read(index: &Index, query: &Query, today: time::Date) {
    let snapshot = index.snapshot();
    let page = snapshot.search(query, today).expect("a whole index");
    assert_eq!(snapshot.records(&page).expect("whole records").len(), 50);
}

#[cfg(target_os = "linux")]
#[test]
fn after_each_swap_memory_is_that_of_one_generation() {
    let signals = std::env::var("SIGNALDEX_SIGNALS");
    let signals = signals.map_or(SIGNALS, |text| text.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let cache = folder.path().join("cache");
    let store = folder.path().join("store").display().to_string();
    let store = Store::open(&store).expect("a store");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let publish = |generation| {
        let directory = folder.path().join(format!("index-{generation}"));
        build(&directory, signals, generation);
        let options = PublishOptions {
            generation: Some(generation),
            ..PublishOptions::default()
        };
        let published = runtime.block_on(publish(&directory, &store, options));
        published.expect("published");
        directory
    };
    let first = publish(1);
    let mut replica = runtime
        .block_on(Replica::open(store.clone(), &cache))
        .expect("a copy");
    let index = replica.index();
    let query = Query::builder().limit(50).build().expect("a valid query");
    let today = Corpus::new(1, 1).expect("a corpus").as_of();
    read(&index, &query, today);
    let (allocated_before, mapped_before) = memory(&cache);
    assert_eq!(mapped_before, paged(&first));

    for generation in 2..=1 + SWAPS {
        let directory = publish(generation);
        let held = index.snapshot();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    read(&index, &query, today);
                }
            });
            let progress = runtime.block_on(replica.sync());
            is_over.store(true, Ordering::Relaxed);
            assert!(progress.error.is_none() && progress.changed, "{progress:?}");
        });
        let (_, mapped_during) = memory(&cache);
        assert!(
            mapped_during > paged(&directory),
            "a held snapshot keeps its files"
        );
        drop(held);
        let (allocated, mapped) = memory(&cache);
        println!(
            "generation {generation}: mapped {mapped_before} bytes at first, {mapped_during} with \
             the old one held, {mapped} after; allocated {allocated_before} and {allocated}"
        );
        assert_eq!(mapped, paged(&directory));
        // What the runtime and the store keep for the next time is not a generation.
        assert!(
            allocated < allocated_before + (1 << 20),
            "{allocated_before} to {allocated}"
        );
    }
}
