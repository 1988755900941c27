//! Copies of what matches a filter, kept by following changes: the law that the feed is specified by.
//!
//! A copy at a position, with the changes up to another one, is what a scan finds there, or is told that there is no
//! way from one to the other: deletions are forgotten, or the index went back to a backup meanwhile.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Model, TODAY, random_query};
use crate::fixtures::Random;
use crate::index::{Change, Position, PositionError, Snapshot};
use crate::query::Filter;
use crate::signal::{Item, SignalId};

/// Copies that follow one index.
#[derive(Debug, Default)]
pub(super) struct Copies {
    followers: Vec<Follower>,
    /// All signals that ever were there.
    known: BTreeSet<SignalId>,
}

/// A copy of what matches a filter.
#[derive(Clone, Debug)]
struct Follower {
    query: String,
    filter: Filter,
    position: Position,
    items: BTreeMap<SignalId, Item<'static>>,
    /// Whether the position is that of a snapshot, and the copy whole.
    is_whole: bool,
    /// The signals that were there up to the last snapshot that was followed.
    known: BTreeSet<SignalId>,
    /// The commits of that snapshot.
    commits: Vec<u64>,
}

/// A state of the index that copies follow.
pub(super) struct Followed<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// What it holds.
    pub(super) committed: &'a Model,
    /// Its commits, each with a number of its own over all branches.
    pub(super) commits: &'a [u64],
}

/// The most copies of an index.
const COPIES_MAX: usize = 4;

impl Copies {
    /// Notes signals that are there, whether or not copies see them.
    pub(super) fn know<'s>(&mut self, ids: impl Iterator<Item = &'s SignalId>) {
        self.known.extend(ids);
    }

    /// Whether each copy that has begun is refused as one under another filter.
    pub(super) fn are_refused_by(&self, snapshot: &Snapshot) -> bool {
        let begun = self.followers.iter();
        let mut begun = begun.filter(|follower| follower.position != Position::START);
        begun.all(|follower| {
            let changes = snapshot.changes(&follower.filter, TODAY, &follower.position);
            matches!(changes, Err(PositionError::OtherKeyFilter))
        })
    }

    /// Lets some copies or all follow to a snapshot, by batches of random size, and compares those that
    /// are whole with a scan.
    pub(super) fn follow(
        &mut self,
        followed: &Followed<'_>,
        all: bool,
        random: &mut Random,
        context: &str,
    ) {
        self.known.extend(followed.committed.signals.keys());
        if self.followers.len() < COPIES_MAX {
            self.followers
                .push(Follower::copy(followed, &self.known, random));
        }
        for follower in &mut self.followers {
            if !all && random.below(3) > 0 {
                continue;
            }
            let context = format!("{context}, copy of {:?}", follower.query);
            let is_ahead = follower.commits.len() > followed.commits.len();
            let is_past = followed.commits.starts_with(&follower.commits);
            match follower.follow(followed, &self.known, random) {
                Ok(()) => assert!(!is_ahead, "{context}"),
                Err(PositionError::Ahead) => {
                    assert!(is_ahead, "{context}");
                    continue;
                }
                Err(error) => {
                    let is_expired = error == PositionError::Expired;
                    assert!(
                        is_expired || error == PositionError::Diverged && !is_past,
                        "{context}, {error}"
                    );
                    *follower = Follower::copy(followed, &self.known, random);
                }
            }
            if follower.is_whole {
                let expected = scan(followed.committed, &follower.filter);
                assert_eq!(follower.items, expected, "{context}");
            }
        }
    }
}

impl Follower {
    fn copy(followed: &Followed<'_>, known: &BTreeSet<SignalId>, random: &mut Random) -> Follower {
        // Most filters match few signals, and of the others nothing is missed.
        let query = match random.below(2) {
            0 => String::new(),
            _ => random_query(random),
        };
        let filter = Filter::from_query_string(&query).expect("a valid filter");
        let is_whole = random.below(2) == 0;
        let (items, position) = if is_whole {
            let items = scan(followed.committed, &filter);
            (items, followed.snapshot.position())
        } else {
            (BTreeMap::new(), Position::START)
        };
        let commits = if is_whole {
            followed.commits.to_vec()
        } else {
            Vec::new()
        };
        Follower {
            items,
            query,
            filter,
            position,
            is_whole,
            known: known.clone(),
            commits,
        }
    }

    fn follow(
        &mut self,
        followed: &Followed<'_>,
        known: &BTreeSet<SignalId>,
        random: &mut Random,
    ) -> Result<(), PositionError> {
        let filter = self.filter.clone();
        let snapshot = followed.snapshot;
        loop {
            let since = self.position;
            let mut changes = snapshot.changes(&filter, TODAY, &since)?;
            for _ in 0..1 + random.below(12) {
                if let Some(change) = changes.next() {
                    self.apply(change.expect("a whole index"));
                }
            }
            self.position = changes.position();
            self.known.clone_from(known);
            self.commits = followed.commits.to_vec();
            self.is_whole = !changes.has_more().expect("a whole index");
            if self.is_whole {
                assert_eq!(changes.position(), snapshot.position());
                return Ok(());
            }
            // Half of the time the copy goes on from in between, when more has been committed.
            if random.below(4) == 0 {
                return Ok(());
            }
        }
    }

    fn apply(&mut self, change: Change<'_>) {
        match change {
            Change::Upsert { item, is_new } => {
                let id = item.signal.id;
                assert!(is_new || self.known.contains(&id), "{id} is new");
                self.items.insert(id, item.into_owned());
            }
            Change::Remove { id } => {
                assert!(self.known.contains(&id), "{id} never was there before");
                self.items.remove(&id);
            }
        }
    }
}

/// What matches a filter, by looking at each signal.
fn scan(model: &Model, filter: &Filter) -> BTreeMap<SignalId, Item<'static>> {
    let signals = model.signals.iter();
    let items = signals.filter_map(|(&id, signal)| {
        let company = &model.companies[&*signal.company_slug];
        let item = Item {
            signal: signal.clone(),
            company_name: company.name.clone(),
        };
        filter.matches(signal, company, TODAY).then_some((id, item))
    });
    items.collect()
}
