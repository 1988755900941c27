//! Tests of taking segment files apart, which the tests of damage share.

use signaldex::Index;

use crate::manifest_file::of_segment;
use crate::name_of_segment;
use crate::scratch::Scratch;
use crate::segment_file::*;

const SEED: &[u8] = include_bytes!("../corpus/segment/small");

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
