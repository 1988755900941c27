//! Pages: the matches of all segments, merged by id, as far as the page goes.

use std::cell::OnceCell;
use std::ops::Range;

use smallvec::SmallVec;
use time::Date;

use super::live::SegmentHandle;
use super::result_page::{Hit, Page, RowAddress};
use crate::encoding::frame_of_reference::FrameOfReference;
use crate::encoding::row::Row;
use crate::exec::{Boxed, Consumer, Counters, Counting, MatchRun, Matches, Observer, Run};
use crate::exec::{LiveSegment, Request, Unobserved};
use crate::plan::{ExecutionExplanation, Plan, PlanStorage, Strategies};
use crate::query::{Order, Query, Start};
use crate::segment::Segment;
use crate::signal::SignalId;

/// Finds a page. `day` counts as today.
pub(super) fn search(
    segments: &[SegmentHandle],
    query: &Query,
    day: Date,
    strategies: &Strategies,
) -> Page {
    run::<Unobserved>(segments, query, day, strategies, |_, ()| {})
}

/// How each segment finds its part of a page; `None` where the page is full before.
pub(super) fn explain(
    segments: &[SegmentHandle],
    query: &Query,
    day: Date,
    strategies: &Strategies,
) -> Vec<Option<ExecutionExplanation>> {
    let mut explained: Vec<_> = segments.iter().map(|_| None).collect();
    run::<Counting>(segments, query, day, strategies, |segment, explanation| {
        explained[segment] = Some(explanation);
    });
    explained
}

/// Finds a page, and hands on what was observed of each segment that was searched, by its index.
#[inline(always)]
fn run<O: Observer>(
    segments: &[SegmentHandle],
    query: &Query,
    day: Date,
    strategies: &Strategies,
    explained: impl FnMut(usize, O::Explained),
) -> Page {
    let request = Request {
        filter: query.filter(),
        today: day,
        order: query.order(),
        strategies,
    };
    let mut page = Collected::new(query);
    let counters = match segments {
        [only] => search_one::<O>(only.live(), query, &request, &mut page, explained),
        _ => search_all::<O>(segments, query, &request, &mut page, explained),
    };
    let last = page.hits.last().filter(|_| page.has_more);
    Page {
        next_cursor: last.map(|last| query.cursor_after(last.id, day)),
        counters,
        hits: page.hits,
    }
}

/// Collects the matches of the only segment, which needs no merging: a short page takes half as
/// long.
#[inline(always)]
fn search_one<O: Observer>(
    live: LiveSegment<'_>,
    query: &Query,
    request: &Request<'_>,
    page: &mut Collected,
    mut explained: impl FnMut(usize, O::Explained),
) -> Counters {
    let mut storage = PlanStorage::new();
    let plan = live.plan(&mut storage, request, Some(page.wanted()));
    let rows = rows_after_cursor(live.segment, query);
    let collector = OnlySegment {
        page,
        ids: live.segment.ids(),
        early_stop: request.strategies.early_stop,
    };
    let (run, observer) = live.search::<O, _>(plan, request, rows, collector);
    explained(0, observer.explain(run, plan, live));
    run.counters
}

/// Collects the matches of several segments.
fn search_all<O: Observer>(
    segments: &[SegmentHandle],
    query: &Query,
    request: &Request<'_>,
    page: &mut Collected,
    mut explained: impl FnMut(usize, O::Explained),
) -> Counters {
    let plans: LazyPlans<'_> = segments.iter().map(|_| OnceCell::new()).collect();
    let mut merge = Merge::<O>::new(segments, &plans, query, request);
    merge.collect(page);
    if !request.strategies.early_stop {
        merge.collect(&mut Collected::everything());
    }
    merge.finish(&mut explained)
}

/// Collects the matches of a segment that is alone.
struct OnlySegment<'p, 'a> {
    page: &'p mut Collected,
    ids: FrameOfReference<'a>,
    early_stop: bool,
}

impl<'a, O: Observer> Consumer<'a, O> for OnlySegment<'_, 'a> {
    type Output = (Run, O);

