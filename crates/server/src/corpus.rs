//! The interface between the service and what it searches: one index, or the nodes of a cluster.
//!
//! The service uses a corpus only through this trait. [`LocalCorpus`] searches an index of this
//! process; a cluster sends the query to its nodes.

mod cluster;
mod export;
mod position;

use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use time::Date;

use signaldex::json::{ChangesAnswer, CompanyDetail, Data, Rendering, SearchAnswer, SignalDetail};
use signaldex::query::{Cursor, Facet, InvalidQuery, SortKey};
use signaldex::{
    AggregateQuery, Aggregates, Change, Cost, Error, ErrorKind, FacetQuery, Facets, Filter, Index,
    PositionError, Query, Result, SignalId, Snapshot,
};

pub use cluster::{ClusterStatus, NodeStatus, PlanStatus, ShardStatus};
pub use export::{
    ExportFormat, ExportRequest, ExportSlice, SLICE_BYTES, SLICE_SIGNALS_MAX,
    header as export_header, slice as export_slice,
};
pub use position::{ClusterPosition, FeedPosition, FeedStage};

/// The kind of a query to a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// The ids of a page.
    Page,
    /// The number of matches.
    Count,
    /// The counts of facets.
    Facets,
    /// Figures in groups.
    Aggregates,
    /// What has changed.
    Changes,
}

impl QueryKind {
    /// The name that the dashboard shows.
    pub const fn as_str(self) -> &'static str {
        match self {
            QueryKind::Page => "page",
            QueryKind::Count => "count",
            QueryKind::Facets => "filter options",
            QueryKind::Aggregates => "aggregates",
            QueryKind::Changes => "changes",
        }
    }
}

/// An answer, possibly from another machine. It owns what it needs, so that it can be awaited anywhere.
pub type CorpusFuture<T> = Pin<Box<dyn Future<Output = Result<T, Unanswered>> + Send>>;

/// The queries that a corpus answers. All parts of one answer come from one view.
pub trait Corpus: Send + Sync {
    /// The current view.
    fn view(&self) -> Arc<CorpusView>;

    /// The current view, for a query.
    ///
    /// # Errors
    /// A file of the index was overwritten, so that nothing may be answered: not even that nothing has changed.
    fn trusted_view(&self) -> Result<Arc<CorpusView>, Unanswered> {
        Ok(self.view())
    }

    /// A page of signals, rendered as JSON. It ends early, with its cursor, before it has more than
    /// [`PAGE_BYTES_MAX`](signaldex::query::limits::PAGE_BYTES_MAX) bytes.
    fn page(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<Query>,
        today: Date,
        rendering: Rendering,
    ) -> CorpusFuture<RenderedPage>;

    /// The exact number of matches.
    fn count(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        filter: Filter,
        today: Date,
    ) -> CorpusFuture<u64>;

    /// The [hints](Snapshot::hints) for the result of a query. Without dictionaries, those at what was typed.
    fn hints(
        self: Arc<Self>,
        _at: Arc<CorpusView>,
        query: Arc<Query>,
        is_empty: bool,
    ) -> CorpusFuture<Vec<String>> {
        Box::pin(async move { Ok(query.typed_hints(is_empty)) })
    }

    /// The counts of the requested facets.
    fn facets(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<FacetQuery>,
        today: Date,
    ) -> CorpusFuture<Facets>;

    /// The figures of an aggregate query, or why they are not computed.
    fn aggregate(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<AggregateQuery>,
        today: Date,
    ) -> CorpusFuture<Result<Aggregates, InvalidQuery>>;

    /// The changes after a position. They end early as a page does.
    fn changes(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ChangesRequest,
        today: Date,
    ) -> CorpusFuture<Result<RenderedChanges, PositionError>>;

    /// Keeps a view for an export until what is returned is dropped, for an hour at most.
    ///
    /// # Errors
    /// Other exports read from too many other views.
    fn keep(&self, _at: &CorpusView) -> Result<Box<dyn Send + Sync>, Unanswered> {
        Ok(Box::new(()))
    }

    /// The next slice of an export.
    fn export(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        today: Date,
    ) -> CorpusFuture<ExportSlice>;

    /// The sort keys of the next signals of an export, at most `max`.
    fn export_keys(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        max: usize,
        today: Date,
    ) -> CorpusFuture<Vec<SortKey>>;

    /// An upper bound for the cost of listing changes, on this machine.
    fn changes_cost(&self, _at: &CorpusView, _request: &ChangesRequest) -> Cost {
        0
    }

