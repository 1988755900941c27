//! Index directories that are missing, foreign, truncated, damaged or forged: a typed error that names
//! the file, or the same answers; never a panic, never another answer, never much memory.
//!
//! With `SIGNALDEX_EVERY_BIT=1` every bit is flipped and every length tried, and many files are forged,
//! which takes minutes in a release build:
//! `SIGNALDEX_EVERY_BIT=1 cargo test --release --test damage`.

mod fixture;
mod flipped;
mod forged;
#[expect(dead_code, unreachable_pub, reason = "shared with the fuzz targets")]
#[path = "../fuzz/src/manifest_file.rs"]
mod manifest_file;
#[expect(unreachable_pub, reason = "shared with the fuzz targets")]
#[path = "../fuzz/src/random.rs"]
mod random;
#[expect(unreachable_pub, reason = "shared with the fuzz targets")]
#[path = "../fuzz/src/segment_file.rs"]
mod segment_file;
#[expect(unreachable_pub, reason = "shared with the fuzz targets")]
#[path = "../fuzz/src/segment_mutation.rs"]
mod segment_mutation;
#[expect(dead_code, unreachable_pub, reason = "shared with the fuzz targets")]
#[path = "../fuzz/src/segment_records.rs"]
mod segment_records;
mod value_counts;

use std::fs;

use peak_alloc::PeakAlloc;
use signaldex::{ErrorKind, Index, IndexBuilder};
use tempfile::TempDir;

use self::fixture::Whole;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

#[test]
fn an_index_opens_without_rebuilding() {
    let whole = Whole::build();
    let first = whole.answers("none").expect("a whole index");
    assert_eq!(whole.answers("none").expect("a whole index"), first);
    let error = IndexBuilder::in_directory(whole.path()).expect_err("there is one already");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}

#[test]
fn missing_and_foreign_directories_are_named() {
    let directory = TempDir::new().expect("a temporary directory");
    let error = Index::open(directory.path().join("nowhere")).expect_err("nothing is there");
    assert_eq!(error.kind(), ErrorKind::Missing, "{error}");
    assert!(error.to_string().contains("nowhere"), "{error}");

    fs::write(directory.path().join("manifest"), "something else").expect("a writable directory");
    let error = Index::open(directory.path()).expect_err("that is no manifest");
    assert!(
        error.kind() == ErrorKind::Foreign && error.to_string().contains("manifest"),
        "{error}"
    );
}

#[test]
fn a_missing_or_foreign_segment_is_named() {
    let whole = Whole::build();
    let segment = &whole.segment;
    let length = fs::metadata(segment).expect("a file").len() as usize;
    fs::write(segment, vec![b'x'; length]).expect("a writable file");
    let error = Index::open(whole.path()).expect_err("that is no segment");
    assert!(
        error.kind() == ErrorKind::Foreign && error.path() == Some(segment),
        "{error}"
    );
    fs::remove_file(segment).expect("a removable file");
    let error = Index::open(whole.path()).expect_err("the segment is gone");
    assert!(
        error.kind() == ErrorKind::Missing && error.path() == Some(segment),
        "{error}"
    );
}

#[test]
fn newer_formats_are_refused_and_left_alone() {
    let whole = Whole::build();
    for file in [whole.segment.clone(), whole.manifest()] {
        let bytes = fs::read(&file).expect("a readable file");
        let mut newer = bytes.clone();
        newer[8] = 200;
        fs::write(&file, &newer).expect("a writable file");
        let error = Index::open(whole.path()).expect_err("a format of the future");
        assert!(
            error.kind() == ErrorKind::NewerFormat
                && error.path() == Some(&file)
                && error.to_string().contains("`signaldex dump`"),
            "{error}"
        );
        assert_eq!(fs::read(&file).expect("a readable file"), newer);
        fs::write(&file, &bytes).expect("a writable file");
    }
}
