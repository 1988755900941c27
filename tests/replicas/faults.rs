//! Stores that are damaged: nothing of them is ever shown, and the generation before answers.

use std::fs;
use std::path::Path;

use signaldex::ErrorKind;
use signaldex::replicate::{PublishOptions, Replica, ReplicaErrorKind};

use crate::fixture::{Fixture, change, titles};

/// A way to damage a file of the store.
type Damage = fn(&Path);

const DAMAGES: [(&str, Damage); 6] = [
    ("truncated by a byte", |path| truncate(path, 1)),
    ("truncated by half", |path| truncate(path, usize::MAX)),
    ("emptied", |path| fs::write(path, b"").expect("written")),
    ("lengthened", |path| {
        let mut bytes = fs::read(path).expect("read");
        bytes.push(0);
        fs::write(path, bytes).expect("written");
    }),
    ("altered by a bit", |path| {
        let mut bytes = fs::read(path).expect("read");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).expect("written");
    }),
    ("removed", |path| fs::remove_file(path).expect("removed")),
];

/// Takes bytes off the end, at most half of them.
fn truncate(path: &Path, bytes: usize) {
    let whole = fs::read(path).expect("read");
    let kept = whole.len() - bytes.min(whole.len() / 2);
    fs::write(path, &whole[..kept]).expect("written");
}

/// A replica at the first generation, and what the second has put into the store.
fn with_second_generation(folder: &str) -> (Fixture, Replica, Vec<std::path::PathBuf>) {
    let fixture = Fixture::new();
    fixture.publish();
    let before = fixture.stored(folder);
    let replica = fixture.open("cache").expect("the first generation");
    change(&fixture.index(), 1);
    fixture.publish();
    let mut new = fixture.stored(folder);
    new.retain(|path| !before.contains(path));
    (fixture, replica, new)
}

#[test]
fn every_damage_of_every_new_object_is_refused_while_the_old_generation_answers() {
    let (_, _, objects) = with_second_generation("objects");
    assert_eq!(objects.len(), 2, "a segment and deletions");
    for place in 0..objects.len() {
        for (name, damage) in DAMAGES {
            let (fixture, mut replica, objects) = with_second_generation("objects");
            let old = titles(&replica.index().snapshot());
            damage(&objects[place]);
            for _ in 0..2 {
                let progress = fixture.sync(&mut replica);
                let fault = progress.error.expect("noticed");
                let object = objects[place]
                    .file_name()
                    .expect("a name")
                    .to_string_lossy();
                assert!(fault.reason().contains(&*object), "{name}: {fault}");
                assert_eq!((progress.generation, progress.newest), (1, 2), "{name}");
                assert!(!progress.changed);
                assert_eq!(titles(&replica.index().snapshot()), old, "{name}");
            }
            // Where the store has it at its length, only sending all anew is a remedy.
            let repair = PublishOptions {
                repair: true,
                ..PublishOptions::default()
            };
            fixture.publish_with(repair).expect("repaired");
            let progress = fixture.sync(&mut replica);
            assert!(progress.error.is_none(), "{name}: {:?}", progress.error);
            assert_eq!(
                titles(&replica.index().snapshot()),
                fixture.published(),
                "{name}"
            );
        }
    }
}

#[test]
fn every_damage_of_a_manifest_is_refused_while_the_old_generation_answers() {
    for (name, damage) in &DAMAGES[..5] {
        let (fixture, mut replica, manifests) = with_second_generation("manifests");
        let old = titles(&replica.index().snapshot());
        damage(&manifests[0]);
        let progress = fixture.sync(&mut replica);
        let fault = progress.error.expect("noticed");
        assert!(
            fault.kind() == ReplicaErrorKind::Index(ErrorKind::Corrupt)
                || fault.kind() == ReplicaErrorKind::Index(ErrorKind::Foreign),
            "{name}: {fault}"
        );
        assert!(
            fault.reason().contains("manifests/00000000000000000002"),
            "{fault}"
        );
        assert_eq!(titles(&replica.index().snapshot()), old, "{name}");
        // The next generation is the remedy.
        change(&fixture.index(), 2);
        assert!(fixture.publish().generation > 2);
        assert!(fixture.sync(&mut replica).error.is_none(), "{name}");
        assert_eq!(
            titles(&replica.index().snapshot()),
            fixture.published(),
            "{name}"
        );
    }
}

#[test]
fn objects_in_each_others_place_are_refused() {
    let (fixture, mut replica, objects) = with_second_generation("objects");
    let (first, second) = (fs::read(&objects[0]), fs::read(&objects[1]));
    fs::write(&objects[0], second.expect("read")).expect("written");
    fs::write(&objects[1], first.expect("read")).expect("written");
    assert!(fixture.sync(&mut replica).error.is_some());
    assert_eq!(replica.index().snapshot().generation(), 1);
}

#[test]
fn a_manifest_of_a_later_release_is_told_from_damage() {
    let (fixture, mut replica, manifests) = with_second_generation("manifests");
    let text = fs::read_to_string(&manifests[0]).expect("text");
    fs::write(&manifests[0], text.replacen(" 1 ", " 2 ", 1)).expect("written");
    let fault = fixture.sync(&mut replica).error.expect("noticed");
    assert_eq!(
        fault.kind(),
        ReplicaErrorKind::Index(ErrorKind::NewerFormat),
        "{fault}"
    );
    assert_eq!(replica.index().snapshot().generation(), 1);
}

