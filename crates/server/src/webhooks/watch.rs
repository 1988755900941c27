//! The searches with a webhook in memory, by which one pass over a commit finds those that it may match.

use std::collections::{BTreeMap, BTreeSet};

use time::Date;

use crate::state::{ChangedSearch, State, StateError};
use signaldex::{Filter, Position, PositionError, Result, SavedSearches, Snapshot};

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
    with_removals: BTreeMap<i64, Filter>,
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
        snapshot: &Snapshot,
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
        snapshot: &Snapshot,
        today: Date,
    ) -> Result<Result<()>, StateError> {
        // The former ones are dropped first, so that there never are two copies.
        *self = WatchedSearches::default();
        // What changes while pages are read is followed afterwards.
        let changes = state.webhook_changes()?;
        match SavedSearches::for_index(snapshot, today) {
            Ok(empty) => self.searches = empty,
            Err(error) => return Ok(Err(error)),
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
            self.with_removals.insert(number, search.filter.clone());
        }
        self.searches.insert(name, search.filter);
    }

    /// The numbers of the searches that something after a position concerns: a superset under the filter of any key, which
    /// judges later.
    ///
    /// Cost: that of matching what has changed, and of a look at the feed for each search that is told removals.
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
            numbers.extend(
                matched
                    .iter()
                    .filter_map(|number| number.parse::<i64>().ok()),
            );
        }
        for (number, filter) in &self.with_removals {
            if !numbers.contains(number) {
                // The position was valid just now.
                let mut changes = match snapshot.changes(filter, today, since) {
                    Ok(changes) => changes,
                    Err(error) => return Ok(Err(error)),
                };
                if changes.next().transpose()?.is_some() {
                    numbers.insert(*number);
                }
            }
        }
        Ok(Ok(numbers.into_iter().collect()))
    }
}
