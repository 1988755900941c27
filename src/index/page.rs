//! Pages: the matches of all segments, merged by id, as far as the page goes.

use std::cell::OnceCell;
use std::ops::Range;

use smallvec::SmallVec;
use time::Date;

use super::live::LiveSegment;
use crate::encoding::frame_of_reference::FrameOfReference;
use crate::encoding::row::Row;
use crate::exec::{RowStream, Run, Runs, Walk};
use crate::plan::{Plan, Strategies};
use crate::query::{Cursor, Order, Query, Start};
use crate::signal::SignalId;

/// The signals that a query asked for, by id, and where to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    hits: Vec<Hit>,
    next_cursor: Option<Cursor>,
    rows_checked: u64,
}

/// A signal of a page, and where it is, so that its record need not be looked for. The place is only
/// good in the snapshot of the page and is checked; hits of the same id are the same.
#[derive(Clone, Copy, Debug)]
struct Hit {
    id: SignalId,
    place: Place,
}

/// A row of a segment, by the segment's place in the snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) segment: u32,
    pub(super) row: Row,
}

impl PartialEq for Hit {
    fn eq(&self, other: &Hit) -> bool {
        self.id == other.id
    }
}

impl Eq for Hit {}

impl Page {
    /// The ids, in the query's order; at most its limit.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = SignalId> + '_ {
        self.hits.iter().map(|hit| hit.id)
    }

    /// Where the next page starts; `None` exactly when no further signal matches.
    pub fn next_cursor(&self) -> Option<&Cursor> {
        self.next_cursor.as_ref()
    }

    /// The ids with where they were found.
    pub(super) fn places(&self) -> impl Iterator<Item = (SignalId, Place)> + '_ {
        self.hits.iter().map(|hit| (hit.id, hit.place))
    }

    /// The number of signals.
    pub fn len(&self) -> usize {
        self.hits.len()
    }

    /// Whether nothing matches.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
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
    let mut page = Collected::new(query);
    let rows_checked = match segments {
        [only] => search_one(only, query, day, strategies, &mut page),
        _ => search_all(segments, query, day, strategies, &mut page),
    };
    let last = page.hits.last().filter(|_| page.has_more);
    Page {
        next_cursor: last.map(|last| query.cursor_after(last.id, day)),
        rows_checked,
        hits: page.hits,
    }
}

/// Collects the matches of the only segment, which needs no merging: a short page takes half as
/// long. Returns how many rows were looked at one by one.
fn search_one(
    live: &LiveSegment,
    query: &Query,
    day: Date,
    strategies: &Strategies,
    page: &mut Collected,
) -> u64 {
    let mut plan = Plan::default();
    let wanted = Some(page.wanted());
    plan.fill(query.filter(), day, live, strategies, wanted);
    let (order, rows) = (query.order(), window(live, query));
    if let Some(walked) = live.walked(&plan, strategies, order, &rows) {
        return page.collect_all(live, &mut Walk::new(walked, order, rows), strategies);
    }
    let mut stream = RowStream::new(&live.segment, strategies, order, rows);
    stream.bind(&plan, live.deleted.posting());
    page.collect_all(live, &mut stream, strategies)
}

/// Collects the matches of several segments; returns as [`search_one`].
fn search_all(
    segments: &[LiveSegment],
    query: &Query,
    day: Date,
    strategies: &Strategies,
    page: &mut Collected,
) -> u64 {
    let plans: LazyPlans<'_> = segments.iter().map(|_| OnceCell::new()).collect();
    let mut matches = Matches::new(segments, &plans, query, day, strategies);
    matches.collect(page);
    if !strategies.early_stop {
        matches.collect(&mut Collected::everything());
    }
    matches.rows_checked()
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
    matches.is_traced = true;
    matches.collect(&mut Collected::new(query));
    matches.blocks()
}

/// The part of all matches that a page shows.
struct Collected {
    hits: Vec<Hit>,
    /// How many matches come before the page.
    to_skip: usize,
    limit: usize,
    /// Whether a match came behind the page, which says that there is a next one.
    has_more: bool,
}

impl Collected {
    fn new(query: &Query) -> Collected {
        let limit = query.limit();
        Collected {
            hits: Vec::with_capacity(limit),
            to_skip: match query.start() {
                Start::Page(number) => (usize::from(*number) - 1) * limit,
                Start::First | Start::After(_) => 0,
            },
            limit,
            has_more: false,
        }
    }

