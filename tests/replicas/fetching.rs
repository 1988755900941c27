//! What is fetched, once, and what is removed.

use std::collections::BTreeSet;
use std::fs;

use sha2::Digest;
use signaldex::replicate::{PublishOptions, ReplicaErrorKind};
use signaldex::{ErrorKind, Index};

use crate::fixture::{Fixture, build, change, titles};

/// The index files of a directory.
fn files(fixture: &Fixture, directory: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(fixture.path(directory)).expect("a readable folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let is_index = |name: &String| name.starts_with("segment-") || name.starts_with("deleted-");
    names.filter(is_index).collect()
}

#[test]
fn an_unchanged_segment_is_not_asked_for_again_also_over_a_restart() {
    let fixture = Fixture::new();
    fixture.publish();
    let first = fixture.stored("objects");
    let mut replica = fixture.open("cache").expect("a copy");
    assert_eq!(replica.opening().objects_fetched, first.len() as u64);
    for number in 1..=3 {
        change(&fixture.index(), number);
        let sent = fixture.publish();
        // One new segment, and deletions of the segments that lost a signal.
        assert!(sent.objects_shared > 0, "{sent:?}");
        // A second request does not find them.
        for object in &first {
            fs::rename(object, object.with_extension("away")).expect("renamed");
        }
        if number == 2 {
            drop(replica);
            replica = fixture.open("cache").expect("a copy");
            let opening = replica.opening();
            assert!(opening.error.is_none(), "{opening:?}");
            assert_eq!(opening.objects_fetched, sent.objects_sent);
            assert_eq!(opening.bytes_fetched, sent.bytes_sent);
        } else {
            let progress = fixture.sync(&mut replica);
            assert!(progress.error.is_none(), "{progress:?}");
            assert!(progress.changed);
            assert_eq!(progress.objects_fetched, sent.objects_sent);
            assert_eq!(progress.bytes_fetched, sent.bytes_sent);
        }
        assert_eq!(titles(&replica.index().snapshot()), fixture.published());
        for object in &first {
            fs::rename(object.with_extension("away"), object).expect("renamed");
        }
        // Nothing is new, so nothing is fetched.
        let idle = fixture.sync(&mut replica);
        assert_eq!((idle.bytes_fetched, idle.changed), (0, false));
    }
}

#[test]
fn files_that_no_snapshot_needs_are_removed_and_those_of_crashes_as_well() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    let old = replica.index().snapshot();
    let expected = titles(&old);
    for number in 1..=4 {
        change(&fixture.index(), number);
    }
    let index = Index::open(fixture.index()).expect("the index");
    let mut writer = index.writer().expect("nobody else writes");
    writer.compact().expect("compacted");
    fixture.publish();
    assert!(fixture.sync(&mut replica).error.is_none());
    assert_eq!(
        files(&fixture, "cache").len(),
        1,
        "{:?}",
        files(&fixture, "cache")
    );
    // A holder of the old snapshot keeps it.
    assert_eq!(titles(&old), expected);
    drop((old, replica));

    for name in [
        "segment-00000000000000000077",
        "deleted-00000000000000000078",
    ] {
        fs::write(fixture.path("cache").join(name), b"half").expect("written");
    }
    fs::write(fixture.path("cache").join("manifest.next"), b"half").expect("written");
    let replica = fixture.open("cache").expect("a copy");
    assert_eq!(replica.opening().objects_fetched, 0);
    assert_eq!(files(&fixture, "cache").len(), 1);
    assert!(!fixture.path("cache").join("manifest.next").exists());
}

