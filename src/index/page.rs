//! Pages: the matches of all segments, merged by id, as far as the page goes.

use std::cell::OnceCell;

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
    let plans: LazyPlans<'_> = segments.iter().map(|_| OnceCell::new()).collect();
    let mut matches = Matches::new(segments, &plans, query, day, strategies);
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
            .map(|&last| Cursor::new(query.filter_fingerprint(), query.order(), day, last)),
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
    let plans: LazyPlans<'_> = segments.iter().map(|_| OnceCell::new()).collect();
    let mut matches = Matches::new(segments, &plans, query, day, strategies);
    matches.trace();
    for _ in 0..=query.limit() {
        matches.next();
    }
    matches.blocks()
}

/// A plan a segment, made when the page first needs the segment.
type LazyPlans<'q> = SmallVec<[OnceCell<Plan<'q>>; 1]>;

/// The matches of several segments, merged by id. A segment is planned and looked at only once its
/// ids come into question: a page of the newest signals seldom reaches old segments.
struct Matches<'a, 'q> {
    query: &'q Query,
    day: Date,
    strategies: &'a Strategies,
    is_traced: bool,
    leader: Option<Leader>,
    segments: SmallVec<[SegmentMatches<'a, 'q>; 1]>,
}

/// The segment whose matches come first until they pass the head of another.
#[derive(Clone, Copy, Debug)]
struct Leader {
    segment: usize,
    rival: Option<SignalId>,
}

/// The matches of one segment.
struct SegmentMatches<'a, 'q> {
    live: &'a LiveSegment,
    ids: &'a [u64],
    plan: &'a OnceCell<Plan<'q>>,
    number: u32,
    stream: Option<RowStream<'a>>,
    head: Head,
}

/// What is known of a segment's next match.
#[derive(Clone, Copy, Debug)]
enum Head {
    /// It is not before this id.
    NotBefore(SignalId),
    /// It is this one.
    Found(SignalId, Place),
    /// There is none.
    None,
}

impl<'a, 'q> Matches<'a, 'q> {
    fn new(
        segments: &'a [LiveSegment],
        plans: &'a [OnceCell<Plan<'q>>],
        query: &'q Query,
        day: Date,
        strategies: &'a Strategies,
    ) -> Matches<'a, 'q> {
        let of_segment = |((live, plan), number)| SegmentMatches {
            live,
            ids: live.segment.ids(),
            plan,
            number,
            stream: None,
            head: first_possible(live, query),
        };
        Matches {
            query,
            day,
            strategies,
            is_traced: false,
            leader: None,
            segments: segments
                .iter()
                .zip(plans)
                .zip(0..)
                .map(of_segment)
                .collect(),
        }
    }

    /// The next match of all. An id is live in one segment only, so no two heads are equal.
    fn next(&mut self) -> Option<(SignalId, Place)> {
        loop {
            let leader = match self.leader.filter(|leader| self.leads(*leader)) {
                Some(leader) => leader,
                None => self.elect()?,
            };
            self.leader = Some(leader);
            let first = &mut self.segments[leader.segment];
            let head = first.head;
            if first.stream.is_none() {
                first.start(self.query, self.day, self.strategies, self.is_traced);
            }
            first.advance();
            if let Head::Found(id, place) = head {
                return Some((id, place));
            }
        }
    }

    /// Whether a segment still comes before all others.
    fn leads(&self, leader: Leader) -> bool {
        let head = self.segments[leader.segment].head.id();
        head.is_some_and(|head| {
            leader
                .rival
                .is_none_or(|rival| self.comes_before(head, rival))
        })
    }

    /// The segment that comes first, and the head of the one behind it.
    fn elect(&self) -> Option<Leader> {
        let mut first: Option<(usize, SignalId)> = None;
        let mut rival = None;
        for (segment, found) in self.segments.iter().enumerate() {
            let Some(id) = found.head.id() else { continue };
            match first {
                Some((_, leading)) if self.comes_before(leading, id) => {
                    let is_closer = |other| self.comes_before(id, other);
                    if rival.is_none_or(is_closer) {
                        rival = Some(id);
                    }
                }
                _ => {
                    rival = first.map(|(_, leading)| leading);
                    first = Some((segment, id));
                }
            }
        }
        first.map(|(segment, _)| Leader { segment, rival })
    }

    fn comes_before(&self, id: SignalId, other: SignalId) -> bool {
        match self.query.order() {
            Order::OldestFirst => id < other,
            Order::NewestFirst => id > other,
        }
    }

    fn streams(&self) -> impl Iterator<Item = &RowStream<'a>> {
        let segments = self.segments.iter();
        segments.filter_map(|segment| segment.stream.as_ref())
    }

    fn rows_checked(&self) -> u64 {
        self.streams().map(RowStream::rows_checked).sum()
    }

    fn trace(&mut self) {
        self.is_traced = true;
    }

    fn blocks(self) -> (u64, u64) {
        let streams = self.segments.into_iter().filter_map(|found| found.stream);
        let traces = streams.filter_map(|stream| stream.into_execution().into_trace());
        traces.fold((0, 0), |(visited, skipped), trace| {
            (
                visited + trace.blocks_visited,
                skipped + trace.blocks_skipped,
            )
        })
    }
}

impl<'q> SegmentMatches<'_, 'q> {
    fn start(&mut self, query: &'q Query, day: Date, strategies: &Strategies, is_traced: bool) {
        let live = self.live;
        let plan = self
            .plan
            .get_or_init(|| live.plan(query.filter(), day, strategies));
        let (start, end) = window(live, query);
        let execution = live.execution(plan, strategies);
        let mut stream = RowStream::new(execution, query.order(), start, end);
        if is_traced {
            stream.trace();
        }
        self.stream = Some(stream);
    }

    fn advance(&mut self) {
        let row = self.stream.as_mut().and_then(RowStream::next);
        let segment = self.number;
        self.head = row.map_or(Head::None, |row| {
            let id = SignalId::new(self.ids[row.index()]).unwrap_or(SignalId::MIN);
            Head::Found(id, Place { segment, row })
        });
    }
}

impl Head {
    fn id(self) -> Option<SignalId> {
        match self {
            Head::NotBefore(id) | Head::Found(id, _) => Some(id),
            Head::None => None,
        }
    }
}

/// The first id of a segment that lies behind the query's cursor, whether it matches or not.
fn first_possible(live: &LiveSegment, query: &Query) -> Head {
    let (start, end) = window(live, query);
    let row = match query.order() {
        Order::OldestFirst => Row(start),
        Order::NewestFirst => Row(end.wrapping_sub(1)),
    };
    match start < end {
        true => Head::NotBefore(live.segment.id(row)),
        false => Head::None,
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
