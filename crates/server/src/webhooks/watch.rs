//! The searches with a webhook in memory, by which one pass over a commit finds those that it may match.

use std::collections::BTreeSet;

use time::Date;

use crate::state::{State, StateError, WatchedSearch};
use signaldex::{Filter, Position, PositionError, Result, SavedSearches, Snapshot};

/// The searches as of one change of them.
pub(super) struct WatchedSearches {
    /// [`State::webhook_changes`] when they were read.
    pub(super) changes: i64,
    searches: SavedSearches,
    /// Those that are told removals, each with its number.
    with_removals: Vec<(i64, Filter)>,
}

impl WatchedSearches {
    /// No search, as of before the first.
    pub(super) fn none() -> WatchedSearches {
        WatchedSearches {
            changes: 0,
            searches: SavedSearches::new(),
            with_removals: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.searches.is_empty()
    }

    /// Reads the searches.
    ///
    /// # Errors
    /// The state cannot be read, or a file that frequencies are estimated by is damaged.
    pub(super) fn read(
        state: &State,
        snapshot: &Snapshot,
        today: Date,
    ) -> Result<Result<WatchedSearches>, StateError> {
        let (changes, searches) = state.watched_searches()?;
        Ok(SavedSearches::for_index(snapshot, today)
            .map(|empty| WatchedSearches::of(changes, empty, searches)))
    }

    fn of(
        changes: i64,
        mut searches: SavedSearches,
        watched: Vec<WatchedSearch>,
    ) -> WatchedSearches {
        let mut with_removals = Vec::new();
        for WatchedSearch {
            number,
            filter,
            removals,
        } in watched
        {
            if removals {
                with_removals.push((number, filter.clone()));
            }
            searches.insert(number.to_string(), filter);
        }
        WatchedSearches {
            changes,
            searches,
            with_removals,
        }
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