    /// An upper bound for the cost of counting some facets, or of visiting all matches if there are none,
    /// estimated without running the query. Any number up to `cheap` means that it is cheap. Work on
    /// other machines is not included.
    fn cost(
        &self,
        _at: &CorpusView,
        _filter: &Filter,
        _facets: &[Facet],
        _today: Date,
        _cheap: Cost,
    ) -> Cost {
        0
    }

    /// An upper bound for the cost of a page, as [`cost`](Self::cost) has one for all matches.
    fn page_cost(&self, _at: &CorpusView, _query: &Query, _today: Date, _cheap: Cost) -> Cost {
        0
    }

    /// An upper bound for the cost of [`aggregate`](Self::aggregate), as that of [`cost`](Self::cost).
    fn aggregate_cost(
        &self,
        _at: &CorpusView,
        _query: &AggregateQuery,
        _today: Date,
        _cheap: Cost,
    ) -> Cost {
        0
    }

    /// A signal with its company as JSON; `None` if there is no such signal.
    fn signal(self: Arc<Self>, at: Arc<CorpusView>, id: SignalId) -> CorpusFuture<Option<Vec<u8>>>;

    /// A company as JSON; `None` if there is no such company.
    fn company(self: Arc<Self>, at: Arc<CorpusView>, slug: String)
    -> CorpusFuture<Option<Vec<u8>>>;

    /// The index, if the whole corpus is in this process.
    fn index(&self) -> Option<&Index> {
        None
    }

    /// The nodes and shards of a cluster.
    fn cluster(&self) -> Option<ClusterStatus> {
        None
    }

    /// Why the corpus cannot answer every query now. Safe to show to untrusted clients.
    fn error(&self) -> Option<String> {
        None
    }

    /// Whether what [`view`](Self::view) shows is damaged, as far as known.
    fn is_damaged(&self) -> bool {
        false
    }
}

/// The corpus at one generation, with the part of entity tags that identifies its content.
pub struct CorpusView {
    /// The number of its last commit, or of the generation that a cluster serves.
    pub generation: u64,
    /// A checksum of its identity and its entire content, from which entity tags are made.
    pub tag_seed: [u8; 32],
    snapshot: Option<Arc<Snapshot>>,
}

/// A page of results.
#[derive(Clone)]
pub struct RenderedPage {
    /// The sort keys of the signals, in the order of the page.
    pub keys: Vec<SortKey>,
    /// One item for each key.
    pub answer: SearchAnswer,
    /// Where the next page starts, unless this is the last one.
    pub next_cursor: Option<Cursor>,
    /// Whether the page has fewer signals than it would, because they are large.
    pub ends_early: bool,
    /// How many rows were looked at one by one, for the log of slow queries.
    pub rows_checked: u64,
}

impl RenderedPage {
    /// Keeps the first signals. The cursor then follows the last of them.
    pub fn truncate(&mut self, length: usize, query: &Query, today: Date) {
        self.keys.truncate(length);
        self.answer.truncate(length);
        if let Some(&last) = self.keys.last() {
            self.next_cursor = Some(query.cursor_after(last, today));
        }
    }

    /// Ends a page early whose answer has no room for all of its signals.
    pub fn ended(mut self, query: &Query, today: Date) -> RenderedPage {
        if self.answer.len() < self.keys.len() {
            self.ends_early = true;
            self.truncate(self.answer.len(), query, today);
        }
        self
    }
}

/// A request for changes.
#[derive(Clone, Debug)]
pub struct ChangesRequest {
    /// Which signals are reported.
    pub filter: Filter,
    /// The maximum number of changes in the answer.
    pub limit: usize,
    /// Without a position, the answer is just the current one.
    pub since: Option<FeedPosition>,
    /// The maximum number of signals in the answer.
    pub upserts_max: usize,
    /// How much of each signal is written.
    pub rendering: Rendering,
}

/// A page of changes.
#[derive(Debug)]
pub struct RenderedChanges {
    /// The complete response body.
    pub body: Vec<u8>,
    /// The number of signals in it.
    pub upserts: u64,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// The corpus is damaged.
    Failed(Error),
    /// The corpus or a part of it is unavailable; the text says why.
    Unavailable(String),
}

/// An index of this process.
pub struct LocalCorpus {
    index: Index,
    current: ArcSwapOption<CorpusView>,
}

impl CorpusView {
    /// A view of one generation. `revision` is a checksum of the identity and the entire content, so
    /// different contents never share an entity tag.
    pub fn of(generation: u64, revision: [u8; 32]) -> CorpusView {
        CorpusView {
            generation,
            tag_seed: revision,
            snapshot: None,
        }
    }

