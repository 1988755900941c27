//! A replica whose copy is damaged or overwritten: the file is fetched again and loaded, and meanwhile another replica
//! answers.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use signaldex::{Index, Query, Snapshot};

use crate::fixture::{Fixture, TODAY, change, overwrite, segment, titles};

/// How long a test waits for what comes by itself.
const WAIT_MAX: Duration = Duration::from_secs(20);

fn fails(snapshot: &Snapshot) -> bool {
    let query = Query::from_query_string("q=ships").expect("a query");
    snapshot.search(&query, TODAY).is_err()
}

#[test]
fn an_overwritten_file_is_fetched_again_although_nothing_newer_is_published() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    let index = replica.index();
    let before = index.snapshot();
    overwrite(&fixture.path("cache"));
    index.refresh().expect_err("another content");
    assert!(fails(&index.snapshot()));

    let progress = fixture.sync(&mut replica);
    assert!(progress.error.is_none(), "{:?}", progress.error);
    assert!(progress.repaired && !progress.changed && !progress.replaced);
    assert_eq!((progress.generation, progress.objects_fetched), (1, 1));
    assert_eq!(titles(&index.snapshot()), fixture.published());
    assert!(fails(&before), "the file that is damaged");
    // The damaged file is gone, and the copy is whole for others, too.
    assert_eq!(
        titles(
            &Index::open(fixture.path("cache"))
                .expect("the copy")
                .snapshot()
        ),
        fixture.published()
    );
    let copies = fs::read_dir(fixture.path("cache")).expect("the directory");
    let segments = copies.filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name();
        name.to_string_lossy().starts_with("segment-")
    });
    assert_eq!(segments.count(), 1);

    // Nothing is fetched twice, and what follows is loaded as ever.
    let progress = fixture.sync(&mut replica);
    assert_eq!((progress.objects_fetched, progress.repaired), (0, false));
    change(&fixture.index(), 1);
    fixture.publish();
    let progress = fixture.sync(&mut replica);
    assert!(progress.changed && progress.error.is_none());
    assert_eq!(progress.objects_fetched, 2, "what the commit wrote");
    assert_eq!(titles(&index.snapshot()), fixture.published());
    drop(replica);
    let reopened = fixture.open("cache").expect("the copy");
    assert_eq!(reopened.opening().objects_fetched, 0);
    assert_eq!(titles(&reopened.index().snapshot()), fixture.published());
}

#[test]
fn a_newer_generation_repairs_as_well_and_keeps_no_damaged_file() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a copy");
    overwrite(&fixture.path("cache"));
    change(&fixture.index(), 1);
    fixture.publish();
    let progress = fixture.sync(&mut replica);
    assert!(progress.changed && progress.repaired, "{progress:?}");
    assert_eq!(
        progress.objects_fetched, 3,
        "the damaged file and what the commit wrote"
    );
    assert_eq!(titles(&replica.index().snapshot()), fixture.published());
}

/// Damages a byte of a record, which opening and checking do not read.
fn damage_a_record(cache: &Path) {
    let path = segment(cache);
    let whole = fs::read(&path).expect("a segment");
    for n in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[n] ^= 1;
        fs::write(&path, bytes).expect("written");
        let is_checked = |index: &Index| index.snapshot().check().is_ok();
        let opened = Index::open(cache).ok().filter(is_checked);
        if opened.is_some_and(|index| index.snapshot().scan().any(|found| found.is_err())) {
            return;
        }
    }
    panic!("no byte of a record");
}

#[test]
fn damage_that_a_query_met_is_repaired() {
    let fixture = Fixture::new();
    fixture.publish();
    drop(fixture.open("cache").expect("a copy"));
    damage_a_record(&fixture.path("cache"));
    let mut replica = fixture.open("cache").expect("a copy");
    assert_eq!(replica.opening().objects_fetched, 0);
    assert!(!fixture.sync(&mut replica).repaired, "it is not known yet");
    let index = replica.index();
    assert!(index.snapshot().scan().any(|found| found.is_err()));
    let progress = fixture.sync(&mut replica);
    assert!(
        progress.repaired && progress.error.is_none(),
        "{progress:?}"
    );
    assert_eq!(titles(&index.snapshot()), fixture.published());
}

#[test]
fn a_follower_repairs_at_once_and_not_at_its_next_look_at_the_store() {
    let fixture = Fixture::new();
    fixture.publish();
    let replica = fixture.open("cache").expect("a copy");
    let index = replica.index();
    let follower = replica.follow(Duration::from_secs(600), |_| ());
    let follower = follower.expect("a thread");
    for _ in 0..3 {
        let path = segment(&fixture.path("cache"));
        overwrite(&fixture.path("cache"));
        let damaged = Instant::now();
        while path.exists() {
            assert!(damaged.elapsed() < WAIT_MAX, "it is not fetched");
            std::thread::sleep(Duration::from_millis(5));
        }
        while fails(&index.snapshot()) {
            assert!(damaged.elapsed() < WAIT_MAX, "it is not loaded");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(titles(&index.snapshot()), fixture.published());
    }
    drop(follower);
}
