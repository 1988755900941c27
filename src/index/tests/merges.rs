//! Merges that meet: a compaction, commits and the threads in the background all merge.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::disk::Disk;
use super::model::{Model, empty_index, random_company, random_signal};
use crate::fixtures::Random;
use crate::index::merge;
use crate::index::merge_threads::MergeThreads;
use crate::index::{Index, Writer};
use crate::signal::{Signal, SignalId};

#[test]
fn segments_that_another_merge_has_taken_are_left_alone() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let writer = large_and_small(&index, 400, 40);
    let before = index.snapshot();
    merge::compact(&writer.core).expect("the disk is whole");
    let (compacted, model) = (index.snapshot(), Model::of(&index.snapshot()));
    merge::merge(&writer.core, &before.segments, &|| false).expect("the disk is whole");
    assert_eq!(index.snapshot().segments.len(), 1);
    assert_eq!(
        index
            .snapshot()
            .statistics()
            .expect("a whole index")
            .generation,
        compacted.statistics().expect("a whole index").generation
    );
    assert_eq!(
        Model::of(&index.snapshot()).expect("a whole index"),
        model.expect("a whole index")
    );
}

/// Upserts signals of a company with ids from a large range.
pub(super) fn upsert_new(writer: &mut Writer, rows: usize, slug: &str, random: &mut Random) {
    for _ in 0..rows {
        let signal = random_signal(random, slug);
        let id = SignalId::new(1 + random.below(1 << 40)).expect("an id in range");
        let signal = Signal { id, ..signal };
        writer.upsert_signal(&signal).expect("a known company");
    }
}

/// A large segment and a small one after it that no commit has merged.
pub(super) fn large_and_small(index: &Index, large: usize, small: usize) -> Writer {
    let mut writer = index.writer().expect("nobody else writes");
    let mut random = Random::new(5);
    let company = random_company(&mut random);
    writer.upsert_company(&company).expect("a valid company");
    for rows in [large, small] {
        upsert_new(&mut writer, rows, &company.slug, &mut random);
        writer.commit().expect("the disk is whole");
        // The large one is merged with the empty one before it, and must not wait for the small.
        writer.wait_for_merges();
    }
    assert_eq!(index.snapshot().segments.len(), 2);
    writer
}

#[test]
fn an_idle_writer_merges_everything_where_enough_has_changed() {
    for (small, is_merged) in [(300, true), (50, false)] {
        let disk = Disk::default();
        let index = empty_index(&disk);
        let mut writer = large_and_small(&index, 4000, small);
        let before = Model::of(&index.snapshot()).expect("a whole index");
        writer.merges = MergeThreads::start_with(&writer.core, Duration::from_millis(1));
        writer.merges.wake(small as u64);
        writer.wait_for_merges();
        let since = Instant::now();
        let limit = Duration::from_secs(if is_merged { 60 } else { 1 });
        while index.snapshot().segments.len() > 1 && since.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(index.snapshot().segments.len() == 1, is_merged);
        let after = Model::of(&index.snapshot()).expect("a whole index");
        assert_eq!(before, after);
    }
}

#[test]
fn a_merge_that_is_given_up_leaves_nothing() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let writer = large_and_small(&index, 4000, 100);
    let (before, files) = (index.snapshot(), disk.names());
    merge::merge(&writer.core, &before.segments, &|| true).expect("the disk is whole");
    assert_eq!(index.snapshot().generation(), before.generation());
    assert_eq!(disk.names(), files);
}

#[test]
fn commits_leave_few_segments_however_fast_they_come() {
    for (seed, batch_max) in [(1, 1), (2, 3), (3, 10), (4, 40)] {
        let disk = Disk::default();
        let index = empty_index(&disk);
        let mut writer = index.writer().expect("nobody else writes");
        let mut random = Random::new(seed);
        let company = random_company(&mut random);
        writer.upsert_company(&company).expect("a valid company");
        for commit in 0..400 {
            let rows = 1 + random.below(batch_max) as usize;
            upsert_new(&mut writer, rows, &company.slug, &mut random);
            writer.commit().expect("the disk is whole");
            // The background has its turn now and then.
            if commit % 4 == 0 {
                writer.wait_for_merges();
            }
            let segments = index.snapshot().segments.len();
            assert!(segments <= 8, "{segments} segments, seed {seed}");
        }
    }
}

#[test]
fn a_commit_leaves_the_segments_of_a_merge_alone() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = index.writer().expect("nobody else writes");
    let mut random = Random::new(6);
    let company = random_company(&mut random);
    writer.upsert_company(&company).expect("a valid company");
    let core = Arc::clone(&writer.core);
    let mut commit = || {
        upsert_new(&mut writer, 2, &company.slug, &mut random);
        writer.commit().expect("the disk is whole");
        index.snapshot()
    };
    let merged = commit();
    assert_eq!(merged.segments.len(), 1, "the empty one was taken");
    let claim = core.claim(&merged.segments).expect("the writer is whole");
    assert_eq!(commit().segments.len(), 2);
    assert_eq!(commit().segments.len(), 2, "what came after is taken");
    drop(claim);
    assert_eq!(commit().segments.len(), 1);
    let claim = core.claim(&merged.segments).expect("the writer is whole");
    assert!(claim.is_none(), "a commit has taken them");
}