    fn of_snapshot(snapshot: Arc<Snapshot>) -> CorpusView {
        CorpusView {
            snapshot: Some(Arc::clone(&snapshot)),
            ..CorpusView::of(snapshot.generation(), snapshot.revision())
        }
    }

    /// The snapshot of an index of this process, for a query.
    fn snapshot(&self) -> Result<&Snapshot> {
        let snapshot = self.snapshot.as_deref();
        let snapshot = snapshot.ok_or_else(|| Error::missing("the view is of another corpus"))?;
        snapshot.ensure_trusted()?;
        Ok(snapshot)
    }
}

impl LocalCorpus {
    /// The corpus of an index.
    pub fn new(index: Index) -> LocalCorpus {
        LocalCorpus {
            index,
            current: ArcSwapOption::empty(),
        }
    }
}

impl Corpus for LocalCorpus {
    /// Computed once per snapshot.
    fn view(&self) -> Arc<CorpusView> {
        let snapshot = self.index.snapshot();
        if let Some(current) = &*self.current.load()
            && let Some(known) = &current.snapshot
            && Arc::ptr_eq(known, &snapshot)
        {
            return Arc::clone(current);
        }
        let current = Arc::new(CorpusView::of_snapshot(snapshot));
        self.current.store(Some(Arc::clone(&current)));
        current
    }

    fn trusted_view(&self) -> Result<Arc<CorpusView>, Unanswered> {
        let view = self.view();
        view.snapshot().map_err(Unanswered::Failed)?;
        Ok(view)
    }

    fn page(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<Query>,
        today: Date,
        rendering: Rendering,
    ) -> CorpusFuture<RenderedPage> {
        at_once(at, move |snapshot| page(snapshot, &query, today, rendering))
    }

    fn count(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        filter: Filter,
        today: Date,
    ) -> CorpusFuture<u64> {
        at_once(at, move |snapshot| snapshot.count(&filter, today))
    }

    fn hints(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<Query>,
        is_empty: bool,
    ) -> CorpusFuture<Vec<String>> {
        at_once(at, move |snapshot| snapshot.hints(&query, is_empty))
    }

    fn facets(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<FacetQuery>,
        today: Date,
    ) -> CorpusFuture<Facets> {
        at_once(at, move |snapshot| {
            snapshot.facets_of(&query.filter, today, &query.facets)
        })
    }

    fn aggregate(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<AggregateQuery>,
        today: Date,
    ) -> CorpusFuture<Result<Aggregates, InvalidQuery>> {
        at_once(at, move |snapshot| {
            let found = snapshot.aggregate(&query, today);
            or_too_many_groups(&query, found)
        })
    }

    fn signal(self: Arc<Self>, at: Arc<CorpusView>, id: SignalId) -> CorpusFuture<Option<Vec<u8>>> {
        at_once(at, move |snapshot| signal_answer(snapshot, id))
    }

    fn company(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        slug: String,
    ) -> CorpusFuture<Option<Vec<u8>>> {
        at_once(at, move |snapshot| company_answer(snapshot, &slug))
    }

    fn changes(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ChangesRequest,
        today: Date,
    ) -> CorpusFuture<Result<RenderedChanges, PositionError>> {
        at_once(at, move |snapshot| changes(snapshot, &request, today))
    }

    fn export(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        today: Date,
    ) -> CorpusFuture<ExportSlice> {
        at_once(at, move |snapshot| export::slice(snapshot, &request, today))
    }

    fn export_keys(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        max: usize,
        today: Date,
    ) -> CorpusFuture<Vec<SortKey>> {
        at_once(at, move |snapshot| {
            export::keys(snapshot, &request, max, today)
        })
    }

    fn changes_cost(&self, at: &CorpusView, request: &ChangesRequest) -> Cost {
        match (&at.snapshot, &request.since) {
            (Some(snapshot), Some(FeedPosition::Index(since))) => {
                or_zero(snapshot.changes_cost(since))
            }
            _ => 0,
        }
    }

    fn cost(
        &self,
        at: &CorpusView,
        filter: &Filter,
        facets: &[Facet],
        today: Date,
        cheap: Cost,
    ) -> Cost {
        let Some(snapshot) = &at.snapshot else {
            return 0;
        };
        or_zero(match facets {
            [] => snapshot.cost(filter, today, cheap),
            _ => snapshot.facets_cost(filter, facets, today, cheap),
        })
    }

    fn page_cost(&self, at: &CorpusView, query: &Query, today: Date, cheap: Cost) -> Cost {
        let snapshot = at.snapshot.as_ref();
        snapshot.map_or(0, |snapshot| {
            or_zero(snapshot.page_cost(query, today, cheap))
        })
    }