    /// Sees every match and shows none.
    fn everything() -> Collected {
        Collected {
            hits: Vec::new(),
            to_skip: usize::MAX,
            limit: 0,
            has_more: false,
        }
    }

    /// How many more matches are of interest: the skipped, the shown, and the one behind them.
    fn wanted(&self) -> usize {
        match self.has_more {
            true => 0,
            false => self
                .to_skip
                .saturating_add(self.limit - self.hits.len() + 1),
        }
    }

    /// Collects the matches of a segment that is alone, and looks at those that are not shown as well
    /// where there is no early stop. Returns how many rows were looked at one by one.
    #[inline(always)]
    fn collect_all(
        &mut self,
        live: &LiveSegment,
        matches: &mut impl Runs,
        strategies: &Strategies,
    ) -> u64 {
        self.collect(live, matches);
        if !strategies.early_stop {
            Collected::everything().collect(live, matches);
        }
        matches.rows_checked()
    }

    /// Collects the matches of a segment that is alone.
    fn collect(&mut self, live: &LiveSegment, matches: &mut impl Runs) {
        let ids = live.segment.ids();
        // Every round takes some matches, or finds that there are no more.
        while self.wanted() > 0 {
            let run = matches.run(self.wanted());
            let count = run.len();
            self.extend(0, ids, run);
            matches.take(count);
            if count == 0 {
                return;
            }
        }
    }

    /// Adds the next matches, rows of a segment with these ids.
    fn extend(&mut self, segment: u32, ids: FrameOfReference<'_>, run: Run<'_>) {
        let skipped = self.to_skip.min(run.len());
        self.to_skip -= skipped;
        let room = self.limit - self.hits.len();
        self.has_more = run.len() - skipped > room;
        let shown = run.part(skipped..run.len().min(skipped + room));
        let hit = move |row, id| Hit {
            id: SignalId::of_checked(id),
            place: Place {
                segment,
                row: Row(row),
            },
        };
        ids.read(shown.places(), &mut self.hits, hit);
    }
}

/// Inlined into the loop over the rows of a page, where a call would take longer than the look.
#[inline(always)]
fn id_at(ids: FrameOfReference<'_>, row: Row) -> SignalId {
    SignalId::of_checked(ids.get(row.index()))
}

/// A plan a segment, made when the page first needs the segment. Boxed, as streams are, since moving
/// a kilobyte a few times takes as long as all the rest of a short page.
type LazyPlans<'q> = SmallVec<[OnceCell<Box<Plan<'q>>>; 2]>;

/// The matches of several segments, merged by id. A segment is planned and looked at only once its
/// ids come into question: a page of the newest signals seldom reaches old segments.
struct Matches<'a, 'q> {
    query: &'q Query,
    day: Date,
    strategies: &'a Strategies,
    is_traced: bool,
    segments: SmallVec<[SegmentMatches<'a, 'q>; 2]>,
}

/// The matches of one segment.
struct SegmentMatches<'a, 'q> {
    live: &'a LiveSegment,
    ids: FrameOfReference<'a>,
    plan: &'a OnceCell<Box<Plan<'q>>>,
    number: u32,
    stream: Option<Box<dyn Runs + 'a>>,
    /// An id that the next match does not come before; `None` where there is no further one.
    bound: Option<SignalId>,
}

