//! Readers on several threads while a writer rewrites every row again and again: no read sees two
//! epochs, and what old snapshots held is given back.
//!
//! `SIGNALDEX_READS=1000000 cargo test --release --test epochs -- --nocapture` is the long run.

mod mapped;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;
use signaldex::{Company, Index, IndexBuilder, Query, Signal, SignalId, Writer};
use time::Date;
use time::macros::date;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const TODAY: Date = date!(2026 - 06 - 30);

/// Signals, all of which each epoch rewrites; a page shows all.
const ROWS: u64 = 50;

/// Threads that read.
const READERS: u64 = 3;

/// Reads in the ordinary run.
const READS: u64 = 20_000;

fn write_epoch(writer: &mut Writer, epoch: u64) -> signaldex::Result<()> {
    for id in 1..=ROWS {
        let id = SignalId::new(id).unwrap_or(SignalId::MAX);
        let mut signal = Signal::new(id, "acme", format!("Acme enters epoch {epoch}"));
        signal.category = Some(format!("epoch-{}", epoch % 7).into());
        writer.upsert_signal(&signal)?;
    }
    writer.commit().map(drop)
}

/// One read: a page with its records, and a count of what they say. All of one epoch.
fn read(index: &Index, everything: &Query) {
    let snapshot = index.snapshot();
    let page = snapshot.search(everything, TODAY).expect("a whole index");
    let items = snapshot.records(&page).expect("whole records");
    assert_eq!(items.len() as u64, ROWS);
    let first = &items[0].signal;
    let is_same = |title: &str| title == first.title;
    assert!(items.iter().all(|item| is_same(&item.signal.title)));
    let category = first.category.as_deref().unwrap_or_default();
    let query = Query::builder().categories([category]).build();
    let query = query.expect("a valid query");
    let count = snapshot
        .count(query.filter(), TODAY)
        .expect("a whole index");
    assert_eq!(count, ROWS);
}

/// Bytes that the process has allocated, and those of index files that it has mapped.
fn memory(directory: &Path) -> usize {
    MEMORY.current_usage() + mapped::mapped(directory)
}

/// The memory once it is as it should be, or after ten seconds: the thread that merges in the
/// background gives back what it held a moment after it has told that it is done.
fn memory_once(is_expected: impl Fn(usize) -> bool, directory: &Path) -> usize {
    let started = Instant::now();
    loop {
        let bytes = memory(directory);
        if is_expected(bytes) || started.elapsed() > Duration::from_secs(10) {
            return bytes;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn no_read_sees_two_epochs_and_old_ones_are_given_back() {
    let reads = std::env::var("SIGNALDEX_READS");
    let wanted = reads.map_or(READS, |text| text.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let directory = folder.path().join("index");
    let mut builder = IndexBuilder::in_directory(&directory).expect("a new directory");
    let acme = Company::new("acme", "Acme");
    builder.add_company(&acme).expect("a valid company");
    let index = builder.finish().expect("an index");
    let mut writer = index.writer().expect("nobody else writes");
    let everything = Query::builder().limit(50).build().expect("a valid query");
    write_epoch(&mut writer, 0).expect("a writable directory");
    writer.compact().expect("a writable directory");
    read(&index, &everything);
    let before = memory(&directory);

    let done = AtomicU64::new(0);
    let mut epochs = 0;
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                while done.fetch_add(1, Ordering::Relaxed) < wanted {
                    read(&index, &everything);
                }
            });
        }
        while done.load(Ordering::Relaxed) < wanted {
            epochs += 1;
            write_epoch(&mut writer, epochs).expect("a writable directory");
        }
    });
    writer.wait_for_merges();
    writer.compact().expect("a writable directory");
    read(&index, &everything);
    let is_given_back = |after: usize| after * 10 <= before * 11;
    let after = memory_once(is_given_back, &directory);
    println!("{wanted} reads over {epochs} epochs; {before} bytes before, {after} after");
    assert!(epochs > 1);
    assert!(is_given_back(after), "{before} bytes before, {after} after");
}
