//! Pruning: what goes, what stays, and that it may run beside publishers and followers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sha2::Digest;
use signaldex::ErrorKind;
use signaldex::replicate::object_store::ObjectStore;
use signaldex::replicate::object_store::local::LocalFileSystem;
use signaldex::replicate::object_store::path::Path as StorePath;
use signaldex::replicate::object_store::prefix::PrefixStore;
use signaldex::replicate::{
    PruneOptions, Pruned, PrunedKind, PublishOptions, Replica, ReplicaErrorKind, Store, prune,
    publish,
};

use crate::fixture::{Fixture, age, build, change, runtime, titles};

const DAY: Duration = Duration::from_secs(24 * 3600);

fn prune_now(store: &Store, keep: u64) -> signaldex::replicate::ReplicaResult<Pruned> {
    let options = PruneOptions {
        remove: true,
        manifests: keep,
        ..PruneOptions::keeping(keep)
    };
    runtime().block_on(prune(store, options))
}

fn count(pruned: &Pruned, kind: PrunedKind) -> usize {
    let files = pruned.removed.iter();
    files.filter(|file| file.kind == kind).count()
}

/// Publishes a number of generations, a day after each other.
fn publish_daily(fixture: &Fixture, generations: u64) {
    for number in 1..=generations {
        if number > 1 {
            age(&fixture.path("store"), DAY);
            change(&fixture.index(), number);
        }
        fixture.publish();
    }
}

#[test]
fn old_generations_go_and_what_the_kept_ones_name_stays() {
    let fixture = Fixture::new();
    publish_daily(&fixture, 8);
    age(&fixture.path("store"), 2 * DAY);
    let before: BTreeSet<_> = fixture.stored("objects").into_iter().collect();
    let told = runtime().block_on(prune(&fixture.store(), PruneOptions::keeping(3)));
    let told = told.expect("told");
    assert_eq!(
        fixture.stored("manifests").len(),
        8,
        "telling removes nothing"
    );
    assert_eq!(fixture.stored("objects").len(), before.len());
    let pruned = prune_now(&fixture.store(), 3).expect("pruned");
    assert_eq!(pruned, told);
    assert_eq!(count(&pruned, PrunedKind::Manifest), 5);
    assert_eq!(pruned.generations_kept, 3);
    assert_eq!(fixture.stored("manifests").len(), 3);
    let after: BTreeSet<_> = fixture.stored("objects").into_iter().collect();
    assert!(after.len() < before.len());
    let gone: u64 = pruned.removed.iter().map(|file| file.bytes).sum();
    assert!(gone > 0);
    assert_eq!(pruned.objects_kept, after.len() as u64);
    assert!(
        fixture.stored("pruning").is_empty(),
        "the mark is taken away"
    );
    // Each of the three can still be loaded.
    for place in 0..3 {
        let aside = fixture.path("aside");
        fs::create_dir_all(&aside).expect("made");
        for newer in fixture.stored("manifests").split_off(place + 1) {
            fs::rename(&newer, aside.join(newer.file_name().expect("a name"))).expect("moved");
        }
        let replica = fixture.open(&format!("cache-{place}")).expect("a copy");
        assert!(replica.opening().error.is_none());
        for newer in fs::read_dir(&aside).expect("readable") {
            let newer = newer.expect("an entry");
            fs::rename(
                newer.path(),
                fixture.path("store/manifests").join(newer.file_name()),
            )
            .expect("moved back");
        }
    }
    assert_eq!(
        prune_now(&fixture.store(), 3)
            .expect("pruned")
            .removed
            .len(),
        0
    );
}

#[test]
fn what_was_the_newest_within_the_age_stays_whatever_is_kept() {
    let fixture = Fixture::new();
    publish_daily(&fixture, 4);
    // The last was published just now, so the one before was the newest until then.
    let pruned = prune_now(&fixture.store(), 1).expect("pruned");
    assert_eq!(pruned.generations_kept, 2);
    age(&fixture.path("store"), DAY / 2);
    assert_eq!(
        prune_now(&fixture.store(), 1)
            .expect("pruned")
            .removed
            .len(),
        0
    );
    age(&fixture.path("store"), DAY);
    let pruned = prune_now(&fixture.store(), 1).expect("pruned");
    assert_eq!(
        (
            pruned.generations_kept,
            count(&pruned, PrunedKind::Manifest)
        ),
        (1, 1)
    );
}

#[test]
fn objects_of_publishers_that_died_go_once_they_are_old() {
    let fixture = Fixture::new();
    fixture.publish();
    age(&fixture.path("store"), 2 * DAY);
    let orphan = fixture
        .path("store/objects")
        .join(sha256(b"of a publisher that died"));
    let unfinished = fixture
        .path("store/objects")
        .join(format!("{}#3", sha256(b"half")));
    let foreign = fixture.path("store/objects/README#x");
    for path in [&orphan, &unfinished, &foreign] {
        fs::write(path, b"half").expect("written");
    }
    assert_eq!(
        prune_now(&fixture.store(), 1)
            .expect("pruned")
            .removed
            .len(),
        0
    );
    age(&fixture.path("store"), 2 * DAY);
    let pruned = prune_now(&fixture.store(), 1).expect("pruned");
    assert_eq!(count(&pruned, PrunedKind::Object), 1);
    assert_eq!(count(&pruned, PrunedKind::UnfinishedUpload), 1);
    assert!(!orphan.exists() && !unfinished.exists());
    assert!(foreign.exists(), "what is not ours is left alone");
    assert!(
        fixture
            .open("cache")
            .expect("a copy")
            .opening()
            .error
            .is_none()
    );
}

