//! Eight publishers at once, of which one wins each generation, and a publisher beside a writer: what
//! is published is whole.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use signaldex::replicate::{PublishOptions, Published, Replica, ReplicaErrorKind, Store, publish};
use signaldex::{ErrorKind, Index};

use crate::fixture::{Fixture, SIGNALS, build, runtime, signal, titles};

const PUBLISHERS: usize = 8;

/// Generations that are raced for in each store.
const ROUNDS: u64 = 25;

/// All publish at once, each from its directory; what each was told.
fn race(
    directories: &[PathBuf],
    store: &Store,
    generation: u64,
) -> Vec<signaldex::replicate::ReplicaResult<Published>> {
    let options = PublishOptions {
        generation: Some(generation),
        ..PublishOptions::default()
    };
    let start = Barrier::new(directories.len());
    std::thread::scope(|scope| {
        let racing = directories.iter().map(|directory| {
            let start = &start;
            scope.spawn(move || {
                let runtime = runtime();
                start.wait();
                runtime.block_on(publish(directory, store, options))
            })
        });
        // All are started before the first is waited for.
        let racing: Vec<_> = racing.collect();
        let told = racing.into_iter().map(|thread| thread.join());
        told.map(|told| told.expect("no panic")).collect()
    })
}

fn stores(folder: &tempfile::TempDir) -> [Store; 2] {
    let on_disk = folder.path().join("store").display().to_string();
    [Store::in_memory(), Store::open(&on_disk).expect("a store")]
}

#[test]
fn of_eight_publishers_of_different_content_one_wins_each_generation() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let directories: Vec<PathBuf> = (0..PUBLISHERS)
        .map(|number| folder.path().join(format!("index-{number}")))
        .collect();
    for (number, directory) in directories.iter().enumerate() {
        build(directory, &format!("of publisher {number}"));
    }
    for (place, store) in stores(&folder).into_iter().enumerate() {
        for generation in 1..=ROUNDS {
            let told = race(&directories, &store, generation);
            let winners: Vec<usize> = (0..PUBLISHERS)
                .filter(|&number| told[number].as_ref().is_ok_and(|told| !told.was_there))
                .collect();
            assert_eq!(
                winners.len(),
                1,
                "store {place}, generation {generation}: {told:?}"
            );
            for refused in told.iter().filter_map(|told| told.as_ref().err()) {
                assert_eq!(refused.kind(), ReplicaErrorKind::Taken, "{refused}");
            }
            assert_eq!(
                told.iter().filter(|told| told.is_err()).count(),
                PUBLISHERS - 1
            );
            // A replica from nothing finds every object, whole, and the winner's alone.
            let cache = folder.path().join(format!("cache-{place}-{generation}"));
            let replica = runtime().block_on(Replica::open(store.clone(), &cache));
            let replica = replica.expect("a whole generation");
            assert!(replica.opening().error.is_none());
            let snapshot = replica.index().snapshot();
            assert_eq!(snapshot.generation(), generation);
            let expected = format!("Acme ships version of publisher {}", winners[0]);
            let titles = titles(&snapshot);
            assert!(!titles.is_empty());
            assert!(
                titles.iter().all(|(_, title)| *title == expected),
                "{expected}"
            );
        }
    }
}

#[test]
fn of_eight_publishers_of_the_same_content_one_creates_and_all_succeed() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let directory = folder.path().join("index");
    build(&directory, "one");
    let directories = vec![directory; PUBLISHERS];
    for store in stores(&folder) {
        for generation in 1..=ROUNDS {
            let told = race(&directories, &store, generation);
            let told: Vec<Published> = told
                .into_iter()
                .map(|told| told.expect("published"))
                .collect();
            let created = told.iter().filter(|told| !told.was_there).count();
            assert_eq!(created, 1, "generation {generation}: {told:?}");
        }
    }
}

#[test]
fn a_publisher_behind_the_newest_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let directory = folder.path().join("index");
    build(&directory, "one");
    for store in stores(&folder) {
        let publish_as = |generation| {
            let options = PublishOptions {
                generation: Some(generation),
                ..PublishOptions::default()
            };
            runtime().block_on(publish(&directory, &store, options))
        };
        assert!(publish_as(5).is_ok());
        let refused = publish_as(4).expect_err("refused");
        assert_eq!(refused.kind(), ReplicaErrorKind::Taken, "{refused}");
        for generation in [0, u64::MAX] {
            let refused = publish_as(generation).expect_err("refused");
            assert_eq!(
                refused.kind(),
                ReplicaErrorKind::Index(ErrorKind::Invalid),
                "{refused}"
            );
        }
        assert!(publish_as(5).expect("the same").was_there);
    }
}

#[test]
fn what_is_published_beside_a_writer_is_one_of_its_commits() {
    const COMMITS: u64 = 60;
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    let is_over = AtomicBool::new(false);
    let mut generations = BTreeSet::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let index = Index::open(fixture.index()).expect("the index");
            let mut writer = index.writer().expect("nobody else writes");
            for number in 1..=COMMITS {
                let added = signal(SIGNALS + number, "written");
                writer.upsert_signal(&added).expect("a known company");
                writer.commit().expect("committed");
            }
            // Merges have removed files all the while.
            writer.compact().expect("compacted");
            is_over.store(true, Ordering::Release);
        });
        let mut is_last = false;
        while !is_last {
            is_last = is_over.load(Ordering::Acquire);
            generations.insert(fixture.publish().generation);
            let progress = fixture.sync(&mut replica);
            assert!(progress.error.is_none(), "{:?}", progress.error);
            let snapshot = replica.index().snapshot();
            snapshot.verify().expect("a whole index");
            let titles = titles(&snapshot);
            let ids: Vec<u64> = titles.iter().rev().map(|(id, _)| *id).collect();
            let expected: Vec<u64> = (1..=ids.len() as u64).collect();
            assert_eq!(ids, expected, "generation {}", snapshot.generation());
        }
    });
    assert!(generations.len() > 2, "published only {generations:?}");
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());
    assert_eq!(replica.index().snapshot().signal_count(), SIGNALS + COMMITS);
}
