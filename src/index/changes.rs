//! The changes feed: changes after a position under any filter, found lazily.
//!
//! The changes of an index are ordered by commit and, within a commit, by id. Each signal appears only at its
//! last change. So a copy of the matching signals that applies all changes up to a position holds exactly the
//! signals that match there, regardless of intermediate states.

mod candidates;
mod deleted;

use std::collections::BTreeMap;
use std::iter::FusedIterator;
use std::vec;

use time::Date;

use self::candidates::{ChangedSignal, FirstCandidates, SignalState};
use super::Snapshot;
use super::position::{LastCommit, Position, PositionError, Since};
use super::result_page::RowAddress;
use crate::encoding::row::Row;
use crate::query::Filter;
use crate::segment::ChangeOffset;
use crate::signal::{Item, SignalId};
use crate::{Error, Result};

/// Changed signals in the first batch: enough for most polls without a second pass over the segments
/// (`benches/changes.rs`), in one megabyte.
const FIRST_LENGTH: usize = 1 << 14;

/// Changed signals per batch after a caller has taken many, in eight megabytes.
const LENGTH_MAX: usize = 1 << 17;

/// Changed signals in the first batch for a caller that takes fifty changes.
const BOUNDED_LENGTH: usize = 1 << 10;

/// Maximum number of batches of a bounded caller: 15,360 changed signals take a millisecond.
pub(super) const BOUNDED_PASSES: u32 = 4;

/// The change of a signal after a position.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a change is taken apart as soon as it is given; a box would be an allocation each"
)]
#[non_exhaustive]
pub enum Change<'a> {
    /// The signal was added or changed, and matches.
    Upsert {
        /// The current state of the signal, with the name of its company.
        item: Item<'a>,
        /// Whether it was added after the position.
        is_new: bool,
    },
    /// The signal was deleted, or changed and does not match. A copy may never have held it.
    Remove {
        /// The signal's id.
        id: SignalId,
    },
}

/// A kind of changes, for [`Changes::only`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// [`Change::Remove`].
    Removal,
    /// [`Change::Upsert`].
    Upsert,
}

impl Snapshot {
    /// The position after all changes of the snapshot.
    ///
    /// Replicas have the same positions as the index that they follow.
    ///
    /// ```
    /// use signaldex::{Filter, Position, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let stored = snapshot.position().to_string(); // to be kept with what was read from the snapshot
    /// let filter = Filter::default();
    /// let mut changes = snapshot.changes(&filter, sample::AS_OF, &Position::parse(&stored)?)?;
    /// assert!(changes.next().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn position(&self) -> Position {
        self.position_at(self.end(), self.history.last_commit)
    }

    fn position_at(&self, offset: ChangeOffset, held_since: u64) -> Position {
        let last = LastCommit {
            number: self.history.last_commit,
            digest: self.chain.newest(),
        };
        Position::new(self.identity(), Since { offset, held_since }, last)
    }

    /// After all changes.
    fn end(&self) -> ChangeOffset {
        ChangeOffset::after_commit(self.history.last_commit)
    }
}

/// An iterator over the changes after a position, returned by [`Snapshot::changes`].
pub struct Changes<'a> {
    snapshot: &'a Snapshot,
    filter: &'a Filter,
    today: Date,
    /// The caller's position.
    since: Since,
    /// Nothing after this is returned.
    end: ChangeOffset,
    /// The kind that is returned; `None` for both.
    kind: Option<ChangeKind>,
    /// Everything up to here has been returned.
    given: ChangeOffset,
    /// Everything up to here has been searched.
    searched: ChangeOffset,
    /// FoundChange changes that have not been returned.
    found: vec::IntoIter<(ChangeOffset, FoundChange)>,
    /// The size of the next batch.
    length: usize,
    /// The number of remaining batches.
    passes: u32,
    /// What was returned last.
    last: GivenChange,
    /// Why there are no changes to search for, before the caller is told.
    damage: Option<Error>,
    /// The caller's position, if damage kept it from being compared with the history.
    unchecked: Option<Position>,
    has_failed: bool,
}

/// A change without its record.
#[derive(Clone, Copy, Debug)]
enum FoundChange {
    Upsert {
        address: RowAddress,
        /// The commit that added the signal.
        added: u64,
        is_new: bool,
        is_unseen: bool,
    },
    Remove,
}

/// What is known of a change that was returned.
#[derive(Clone, Copy, Debug, Default)]
struct GivenChange {
    commit: u64,
    /// The commit that added the signal of an upsert; otherwise 0.
    added: u64,
    is_unseen: bool,
}

