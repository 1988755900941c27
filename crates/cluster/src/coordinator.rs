//! The coordinator of a node: answers queries on the whole corpus by querying the nodes that hold its shards.
//!
//! It creates the queries and uses the answers; [`asking`](super::asking) sends them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Bytes;
use time::Date;

use super::admission::Admission;
use super::answer::{AnswerRow, ShardAnswer};
use super::asking::{Asker, RowShare, unavailable};
use super::companies::CompaniesKind;
use super::leases::{Lease, Leases};
use super::manifest_cache::ManifestCache;
use super::members::{Members, Unreachable};
use super::nodes::Nodes;
use super::placement::shard_of;
use super::question::{RowFormat, ShardRequest};
use signaldex::json::{Rendering, SearchAnswer};
use signaldex::query::limits::PAGE_BYTES_MAX;
use signaldex::query::{CompanyQuery, InvalidQuery, KeyFilter, SortKey, Start};
use signaldex::{
    AggregateQuery, Aggregates, Error, FacetQuery, Facets, Filter, PositionError, Query, SignalId,
};
use signaldex_server::corpus::{
    ChangesRequest, ClusterStatus, Corpus, CorpusFuture, CorpusView, ExportRequest, ExportSlice,
    PlanStatus, RenderedChanges, RenderedCompanies, RenderedPage, Unanswered,
};

/// Answers clients by querying the nodes of a cluster.
pub(super) struct Coordinator {
    asker: Asker,
    admission: Admission,
    pub(super) manifests: ManifestCache,
    leases: Leases,
}

impl Coordinator {
    /// Creates a coordinator for `queries` concurrent queries; others wait for at most `queue`.
    pub(super) fn new(
        asker: Asker,
        manifests: ManifestCache,
        leases: Leases,
        queries: usize,
        queue: Duration,
    ) -> Coordinator {
        Coordinator {
            asker,
            admission: Admission::new(queries, queries, queue),
            manifests,
            leases,
        }
    }

    pub(super) fn members(&self) -> &Members {
        &self.asker.members
    }

    /// A lease for a generation; `None` where there are leases for two others.
    pub(super) fn lease(&self, generation: u64) -> Option<Lease> {
        self.leases.hear(self.members().leased_by_others());
        self.leases.begin(generation)
    }

    /// The deadline of a query.
    pub(super) fn deadline(&self) -> Duration {
        self.asker.deadline
    }

    pub(super) async fn ask(
        &self,
        at: &CorpusView,
        shards: &[u32],
        wanted: ShardRequest,
    ) -> Result<ShardAnswer, Unanswered> {
        let share = RowShare::Expected;
        self.ask_shards(at, shards, wanted, share).await
    }

    pub(super) async fn ask_shards(
        &self,
        at: &CorpusView,
        shards: &[u32],
        wanted: ShardRequest,
        share: RowShare,
    ) -> Result<ShardAnswer, Unanswered> {
        let key = at.key_filter();
        let key = key.map(|(filter, today)| (Arc::clone(filter), today));
        let at = (at.generation, key);
        self.asker.ask(at, shards, wanted, share).await
    }

    /// Runs a query when it is admitted.
    pub(super) async fn admitted<T>(
        &self,
        work: impl Future<Output = Result<T, Unanswered>>,
    ) -> Result<T, Unanswered> {
        let done = self.admission.run(work).await;
        done.unwrap_or_else(|| {
            let detail = "Too many queries are under way at this node; nothing was charged.";
            Err(unavailable(detail))
        })
    }

    /// The shards that can hold matches: one, where the filter names a company, and none that is empty.
    pub(super) fn shards(&self, at: &CorpusView, filter: &Filter) -> Vec<u32> {
        let mut shards = self.members().shards_with_signals(at.generation);
        if let Some(slug) = filter.company_slug() {
            let of_company = shard_of(slug, self.members().shard_count(at.generation));
            shards.retain(|&shard| shard == of_company);
        }
        shards
    }