#[test]
fn a_replica_from_nothing_takes_the_generation_before_a_damaged_one() {
    let (fixture, replica, objects) = with_second_generation("objects");
    truncate(&objects[0], 1);
    let fresh = fixture.open("fresh").expect("the first generation");
    let opening = fresh.opening();
    assert_eq!((opening.generation, opening.newest), (1, 2));
    assert!(
        opening
            .error
            .as_ref()
            .is_some_and(|error| error.kind() == ReplicaErrorKind::Index(ErrorKind::Corrupt))
    );
    assert_eq!(
        titles(&fresh.index().snapshot()),
        titles(&replica.index().snapshot())
    );
}

#[test]
fn a_store_that_is_gone_leaves_the_copy_answering_also_over_a_restart() {
    let (fixture, mut replica, _) = with_second_generation("objects");
    assert!(fixture.sync(&mut replica).error.is_none());
    let expected = titles(&replica.index().snapshot());
    fs::rename(fixture.path("store"), fixture.path("gone")).expect("renamed");
    fs::write(fixture.path("store"), b"not a directory").expect("written");
    let progress = fixture.sync(&mut replica);
    assert!(
        progress
            .error
            .as_ref()
            .is_some_and(|error| error.kind() == ReplicaErrorKind::Store),
        "{progress:?}"
    );
    drop(replica);
    let replica = fixture.open("cache").expect("the copy");
    assert!(replica.opening().error.is_some());
    assert_eq!(titles(&replica.index().snapshot()), expected);
    let error = fixture.open("fresh").expect_err("nothing to serve");
    assert_eq!(error.kind(), ReplicaErrorKind::Store, "{error}");
}

#[test]
fn a_copy_that_is_damaged_is_fetched_anew() {
    let (fixture, mut replica, _) = with_second_generation("objects");
    assert!(fixture.sync(&mut replica).error.is_none());
    let expected = titles(&replica.index().snapshot());
    drop(replica);
    for kind in ["manifest", "origin", "segment-", "deleted-"] {
        for (name, damage) in DAMAGES
            .iter()
            .filter(|(name, _)| *name != "altered by a bit")
        {
            let path = file_of_kind(&fixture.path("cache"), kind);
            // Without an origin it is not to be told from an index of its own; see below.
            if kind == "origin" && ["removed", "emptied"].contains(name) {
                continue;
            }
            damage(&path);
            let replica = fixture.open("cache").expect("a copy");
            let fault = &replica.opening().error;
            assert!(fault.is_none(), "{kind} {name}: {fault:?}");
            assert_eq!(
                titles(&replica.index().snapshot()),
                expected,
                "{kind} {name}"
            );
        }
    }
}

/// The first file of a directory whose name starts like that.
fn file_of_kind(directory: &Path, kind: &str) -> std::path::PathBuf {
    let entries = fs::read_dir(directory).expect("a readable folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_of_kind = |path: &std::path::PathBuf| {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        name.starts_with(kind)
    };
    paths.filter(is_of_kind).min().expect("a file of that kind")
}

#[test]
fn a_directory_that_is_no_copy_of_this_store_is_left_alone() {
    let fixture = Fixture::new();
    fixture.publish();
    let before = fixture.published();
    let error = fixture.open("index").expect_err("an index of its own");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Invalid),
        "{error}"
    );
    assert_eq!(fixture.published(), before);

    fixture.open("cache").expect("a copy");
    let origin = fs::read(fixture.path("cache/origin")).expect("read");
    fs::write(fixture.path("cache/origin"), b"").expect("written");
    let error = fixture.open("cache").expect_err("nobody knows whose it is");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Foreign),
        "{error}"
    );
    let said = error.to_string();
    for told in ["cache", "the file origin is empty", "delete the directory"] {
        assert!(said.contains(told), "{said}");
    }
    fs::remove_file(fixture.path("cache/origin")).expect("removed");
    let error = fixture.open("cache").expect_err("nobody knows whose it is");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Invalid),
        "{error}"
    );
    fs::write(fixture.path("cache/origin"), origin).expect("written");
    let other = signaldex::replicate::Store::in_memory();
    let opened = crate::fixture::runtime().block_on(Replica::open(other, &fixture.path("cache")));
    let error = opened.expect_err("a copy of another store");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Invalid),
        "{error}"
    );
}

#[test]
fn two_replicas_cannot_share_a_directory() {
    let fixture = Fixture::new();
    fixture.publish();
    let _first = fixture.open("cache").expect("a copy");
    let error = fixture.open("cache").expect_err("locked");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Locked),
        "{error}"
    );
}

#[test]
fn a_damaged_index_is_not_published() {
    let fixture = Fixture::new();
    truncate(&fixture.index().join("segment-00000000000000000001"), 1);
    let error = fixture
        .publish_with(PublishOptions::default())
        .expect_err("refused");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Corrupt),
        "{error}"
    );
    assert!(!fixture.path("store").exists());
}