    fn aggregate_cost(
        &self,
        at: &CorpusView,
        query: &AggregateQuery,
        today: Date,
        cheap: Cost,
    ) -> Cost {
        let Some(snapshot) = &at.snapshot else {
            return 0;
        };
        or_zero(snapshot.aggregate_cost(query, today, cheap))
    }

    fn index(&self) -> Option<&Index> {
        Some(&self.index)
    }

    fn is_damaged(&self) -> bool {
        self.index.snapshot().is_damaged()
    }
}

/// Separates the error of a query that has too many groups from other errors.
pub fn or_too_many_groups(
    query: &AggregateQuery,
    found: Result<Aggregates>,
) -> Result<Result<Aggregates, InvalidQuery>> {
    match found {
        Err(error) if error.kind() == ErrorKind::TooManyGroups => Ok(Err(query.too_many_groups())),
        found => found.map(Ok),
    }
}

/// Runs the query on the thread that polls the future, because switching threads would take longer
/// than most queries. The work starts at the first poll, so timing the future times the work.
fn at_once<T: Send + 'static>(
    at: Arc<CorpusView>,
    ask: impl FnOnce(&Snapshot) -> Result<T> + Send + 'static,
) -> CorpusFuture<T> {
    Box::pin(async move {
        let answer = at.snapshot().and_then(ask);
        // What was read while a file was being overwritten may be anything.
        answer
            .and_then(|answer| at.snapshot().map(|_| answer))
            .map_err(Unanswered::Failed)
    })
}

/// The cost of a query, or zero if estimating it meets damage: running the query reports that.
fn or_zero(cost: Result<Cost>) -> Cost {
    cost.unwrap_or(0)
}

/// As [`Corpus::page`], of a local index.
pub fn page(
    snapshot: &Snapshot,
    query: &Query,
    today: Date,
    rendering: Rendering,
) -> Result<RenderedPage> {
    let page = snapshot.search(query, today)?;
    let mut answer = SearchAnswer::with_capacity(page.len(), rendering);
    snapshot.visit_records(&page, |signal, company_name| {
        if answer.push(signal, company_name) {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    let rendered = RenderedPage {
        keys: page.keys().collect(),
        answer,
        next_cursor: page.next_cursor().cloned(),
        ends_early: false,
        rows_checked: page.rows_checked(),
    };
    Ok(rendered.ended(query, today))
}

fn changes(
    snapshot: &Snapshot,
    request: &ChangesRequest,
    today: Date,
) -> Result<Result<RenderedChanges, PositionError>> {
    let mut answer = ChangesAnswer::new(request.rendering);
    let Some(since) = &request.since else {
        return Ok(Ok(RenderedChanges {
            body: answer.finish(&snapshot.position().to_string(), false),
            upserts: 0,
        }));
    };
    let FeedPosition::Index(since) = since else {
        return Ok(Err(PositionError::OtherIndex));
    };
    let mut changes = match snapshot.changes(&request.filter, today, since) {
        Ok(changes) => changes.bounded(),
        Err(error) => return Ok(Err(error)),
    };
    let mut upserts = 0;
    for _ in 0..request.limit {
        let before = changes.position();
        let Some(change) = changes.next() else {
            break;
        };
        let change = change?;
        if !answer.push(&change) {
            return Ok(Ok(RenderedChanges {
                body: answer.finish(&before.to_string(), true),
                upserts: upserts as u64,
            }));
        }
        upserts += usize::from(matches!(change, Change::Upsert { .. }));
        if upserts >= request.upserts_max {
            break;
        }
    }
    let more = changes.has_more()?;
    Ok(Ok(RenderedChanges {
        body: answer.finish(&changes.position().to_string(), more),
        upserts: upserts as u64,
    }))
}

/// Renders a signal with its company.
pub fn signal_answer(snapshot: &Snapshot, id: SignalId) -> Result<Option<Vec<u8>>> {
    let Some(found) = snapshot.signal(id)? else {
        return Ok(None);
    };
    let data = SignalDetail {
        signal: &found.signal,
        company: &found.company,
    };
    written(&Data { data }).map(Some)
}

/// Renders a company.
pub fn company_answer(snapshot: &Snapshot, slug: &str) -> Result<Option<Vec<u8>>> {
    let Some(profile) = snapshot.company(slug)? else {
        return Ok(None);
    };
    let data = CompanyDetail { profile: &profile };
    written(&Data { data }).map(Some)
}

fn written(answer: &impl serde::Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(answer)
        .map_err(|error| Error::corrupt(format!("a record cannot be written: {error}")))
}

#[cfg(test)]
mod tests;
