//! Readers on several threads while a writer rewrites every row again and again: no read sees two
//! epochs, and what old snapshots held is given back.
//!
//! `SIGNALDEX_READS=1000000 cargo test --release --test epochs -- --nocapture` is the long run.

mod mapped;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

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

/// Epochs in any run: on a busy machine the reads are done before the writer is.
const EPOCHS_MIN: u64 = 20;

/// What may be allocated besides, however many epochs there were: buffers of readers, room in the
/// list of the newest digests, and what `arc-swap` and the standard library keep for each thread.
const SPARE: usize = 4096;

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
#[derive(Debug)]
struct Held {
    allocated: usize,
    mapped: usize,
}

fn held(directory: &Path) -> Held {
    Held {
        allocated: MEMORY.current_usage(),
        mapped: mapped::mapped(directory),
    }
}

/// Opens the index, reads on threads while a writer rewrites every row, and closes it. Returns the
/// epochs written and what the index held at last.
fn rewrite_under_readers(directory: &Path, reads: u64, everything: &Query) -> (u64, Held) {
    let index = Index::open(directory).expect("a whole index");
    let mut writer = index.writer().expect("nobody else writes");
    let done = AtomicU64::new(0);
    let mut epochs = 0;
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                while done.fetch_add(1, Ordering::Relaxed) < reads {
                    read(&index, everything);
                }
            });
        }
        while epochs < EPOCHS_MIN || done.load(Ordering::Relaxed) < reads {
            epochs += 1;
            write_epoch(&mut writer, epochs).expect("a writable directory");
        }
    });
    writer.wait_for_merges();
    writer.compact().expect("a writable directory");
    // Waits for the threads of the writer, which give back what merges needed.
    drop(writer);
    read(&index, everything);
    (epochs, held(directory))
}

#[test]
fn no_read_sees_two_epochs_and_old_ones_are_given_back() {
    let reads = std::env::var("SIGNALDEX_READS");
    let reads = reads.map_or(READS, |text| text.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a temporary directory");
    let directory = folder.path().join("index");
    let mut builder = IndexBuilder::in_directory(&directory).expect("a new directory");
    let acme = Company::new("acme", "Acme");
    builder.add_company(&acme).expect("a valid company");
    let index = builder.finish().expect("an index");
    let mut writer = index.writer().expect("nobody else writes");
    write_epoch(&mut writer, 0).expect("a writable directory");
    drop((writer, index));

    let everything = Query::builder().limit(50).build().expect("a valid query");
    let closed_before = held(&directory);
    let (epochs, used) = rewrite_under_readers(&directory, reads, &everything);
    let closed = held(&directory);

    // Digests of commits are kept, so an index is opened anew that has as many.
    let index = Index::open(&directory).expect("a whole index");
    read(&index, &everything);
    let opened = held(&directory);
    println!(
        "{reads} reads over {epochs} epochs: {used:?}, opened anew {opened:?}, closed {closed:?}"
    );
    for (after, expected) in [(used, opened), (closed, closed_before)] {
        assert_eq!(after.mapped, expected.mapped);
        let most = expected.allocated + SPARE;
        assert!(after.allocated <= most, "{after:?}, expected {expected:?}");
    }
}