impl<'a> Changes<'a> {
    /// The changes after a position, as [`Snapshot::changes`] says.
    pub(super) fn after(
        snapshot: &'a Snapshot,
        filter: &'a Filter,
        today: Date,
        since: &Position,
    ) -> Result<Changes<'a>, PositionError> {
        // Damage is no fault of the position: the first item says it.
        let (since, damage) =
            match since.in_index(snapshot.identity(), snapshot.history, &snapshot.chain) {
                Ok(since) => (since?, None),
                Err(error) => (since.unchecked(), Some((error, *since))),
            };
        let (damage, unchecked) = damage.unzip();
        Ok(Changes {
            snapshot,
            filter,
            today,
            since,
            end: snapshot.end(),
            kind: None,
            given: since.offset,
            searched: since.offset,
            found: Vec::new().into_iter(),
            length: FIRST_LENGTH,
            passes: u32::MAX,
            last: GivenChange {
                commit: since.offset.commit,
                ..GivenChange::default()
            },
            damage,
            unchecked,
            has_failed: false,
        })
    }

    /// The same with bounded work: after some thousands of changed signals without a match it stops, and
    /// [`has_more`](Self::has_more) is true. A caller that answers requests goes on from its position with the next
    /// one.
    ///
    /// ```
    /// use signaldex::{Filter, sample};
    ///
    /// let index = sample::index()?;
    /// let snapshot = index.snapshot();
    /// let since = snapshot.position();
    /// let filter = Filter::default();
    /// let mut changes = snapshot.changes(&filter, sample::AS_OF, &since)?.bounded();
    /// assert!(changes.next().is_none() && !changes.has_more()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bounded(self) -> Changes<'a> {
        Changes {
            length: BOUNDED_LENGTH,
            passes: BOUNDED_PASSES,
            ..self
        }
    }

    /// Ends the changes at a position of the snapshot's history. A signal that was changed again after it is left out: that
    /// change comes when the end is later.
    ///
    /// ```
    /// use signaldex::{Company, Filter, Index, Position};
    ///
    /// let index = Index::in_memory()?;
    /// let before = index.snapshot().position();
    /// let mut writer = index.writer()?;
    /// writer.upsert_company(&Company::new("acme", "Acme"))?;
    /// writer.commit()?;
    /// let (snapshot, filter) = (index.snapshot(), Filter::default());
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// let mut none = snapshot.changes(&filter, today, &Position::START)?.until(&before)?;
    /// assert!(none.next().is_none() && !none.has_more()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Snapshot::changes`].
    pub fn until(mut self, end: &Position) -> Result<Changes<'a>, PositionError> {
        let snapshot = self.snapshot;
        match end.in_index(snapshot.identity(), snapshot.history, &snapshot.chain) {
            Ok(end) => self.end = end?.offset,
            // Damage is no fault of the position: the first item says it.
            Err(error) => drop(self.damage.get_or_insert(error)),
        }
        Ok(self)
    }

    /// Leaves out changes of the other kind.
    ///
    /// ```
    /// use signaldex::{ChangeKind, Filter, Position, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::from_query_string("q=robotics")?);
    /// let count = |kind| {
    ///     let changes = snapshot.changes(&filter, sample::AS_OF, &Position::START);
    ///     changes.map(|changes| changes.only(kind).count() as u64)
    /// };
    /// assert_eq!(count(ChangeKind::Upsert)?, snapshot.count(&filter, sample::AS_OF)?);
    /// assert_eq!(count(ChangeKind::Removal)?, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn only(self, kind: ChangeKind) -> Changes<'a> {
        Changes {
            kind: Some(kind),
            ..self
        }
    }

    /// The position after the changes returned so far; that of the snapshot if there are no more.
    ///
    /// ```
    /// use signaldex::{Filter, Position, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let filter = Filter::from_query_string("country=Germany")?;
    /// let mut changes = snapshot.changes(&filter, sample::AS_OF, &Position::START)?;
    /// assert_eq!(changes.by_ref().take(200).count(), 200);
    /// let rest = snapshot.changes(&filter, sample::AS_OF, &changes.position())?;
    /// assert_eq!(rest.count(), 41);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn position(&self) -> Position {
        if let Some(unchecked) = self.unchecked {
            return unchecked;
        }
        if self.given == self.snapshot.end() {
            return self.snapshot.position();
        }
        self.snapshot.position_at(self.given, self.since.held_since)
    }

    /// The commit of the change that was returned last; before the first, that of the position.
    ///
    /// ```
    /// use signaldex::{Filter, Position, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::default());
    /// let mut changes = snapshot.changes(&filter, sample::AS_OF, &Position::START)?;
    /// assert_eq!(changes.commit(), 0);
    /// assert!(changes.next().is_some());
    /// assert_eq!(changes.commit(), snapshot.position().step().0); // the sample is one commit
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn commit(&self) -> u64 {
        self.last.commit
    }

    /// The commit that added the signal of the upsert that was returned last; 0 after a removal and before the first change.
    ///
    /// ```
    /// use signaldex::{Filter, Position, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::default());
    /// let mut changes = snapshot.changes(&filter, sample::AS_OF, &Position::START)?;
    /// assert!(changes.next().is_some());
    /// assert_eq!(changes.added_in(), changes.commit()); // it was not changed since
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn added_in(&self) -> u64 {
        self.last.added
    }

    /// Whether the signal of the upsert that was returned last was added after the position, or since the copy was last
    /// complete. A copy on its way to the end has passed the commits of signals that changed again meanwhile: the feed has
    /// each at its last change alone, so one of those is not `is_new`, though it was never returned.
    ///
    /// ```
    /// use signaldex::{Filter, Position, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::default());
    /// let mut changes = snapshot.changes(&filter, sample::AS_OF, &Position::START)?;
    /// assert!(!changes.is_unseen());
    /// assert!(changes.next().is_some() && changes.is_unseen());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_unseen(&self) -> bool {
        self.last.is_unseen
    }

    /// Whether there are more changes. Searches for the next one if necessary.
    ///
    /// ```
    /// use signaldex::{Filter, Position, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::from_query_string("q=robotics")?);
    /// let mut changes = snapshot.changes(&filter, sample::AS_OF, &Position::START)?;
    /// assert_eq!(changes.by_ref().take(10).count(), 10);
    /// assert!(changes.has_more()?);
    /// assert!(changes.by_ref().count() > 0 && !changes.has_more()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file that the changes are found by is damaged. The iterator ends.
    pub fn has_more(&mut self) -> Result<bool> {
        self.find()?;
        Ok(!self.found.as_slice().is_empty() || self.searched < self.end)
    }

    /// Records that a change has been returned.
    fn give(&mut self, offset: ChangeOffset) {
        self.given = if self.found.as_slice().is_empty() {
            self.searched
        } else {
            offset
        };
    }

    /// Searches for changes, unless found ones are left or an error was returned.
    fn find(&mut self) -> Result<()> {
        if self.has_failed {
            return Ok(());
        }
        let found = self.damage.take().map_or(Ok(()), Err);
        let found = found.and_then(|()| self.search());
        self.has_failed = found.is_err();
        found
    }

    fn search(&mut self) -> Result<()> {
        let end = self.end;
        // Ends because each iteration advances `searched`, at the latest to the end.
        while self.found.as_slice().is_empty() && self.searched < end && self.passes > 0 {
            self.passes -= 1;
            let candidates = self.next_candidates(self.length)?;
            // The batch is full, so there may be more.
            let last = candidates
                .last()
                .filter(|_| candidates.len() == self.length);
            let found = self.decide(&candidates)?;
            self.searched = last.map_or(end, |last| last.offset);
            self.found = found.into_iter();
            self.length = (2 * self.length).min(LENGTH_MAX);
        }
        // There are no changes up to here, so the position may move.
        if self.found.as_slice().is_empty() {
            self.given = self.searched;
        }
        Ok(())
    }

    /// The next `length` signals that were changed or deleted.
    fn next_candidates(&self, length: usize) -> Result<Vec<ChangedSignal>> {
        let mut first = FirstCandidates::new(length, self.end);
        for (index, live) in (0..).zip(&self.snapshot.segments) {
            // Invariant: `first` has the first candidates of all segments before this one.
            if !live.segment.has_changed_since(self.searched)? {
                continue;
            }
            live.segment
                .visit_changed_rows(self.searched, first.bound, |offset, row| {
                    // A deleted row was written again in a later segment or has a tombstone. One that a key does not
                    // see may have been seen before.
                    if !live.stored_deletions().contains(row) {
                        let address = RowAddress {
                            segment: index,
                            row,
                        };
                        first.add(offset, SignalState::Live(address));
                    }
                    first.bound
                })?;
            for tombstone in live.segment.tombstones()? {
                let offset = tombstone.offset();
                // The copy does not hold signals that were deleted before it was complete.
                if offset > self.searched && offset.commit > self.since.held_since {
                    let first_commit = tombstone.first_commit;
                    first.add(offset, SignalState::Deleted { first_commit });
                }
            }
        }
        Ok(first.into_sorted())
    }

    /// Decides which changes the candidates are.
    fn decide(&self, candidates: &[ChangedSignal]) -> Result<Vec<(ChangeOffset, FoundChange)>> {
        let matches = self.matches(candidates)?;
        let is_before = |commit: u64, offset: ChangeOffset| {
            let first = ChangeOffset { commit, ..offset };
            first <= self.since.offset
        };
        let mut changes = Vec::with_capacity(candidates.len());
        for &ChangedSignal { offset, state } in candidates {
            let found = match state {
                SignalState::Deleted { first_commit } => {
                    is_before(first_commit, offset).then_some(FoundChange::Remove)
                }
                SignalState::Live(address) => {
                    let RowAddress { segment, row } = address;
                    let live = &self.snapshot.segments[segment as usize];
                    let first = live.segment.commits(row)?.first;
                    let is_new = !is_before(first, offset);
                    // Each live candidate has put its segment into the map, and `retain_matches`
                    // keeps rows sorted.
                    if matches[&segment].binary_search(&row).is_ok() {
                        Some(FoundChange::Upsert {
                            address,
                            added: first,
                            is_new,
                            is_unseen: is_new || first > self.since.held_since,
                        })
                    } else {
                        // A signal that has not matched since the copy was complete is not in it.
                        let may_be_held = !is_new && offset.commit > self.since.held_since;
                        may_be_held.then_some(FoundChange::Remove)
                    }
                }
            };
            let found = found.filter(|found| found.is_of(self.kind));
            changes.extend(found.map(|found| (offset, found)));
        }
        Ok(changes)
    }

    /// The matching rows of the candidates by segment, ascending.
    fn matches(&self, candidates: &[ChangedSignal]) -> Result<BTreeMap<u32, Vec<Row>>> {
        let mut rows: BTreeMap<u32, Vec<Row>> = BTreeMap::new();
        for candidate in candidates {
            if let SignalState::Live(address) = candidate.state {
                rows.entry(address.segment).or_default().push(address.row);
            }
        }
        let request = self.snapshot.request(self.filter, self.today);
        for (&segment, rows) in &mut rows {
            rows.sort_unstable();
            let live = self.snapshot.segments[segment as usize].live();
            live.retain_matches(&request, rows)?;
        }
        Ok(rows)
    }
}

