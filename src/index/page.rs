//! Pages: the matches of all segments, merged by id until the page is full.
//!
//! The segment that probably has most of the page is searched first. Of every other one, only rows whose ids
//! come before the last id of the page so far are searched: few or none of a small segment. Pages by value are in
//! [`value_page`](super::value_page).

use std::ops::Range;

use smallvec::SmallVec;
use time::Date;

use super::live::SegmentHandle;
use super::result_page::{Hit, Page, RowAddress};
use super::value_page;
use crate::Result;
use crate::encoding::frame_of_reference::FrameOfReference;
use crate::encoding::row::Row;
use crate::exec::{Consumer, Counters, Counting, MatchRun, MatchRuns, Observer, Run};
use crate::exec::{LiveSegment, PhraseSteps, Request, Unobserved, may_be_eager};
use crate::plan::{ExecutionExplanation, PlanStorage, Strategies};
use crate::query::{IdOrder, Query, Sorting, Start};
use crate::segment::Segment;
use crate::signal::SignalId;

/// Finds a page, with `day` as today.
///
/// # Errors
/// A part of a segment that the query needs is damaged.
pub(super) fn search(
    segments: &[SegmentHandle],
    query: &Query,
    day: Date,
    strategies: &Strategies,
) -> Result<Page> {
    run::<Unobserved>(segments, query, day, strategies, |_, ()| {})
}

/// Explains how each segment finds its part of a page; `None` if the page is already full.
pub(super) fn explain(
    segments: &[SegmentHandle],
    query: &Query,
    day: Date,
    strategies: &Strategies,
) -> Result<Vec<Option<ExecutionExplanation>>> {
    let mut explained: Vec<_> = segments.iter().map(|_| None).collect();
    run::<Counting>(segments, query, day, strategies, |segment, explanation| {
        explained[segment] = Some(explanation);
    })?;
    Ok(explained)
}

/// Finds a page, and passes the observations of each searched segment, with its index, to `explained`.
#[inline(always)]
fn run<O: Observer>(
    segments: &[SegmentHandle],
    query: &Query,
    day: Date,
    strategies: &Strategies,
    explained: impl FnMut(usize, O::Explained),
) -> Result<Page> {
    let order = match query.order().sorting() {
        Sorting::ById(order) => order,
        Sorting::ByValue(order) => {
            return value_page::run::<O>(segments, query, order, (day, strategies), explained);
        }
    };
    let request = Request {
        filter: query.filter(),
        today: day,
        order,
        strategies,
        may_be_eager: may_be_eager(query.filter(), segments.len(), strategies),
        executor: None,
    };
    let mut page = Collected::new(query);
    let counters = match segments {
        [only] => search_one::<O>(only.live(), query, &request, &mut page, explained)?,
        _ => search_all::<O>(segments, query, &request, &mut page, explained)?,
    };
    Ok(page.into_page(query, day, counters))
}

/// Collects the matches of the only segment, without reading those that the page skips.
#[inline(always)]
fn search_one<O: Observer>(
    live: LiveSegment<'_>,
    query: &Query,
    request: &Request<'_>,
    page: &mut Collected,
    mut explained: impl FnMut(usize, O::Explained),
) -> Result<Counters> {
    let rows = rows_after_cursor(live.segment, query, request.order)?;
    let (counters, explanation) = collect::<O>((live, 0), rows, request, page)?;
    explained(0, explanation);
    Ok(counters)
}