#[test]
fn what_a_refused_generation_has_left_is_used_by_the_next_or_removed() {
    let fixture = Fixture::new();
    fixture.publish();
    let before = fixture.stored("objects");
    let mut replica = fixture.open("cache").expect("a copy");
    change(&fixture.index(), 1);
    fixture.publish();
    let mut new = fixture.stored("objects");
    new.retain(|path| !before.contains(path));
    // The deletions come first, as they are of the older segment.
    let segment = new
        .iter()
        .max_by_key(|path| path.metadata().expect("a file").len());
    let segment = segment.expect("a new segment");
    fs::rename(segment, segment.with_extension("away")).expect("renamed");
    let refused = fixture.sync(&mut replica);
    assert!(refused.error.is_some());
    assert_eq!(refused.objects_fetched, 1);
    fs::rename(segment.with_extension("away"), segment).expect("renamed");
    let loaded = fixture.sync(&mut replica);
    assert_eq!((loaded.objects_fetched, loaded.changed), (1, true));
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());

    change(&fixture.index(), 2);
    fixture.publish();
    let manifest = fixture.stored("manifests").pop().expect("a manifest");
    let newest = fixture.stored("objects");
    for object in newest
        .iter()
        .filter(|object| !new.contains(object) && !before.contains(object))
    {
        if object.metadata().expect("a file").len() > 500 {
            fs::remove_file(object).expect("removed");
        }
    }
    assert!(fixture.sync(&mut replica).error.is_some());
    fs::remove_file(manifest).expect("removed");
    let index = Index::open(fixture.index()).expect("the index");
    index
        .writer()
        .expect("nobody writes")
        .compact()
        .expect("compacted");
    fixture.publish();
    assert!(fixture.sync(&mut replica).error.is_none());
    assert_eq!(
        files(&fixture, "cache").len(),
        1,
        "{:?}",
        files(&fixture, "cache")
    );
}

#[test]
fn a_restart_after_a_refused_generation_still_knows_what_it_has() {
    let fixture = Fixture::new();
    fixture.publish();
    let first = fixture.stored("objects").pop().expect("an object");
    let mut replica = fixture.open("cache").expect("a copy");
    // Whole and named as it has to be, but no segment: noticed when it is opened, not before.
    let object = b"not a segment";
    fs::write(fixture.path("store/objects").join(sha256(object)), object).expect("written");
    let body = format!(
        "{{\"index\":\"{}\",\"generation\":2,\
         \"history\":{{\"lastCommit\":2,\"rememberedCommits\":9}},\"segments\":[{{\"sha256\":\"{}\",\"length\":{},\
         \"table\":\"{}\",\"deleted\":null}}],\"chain\":{{\"newest\":\"{}\",\"recent\":[\"{}\"],\"files\":[]}}}}",
        "0".repeat(32),
        sha256(object),
        object.len(),
        sha256(b"a table"),
        "2".repeat(32),
        "1".repeat(32),
    );
    let manifest = format!("signaldex-manifest 1 {}\n{body}", sha256(body.as_bytes()));
    let path = fixture.path("store/manifests/00000000000000000002");
    fs::write(&path, manifest).expect("written");
    let refused = fixture.sync(&mut replica);
    assert_eq!((refused.generation, refused.objects_fetched), (1, 1));
    let error = refused.error.expect("noticed");
    assert!(
        error.kind() == ReplicaErrorKind::Index(ErrorKind::Foreign)
            || error.kind() == ReplicaErrorKind::Index(ErrorKind::Corrupt),
        "{error}"
    );
    drop(replica);

    change(&fixture.index(), 1);
    let options = PublishOptions {
        generation: Some(3),
        ..PublishOptions::default()
    };
    fixture.publish_with(options).expect("published");
    fs::remove_file(first).expect("removed");
    let replica = fixture.open("cache").expect("a copy");
    let error = &replica.opening().error;
    assert!(
        error.is_none(),
        "the first segment is asked for again: {error:?}"
    );
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());
}

fn sha256(bytes: &[u8]) -> String {
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn an_index_built_anew_is_published_behind_the_old_one() {
    let fixture = Fixture::new();
    fixture.publish();
    change(&fixture.index(), 1);
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    // The same file numbers and the same generation, with other content.
    fs::remove_dir_all(fixture.index()).expect("removed");
    build(&fixture.index(), "two");
    let refused = fixture.publish_with(PublishOptions::default());
    assert_eq!(
        refused.expect_err("generation 1 is taken").kind(),
        ReplicaErrorKind::Taken
    );
    let options = PublishOptions {
        generation: Some(3),
        ..PublishOptions::default()
    };
    fixture.publish_with(options).expect("published");
    assert!(fixture.sync(&mut replica).changed);
    let snapshot = replica.index().snapshot();
    assert_eq!(snapshot.generation(), 3);
    assert_eq!(titles(&snapshot), fixture.published());
    snapshot.verify().expect("a whole index");
}