    /// Looks for a signal in this node's own shards, and only then in those of others: its id does not say which
    /// company it belongs to.
    async fn find_signal(
        &self,
        at: &CorpusView,
        id: SignalId,
    ) -> Result<Option<Vec<u8>>, Unanswered> {
        let shards = self.members().shards_with_signals(at.generation);
        let is_own = |&shard: &u32| self.members().is_own(at.generation, shard);
        let (own, others): (Vec<u32>, Vec<u32>) = shards.into_iter().partition(is_own);
        let found = self.lone(at, &own, ShardRequest::Signal(id)).await?;
        if found.is_some() || others.is_empty() {
            return Ok(found);
        }
        self.lone(at, &others, ShardRequest::Signal(id)).await
    }

    async fn find(
        &self,
        at: &CorpusView,
        query: &Query,
        today: Date,
        rendering: Rendering,
    ) -> Result<RenderedPage, Unanswered> {
        let start = match query.start() {
            Start::First => Start::First,
            Start::After(cursor) => Start::After(cursor.clone()),
            Start::Page(number) => match self.start_of(at, query, *number, today).await? {
                Some(start) => start,
                None => return Ok(page_of(query, today, Vec::new())),
            },
        };
        // One more than the page, to know whether there is a next page.
        let part = query.part(start, query.limit() + 1);
        let format = RowFormat::Item(rendering);
        let rows = self.rendered_rows(at, &part, today, format).await?;
        page_rows(rows)
            .map(|rows| page_of(query, today, rows))
            .map_err(Unanswered::Failed)
    }

    /// The rows of a page and one more. Each node renders the share of the page that its shards probably have; from the
    /// first row on that none has rendered, nodes are asked again.
    async fn rendered_rows(
        &self,
        at: &CorpusView,
        part: &Query,
        today: Date,
        format: RowFormat,
    ) -> Result<Vec<AnswerRow>, Unanswered> {
        let whole = part.part(part.start().clone(), part.limit());
        let share = RowShare::Expected;
        let mut rows = self.rows(at, whole, today, Some(format), share).await?;
        // Of the one more, the id is enough.
        let Some(missing) = first_missing(rows.iter().map(|row| &row.bytes), part.limit() - 1)
        else {
            return Ok(rows);
        };
        rows.truncate(missing);
        let last = rows.last().and_then(AnswerRow::key);
        let start = match last {
            Some(last) => Start::After(part.cursor_after(last, today)),
            None => part.start().clone(),
        };
        let rest = part.part(start, part.limit() - missing);
        let rest = self
            .rows(at, rest, today, Some(format), RowShare::All)
            .await?;
        rows.extend(rest);
        Ok(rows)
    }

    /// The start of a numbered page: after the last row of the previous pages, of which only ids are queried. `None` if
    /// there are no more rows.
    async fn start_of(
        &self,
        at: &CorpusView,
        query: &Query,
        number: u16,
        today: Date,
    ) -> Result<Option<Start>, Unanswered> {
        let skipped = (usize::from(number) - 1) * query.limit();
        if skipped == 0 {
            return Ok(Some(Start::First));
        }
        let ids = query.part(Start::First, skipped);
        let rows = self.rows(at, ids, today, None, RowShare::All).await?;
        let last = rows.get(skipped - 1).and_then(AnswerRow::key);
        Ok(last.map(|last| Start::After(query.cursor_after(last, today))))
    }

    /// The first rows of a result.
    pub(super) async fn rows(
        &self,
        at: &CorpusView,
        query: Query,
        today: Date,
        rendering: Option<RowFormat>,
        share: RowShare,
    ) -> Result<Vec<AnswerRow>, Unanswered> {
        let shards = self.shards(at, query.filter());
        let wanted = ShardRequest::Rows {
            query: Box::new(query.without_key()),
            today,
            rendering,
        };
        let answer = self.ask_shards(at, &shards, wanted, share).await?;
        answer.rows().map_err(Unanswered::Failed)
    }

    async fn lone(
        &self,
        at: &CorpusView,
        shards: &[u32],
        wanted: ShardRequest,
    ) -> Result<Option<Vec<u8>>, Unanswered> {
        let answer = self.ask(at, shards, wanted).await?;
        let rows = answer.rows().map_err(Unanswered::Failed)?;
        Ok(rows.into_iter().next().map(|row| row.bytes.into()))
    }