/// Collects the matches of several segments.
fn search_all<O: Observer>(
    segments: &[SegmentHandle],
    query: &Query,
    request: &Request<'_>,
    page: &mut Collected,
    mut explained: impl FnMut(usize, O::Explained),
) -> Result<Counters> {
    // Matches that the page skips are collected, too: which ones come first is known only after
    // merging.
    let to_skip = std::mem::take(&mut page.to_skip);
    let wanted = to_skip + page.room;
    let mut parts: SmallVec<[PagePart<'_>; 4]> = SmallVec::with_capacity(segments.len());
    for (handle, index) in segments.iter().zip(0..) {
        parts.push(PagePart::new(
            handle,
            index,
            (query, request.order),
            wanted,
        )?);
    }
    // Parts that can fill the page early come first, so that later ones have few rows to search.
    parts.sort_unstable_by_key(|part| part.filled_at);
    let mut total = Counters::default();
    // Invariant: the page has the first matches of the previous parts, as many as needed.
    for part in parts {
        let (rows, needed) = part.remaining(&page.hits, wanted, request)?;
        if rows.is_empty() {
            continue;
        }
        let before = page.hits.len();
        page.room = needed;
        let (counters, explanation) = collect::<O>((part.live, part.index), rows, request, page)?;
        total += counters;
        explained(part.index as usize, explanation);
        merge(&mut page.hits, before, request.order);
        page.hits.truncate(wanted);
    }
    page.hits.drain(..to_skip.min(page.hits.len()));
    Ok(total)
}

/// Collects the matches of a range of rows of a segment, given its index in the snapshot.
#[inline(always)]
fn collect<O: Observer>(
    (live, index): (LiveSegment<'_>, u32),
    rows: Range<u32>,
    request: &Request<'_>,
    page: &mut Collected,
) -> Result<(Counters, O::Explained)> {
    let collector = Collector {
        page,
        index,
        ids: live.segment.ids()?,
        early_stop: request.strategies.early_stop,
    };
    if request.is_eager(&rows) {
        return collect_eagerly::<O>(live, rows, request, collector);
    }
    let mut storage = PlanStorage::new();
    let wanted = collector.page.wanted();
    let plan = live.plan_among(&mut storage, request, &rows, wanted)?;
    if plan.no_match.is_some() {
        return Ok((Counters::default(), live.explain_no_match::<O>(plan)));
    }
    let (run, observer) = live.search::<O, _>(plan, request, rows, collector)?;
    Ok((run.counters, observer.explain(run, plan, live)))
}

/// Collects the matches of few rows, without a plan.
fn collect_eagerly<O: Observer>(
    live: LiveSegment<'_>,
    rows: Range<u32>,
    request: &Request<'_>,
    collector: Collector<'_, '_>,
) -> Result<(Counters, O::Explained)> {
    let mut phrases = PhraseSteps::new();
    let evaluated = live.evaluate::<O>(&mut phrases, request, &rows)?;
    if evaluated.no_match.is_some() {
        return Ok((Counters::default(), evaluated.explain_no_match()));
    }
    let order = request.order;
    let (run, observer) = live.search_evaluated(evaluated, &phrases, order, rows, collector)?;
    Ok((run.counters, observer.explain_eager(run, None, &phrases)))
}

/// A segment's part of a page.
struct PagePart<'a> {
    live: LiveSegment<'a>,
    index: u32,
    /// The rows after the cursor.
    rows: Range<u32>,
    /// The id at which the page would end if all of these rows matched, mapped so that earlier is smaller; the
    /// maximum if there are too few rows.
    filled_at: u64,
}

impl<'a> PagePart<'a> {
    fn new(
        handle: &'a SegmentHandle,
        index: u32,
        (query, order): (&Query, IdOrder),
        wanted: usize,
    ) -> Result<PagePart<'a>> {
        let rows = rows_after_cursor(&handle.segment, query, order)?;
        let filled_at = if rows.len() < wanted {
            u64::MAX
        } else {
            // There are at least `wanted` rows, and at least one is wanted, so the row exists and
            // the casts fit.
            match order {
                IdOrder::OldestFirst => handle
                    .segment
                    .id(Row(rows.start + wanted as u32 - 1))?
                    .get(),
                IdOrder::NewestFirst => !handle.segment.id(Row(rows.end - wanted as u32))?.get(),
            }
        };
        Ok(PagePart {
            live: handle.live(),
            index,
            rows,
            filled_at,
        })
    }

    /// The rows that may still belong to the page, given its hits, and the maximum number of their matches.
    fn remaining(
        &self,
        hits: &[Hit],
        wanted: usize,
        request: &Request<'_>,
    ) -> Result<(Range<u32>, usize)> {
        let (order, rows) = (request.order, self.rows.clone());
        let Some(first) = first_id(self.live.segment, &rows, order)? else {
            return Ok((rows, 0));
        };
        // Hits before the first row of this part stay before all of its matches.
        let ahead = hits.partition_point(|hit| order.puts_first(hit.id, first));
        let last = hits.last().filter(|_| hits.len() == wanted);
        let rows = match last.map(|hit| hit.id.get()) {
            Some(last) if request.strategies.early_stop => {
                // The page is full with hits that come before this part.
                if ahead == wanted {
                    return Ok((0..0, 0));
                }
                let ids = self.live.segment.ids()?;
                match order {
                    IdOrder::OldestFirst => rows.start..ids.count_below(last) as u32,
                    IdOrder::NewestFirst => ids.count_below(last + 1) as u32..rows.end,
                }
            }
            _ => rows,
        };
        Ok((rows, wanted - ahead))
    }
}