    #[inline(always)]
    fn consume(self, mut matches: impl Matches<O> + 'a) -> (Run, O) {
        self.page.collect(self.ids, &mut matches);
        if !self.early_stop {
            Collected::everything().collect(self.ids, &mut matches);
        }
        matches.finish()
    }
}

/// The part of all matches that a page shows.
struct Collected {
    hits: Vec<Hit>,
    /// How many matches come before the page.
    to_skip: usize,
    limit: usize,
    /// Whether a match came after the page, so that there is a next one.
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

    /// How many more matches are of interest: the skipped, the shown, and the one after them.
    fn wanted(&self) -> usize {
        if self.has_more {
            return 0;
        }
        let shown = self.limit - self.hits.len();
        self.to_skip.saturating_add(shown + 1)
    }

    /// Collects the matches of a segment that is alone, rows with these ids.
    fn collect<O: Observer>(&mut self, ids: FrameOfReference<'_>, matches: &mut impl Matches<O>) {
        // Each turn takes some matches, or finds that there are no more.
        while self.wanted() > 0 {
            let run = matches.next_run(self.wanted());
            let n = run.len();
            self.extend(0, ids, run);
            matches.take(n);
            if n == 0 {
                return;
            }
        }
    }

    /// Adds the next matches, rows of a segment with these ids.
    fn extend(&mut self, segment: u32, ids: FrameOfReference<'_>, run: MatchRun<'_>) {
        let skipped = self.to_skip.min(run.len());
        self.to_skip -= skipped;
        let room = self.limit - self.hits.len();
        self.has_more = run.len() - skipped > room;
        let shown = run.part(skipped..run.len().min(skipped + room));
        let hit = move |row, id| Hit {
            id: SignalId::of_checked(id),
            address: RowAddress {
                segment,
                row: Row(row),
            },
        };
        ids.read(shown.rows(), &mut self.hits, hit);
    }
}

/// Inlined into the loop over the rows of a page, where a call would take longer than the look.
#[inline(always)]
fn id_at(ids: FrameOfReference<'_>, row: Row) -> SignalId {
    SignalId::of_checked(ids.get(row.index()))
}

/// A plan a segment, made when the page first needs the segment. Boxed, as matches are, since moving
/// a kilobyte a few times takes as long as all the rest of a short page.
type LazyPlans<'q> = SmallVec<[OnceCell<Box<Plan<'q>>>; 2]>;

/// The matches of several segments, merged by id. A segment is planned and looked at only once its
/// ids come into question: a page of the newest signals seldom reaches old segments.
struct Merge<'a, 'q, O> {
    request: &'a Request<'q>,
    segments: SmallVec<[SegmentMatches<'a, 'q, O>; 2]>,
}

/// The matches of one segment.
struct SegmentMatches<'a, 'q, O> {
    live: LiveSegment<'a>,
    ids: FrameOfReference<'a>,
    /// Those after the cursor.
    rows: Range<u32>,
    plan: &'a OnceCell<Box<Plan<'q>>>,
    index: u32,
    matches: Option<Box<dyn Matches<O> + 'a>>,
    /// An id that the next match does not come before; `None` where there is no further one.
    bound: Option<SignalId>,
}

