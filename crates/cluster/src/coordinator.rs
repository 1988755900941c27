//! The coordinator of a node: answers queries on the whole corpus by querying the nodes that hold its shards.
//!
//! It creates the queries and uses the answers; [`asking`](super::asking) sends them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use time::Date;

use super::admission::Admission;
use super::answer::ShardAnswer;
use super::asking::{Asker, RowShare, unavailable};
use super::change_walk::{ChangeWalk, position_for};
use super::changes::key_of;
use super::companies::CompaniesKind;
use super::leases::{Lease, Leases};
use super::manifest_cache::ManifestCache;
use super::members::{Members, Unreachable};
use super::nodes::Nodes;
use super::placement::shard_of;
use super::question::ShardRequest;
use signaldex::json::Rendering;
use signaldex::query::{CompanyQuery, Fingerprint, InvalidQuery, KeyFilter, SortKey};
use signaldex::{
    AggregateQuery, Aggregates, FacetQuery, Facets, Filter, PositionError, Query, SignalId,
};
use signaldex_server::corpus::{
    ChangesRequest, ClusterStatus, ConcernedSearches, Corpus, CorpusFuture, CorpusView,
    ExportRequest, ExportSlice, FeedPosition, MatchesRequest, PlanStatus, RenderedChanges,
    RenderedCompanies, RenderedMatches, RenderedPage, Unanswered,
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

    /// A position of the cluster, as a key with a filter has it, or as it is of everything.
    fn position_for(
        &self,
        generation: u64,
        position: &FeedPosition,
        key: Option<Fingerprint>,
    ) -> FeedPosition {
        match (position, self.manifests.loaded(generation)) {
            (FeedPosition::Cluster(position), Some(served)) => {
                FeedPosition::Cluster(position_for(&served, position, key))
            }
            _ => position.clone(),
        }
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
            let found = self.find_page(&at, &query, today, rendering);
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

    fn matches(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        request: MatchesRequest,
        today: Date,
    ) -> CorpusFuture<Result<RenderedMatches, PositionError>> {
        Box::pin(async move {
            let found = self.find_matches(&at, &request, today);
            self.admitted(found).await
        })
    }

    fn has_saved_searches(&self) -> bool {
        true
    }

    fn position(&self, at: &CorpusView) -> Option<FeedPosition> {
        let walk = ChangeWalk::arrived(self.manifests.loaded(at.generation)?);
        Some(FeedPosition::Cluster(walk.for_key(key_of(at)).position()))
    }

    fn position_at(&self, at: &CorpusView, position: &FeedPosition) -> FeedPosition {
        self.position_for(at.generation, position, key_of(at))
    }

    fn whole_position(&self, position: FeedPosition) -> FeedPosition {
        self.position_for(self.members().view().generation, &position, None)
    }

    fn concerned(
        self: Arc<Self>,
        at: Arc<CorpusView>,
        since: FeedPosition,
        searches: Vec<Filter>,
        today: Date,
    ) -> CorpusFuture<Result<ConcernedSearches, PositionError>> {
        Box::pin(async move {
            let found = self.find_concerned(&at, &since, searches, today);
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

#[cfg(test)]
mod tests;