    pub(super) fn nodes(&self) -> &Nodes {
        &self.asker.nodes
    }

    fn plans(&self) -> Vec<PlanStatus> {
        let plans = self.nodes().plans().into_iter();
        let status = |(node, age, questions): (usize, Duration, usize)| PlanStatus {
            node: self.members().name(node),
            age,
            questions,
        };
        plans.map(status).collect()
    }

    /// The number of rows received from other nodes so far.
    pub(super) fn rows_received(&self) -> u64 {
        self.asker.nodes.rows_received()
    }
}

impl Corpus for Coordinator {
    fn view(&self) -> Arc<CorpusView> {
        self.members().view()
    }

    fn narrowed(
        &self,
        at: &Arc<CorpusView>,
        filter: &Arc<KeyFilter>,
        today: Date,
    ) -> Result<Arc<CorpusView>, Unanswered> {
        // The nodes narrow their shards.
        Ok(Arc::new(at.under(filter, today)))
    }

    fn page(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<Query>,
        today: Date,
        rendering: Rendering,
    ) -> CorpusFuture<RenderedPage> {
        Box::pin(async move {
            let found = self.find(&at, &query, today, rendering);
            self.admitted(found).await
        })
    }

    fn count(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        filter: Filter,
        today: Date,
    ) -> CorpusFuture<u64> {
        Box::pin(async move {
            let shards = self.shards(&at, &filter);
            let filter = Box::new(filter);
            let wanted = ShardRequest::Count { filter, today };
            let answer = self.admitted(self.ask(&at, &shards, wanted)).await?;
            answer.count().map_err(Unanswered::Failed)
        })
    }

    fn hints(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<Query>,
        is_empty: bool,
    ) -> CorpusFuture<Vec<String>> {
        Box::pin(async move { Ok(self.find_hints(&at, &query, is_empty).await) })
    }

    fn facets(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<FacetQuery>,
        today: Date,
    ) -> CorpusFuture<Facets> {
        Box::pin(async move {
            // Each facet is counted without its own filter, and no facet is a company filter.
            let shards = self.shards(&at, &query.filter);
            let query = Box::new(FacetQuery::clone(&query));
            let wanted = ShardRequest::Facets { query, today };
            let answer = self.admitted(self.ask(&at, &shards, wanted)).await?;
            answer.facets().map_err(Unanswered::Failed)
        })
    }

    fn aggregate(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<AggregateQuery>,
        today: Date,
    ) -> CorpusFuture<Result<Aggregates, InvalidQuery>> {
        Box::pin(async move {
            let shards = self.shards(&at, query.filter());
            let wanted = ShardRequest::Aggregates {
                query: Box::new(AggregateQuery::clone(&query)),
                today,
            };
            let answer = self.admitted(self.ask(&at, &shards, wanted)).await?;
            answer.aggregates(&query).map_err(Unanswered::Failed)
        })
    }