impl<'a, 'q: 'a, O: Observer + 'a> Merge<'a, 'q, O> {
    fn new(
        segments: &'a [SegmentHandle],
        plans: &'a [OnceCell<Box<Plan<'q>>>],
        query: &Query,
        request: &'a Request<'q>,
    ) -> Merge<'a, 'q, O> {
        let of_segment = |((handle, plan), index): ((&'a SegmentHandle, _), u32)| {
            let rows = rows_after_cursor(&handle.segment, query);
            SegmentMatches {
                live: handle.live(),
                ids: handle.segment.ids(),
                bound: first_id(&handle.segment, &rows, request.order),
                rows,
                plan,
                index,
                matches: None,
            }
        };
        let segments = segments.iter().zip(plans).zip(0..).map(of_segment);
        Merge {
            request,
            segments: segments.collect(),
        }
    }

    /// Hands on the next matches, until no more are wanted or there are none.
    fn collect(&mut self, page: &mut Collected) {
        let order = self.request.order;
        // Invariant: the page holds all matches before every segment's bound. Each turn hands on a
        // match, or moves the bound of the min segment past the runner-up's.
        while page.wanted() > 0
            && let Some(first) = self.min_segment()
        {
            let segment = &mut self.segments[first.segment];
            segment.hand_on(page, self.request, order, first.runner_up_bound);
        }
    }

    /// The segment with the first bound in the order, and the bound after it. An id is live in one
    /// segment only.
    fn min_segment(&self) -> Option<MinSegment> {
        let order = self.request.order;
        let mut first: Option<(usize, SignalId)> = None;
        let mut runner_up_bound = None;
        // Invariant: `first` has the first bound of those seen, `runner_up_bound` is the next.
        for (segment, matches) in self.segments.iter().enumerate() {
            let Some(bound) = matches.bound else { continue };
            match first {
                Some((_, before)) if order.puts_first(before, bound) => {
                    let next = runner_up_bound.map_or(bound, |next| order.first_of(bound, next));
                    runner_up_bound = Some(next);
                }
                _ => {
                    runner_up_bound = first.map(|(_, before)| before);
                    first = Some((segment, bound));
                }
            }
        }
        first.map(|(segment, _)| MinSegment {
            segment,
            runner_up_bound,
        })
    }

    /// Hands on what was observed; returns what was visited in all segments.
    fn finish(self, explained: &mut impl FnMut(usize, O::Explained)) -> Counters {
        let mut total = Counters::default();
        for segment in self.segments {
            let Some((mut matches, plan)) = segment.matches.zip(segment.plan.get()) else {
                continue;
            };
            let (run, observer) = matches.finish();
            total += run.counters;
            let explanation = observer.explain(run, plan, segment.live);
            explained(segment.index as usize, explanation);
        }
        total
    }
}

/// The segment whose matches come first, until they pass the bound of the next.
struct MinSegment {
    segment: usize,
    runner_up_bound: Option<SignalId>,
}

impl<'a, 'q: 'a, O: Observer + 'a> SegmentMatches<'a, 'q, O> {
    /// Hands on the next matches, as far as they do not come after the runner-up's bound. That bound may
    /// be the id of a match here, whose older version is deleted there.
    fn hand_on(
        &mut self,
        page: &mut Collected,
        request: &'a Request<'q>,
        order: Order,
        runner_up_bound: Option<SignalId>,
    ) {
        let wanted = page.wanted();
        let (live, plan, rows) = (self.live, self.plan, &self.rows);
        let matches = self.matches.get_or_insert_with(|| {
            let plan = plan.get_or_init(|| {
                let mut storage = PlanStorage::new();
                live.plan(&mut storage, request, Some(wanted));
                Box::new(storage.into_plan())
            });
            live.search::<O, _>(plan, request, rows.clone(), Boxed)
        });
        let run = matches.next_run(wanted);
        let ids = self.ids;
        let n = match runner_up_bound {
            None => run.len(),
            Some(bound) => run.partition_point(|row| !order.puts_first(bound, id_at(ids, row))),
        };
        page.extend(self.index, ids, run.part(0..n));
        self.bound = run.get(n.saturating_sub(1)).map(|row| id_at(ids, row));
        matches.take(n);
    }
}

/// The id of the first of some rows in an order, whether it matches or not.
fn first_id(segment: &Segment, rows: &Range<u32>, order: Order) -> Option<SignalId> {
    let row = match order {
        Order::OldestFirst => Row(rows.start),
        Order::NewestFirst => Row(rows.end.wrapping_sub(1)),
    };
    (!rows.is_empty()).then(|| segment.id(row))
}

/// The rows after the query's cursor.
fn rows_after_cursor(segment: &Segment, query: &Query) -> Range<u32> {
    let rows = segment.row_count();
    let Start::After(cursor) = query.start() else {
        return 0..rows;
    };
    let (ids, last) = (segment.ids(), cursor.last_id().get());
    match query.order() {
        Order::NewestFirst => 0..ids.count_below(last) as u32,
        Order::OldestFirst => ids.count_below(last + 1) as u32..rows,
    }
}
