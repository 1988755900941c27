//! What has changed in a shard: as items of the feed, as matches of a saved search, or as the saved searches that it
//! concerns.

use std::collections::BTreeSet;

use time::Date;

use super::answer::{ChangeOrigin, FoundChanges, ShardChange};
use super::loaded_shards::AskedShard;
use super::question::{ChangesOutput, ChangesQuestion, DeletedQuestion};
use signaldex::json::{search_item, write_change};
use signaldex::query::limits::PAGE_BYTES_MAX;
use signaldex::{
    Change, Changes, Filter, PositionError, Result, SavedSearches, SignalId, Snapshot,
};

/// The first changes of a shard, while a page has room for them.
///
/// # Errors
/// The shard is damaged; inside, why a position has no place in its history.
pub(super) fn find(
    asked: &AskedShard,
    wanted: &ChangesQuestion,
) -> Result<Result<FoundChanges, PositionError>> {
    let ChangesQuestion { filter, today, .. } = wanted;
    let [since, until] = [&wanted.since, &wanted.until].map(|whole| asked.position(whole));
    let changes = asked.snapshot.changes(filter, *today, &since);
    let changes = match changes.and_then(|changes| changes.until(&until)) {
        Ok(changes) => changes,
        Err(error) => return Ok(Err(error)),
    };
    let mut changes = changes.only(wanted.kind).bounded();
    let mut concerned = match &wanted.output {
        ChangesOutput::Searches(filters) => {
            Some(ConcernedByShard::new(&asked.snapshot, filters, *today))
        }
        _ => None,
    };
    let (mut found, mut read, mut bytes) = (Vec::new(), 0, 0);
    // Invariant: `found` has what the first `read` changes are written as.
    while read < wanted.limit && bytes <= PAGE_BYTES_MAX {
        let Some(change) = changes.next().transpose()? else {
            break;
        };
        read += 1;
        let before = found.len();
        match &mut concerned {
            None => found.push(written(&changes, &change, &wanted.output)),
            Some(concerned) => concerned.add(&changes, &change, &mut found)?,
        }
        let added = found[before..].iter();
        bytes += added.map(|change| change.item.len()).sum::<usize>();
    }
    let is_last = !changes.has_more()?;
    Ok(Ok(FoundChanges {
        changes: found,
        step: changes.position().step(),
        is_last,
    }))
}

/// The change that was returned last, as a feed or a saved search has it.
fn written(changes: &Changes<'_>, change: &Change<'_>, output: &ChangesOutput) -> ShardChange {
    let (signal, item) = match (output, change) {
        (ChangesOutput::Matches(rendering), Change::Upsert { item, .. }) => {
            let written = search_item(&item.signal, &item.company_name, *rendering);
            (Some(item.signal.id), written)
        }
        (ChangesOutput::Matches(_), Change::Remove { id }) => (Some(*id), Vec::new()),
        (ChangesOutput::Feed(rendering), _) => {
            let mut item = Vec::new();
            write_change(&mut item, change, *rendering);
            (None, item)
        }
        // Searches are not written as changes, and there are no other kinds of changes.
        _ => (None, Vec::new()),
    };
    ShardChange {
        step: changes.position().step(),
        origin: signal.map(|signal| ChangeOrigin {
            signal,
            commit: changes.commit(),
            added: changes.added_in(),
        }),
        item: item.into(),
    }
}

/// Finds which of some saved searches changes concern: those that an upsert matches, by their indices; and by the index
/// after the last one that a reader may have to remove a signal.
struct ConcernedByShard<'s> {
    snapshot: &'s Snapshot,
    searches: SavedSearches,
    today: Date,
    removals: usize,
    /// Those that were found.
    known: BTreeSet<usize>,
}

impl ConcernedByShard<'_> {
    fn new<'s>(snapshot: &'s Snapshot, filters: &[Filter], today: Date) -> ConcernedByShard<'s> {
        let mut searches = SavedSearches::new();
        for (index, filter) in filters.iter().enumerate() {
            searches.insert(index.to_string(), filter.clone());
        }
        ConcernedByShard {
            snapshot,
            searches,
            today,
            removals: filters.len(),
            known: BTreeSet::new(),
        }
    }

    /// Adds the searches that the change which was returned last is the first to concern.
    fn add(
        &mut self,
        changes: &Changes<'_>,
        change: &Change<'_>,
        found: &mut Vec<ShardChange>,
    ) -> Result<()> {
        // Under any filter, a signal that was changed matches or is removed.
        let mut concerned = Vec::from_iter((!changes.is_unseen()).then_some(self.removals));
        if let Change::Upsert { item, .. } = change
            && let Some(whole) = self.snapshot.signal(item.signal.id)?
        {
            let matched = self
                .searches
                .matches(&whole.signal, &whole.company, self.today);
            concerned.extend(
                matched
                    .iter()
                    .filter_map(|index| index.parse::<usize>().ok()),
            );
        }
        let first = concerned
            .into_iter()
            .filter(|&index| self.known.insert(index));
        found.extend(first.map(|index| ShardChange {
            step: changes.position().step(),
            origin: None,
            item: index.to_string().into(),
        }));
        Ok(())
    }
}

/// Which signals of a question a shard has deleted since its position; none where deletions since then are forgotten.
///
/// # Errors
/// The shard is damaged.
pub(super) fn deleted(asked: &AskedShard, wanted: &DeletedQuestion) -> Result<Vec<SignalId>> {
    let Some(whole) = wanted.since.get(&asked.shard) else {
        return Ok(Vec::new());
    };
    let since = asked.position(whole);
    let deleted = asked.snapshot.deleted_since(&since, &wanted.ids)?;
    Ok(deleted.unwrap_or_default())
}
