//! The records of a segment and the symbols that their texts are compressed with, damaged in ways that their
//! checksums do not tell: each record reads as it does when a slow decoder, written from the
//! documentation, has replaced its codes by texts, or is an error in both.
#![no_main]

use std::cell::RefCell;

use fuzz_support::allocation::{Counting, bounded};
use fuzz_support::examination::is_typed;
use fuzz_support::manifest_file::of_segment;
use fuzz_support::name_of_segment;
use fuzz_support::record_mutation::{grafted, mutate};
use fuzz_support::scratch::Scratch;
use fuzz_support::segment_file::Parts;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use signaldex::{Company, ErrorKind, Found, Index, Result, Signal, SignalId, Snapshot};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The seed with compressed records; an input replaces only what its records are read by.
const WHOLE: &[u8] = include_bytes!("../corpus/segment/compressed");

/// One input in n is merged with another segment, which copies records without reading them.
const MERGED_SHARE: u32 = 8;

/// Every record of an index; none where it is damaged.
type Records = (Vec<Option<Found<'static>>>, Vec<Option<Company<'static>>>);

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new("records"));
}

fuzz_target!(|data: &[u8]| {
    let Some(file) = grafted(WHOLE, data) else {
        return;
    };
    SCRATCH.with_borrow(|scratch| bounded(2 * file.len(), || check(scratch, &file)));
});

fn check(scratch: &Scratch, file: &[u8]) {
    let plain = Parts::of(file).and_then(|parts| parts.decompressed());
    let index = match open(scratch, file) {
        Ok(index) => index,
        Err(error) => {
            assert!(is_typed(&error), "{error}");
            assert!(plain.is_none(), "{error}");
            return;
        }
    };
    let records = read(&index.snapshot());
    let Some(plain) = plain else {
        assert!(records.0.iter().all(Option::is_none));
        assert!(records.1.iter().all(Option::is_none));
        return;
    };
    let expected = open(scratch, &plain.assemble()).expect("a segment without symbols");
    assert_eq!(records, read(&expected.snapshot()));
    drop(expected);
    if crc32c::crc32c(file).is_multiple_of(MERGED_SHARE) {
        check_merge(scratch, file, &records);
    }
}

/// A merge fails, or keeps the signals as they are.
fn check_merge(scratch: &Scratch, file: &[u8], records: &Records) {
    let index = open(scratch, file).expect("a file that was opened before");
    match merge(&index) {
        Ok(()) => {
            let (mut signals, _) = read(&index.snapshot());
            assert!(signals.pop().flatten().is_some());
            assert_eq!(signals, records.0);
        }
        Err(error) => assert!(is_typed(&error), "{error}"),
    }
}

/// Adds a signal after all others, and merges.
fn merge(index: &Index) -> Result<()> {
    let mut writer = index.writer()?;
    writer.upsert_company(&Company::new("acme", "Acme"))?;
    writer.upsert_signal(&Signal::new(SignalId::MAX, "acme", "Acme hires"))?;
    writer.commit()?;
    writer.compact().map(drop)
}

fn open(scratch: &Scratch, file: &[u8]) -> Result<Index> {
    scratch.clear();
    scratch.write(&name_of_segment(1), file);
    scratch.write("manifest", &of_segment(file));
    Index::open(scratch.path(""))
}

fn read(snapshot: &Snapshot) -> Records {
    let signals = snapshot.scan().map(|found| found.map(Found::into_owned));
    let companies = snapshot
        .scan_companies()
        .map(|company| company.map(Company::into_owned));
    (undamaged(signals), undamaged(companies))
}

/// What can be read of some records; that the others are damaged is checked here.
fn undamaged<T>(records: impl Iterator<Item = Result<T>>) -> Vec<Option<T>> {
    let record = |record: Result<T>| match record {
        Ok(record) => Some(record),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            None
        }
    };
    records.map(record).collect()
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut blind = |text: &mut [u8], size, most| fuzzer_mutate(text, size, most);
    let mutated = mutate(&data[..size], WHOLE, max_size, seed, &mut blind);
    let length = mutated.len().min(max_size);
    data[..length].copy_from_slice(&mutated[..length]);
    length
});
