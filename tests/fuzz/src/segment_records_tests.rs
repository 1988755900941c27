//! Tests of reading and replacing records, which the tests of damage share.

use signaldex::{Found, Index};

use crate::manifest_file::of_segment;
use crate::name_of_segment;
use crate::scratch::Scratch;
use crate::segment_file::*;
use crate::segment_records::*;

const SEED: &[u8] = include_bytes!("../corpus/segment/small");

const COMPRESSED: &[u8] = include_bytes!("../corpus/segment/compressed");

/// The records of a segment that is whole.
fn records_of(file: &[u8]) -> Vec<Found<'static>> {
    let scratch = Scratch::new("records-of");
    scratch.write(&name_of_segment(1), file);
    scratch.write("manifest", &of_segment(file));
    let index = Index::open(scratch.path("")).expect("an index");
    let snapshot = index.snapshot();
    snapshot.verify().expect("a whole index");
    let found = snapshot.scan().map(|found| found.expect("a record"));
    let found = found.map(Found::into_owned).collect();
    scratch.clear();
    found
}

#[test]
fn the_compressed_seed_has_the_records_of_the_other() {
    assert_eq!(records_of(COMPRESSED), records_of(SEED));
}

#[test]
fn records_are_the_same_once_they_are_decompressed() {
    let parts = Parts::of(COMPRESSED).expect("a whole file");
    let plain = parts.decompressed().expect("whole symbols").assemble();
    assert_eq!(records_of(&plain), records_of(COMPRESSED));
    let plain = Parts::of(&plain).expect("a whole file");
    assert_eq!(plain.decompressed(), Some(plain));
}

#[test]
fn every_pointer_points_at_a_record_and_can_be_changed() {
    let mut parts = Parts::of(SEED).expect("a whole file");
    let records = parts.sections[parts.records().expect("records")].clone();
    let pointers = parts.record_pointers();
    assert!(pointers.len() >= (parts.table.rows + parts.table.companies) as usize);
    for &pointer in &pointers {
        assert!(record_parts(&records, parts.pointed_at(pointer)).is_some());
    }
    let end = records.len() as u64;
    parts.point(pointers[1], end);
    assert_eq!(parts.pointed_at(pointers[1]), end);
}