    fn companies(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<RenderedCompanies> {
        Box::pin(async move {
            let found = self.find_companies(&at, &query, today);
            self.admitted(found).await
        })
    }

    fn count_companies(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<u64> {
        Box::pin(async move {
            let kind = CompaniesKind::Count;
            let answer = self.ask_all_companies(&at, kind, &query, today).await?;
            answer.count().map_err(Unanswered::Failed)
        })
    }

    fn company_facets(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        query: Arc<CompanyQuery>,
        today: Date,
    ) -> CorpusFuture<Facets> {
        Box::pin(async move {
            // Each facet is counted without its own filter, and no facet is a slug.
            let kind = CompaniesKind::Facets;
            let answer = self.ask_all_companies(&at, kind, &query, today).await?;
            answer.facets().map_err(Unanswered::Failed)
        })
    }

    fn signal(self: Arc<Self>, at: Arc<CorpusView>, id: SignalId) -> CorpusFuture<Option<Vec<u8>>> {
        Box::pin(async move { self.admitted(self.find_signal(&at, id)).await })
    }

    fn company(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        slug: String,
    ) -> CorpusFuture<Option<Vec<u8>>> {
        let shards = [shard_of(&slug, self.members().shard_count(at.generation))];
        let wanted = ShardRequest::Company(slug);
        Box::pin(async move { self.admitted(self.lone(&at, &shards, wanted)).await })
    }

    fn changes(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ChangesRequest,
        today: Date,
    ) -> CorpusFuture<Result<RenderedChanges, PositionError>> {
        Box::pin(async move {
            let found = self.find_changes(&at, &request, today);
            self.admitted(found).await
        })
    }

    fn keep(&self, at: &CorpusView) -> Result<Box<dyn Send + Sync>, Unanswered> {
        let lease = self.lease(at.generation).ok_or_else(|| {
            unavailable(
                "Exports of two earlier generations of the corpus are under way; try again when they have ended.",
            )
        })?;
        // Looked for after the lease: from now on it is kept.
        match self.manifests.loaded(at.generation) {
            Some(_) => Ok(Box::new(lease)),
            None => Err(unavailable(
                "A newer generation has just been loaded; try again.",
            )),
        }
    }

    fn export(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        today: Date,
    ) -> CorpusFuture<ExportSlice> {
        Box::pin(async move {
            let found = self.find_slice(&at, &request, today);
            self.admitted(found).await
        })
    }

    fn export_keys(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: ExportRequest,
        max: usize,
        today: Date,
    ) -> CorpusFuture<Vec<SortKey>> {
        Box::pin(async move {
            let found = self.find_export_keys(&at, &request, max, today);
            self.admitted(found).await
        })
    }

    fn cluster(&self) -> Option<ClusterStatus> {
        Some(ClusterStatus {
            certificate_error: self.nodes().security().refused(),
            plans: self.plans(),
            retried: self.asker.retried.load(Ordering::Relaxed),
            hedged: self.asker.hedged.load(Ordering::Relaxed),
            shed: self.admission.shed() + self.nodes().shed(),
            ..self.members().status()
        })
    }

    fn error(&self) -> Option<String> {
        self.members().missing().map(Unreachable::detail)
    }
}

/// The first of a page's rows that no node has rendered, although the page has room for it.
pub(super) fn first_missing<'r>(
    rows: impl ExactSizeIterator<Item = &'r Bytes>,
    limit: usize,
) -> Option<usize> {
    let (shown, mut bytes) = (rows.len().min(limit), 0);
    let rendered = rows.take(limit).take_while(|row| {
        bytes += row.len();
        !row.is_empty()
    });
    let rendered = rendered.count();
    (rendered < shown && bytes <= PAGE_BYTES_MAX).then_some(rendered)
}

/// The rows with checked ids.
pub(super) fn page_rows(rows: Vec<AnswerRow>) -> signaldex::Result<Vec<(SortKey, Bytes)>> {
    let row = |row: AnswerRow| {
        row.key()
            .map(|key| (key, row.bytes))
            .ok_or_else(|| Error::corrupt("a node returned an invalid id"))
    };
    rows.into_iter().map(row).collect()
}

/// Creates a page from its rows and possibly one more. The first row that is empty or has no room ends it.
pub(super) fn page_of(query: &Query, today: Date, mut rows: Vec<(SortKey, Bytes)>) -> RenderedPage {
    let has_more = rows.len() > query.limit();
    rows.truncate(query.limit());
    let mut answer = SearchAnswer::with_capacity(rows.len(), Rendering::Whole);
    for (_, item) in &rows {
        if item.is_empty() || !answer.push_written(item) {
            break;
        }
    }
    let keys: Vec<SortKey> = rows.into_iter().map(|(key, _)| key).collect();
    let last = keys.last().filter(|_| has_more);
    let page = RenderedPage {
        next_cursor: last.map(|&last| query.cursor_after(last, today)),
        answer,
        keys,
        ends_early: false,
        // Counted by the node that checked them.
        rows_checked: 0,
    };
    page.ended(query, today)
}

#[cfg(test)]
mod tests;
