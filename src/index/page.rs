//! Pages: the matches of all segments, merged by id, as far as the page goes.

use std::cmp::Reverse;

use smallvec::SmallVec;
use time::Date;

use super::live::LiveSegment;
use crate::exec::RowStream;
use crate::plan::{Plan, Strategies};
use crate::query::{Cursor, Order, Query, Start};
use crate::segment::Row;
use crate::signal::SignalId;

/// The signals that a query asked for, by id, and where to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    ids: Vec<SignalId>,
    places: Places,
    next_cursor: Option<Cursor>,
    rows_checked: u64,
}

/// Where the signals of a page are, so that their records need not be looked for. A place is only
/// good in the snapshot of the page and is checked; pages of the same ids are the same.
#[derive(Clone, Debug, Default)]
struct Places(Vec<Place>);

/// A row of a segment, by the segment's place in the snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) row: Row,
}

impl PartialEq for Places {
    fn eq(&self, _: &Places) -> bool {
        true
    }
}

impl Eq for Places {}

impl Page {
    /// The ids, in the query's order; at most its limit.
    pub fn ids(&self) -> &[SignalId] {
        &self.ids
    }

    /// Where the next page starts; `None` exactly when no further signal matches.
    pub fn next_cursor(&self) -> Option<&Cursor> {
        self.next_cursor.as_ref()
    }

    /// The ids with where they were found.
    pub(super) fn places(&self) -> impl Iterator<Item = (SignalId, Place)> + '_ {
        self.ids.iter().copied().zip(self.places.0.iter().copied())
    }

    /// The number of signals.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether nothing matches.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// How many rows had to be looked at one by one; the rest was decided by sets.
    pub fn rows_checked(&self) -> u64 {
        self.rows_checked
    }
}

/// Finds a page. `day` counts as today.
pub(super) fn search(
    segments: &[LiveSegment],
    query: &Query,
    day: Date,
    strategies: &Strategies,
) -> Page {
    let plans = plans(segments, query, day, strategies);
    let mut matches = Matches::new(segments, &plans, query, strategies);
    let skipped = match query.start() {
        Start::Page(number) => (usize::from(*number) - 1) * query.limit(),
        Start::First | Start::After(_) => 0,
    };
    let wanted = skipped + query.limit();
    let mut ids: Vec<SignalId> = Vec::with_capacity(query.limit());
    let mut places = Vec::with_capacity(query.limit());
    let mut seen = 0;
    let mut has_more = false;
    // One match beyond the page says whether there is a next one.
    while let Some((id, place)) = matches.next() {
        has_more = seen == wanted;
        if has_more {
            break;
        }
        if seen >= skipped {
            ids.push(id);
            places.push(place);
        }
        seen += 1;
    }
    if !strategies.early_stop {
        while matches.next().is_some() {}
    }
    let last = ids.last().filter(|_| has_more);
    Page {
        next_cursor: last
            .map(|&last| Cursor::new(query.filter().fingerprint(), query.order(), day, last)),
        rows_checked: matches.rows_checked(),
        ids,
        places: Places(places),
    }
}

/// The blocks that a page visits and skips.
pub(super) fn trace(
    segments: &[LiveSegment],
    query: &Query,
    day: Date,
    strategies: &Strategies,
) -> (u64, u64) {
    let plans = plans(segments, query, day, strategies);
    let mut matches = Matches::new(segments, &plans, query, strategies);
    matches.trace();
    for _ in 0..=query.limit() {
        matches.next();
    }
    matches.blocks()
}

fn plans<'q>(
    segments: &[LiveSegment],
    query: &'q Query,
    day: Date,
    strategies: &Strategies,
) -> SmallVec<[Plan<'q>; 1]> {
    segments
        .iter()
        .map(|live| live.plan(query.filter(), day, strategies))
        .collect()
}

/// The matches of several segments, merged by id.
struct Matches<'a> {
    order: Order,
    streams: SmallVec<[SegmentMatches<'a>; 1]>,
}

/// The matches of one segment, and the first of them that was not taken yet.
struct SegmentMatches<'a> {
    live: &'a LiveSegment,
    stream: RowStream<'a>,
    head: Option<(SignalId, Place)>,
    number: u32,
    is_started: bool,
}

impl<'a> Matches<'a> {
    fn new(
        segments: &'a [LiveSegment],
        plans: &'a [Plan<'_>],
        query: &Query,
        strategies: &Strategies,
    ) -> Matches<'a> {
        let streams = segments
            .iter()
            .zip(plans)
            .zip(0..)
            .map(|((live, plan), number)| {
                let (start, end) = window(live, query);
                let execution = live.execution(plan, strategies);
                let stream = RowStream::new(execution, query.order(), start, end);
                SegmentMatches {
                    live,
                    stream,
                    head: None,
                    number,
                    is_started: false,
                }
            });
        Matches {
            order: query.order(),
            streams: streams.collect(),
        }
    }

    /// The next match of all. An id is live in one segment only, so no two heads are equal.
    fn next(&mut self) -> Option<(SignalId, Place)> {
        for stream in &mut self.streams {
            if !stream.is_started {
                stream.is_started = true;
                stream.advance();
            }
        }
        let with_head = self
            .streams
            .iter_mut()
            .filter(|stream| stream.head.is_some());
        let first = match self.order {
            Order::OldestFirst => with_head.min_by_key(|stream| stream.head_id()),
            Order::NewestFirst => with_head.min_by_key(|stream| Reverse(stream.head_id())),
        }?;
        let found = first.head;
        first.advance();
        found
    }

    fn rows_checked(&self) -> u64 {
        self.streams
            .iter()
            .map(|stream| stream.stream.rows_checked())
            .sum()
    }

    fn trace(&mut self) {
        self.streams
            .iter_mut()
            .for_each(|stream| stream.stream.trace());
    }

    fn blocks(self) -> (u64, u64) {
        let traces = self
            .streams
            .into_iter()
            .filter_map(|stream| stream.stream.into_execution().into_trace());
        traces.fold((0, 0), |(visited, skipped), trace| {
            (
                visited + trace.blocks_visited,
                skipped + trace.blocks_skipped,
            )
        })
    }
}

impl SegmentMatches<'_> {
    fn advance(&mut self) {
        let segment = self.number;
        self.head = self
            .stream
            .next()
            .map(|row| (self.live.segment.id(row), Place { segment, row }));
    }

    fn head_id(&self) -> Option<SignalId> {
        self.head.map(|(id, _)| id)
    }
}

/// The rows that lie behind the query's cursor, from start to before end.
fn window(live: &LiveSegment, query: &Query) -> (u32, u32) {
    let rows = live.segment.row_count();
    let Start::After(cursor) = query.start() else {
        return (0, rows);
    };
    let (ids, last) = (live.segment.ids(), cursor.last_id().get());
    match query.order() {
        Order::NewestFirst => (0, ids.partition_point(|&id| id < last) as u32),
        Order::OldestFirst => (ids.partition_point(|&id| id <= last) as u32, rows),
    }
}
