//! Positions of a replica are those of its publisher: a copy may follow one and go on at the other.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use signaldex::replicate::{PublishOptions, ReplicaErrorKind};
use signaldex::{Change, Filter, Index, Position, PositionError, SavedSearches, Snapshot};

use crate::fixture::{Fixture, TODAY, change, titles};

/// A client's copy of what matches: titles by id, and where it stands.
#[derive(Clone)]
struct Copy {
    titles: BTreeMap<u64, String>,
    position: Position,
}

impl Copy {
    /// Takes in what has changed, two changes at a time.
    fn follow(&mut self, snapshot: &Snapshot) -> Result<(), PositionError> {
        let filter = Filter::default();
        while self.position != snapshot.position() {
            let mut changes = snapshot.changes(&filter, TODAY, &self.position)?;
            for change in changes.by_ref().take(2) {
                match change.expect("a whole record") {
                    Change::Upsert { item, .. } => {
                        let title = item.signal.title.to_string();
                        self.titles.insert(item.signal.id.get(), title);
                    }
                    Change::Remove { id } => {
                        self.titles.remove(&id.get());
                    }
                    _ => unreachable!("there are two kinds of changes"),
                }
            }
            self.position = changes.position();
        }
        Ok(())
    }
}

#[test]
fn a_copy_may_follow_the_publisher_and_go_on_at_a_replica() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a replica");
    let followed = replica.index().clone();
    let publisher = || Index::open(fixture.index()).expect("the index").snapshot();
    assert_eq!(followed.snapshot().position(), publisher().position());
    let mut copy = Copy {
        titles: BTreeMap::new(),
        position: Position::START,
    };
    copy.follow(&followed.snapshot()).expect("a position");
    for number in 1..6 {
        change(&fixture.index(), number);
        // The publisher is ahead of its replica, which says so to a copy that comes from there.
        let mut ahead = copy.clone();
        ahead.follow(&publisher()).expect("a position");
        let early = ahead.follow(&followed.snapshot());
        assert_eq!(early, Err(PositionError::Ahead));
        fixture.publish();
        fixture.sync(&mut replica);
        let snapshot = followed.snapshot();
        assert_eq!(snapshot.position(), publisher().position());
        assert_eq!(ahead.follow(&snapshot), Ok(()));
        // One from the replica itself takes turns between the two.
        let next = if number % 2 == 0 {
            publisher()
        } else {
            snapshot
        };
        copy.follow(&next).expect("a position");
        let held: BTreeMap<u64, String> = titles(&next).into_iter().collect();
        assert_eq!(copy.titles, held);
        assert_eq!(ahead.titles, held);
    }
}

#[test]
fn saved_searches_match_the_same_at_a_replica() {
    let fixture = Fixture::new();
    fixture.publish();
    let mut replica = fixture.open("cache").expect("a replica");
    let since = replica.index().snapshot().position();
    for number in 1..4 {
        change(&fixture.index(), number);
    }
    fixture.publish();
    fixture.sync(&mut replica);
    let mut searches = SavedSearches::new();
    let filter = Filter::from_query_string("q=changed").expect("a valid filter");
    searches.insert("changed", filter);
    let snapshot = replica.index().snapshot();
    let matching = searches.matching(&snapshot, &since, TODAY);
    let matching = matching.expect("a position");
    let new: Vec<bool> = matching
        .map(|matched| matched.expect("a whole record").is_new)
        .collect();
    assert_eq!(new, [true; 3]);
}

/// Copies the files of a directory to another, which it replaces.
fn copy_over(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir(to).expect("a writable folder");
    for entry in fs::read_dir(from).expect("a readable folder") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("a copy");
    }
}

#[test]
fn a_state_without_the_newest_published_commit_needs_a_generation_of_its_own() {
    let fixture = Fixture::new();
    fixture.publish();
    let backup = fixture.path("backup");
    copy_over(&fixture.index(), &backup);
    let mut replica = fixture.open("cache").expect("a replica");
    let followed = replica.index();
    let before = followed.snapshot().position();
    change(&fixture.index(), 1);
    let newest = fixture.publish().generation;
    fixture.sync(&mut replica);
    let lost = followed.snapshot().position();
    copy_over(&backup, &fixture.index());
    // The backup lacks a commit; later it has another one in its place, and more.
    for number in 2..5 {
        let refused = fixture.publish_with(PublishOptions::default());
        let refused = refused.expect_err("a state without the commit");
        let text = refused.to_string();
        assert_eq!(refused.kind(), ReplicaErrorKind::Taken, "{text}");
        assert!(
            text.contains(&format!("generation {newest} ends with commit 2 ")),
            "{text}"
        );
        assert!(
            text.contains(&format!("this state ends with commit {} ", number - 1)),
            "{text}"
        );
        change(&fixture.index(), number);
    }
    let published = fixture.publish_with(PublishOptions {
        generation: Some(newest + 10),
        ..PublishOptions::default()
    });
    assert_eq!(
        published.expect("a generation of its own").generation,
        newest + 10
    );
    fixture.sync(&mut replica);
    let filter = Filter::default();
    let changes = |since| {
        followed
            .snapshot()
            .changes(&filter, TODAY, since)
            .map(Iterator::count)
    };
    assert_eq!(changes(&lost), Err(PositionError::Diverged));
    assert_eq!(changes(&before), Ok(6));
}

#[test]
fn a_replica_that_starts_again_knows_the_commits_before() {
    let fixture = Fixture::new();
    let mut positions = Vec::new();
    for number in 1..200 {
        change(&fixture.index(), number);
        let snapshot = Index::open(fixture.index()).expect("the index").snapshot();
        positions.push(snapshot.position());
        if number % 50 == 0 {
            fixture.publish();
            drop(fixture.open("cache").expect("a replica"));
        }
    }
    let replica = fixture.open("cache").expect("a replica");
    let snapshot = replica.index().snapshot();
    let filter = Filter::default();
    for (since, position) in positions.iter().enumerate() {
        let changes = snapshot.changes(&filter, TODAY, position);
        let expected = match since {
            ..150 => Ok(2 * (149 - since)),
            _ => Err(PositionError::Ahead),
        };
        assert_eq!(changes.map(Iterator::count), expected, "{since}");
    }
    snapshot.verify().expect("a whole copy");
}