#[test]
fn nothing_goes_where_a_kept_manifest_cannot_be_read_or_nothing_is_published() {
    let fixture = Fixture::new();
    let error = prune_now(&fixture.store(), 1).expect_err("nothing is published");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Missing),
        "{error}"
    );
    publish_daily(&fixture, 3);
    age(&fixture.path("store"), 2 * DAY);
    let newest = fixture.stored("manifests").pop().expect("a manifest");
    let whole = fs::read(&newest).expect("read");
    fs::write(&newest, &whole[..whole.len() - 1]).expect("damaged");
    let before = (fixture.stored("manifests"), fixture.stored("objects"));
    let error = prune_now(&fixture.store(), 1).expect_err("damaged");
    assert!(
        error.kind() == ReplicaErrorKind::Index(ErrorKind::Corrupt)
            && error.reason().contains("manifests/"),
        "{error}"
    );
    assert_eq!(
        (fixture.stored("manifests"), fixture.stored("objects")),
        before
    );
    let error = prune_now(&fixture.store(), 0).expect_err("refused");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Invalid),
        "{error}"
    );
    // What is missing is told.
    fs::write(&newest, &whole).expect("mended");
    let object = fixture.stored("objects").pop().expect("an object");
    fs::rename(&object, fixture.path("aside")).expect("moved");
    let pruned = prune_now(&fixture.store(), 3).expect("pruned");
    let name = object.file_name().expect("a name").to_string_lossy();
    assert_eq!(pruned.missing, [format!("objects/{name}")]);
}

#[test]
fn a_second_prune_is_refused_and_the_mark_of_a_dead_one_ends() {
    let fixture = Fixture::new();
    publish_daily(&fixture, 3);
    age(&fixture.path("store"), 2 * DAY);
    let mark = fixture.path("store/pruning/0123456789abcdef");
    fs::create_dir_all(mark.parent().expect("a folder")).expect("made");
    fs::write(&mark, b"prune\n").expect("written");
    let error = prune_now(&fixture.store(), 1).expect_err("another is at work");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Locked),
        "{error}"
    );
    assert_eq!(fixture.stored("manifests").len(), 3);
    age(&fixture.path("store"), Duration::from_secs(3600));
    prune_now(&fixture.store(), 1).expect("pruned");
    assert!(fixture.stored("pruning").is_empty());
}

/// An index that was published once, and is published again long after.
#[test]
fn an_old_object_is_sent_anew_by_who_relies_on_it() {
    let fixture = Fixture::new();
    fixture.publish();
    // Another index takes its place, so that nothing lately the newest names its objects.
    build(&fixture.path("other"), "other");
    let publish_as = |directory: &str, generation| {
        let options = PublishOptions {
            generation: Some(generation),
            ..PublishOptions::default()
        };
        runtime_block(publish(&fixture.path(directory), &fixture.store(), options))
    };
    publish_as("other", 2);
    let again = publish_as("index", 3);
    assert_eq!(
        (again.objects_sent, again.objects_shared),
        (0, 1),
        "it is fresh"
    );
    age(&fixture.path("store"), DAY / 2);
    publish_as("other", 4);
    let again = publish_as("index", 5);
    assert_eq!(
        (again.objects_sent, again.objects_shared),
        (1, 0),
        "it is old"
    );
    // What the newest names is shared, however old it is.
    age(&fixture.path("store"), 30 * DAY);
    let again = publish_as("index", 6);
    assert_eq!((again.objects_sent, again.objects_shared), (0, 1));
}

fn runtime_block<T>(work: impl Future<Output = signaldex::replicate::ReplicaResult<T>>) -> T {
    runtime().block_on(work).expect("published")
}

