//! The corpus of an index of this process.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use time::Date;

use signaldex::json::{
    ChangesAnswer, CompaniesAnswer, CompanyDetail, Data, Rendering, SearchAnswer, SignalDetail,
};
use signaldex::query::{CompanyQuery, Facet, InvalidQuery, KeyFilter, SortKey};
use signaldex::{
    AggregateQuery, Aggregates, Change, Cost, Error, ErrorKind, FacetQuery, Facets, Filter, Index,
    PositionError, Query, Result, SignalId, Snapshot,
};

use super::{
    ChangesRequest, Corpus, CorpusFuture, CorpusView, ExportRequest, ExportSlice, FeedPosition,
    MatchesRequest, RenderedChanges, RenderedCompanies, RenderedMatches, RenderedPage, Unanswered,
    export, matches,
};

/// An index of this process.
pub struct LocalCorpus {
    index: Index,
    current: ArcSwapOption<CorpusView>,
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

    fn narrowed(
        &self,
        at: &Arc<CorpusView>,
        filter: &Arc<KeyFilter>,
        today: Date,
    ) -> Result<Arc<CorpusView>, Unanswered> {
        let narrowed = at
            .snapshot()
            .and_then(|whole| whole.narrowed(filter, today));
        let view = CorpusView::narrowed(narrowed.map_err(Unanswered::Failed)?, filter, today);
        Ok(Arc::new(view))
    }

    fn narrowing_cost(&self, filter: &KeyFilter, today: Date) -> Cost {
        self.index.snapshot().narrowing_cost(filter, today)
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

    fn companies(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<RenderedCompanies> {
        at_once(at, move |snapshot| companies(snapshot, &query, today))
    }

    fn count_companies(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<u64> {
        at_once(at, move |snapshot| {
            snapshot.count_companies(query.filter(), today)
        })
    }

    fn company_facets(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<Facets> {
        at_once(at, move |snapshot| {
            snapshot.company_facets(query.filter(), today, query.facets())
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

    fn matches(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: MatchesRequest,
        today: Date,
    ) -> CorpusFuture<Result<RenderedMatches, PositionError>> {
        at_once(at, move |snapshot| matches::find(snapshot, &request, today))
    }

    fn has_saved_searches(&self) -> bool {
        true
    }

    fn position(&self, at: &CorpusView) -> Option<FeedPosition> {
        let snapshot = at.snapshot.as_ref()?;
        Some(FeedPosition::Index(snapshot.position()))
    }

    fn position_at(&self, at: &CorpusView, position: &FeedPosition) -> FeedPosition {
        if let (FeedPosition::Index(own), Some(snapshot)) = (position, &at.snapshot)
            && own.is_of_index_of(&self.index.snapshot().position())
        {
            return FeedPosition::Index(own.in_index_of(&snapshot.position()));
        }
        position.clone()
    }

    fn whole_position(&self, position: FeedPosition) -> FeedPosition {
        match position {
            FeedPosition::Index(own) => {
                FeedPosition::Index(own.in_index_of(&self.index.snapshot().position()))
            }
            other @ FeedPosition::Cluster(_) => other,
        }
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

    fn companies_cost(
        &self,
        at: &CorpusView,
        query: &CompanyQuery,
        today: Date,
        cheap: Cost,
    ) -> Cost {
        let snapshot = at.snapshot.as_ref();
        snapshot.map_or(0, |snapshot| {
            or_zero(snapshot.companies_cost(query, today, cheap))
        })
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
    let answer = SearchAnswer::of_page(snapshot, &page, rendering)?;
    let rendered = RenderedPage {
        keys: page.keys().collect(),
        answer,
        next_cursor: page.next_cursor().cloned(),
        ends_early: false,
        rows_checked: page.rows_checked(),
    };
    Ok(rendered.ended(query, today))
}

/// As [`Corpus::companies`], of a local index.
pub fn companies(
    snapshot: &Snapshot,
    query: &CompanyQuery,
    today: Date,
) -> Result<RenderedCompanies> {
    let page = snapshot.companies(query, today)?;
    let mut answer = CompaniesAnswer::with_capacity(page.len());
    // What has no room ends the page.
    let _fitting = page
        .items()
        .iter()
        .take_while(|item| answer.push(item))
        .count();
    let order = query.order();
    let rendered = RenderedCompanies {
        keys: page.items().iter().map(|item| order.key_of(item)).collect(),
        answer,
        next_cursor: page.next_cursor().cloned(),
        ends_early: false,
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
