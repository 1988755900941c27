//! Pages in an order by value: the first matches of each segment, merged by value and id.

use std::cmp::Reverse;

use time::Date;

use super::live::SegmentHandle;
use super::result_page::{Hit, Page, RowAddress};
use crate::Result;
use crate::exec::{Counters, Observer, Request, WantedValues};
use crate::plan::Strategies;
use crate::query::{IdOrder, Query, SortKey, Start, ValueOrder};

/// Finds a page, and passes the observations of each segment, with its index, to `explained`.
///
/// # Errors
/// A part of a segment that the query needs is damaged.
pub(super) fn run<O: Observer>(
    segments: &[SegmentHandle],
    query: &Query,
    order: ValueOrder,
    (day, strategies): (Date, &Strategies),
    mut explained: impl FnMut(usize, O::Explained),
) -> Result<Page> {
    let request = Request {
        filter: query.filter(),
        today: day,
        order: IdOrder::default(),
        strategies,
        may_be_eager: false,
        executor: None,
    };
    let to_skip = match query.start() {
        Start::Page(number) => (usize::from(*number) - 1) * query.limit(),
        Start::First | Start::After(_) => 0,
    };
    let mut wanted = WantedValues {
        order,
        after: match query.start() {
            Start::After(cursor) => Some(cursor.last()),
            Start::First | Start::Page(_) => None,
        },
        until: None,
        // One more match tells whether there is a next page.
        max: to_skip + query.limit() + 1,
    };
    let mut found: Vec<(SortKey, RowAddress)> = Vec::new();
    let mut counters = Counters::default();
    // The largest segment has most of the page, so that the others have few values to search.
    let mut indexes: Vec<usize> = (0..segments.len()).collect();
    indexes.sort_by_key(|&index| Reverse(segments[index].live().live_rows()));
    // Invariant: `found` has the first matches of the segments before this one, as many as wanted.
    for index in indexes {
        let selected = segments[index].live().select::<O>(&request, &wanted)?;
        // A snapshot has far fewer segments than a `u32` can count.
        let segment = index as u32;
        let address = |(key, row)| (key, RowAddress { segment, row });
        let is_first = found.is_empty();
        found.extend(selected.matches().map(address));
        counters += selected.counters;
        explained(index, selected.explained);
        if !is_first {
            found.sort_unstable_by_key(|&(key, _)| order.rank(key));
        }
        found.truncate(wanted.max);
        let last = found.last().filter(|_| found.len() == wanted.max);
        wanted.until = last.map(|&(key, _)| key).filter(|_| strategies.early_stop);
    }
    found.drain(..to_skip.min(found.len()));
    let has_more = found.len() > query.limit();
    found.truncate(query.limit());
    let last = found.last().filter(|_| has_more);
    Ok(Page {
        next_cursor: last.map(|&(key, _)| query.cursor_after(key, day)),
        counters,
        hits: found.iter().map(hit).collect(),
        values: found.iter().map(|(key, _)| key.value).collect(),
    })
}

fn hit(&(key, address): &(SortKey, RowAddress)) -> Hit {
    Hit {
        id: key.id,
        address,
    }
}