/// A prune that has listed an object as old, and removes it after it was sent anew.
#[test]
fn a_publisher_outlasts_a_prune_that_knows_its_objects_as_old() {
    let fixture = Fixture::new();
    fixture.publish();
    build(&fixture.path("other"), "other");
    let options = |generation| PublishOptions {
        generation: Some(generation),
        ..PublishOptions::default()
    };
    runtime_block(publish(
        &fixture.path("other"),
        &fixture.store(),
        options(2),
    ));
    age(&fixture.path("store"), 3 * DAY);
    let old = fixture.stored("objects");
    // The mark of the prune that has just listed.
    let mark = fixture.path("store/pruning/0123456789abcdef");
    fs::create_dir_all(mark.parent().expect("a folder")).expect("made");
    fs::write(&mark, b"prune\n").expect("written");
    let (directory, store) = (fixture.index(), fixture.store());
    let publisher =
        std::thread::spawn(move || runtime_block(publish(&directory, &store, options(3))));
    // It sends the object anew, and waits.
    let is_fresh = |path: &Path| {
        let written = fs::metadata(path).and_then(|metadata| metadata.modified());
        written.is_ok_and(|written| written + DAY > SystemTime::now())
    };
    let deadline = SystemTime::now() + Duration::from_secs(20);
    let renewed = loop {
        if let Some(renewed) = old.iter().find(|path| is_fresh(path)) {
            break renewed.clone();
        }
        assert!(SystemTime::now() < deadline, "it is sent anew");
        std::thread::sleep(Duration::from_millis(5));
    };
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(
        fixture.stored("manifests").len(),
        2,
        "not before the prune has ended"
    );
    fs::remove_file(&renewed).expect("removed, as the prune does");
    fs::remove_file(&mark).expect("removed");
    let published = publisher.join().expect("no panic");
    assert_eq!(published.objects_sent, 2, "sent once more");
    let replica = fixture.open("cache").expect("a copy");
    assert!(replica.opening().error.is_none());
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());
}

fn sha256(bytes: &[u8]) -> String {
    let digest = sha2::Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a cluster's manifest as `publish-shards` does.
fn publish_cluster_manifest(fixture: &Fixture, generation: u64, shards: u32) {
    let shard = format!(
        "{{\"generation\":{generation},\"signals\":1,\"bytes\":1,\"revision\":\"{}\"}}",
        sha256(b"a shard")
    );
    let shards = vec![shard; shards as usize].join(",");
    let body = format!("{{\"generation\":{generation},\"shards\":[{shards}]}}");
    let manifest = format!("signaldex-cluster 1 {}\n{body}", sha256(body.as_bytes()));
    let folder = fixture.path("store/cluster/manifests");
    fs::create_dir_all(&folder).expect("made");
    fs::write(folder.join(format!("{generation:020}")), manifest).expect("written");
}

/// A shard's store, as a cluster lays it out.
fn shard(fixture: &Fixture, shard: u32, shards: u32) -> Store {
    let folder = fixture
        .path("store")
        .join(format!("shards/{shards}/{shard}"));
    fs::create_dir_all(&folder).expect("made");
    let prefix = StorePath::from_absolute_path(&folder).expect("a path");
    let objects: Arc<dyn ObjectStore> = Arc::new(PrefixStore::new(LocalFileSystem::new(), prefix));
    Store::new(objects, folder.display().to_string())
}

#[test]
fn of_a_cluster_what_its_generations_name_stays_and_other_numbers_of_shards_go() {
    let fixture = Fixture::new();
    build(&fixture.path("second"), "two");
    let publish_generation = |generation: u64, shards: u32| {
        for number in 0..shards {
            let directory = fixture.path(if number == 0 { "index" } else { "second" });
            change(&directory, generation);
            let options = PublishOptions {
                generation: Some(generation),
                ..PublishOptions::default()
            };
            runtime_block(publish(
                &directory,
                &shard(&fixture, number, shards),
                options,
            ));
        }
        publish_cluster_manifest(&fixture, generation, shards);
        age(&fixture.path("store"), DAY);
    };
    for generation in 1..=3 {
        publish_generation(generation, 1);
    }
    for generation in 4..=8 {
        publish_generation(generation, 2);
    }
    // A publisher that died between shards and the cluster's manifest.
    change(&fixture.index(), 9);
    let options = PublishOptions {
        generation: Some(9),
        ..PublishOptions::default()
    };
    runtime_block(publish(&fixture.index(), &shard(&fixture, 0, 2), options));
    age(&fixture.path("store"), 2 * DAY);

    let pruned = prune_now(&fixture.store(), 2).expect("pruned");
    assert_eq!(pruned.generations_kept, 2);
    assert!(pruned.missing.is_empty(), "{:?}", pruned.missing);
    let stored = |folder: &str| {
        let paths = fixture.stored(folder).into_iter();
        let names = paths.map(|path| {
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        });
        names
            .map(|name| name.trim_start_matches('0').to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(stored("cluster/manifests"), ["7", "8"]);
    assert_eq!(stored("shards/2/0/manifests"), ["7", "8", "9"]);
    assert_eq!(stored("shards/2/1/manifests"), ["7", "8"]);
    assert!(stored("shards/1/0/manifests").is_empty());
    assert!(stored("shards/1/0/objects").is_empty());
    for number in 0..2 {
        let cache = fixture.path(&format!("cache-{number}"));
        let replica = runtime().block_on(Replica::open(shard(&fixture, number, 2), &cache));
        assert!(replica.expect("a copy").opening().error.is_none());
    }
    // A damaged manifest of the cluster: nobody knows what it names.
    fs::write(
        fixture
            .path("store/cluster/manifests")
            .join(format!("{:020}", 8)),
        b"signaldex-cluster 1 x\n{}",
    )
    .expect("damaged");
    let error = prune_now(&fixture.store(), 1).expect_err("refused");
    assert_eq!(
        error.kind(),
        ReplicaErrorKind::Index(ErrorKind::Corrupt),
        "{error}"
    );
    assert_eq!(stored("shards/2/1/manifests"), ["7", "8"]);
}
