//! Positions of a replica are those of its publisher: a copy may follow one and go on at the other.

use std::collections::BTreeMap;

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
    let filter = Filter::parse("q=changed").expect("a valid filter");
    searches.insert("changed", filter);
    let snapshot = replica.index().snapshot();
    let matching = searches.matching(&snapshot, &since, TODAY);
    let matching = matching.expect("a position");
    let new: Vec<bool> = matching
        .map(|matched| matched.expect("a whole record").is_new)
        .collect();
    assert_eq!(new, [true; 3]);
}