impl FoundChange {
    fn is_of(self, kind: Option<ChangeKind>) -> bool {
        match kind {
            None => true,
            Some(ChangeKind::Removal) => matches!(self, FoundChange::Remove),
            Some(ChangeKind::Upsert) => matches!(self, FoundChange::Upsert { .. }),
        }
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<Change<'a>>;

    fn next(&mut self) -> Option<Result<Change<'a>>> {
        if let Err(error) = self.find() {
            return Some(Err(error));
        }
        let (offset, found) = self.found.next()?;
        // A removal has no signal that was added.
        let mut last = GivenChange {
            commit: offset.commit,
            ..GivenChange::default()
        };
        let change = match found {
            FoundChange::Remove => Change::Remove {
                id: SignalId::of_checked(offset.id),
            },
            FoundChange::Upsert {
                address,
                added,
                is_new,
                is_unseen,
            } => {
                (last.added, last.is_unseen) = (added, is_unseen);
                let live = &self.snapshot.segments[address.segment as usize];
                match live.segment.item(address.row) {
                    Ok(item) => Change::Upsert { item, is_new },
                    Err(error) => {
                        self.found = Vec::new().into_iter();
                        self.has_failed = true;
                        return Some(Err(error));
                    }
                }
            }
        };
        self.give(offset);
        self.last = last;
        Some(Ok(change))
    }

    /// Counts without reading records. An error at the end counts as one item, as it does for every iterator.
    fn count(mut self) -> usize {
        let mut count = 0;
        // Invariant: `count` is the number of changes in the batches that have been taken.
        loop {
            match self.find() {
                Err(_) => return count + 1,
                Ok(()) if self.found.as_slice().is_empty() => return count,
                Ok(()) => count += std::mem::take(&mut self.found).len(),
            }
        }
    }
}

impl FusedIterator for Changes<'_> {}