impl<'a, 'q> Matches<'a, 'q> {
    fn new(
        segments: &'a [LiveSegment],
        plans: &'a [OnceCell<Box<Plan<'q>>>],
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
            bound: first_possible(live, query),
        };
        Matches {
            query,
            day,
            strategies,
            is_traced: false,
            segments: segments
                .iter()
                .zip(plans)
                .zip(0..)
                .map(of_segment)
                .collect(),
        }
    }

    /// Hands on the next matches, until no more are wanted or there are none.
    fn collect(&mut self, page: &mut Collected) {
        let order = self.query.order();
        // Every round hands on a match, or finds that the leader's next one comes behind its rival.
        while page.wanted() > 0
            && let Some(Leader { segment, rival }) = self.elect()
        {
            let first = &mut self.segments[segment];
            if first.stream.is_none() {
                let wanted = Some(page.wanted());
                first.start(
                    self.query,
                    self.day,
                    self.strategies,
                    wanted,
                    self.is_traced,
                );
            }
            first.hand_on(page, order, rival);
        }
    }

    /// The segment whose matches come first, until they pass the bound of another. An id is live in
    /// one segment only.
    fn elect(&self) -> Option<Leader> {
        let order = self.query.order();
        let mut leader: Option<(usize, SignalId)> = None;
        let mut rival = None;
        for (segment, matches) in self.segments.iter().enumerate() {
            let Some(bound) = matches.bound else { continue };
            match leader {
                Some((_, leading)) if order.puts_first(leading, bound) => {
                    rival = Some(rival.map_or(bound, |other| order.first_of(bound, other)));
                }
                _ => {
                    rival = leader.map(|(_, leading)| leading);
                    leader = Some((segment, bound));
                }
            }
        }
        leader.map(|(segment, _)| Leader { segment, rival })
    }

    fn streams(&self) -> impl Iterator<Item = &(dyn Runs + 'a)> {
        let segments = self.segments.iter();
        segments.filter_map(|segment| segment.stream.as_deref())
    }

    fn rows_checked(&self) -> u64 {
        self.streams().map(|stream| stream.rows_checked()).sum()
    }

    fn blocks(&self) -> (u64, u64) {
        let traces = self.streams().filter_map(|stream| stream.trace());
        traces.fold((0, 0), |(visited, skipped), trace| {
            (
                visited + trace.blocks_visited,
                skipped + trace.blocks_skipped,
            )
        })
    }
}

/// The segment whose matches come first, and the bound of the one behind it.
struct Leader {
    segment: usize,
    rival: Option<SignalId>,
}

impl<'a, 'q> SegmentMatches<'a, 'q> {
    fn start(
        &mut self,
        query: &'q Query,
        day: Date,
        strategies: &'a Strategies,
        wanted: Option<usize>,
        is_traced: bool,
    ) {
        let live = self.live;
        let plan = self
            .plan
            .get_or_init(|| Box::new(live.plan(query.filter(), day, strategies, wanted)));
        let (order, rows) = (query.order(), window(live, query));
        let walked = (!is_traced)
            .then(|| live.walked(plan, strategies, order, &rows))
            .flatten();
        if let Some(walked) = walked {
            self.stream = Some(Box::new(Walk::new(walked, order, rows)));
            return;
        }
        let mut stream = Box::new(RowStream::new(&live.segment, strategies, order, rows));
        if is_traced {
            stream.keep_trace();
        }
        stream.bind(plan, live.deleted.posting());
        self.stream = Some(stream);
    }

    /// Hands on the next matches, as far as they do not come behind a rival. The rival's bound may
    /// be the id of a match here, whose older version is deleted there.
    fn hand_on(&mut self, page: &mut Collected, order: Order, rival: Option<SignalId>) {
        let Some(stream) = &mut self.stream else {
            return;
        };
        let run = stream.run(page.wanted());
        let ids = self.ids;
        let count = match rival {
            None => run.len(),
            Some(rival) => run.partition_point(|row| !order.puts_first(rival, id_at(ids, row))),
        };
        page.extend(self.number, ids, run.part(0..count));
        self.bound = run.get(count.saturating_sub(1)).map(|row| id_at(ids, row));
        stream.take(count);
    }
}

/// The first id of a segment that lies behind the query's cursor, whether it matches or not.
fn first_possible(live: &LiveSegment, query: &Query) -> Option<SignalId> {
    let rows = window(live, query);
    let row = match query.order() {
        Order::OldestFirst => Row(rows.start),
        Order::NewestFirst => Row(rows.end.wrapping_sub(1)),
    };
    (!rows.is_empty()).then(|| live.segment.id(row))
}

/// The rows that lie behind the query's cursor.
fn window(live: &LiveSegment, query: &Query) -> Range<u32> {
    let rows = live.segment.row_count();
    let Start::After(cursor) = query.start() else {
        return 0..rows;
    };
    let (ids, last) = (live.segment.ids(), cursor.last_id().get());
    match query.order() {
        Order::NewestFirst => 0..ids.count_below(last) as u32,
        Order::OldestFirst => ids.count_below(last + 1) as u32..rows,
    }
}
