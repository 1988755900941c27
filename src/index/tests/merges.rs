//! Merges that meet: a compaction, a commit and the thread in the background all start some.

use std::sync::Arc;

use super::disk::Disk;
use super::model::{Model, Random, empty_index, random_company, random_signal};
use crate::index::{Index, Snapshot, Writer, merge};

/// Commits until a merge is due, and returns the state in which it was.
fn before_a_merge(index: &Index) -> (Writer, Arc<Snapshot>) {
    let mut writer = index.writer().expect("nobody else writes");
    let mut random = Random(3);
    // A state of several segments lasts until the thread has merged them: some commit sees one.
    loop {
        let company = random_company(&mut random);
        writer.upsert_company(&company).expect("a valid company");
        let signal = random_signal(&mut random, &company.slug);
        writer.upsert_signal(&signal).expect("a known company");
        writer.commit().expect("the disk is whole");
        let snapshot = index.snapshot();
        if snapshot.segments.len() > 1 {
            return (writer, snapshot);
        }
    }
}

#[test]
fn segments_that_another_merge_has_taken_are_left_alone() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let (writer, before) = before_a_merge(&index);
    merge::compact(&writer.core).expect("the disk is whole");
    let (compacted, model) = (index.snapshot(), Model::of(&index.snapshot()));
    merge::merge(&writer.core, &before.segments).expect("the disk is whole");
    assert_eq!(index.snapshot().segments.len(), 1);
    assert_eq!(
        index.snapshot().statistics().generation,
        compacted.statistics().generation
    );
    assert_eq!(
        Model::of(&index.snapshot()).expect("a whole index"),
        model.expect("a whole index")
    );
}