/// Up to this many hits are inserted one by one, which moves the others less often than merging does.
const INSERTED_MAX: usize = 4;

/// Merges two sorted parts of the hits. The later part starts at an index.
fn merge(hits: &mut [Hit], index: usize, order: IdOrder) {
    let (before, later) = hits.split_at(index);
    // Nothing to do if the later part follows the earlier one.
    match (before.last(), later.first()) {
        (Some(last), Some(first)) if order.puts_first(first.id, last.id) => {}
        _ => return,
    }
    if later.len() <= INSERTED_MAX {
        insert(hits, index, order);
    } else {
        interleave(hits, index, order);
    }
}

/// Inserts the hits from an index on among those before it.
fn insert(hits: &mut [Hit], index: usize, order: IdOrder) {
    let mut later: SmallVec<[Hit; INSERTED_MAX]> = SmallVec::from_slice(&hits[index..]);
    let (mut before, mut end) = (index, hits.len());
    // Invariant: the first `before` hits and the rest of `later` must be merged into the slots before `end`.
    // All hits from `end` on are in place.
    while let Some(hit) = later.pop() {
        let index = hits[..before].partition_point(|other| order.puts_first(other.id, hit.id));
        end -= before - index;
        hits.copy_within(index..before, end);
        end -= 1;
        hits[end] = hit;
        before = index;
    }
}

/// Merges two parts of the hits from the front.
fn interleave(hits: &mut [Hit], index: usize, order: IdOrder) {
    let first_later = hits[index].id;
    let in_place = hits[..index].partition_point(|hit| order.puts_first(hit.id, first_later));
    let before: SmallVec<[Hit; HITS_MIN]> = SmallVec::from_slice(&hits[in_place..index]);
    let (mut end, mut next, mut later) = (in_place, 0, index);
    // Invariant: the hits before `end` are in place. The rest of `before` from `next` on and the hits from `later`
    // on have to be merged into the slots from `end` on, of which as many are free as `before` has hits left.
    while next < before.len() && later < hits.len() {
        let is_later = order.puts_first(hits[later].id, before[next].id);
        hits[end] = if is_later { hits[later] } else { before[next] };
        later += usize::from(is_later);
        next += usize::from(!is_later);
        end += 1;
    }
    let rest = &before[next..];
    hits[end..end + rest.len()].copy_from_slice(rest);
}

/// Collects the matches of a segment.
struct Collector<'p, 'a> {
    page: &'p mut Collected,
    index: u32,
    ids: FrameOfReference<'a>,
    early_stop: bool,
}

impl<'a, O: Observer> Consumer<'a, O> for Collector<'_, 'a> {
    type Output = (Run, O);

