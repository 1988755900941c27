//! Every crash state of a commit, a merge, a compaction and of recovery opens as the old state or
//! the new one.

use super::disk::{Disk, State};
use super::merges::{large_and_small, upsert_new};
use super::model::{Model, empty_index, open, random_company, random_signal};
use crate::encoding::row::Row;
use crate::fixtures::Random;
use crate::index::{Index, Writer};
use crate::signal::SignalId;

/// An index with a few segments, deletions among them.
fn prepare(random: &mut Random, commits: usize) -> (Disk, Index) {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = index.writer().expect("nobody else writes");
    for _ in 0..commits {
        change(&mut writer, random);
        writer.commit().expect("the disk is whole");
    }
    writer.wait_for_merges();
    (disk, index)
}

fn change(writer: &mut Writer, random: &mut Random) {
    let company = random_company(random);
    writer.upsert_company(&company).expect("a valid company");
    for _ in 0..4 {
        writer
            .upsert_signal(&random_signal(random, &company.slug))
            .expect("a known company");
    }
    let id = SignalId::new(1 + random.below(60)).expect("a small number");
    writer.delete_signal(id).expect("a whole index");
}

fn held(index: &Index) -> Model {
    Model::of(&index.snapshot()).expect("a whole index")
}

/// Crashes in every way after every step, and once more during the recovery from each; returns
/// how many states were opened.
fn check_all(states: &[State], allowed: &[Model], acknowledged: &Model) -> usize {
    let mut opened = 0;
    for (step, state) in states.iter().enumerate() {
        let is_last = step + 1 == states.len();
        for_each_crash(state, |disk, context| {
            let context = format!("step {step} of {}, {context}", states.len());
            let allowed = if is_last {
                std::slice::from_ref(acknowledged)
            } else {
                allowed
            };
            let found = recover(&disk, allowed, &context);
            opened += 1;
            disk.record();
            drop(
                open(&disk)
                    .and_then(|index| index.writer())
                    .expect("recovery succeeds"),
            );
            for again in disk.recorded() {
                for_each_crash(&again, |disk, second| {
                    recover(
                        &disk,
                        std::slice::from_ref(&found),
                        &format!("{context}; {second}"),
                    );
                    opened += 1;
                });
            }
        });
    }
    opened
}

fn for_each_crash(state: &State, mut call: impl FnMut(Disk, String)) {
    for &unsynced in state.outcomes() {
        for survivors in state.survivors() {
            call(
                state.crash(unsynced, survivors),
                format!("{unsynced:?}, {survivors:?}"),
            );
        }
    }
}

fn recover(disk: &Disk, allowed: &[Model], context: &str) -> Model {
    let index = open(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let found = held(&index);
    assert!(
        allowed.contains(&found),
        "{context}: neither the old state nor the new one"
    );
    found
}

#[test]
fn a_commit_is_there_whole_or_not_at_all() {
    for seed in 0..4 {
        let mut random = Random::new(seed);
        let (disk, index) = prepare(&mut random, 3);
        let old = held(&index);
        let mut writer = index.writer().expect("nobody else writes");
        change(&mut writer, &mut random);
        disk.record();
        writer.commit().expect("the disk is whole");
        let new = held(&index);
        assert_ne!(old, new);
        let opened = check_all(&disk.recorded(), &[old, new.clone()], &new);
        assert!(opened > 100, "{opened} states");
    }
}

#[test]
fn a_compaction_changes_nothing_wherever_it_is_cut_off() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = large_and_small(&index, 1_100, 10);
    let id = index.snapshot().segments[0].segment.id(Row(5));
    let id = id.expect("a whole index");
    writer.delete_signal(id).expect("a whole index");
    writer.commit().expect("the disk is whole");
    writer.wait_for_merges();
    let held = held(&index);
    assert_eq!(
        index.snapshot().segments.len(),
        2,
        "there is something to compact"
    );
    disk.record();
    writer.compact().expect("the disk is whole");
    assert_eq!(index.snapshot().segments.len(), 1);
    let opened = check_all(&disk.recorded(), std::slice::from_ref(&held), &held);
    assert!(opened > 50, "{opened} states");
}

#[test]
fn a_merge_changes_nothing_wherever_it_is_cut_off() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = large_and_small(&index, 400, 40);
    let old = held(&index);
    let slug = old.companies.keys().next().expect("a company").clone();
    // As many once more start a merge; the recording covers the commit and the merge.
    upsert_new(&mut writer, 40, &slug, &mut Random::new(8));
    disk.record();
    writer.commit().expect("the disk is whole");
    writer.wait_for_merges();
    let new = held(&index);
    assert_eq!(index.snapshot().segments.len(), 1, "all were merged");
    check_all(&disk.recorded(), &[old, new.clone()], &new);
}

#[test]
fn files_that_nothing_names_are_removed() {
    let (disk, index) = prepare(&mut Random::new(9), 6);
    index
        .writer()
        .expect("nobody else writes")
        .compact()
        .expect("the disk is whole");
    let names = disk.names();
    assert_eq!(
        names.len(),
        3,
        "a manifest, a segment and digests: {names:?}"
    );
}
