//! What a key reads: the whole corpus, or what its filter leaves of it.
//!
//! Handlers get their corpus here, once per request, and no other way leads from a request to the whole.

use std::sync::Arc;

use time::Date;

use signaldex::json::Rendering;
use signaldex::query::{CompanyQuery, Facet, InvalidQuery, KeyFilter, SortKey};
use signaldex::{
    AggregateQuery, Aggregates, Cost, FacetQuery, Facets, Filter, PositionError, Query, SignalId,
};

use super::{
    ChangesRequest, Corpus, CorpusFuture, CorpusView, ExportRequest, ExportSlice, FeedPosition,
    MatchesRequest, RenderedChanges, RenderedCompanies, RenderedMatches, RenderedPage, Unanswered,
};

/// The corpus of a service.
pub(crate) struct WholeCorpus(Arc<dyn Corpus>);

impl WholeCorpus {
    pub(crate) fn new(corpus: Arc<dyn Corpus>) -> WholeCorpus {
        WholeCorpus(corpus)
    }

    /// All of it: for the dashboard, the metrics and following, never for a request with a key.
    pub(crate) fn for_operator(&self) -> &Arc<dyn Corpus> {
        &self.0
    }

    /// An upper bound for the cost of a view of what a key with this filter reads on a day, on this machine.
    pub(crate) fn narrowing_cost(&self, filter: &KeyFilter, today: Date) -> Cost {
        self.0.narrowing_cost(filter, today)
    }

    /// What a key with this filter reads on a day.
    pub(crate) fn for_key(&self, filter: Option<&Arc<KeyFilter>>, today: Date) -> Arc<dyn Corpus> {
        let whole = Arc::clone(&self.0);
        match filter {
            None => whole,
            Some(filter) => Arc::new(NarrowedCorpus {
                whole,
                filter: Arc::clone(filter),
                today,
            }),
        }
    }
}

/// A corpus under the filter of a key, whose views are all narrowed.
struct NarrowedCorpus {
    whole: Arc<dyn Corpus>,
    filter: Arc<KeyFilter>,
    /// The day of the request.
    today: Date,
}

impl NarrowedCorpus {
    /// Asks the corpus at a view, which has to be under this filter.
    fn ask<T: 'static>(
        &self,
        at: Arc<CorpusView>,
        ask: impl FnOnce(Arc<dyn Corpus>, Arc<CorpusView>) -> CorpusFuture<T>,
    ) -> CorpusFuture<T> {
        if at.key_filter() == Some((&self.filter, self.today)) {
            return ask(Arc::clone(&self.whole), at);
        }
        Box::pin(async {
            Err(Unanswered::Unavailable(
                "What the key may read cannot be told apart now.".to_owned(),
            ))
        })
    }
}

impl Corpus for NarrowedCorpus {
    fn view(&self) -> Arc<CorpusView> {
        let whole = self.whole.view();
        let narrowed = self.whole.narrowed(&whole, &self.filter, self.today);
        // Not under the filter, so nothing is answered at it.
        narrowed.unwrap_or_else(|_| Arc::new(CorpusView::of(whole.generation, whole.tag_seed)))
    }

    fn trusted_view(&self) -> Result<Arc<CorpusView>, Unanswered> {
        let whole = self.whole.trusted_view()?;
        self.whole.narrowed(&whole, &self.filter, self.today)
    }

    fn page(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<Query>,
        today: Date,
        rendering: Rendering,
    ) -> CorpusFuture<RenderedPage> {
        self.ask(at, |whole, at| whole.page(at, query, today, rendering))
    }

    fn count(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        filter: Filter,
        today: Date,
    ) -> CorpusFuture<u64> {
        self.ask(at, |whole, at| whole.count(at, filter, today))
    }

    fn hints(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<Query>,
        is_empty: bool,
    ) -> CorpusFuture<Vec<String>> {
        self.ask(at, |whole, at| whole.hints(at, query, is_empty))
    }

    fn facets(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<FacetQuery>,
        today: Date,
    ) -> CorpusFuture<Facets> {
        self.ask(at, |whole, at| whole.facets(at, query, today))
    }

    fn aggregate(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<AggregateQuery>,
        today: Date,
    ) -> CorpusFuture<Result<Aggregates, InvalidQuery>> {
        self.ask(at, |whole, at| whole.aggregate(at, query, today))
    }

    fn companies(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<RenderedCompanies> {
        self.ask(at, |whole, at| whole.companies(at, query, today))
    }

    fn count_companies(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<u64> {
        self.ask(at, |whole, at| whole.count_companies(at, query, today))
    }

    fn company_facets(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<Facets> {
        self.ask(at, |whole, at| whole.company_facets(at, query, today))
    }

    fn changes(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ChangesRequest,
        today: Date,
    ) -> CorpusFuture<Result<RenderedChanges, PositionError>> {
        self.ask(at, |whole, at| whole.changes(at, request, today))
    }

    fn keep(&self, at: &CorpusView) -> Result<Box<dyn Send + Sync>, Unanswered> {
        self.whole.keep(at)
    }

    fn export(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        today: Date,
    ) -> CorpusFuture<ExportSlice> {
        self.ask(at, |whole, at| whole.export(at, request, today))
    }

    fn export_keys(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        max: usize,
        today: Date,
    ) -> CorpusFuture<Vec<SortKey>> {
        self.ask(at, |whole, at| whole.export_keys(at, request, max, today))
    }

    fn changes_cost(&self, at: &CorpusView, request: &ChangesRequest) -> Cost {
        self.whole.changes_cost(at, request)
    }

    fn cost(
        &self,
        at: &CorpusView,
        filter: &Filter,
        facets: &[Facet],
        today: Date,
        cheap: Cost,
    ) -> Cost {
        self.whole.cost(at, filter, facets, today, cheap)
    }

    fn page_cost(&self, at: &CorpusView, query: &Query, today: Date, cheap: Cost) -> Cost {
        self.whole.page_cost(at, query, today, cheap)
    }

    fn aggregate_cost(
        &self,
        at: &CorpusView,
        query: &AggregateQuery,
        today: Date,
        cheap: Cost,
    ) -> Cost {
        self.whole.aggregate_cost(at, query, today, cheap)
    }

    fn companies_cost(
        &self,
        at: &CorpusView,
        query: &CompanyQuery,
        today: Date,
        cheap: Cost,
    ) -> Cost {
        self.whole.companies_cost(at, query, today, cheap)
    }

    fn matches(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: MatchesRequest,
        today: Date,
    ) -> CorpusFuture<Result<RenderedMatches, PositionError>> {
        self.ask(at, |whole, at| whole.matches(at, request, today))
    }

    fn has_saved_searches(&self) -> bool {
        self.whole.has_saved_searches()
    }

    fn position(&self, at: &CorpusView) -> Option<FeedPosition> {
        self.whole.position(at)
    }

    fn position_at(&self, at: &CorpusView, position: &FeedPosition) -> FeedPosition {
        self.whole.position_at(at, position)
    }

    fn signal(self: Arc<Self>, at: Arc<CorpusView>, id: SignalId) -> CorpusFuture<Option<Vec<u8>>> {
        self.ask(at, |whole, at| whole.signal(at, id))
    }

    fn company(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        slug: String,
    ) -> CorpusFuture<Option<Vec<u8>>> {
        self.ask(at, |whole, at| whole.company(at, slug))
    }
}