    #[inline(always)]
    fn consume(self, mut matches: impl MatchRuns<O> + 'a) -> (Run, O) {
        self.page.collect(self.index, self.ids, &mut matches);
        if !self.early_stop {
            Collected::everything().collect(self.index, self.ids, &mut matches);
        }
        matches.finish()
    }
}

/// Minimum capacity of hits: for a page of the usual length, plus hits merged into it.
const HITS_MIN: usize = 64;

/// The hits of a page and the match after it.
struct Collected {
    hits: Vec<Hit>,
    /// The number of matches before the page.
    to_skip: usize,
    /// The number of hits still needed.
    room: usize,
}

impl Collected {
    fn new(query: &Query) -> Collected {
        let limit = query.limit();
        Collected {
            hits: Vec::with_capacity(HITS_MIN.max(limit + 1)),
            to_skip: match query.start() {
                Start::Page(number) => (usize::from(*number) - 1) * limit,
                Start::First | Start::After(_) => 0,
            },
            room: limit + 1,
        }
    }

    /// Counts every match and keeps none.
    fn everything() -> Collected {
        Collected {
            hits: Vec::new(),
            to_skip: usize::MAX,
            room: 0,
        }
    }

    /// The number of matches still needed.
    fn wanted(&self) -> usize {
        self.to_skip.saturating_add(self.room)
    }

    /// Collects the matches of a segment, given its index and the ids of its rows.
    fn collect<O: Observer>(
        &mut self,
        segment: u32,
        ids: FrameOfReference<'_>,
        matches: &mut impl MatchRuns<O>,
    ) {
        // Each iteration takes some matches, or finds that there are no more.
        while self.wanted() > 0 {
            let run = matches.next_run(self.wanted());
            let n = run.len();
            self.extend(segment, ids, run);
            matches.take(n);
            if n == 0 {
                return;
            }
        }
    }

    /// Adds the next matches of a segment, given its index and the ids of its rows.
    fn extend(&mut self, segment: u32, ids: FrameOfReference<'_>, run: MatchRun<'_>) {
        let skipped = self.to_skip.min(run.len());
        self.to_skip -= skipped;
        let shown = run.part(skipped..run.len().min(skipped + self.room));
        self.room -= shown.len();
        let hit = move |row, id| Hit {
            id: SignalId::of_checked(id),
            address: RowAddress {
                segment,
                row: Row(row),
            },
        };
        ids.read(shown.rows(), &mut self.hits, hit);
    }

    /// Creates the page, with a cursor if a match comes after it.
    fn into_page(mut self, query: &Query, day: Date, counters: Counters) -> Page {
        let has_more = self.hits.len() > query.limit();
        self.hits.truncate(query.limit());
        let last = self.hits.last().filter(|_| has_more);
        Page {
            next_cursor: last.map(|last| query.cursor_after(last.id, day)),
            counters,
            hits: self.hits,
            values: Vec::new(),
        }
    }
}

/// The id of the first row of a range in an order.
fn first_id(segment: &Segment, rows: &Range<u32>, order: IdOrder) -> Result<Option<SignalId>> {
    let row = match order {
        IdOrder::OldestFirst => Row(rows.start),
        IdOrder::NewestFirst => Row(rows.end.wrapping_sub(1)),
    };
    if rows.is_empty() {
        return Ok(None);
    }
    segment.id(row).map(Some)
}

/// The rows after the query's cursor.
fn rows_after_cursor(segment: &Segment, query: &Query, order: IdOrder) -> Result<Range<u32>> {
    let rows = segment.row_count();
    let Start::After(cursor) = query.start() else {
        return Ok(0..rows);
    };
    let (ids, last) = (segment.ids()?, cursor.last_id().get());
    Ok(match order {
        IdOrder::NewestFirst => 0..ids.count_below(last) as u32,
        IdOrder::OldestFirst => ids.count_below(last + 1) as u32..rows,
    })
}

#[cfg(test)]
mod tests;
