//! The searches with a webhook in memory, by which one pass over a commit finds those that it may match.

use std::collections::BTreeSet;

use time::Date;

use crate::state::{ChangedSearch, State, StateError};
use signaldex::{Change, Filter, Position, PositionError, Result, SavedSearches, Snapshot};

/// Searches of a part: their filters are one question to a shard of a cluster.
const PART_LENGTH: usize = 1_000;
/// Changes that are followed at least before all searches are read again.
const FOLLOWED_MIN: usize = 10_000;

/// The searches as of one change of them.
#[derive(Default)]
pub(super) struct WatchedSearches {
    /// [`State::webhook_changes`] that these are as of; 0 before they are read.
    pub(super) changes: i64,
    /// By their numbers.
    searches: SavedSearches,
    /// Those that are told removals.
    with_removals: BTreeSet<i64>,
    /// Changes since all searches were read.
    followed: usize,
}

impl WatchedSearches {
    pub(super) fn is_empty(&self) -> bool {
        self.searches.is_empty()
    }

    /// Follows the changes of the searches.
    ///
    /// Cost: that of the changes. All searches are read at first, after more changes than the state keeps, and once there
    /// were as many changes as there are searches, because frequencies are estimated then.
    ///
    /// # Errors
    /// The state cannot be read, or a file that frequencies are estimated by is damaged. The next call goes on.
    pub(super) fn follow(
        &mut self,
        state: &State,
        snapshot: Option<&Snapshot>,
        today: Date,
    ) -> Result<Result<()>, StateError> {
        let most = FOLLOWED_MIN.max(self.searches.len());
        let is_known = self.changes > 0 && self.followed <= most;
        if is_known && self.follow_changes(state)? {
            return Ok(Ok(()));
        }
        self.read(state, snapshot, today)
    }

    /// Follows the changes that the state still has. Returns whether these are all.
    fn follow_changes(&mut self, state: &State) -> Result<bool, StateError> {
        // Each turn applies a page of changes, in the order in which they were made.
        while let Some((last, changed)) = state.changed_searches(self.changes)? {
            if changed.is_empty() {
                return Ok(true);
            }
            self.followed += changed.len();
            changed.into_iter().for_each(|changed| self.set(changed));
            self.changes = last;
        }
        Ok(false)
    }

    fn read(
        &mut self,
        state: &State,
        snapshot: Option<&Snapshot>,
        today: Date,
    ) -> Result<Result<()>, StateError> {
        // The former ones are dropped first, so that there never are two copies.
        *self = WatchedSearches::default();
        // What changes while pages are read is followed afterwards.
        let changes = state.webhook_changes()?;
        match snapshot.map(|snapshot| SavedSearches::for_index(snapshot, today)) {
            None => {}
            Some(Ok(empty)) => self.searches = empty,
            Some(Err(error)) => return Ok(Err(error)),
        }
        let mut last = 0;
        loop {
            let page = state.watched_searches(last)?;
            match page.last() {
                Some((number, _)) => last = *number,
                None => break,
            }
            page.into_iter().for_each(|search| self.set(search));
        }
        self.changes = changes;
        Ok(Ok(()))
    }

    /// Sets what a search is now.
    fn set(&mut self, (number, search): ChangedSearch) {
        let name = number.to_string();
        self.with_removals.remove(&number);
        let Some(search) = search else {
            self.searches.remove(&name);
            return;
        };
        if search.removals {
            self.with_removals.insert(number);
        }
        self.searches.insert(name, search.filter);
    }

    /// All searches in parts, each with the numbers and the filters of its searches.
    pub(super) fn parts(&self) -> impl Iterator<Item = (Vec<i64>, Vec<Filter>)> {
        let numbered = self.searches.iter().filter_map(|(name, filter)| {
            let number = name.parse::<i64>().ok()?;
            Some((number, filter.clone()))
        });
        let mut numbered = numbered.peekable();
        std::iter::from_fn(move || {
            numbered.peek()?;
            Some(numbered.by_ref().take(PART_LENGTH).unzip())
        })
    }

    /// The numbers of the searches that are told removals.
    pub(super) fn with_removals(&self) -> impl Iterator<Item = i64> {
        self.with_removals.iter().copied()
    }

    /// The numbers of the searches that something after a position concerns: a superset under the filter of any key, which
    /// judges later.
    ///
    /// Cost: that of matching what has changed. Where searches are told removals, that of looking for one as well.
    pub(super) fn concerned(
        &self,
        snapshot: &Snapshot,
        since: &Position,
        today: Date,
    ) -> Result<Result<Vec<i64>, PositionError>> {
        let mut numbers = BTreeSet::new();
        let matching = match self.searches.matching(snapshot, since, today) {
            Ok(matching) => matching,
            Err(error) => return Ok(Err(error)),
        };
        for matched in matching {
            let matched = matched?.searches;
            let matched = matched.iter().map(|number| number.parse::<i64>());
            numbers.extend(matched.filter_map(std::result::Result::ok));
        }
        if !self.with_removals.is_empty() {
            match has_removals(snapshot, since, today)? {
                Ok(true) => numbers.extend(&self.with_removals),
                Ok(false) => {}
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(numbers.into_iter().collect()))
    }
}

/// Whether a signal that existed at a position was changed or deleted since. Under any filter, it is a removal or matches:
/// so it concerns each search that is told removals.
fn has_removals(
    snapshot: &Snapshot,
    since: &Position,
    today: Date,
) -> Result<Result<bool, PositionError>> {
    let everything = Filter::default();
    let changes = match snapshot.changes(&everything, today, since) {
        Ok(changes) => changes,
        Err(error) => return Ok(Err(error)),
    };
    for change in changes {
        if !matches!(change?, Change::Upsert { is_new: true, .. }) {
            return Ok(Ok(true));
        }
    }
    Ok(Ok(false))
}
