//! Tests of taking segment files apart, which the tests of damage share.

use signaldex::Index;

use crate::manifest_file::of_segment;
use crate::name_of_segment;
use crate::scratch::Scratch;
use crate::segment_file::*;

const SEED: &[u8] = include_bytes!("../corpus/segment/small");

#[test]
fn the_compressed_seed_is_whole_and_has_the_records_of_the_other() {
    let scratch = Scratch::new("compressed");
    let compressed: &[u8] = include_bytes!("../corpus/segment/compressed");
    let records = [SEED, compressed].map(|file| {
        scratch.write(&name_of_segment(1), file);
        scratch.write("manifest", &of_segment(file));
        let index = Index::open(scratch.path("")).expect("an index");
        index.snapshot().verify().expect("a whole index");
        let snapshot = index.snapshot();
        let found = snapshot
            .scan()
            .map(|found| found.expect("a record").into_owned());
        found.collect::<Vec<_>>()
    });
    assert_eq!(records[0], records[1]);
    scratch.clear();
}

#[test]
fn every_seed_is_whole() {
    let scratch = Scratch::new("seeds");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/segment");
    for entry in std::fs::read_dir(folder).expect("seeds") {
        let path = entry.expect("a seed").path();
        let file = std::fs::read(&path).expect("a seed");
        scratch.write(&name_of_segment(1), &file);
        scratch.write("manifest", &of_segment(&file));
        let index = Index::open(scratch.path("")).expect("an index");
        let verified = index.snapshot().verify();
        verified.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    scratch.clear();
}

#[test]
fn a_whole_file_is_not_changed_by_repairing_it() {
    let mut file = SEED.to_vec();
    repair(&mut file);
    assert!(file == SEED);
}

#[test]
fn what_is_taken_apart_is_put_together() {
    let parts = Parts::of(SEED).expect("a whole file");
    assert!(parts.assemble() == SEED);
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

#[test]
fn wrong_checksums_are_made_right() {
    let mut file = SEED.to_vec();
    let (table, range) = Table::of(&file).expect("a whole file");
    let footer = range.end;
    for line in &table.lines {
        let section = line.range(file.len()).expect("a whole file");
        let is_record = line.kind == RECORDS;
        file[section]
            .iter_mut()
            .take(4)
            .for_each(|byte| *byte ^= u8::from(is_record));
    }
    file[footer + 12..].fill(7);
    repair(&mut file);
    assert!(file == SEED);
}
