//! The coordinator of a node: answers queries on the whole corpus by querying the nodes that hold its shards.
//!
//! It creates the queries and uses the answers; [`asking`](super::asking) sends them.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use time::Date;

use super::admission::Admission;
use super::answer::{AnswerRow, ShardAnswer, facets_of};
use super::asking::{Asker, unavailable};
use super::members::{Members, Unreachable};
use super::nodes::Nodes;
use super::placement::shard_of;
use super::question::ShardRequest;
use signaldex::json::{Rendering, SearchAnswer};
use signaldex::query::{Facet, Start};
use signaldex::{Error, FacetQuery, Facets, Filter, Query, SignalId};
use signaldex_server::corpus::{
    ClusterStatus, Corpus, CorpusFuture, CorpusView, RenderedPage, Unanswered,
};

/// Answers clients by querying the nodes of a cluster.
pub(super) struct Coordinator {
    asker: Asker,
    admission: Admission,
}

impl Coordinator {
    /// Creates a coordinator for `queries` concurrent queries; others wait for at most `queue`.
    pub(super) fn new(asker: Asker, queries: usize, queue: Duration) -> Coordinator {
        Coordinator {
            asker,
            admission: Admission::new(queries, queries, queue),
        }
    }

    fn members(&self) -> &Members {
        &self.asker.members
    }

    async fn ask(
        &self,
        at: &CorpusView,
        shards: &[u32],
        wanted: ShardRequest,
    ) -> Result<ShardAnswer, Unanswered> {
        self.asker.ask(at.generation, shards, wanted).await
    }

    /// Runs a query when it is admitted.
    async fn admitted<T>(
        &self,
        work: impl Future<Output = Result<T, Unanswered>>,
    ) -> Result<T, Unanswered> {
        let turn = self.admission.enter().await;
        let _turn = turn.ok_or_else(|| {
            unavailable("Too many queries are under way at this node; nothing was charged.")
        })?;
        work.await
    }

    /// The shards that can hold matches: one, where the filter names a company, and none that is empty.
    fn shards(&self, at: &CorpusView, filter: &Filter) -> Vec<u32> {
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
        page_rows(self.rows(at, part, today, Some(rendering)).await?)
            .map(|rows| page_of(query, today, rows))
            .map_err(Unanswered::Failed)
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
        let rows = self.rows(at, query.part(Start::First, skipped), today, None);
        let rows = rows.await?;
        let last = rows.get(skipped - 1).and_then(|row| SignalId::new(row.id));
        Ok(last.map(|last| Start::After(query.cursor_after(last, today))))
    }

    async fn rows(
        &self,
        at: &CorpusView,
        query: Query,
        today: Date,
        rendering: Option<Rendering>,
    ) -> Result<Vec<AnswerRow>, Unanswered> {
        let shards = self.shards(at, query.filter());
        let wanted = ShardRequest::Rows {
            query: Box::new(query),
            today,
            rendering,
        };
        let answer = self.ask(at, &shards, wanted).await?;
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

    /// The number of rows received from other nodes so far.
    pub(super) fn rows_received(&self) -> u64 {
        self.asker.nodes.rows_received()
    }

    /// Explains a query: the query to each node, and how the answers are merged.
    pub(super) fn explain(&self, query: &Query, today: Date) -> signaldex::Result<String> {
        let view = self.members().view();
        let shards = self.shards(&view, query.filter());
        let wanted = if query.count_only() {
            ShardRequest::Count {
                filter: Box::new(query.filter().clone()),
                today,
            }
        } else {
            ShardRequest::Rows {
                query: Box::new(query.part(Start::First, query.limit() + 1)),
                today,
                rendering: Some(Rendering::Whole),
            }
        };
        self.explain_wanted(&view, &shards, &wanted)
    }

    /// Explains counting all facets.
    pub(super) fn explain_facets(&self, filter: &Filter, today: Date) -> signaldex::Result<String> {
        let view = self.members().view();
        let shards = self.shards(&view, filter);
        let wanted = ShardRequest::Facets {
            query: Box::new(FacetQuery::new(filter.clone(), Facet::ALL)),
            today,
        };
        self.explain_wanted(&view, &shards, &wanted)
    }

    fn explain_wanted(
        &self,
        at: &CorpusView,
        shards: &[u32],
        wanted: &ShardRequest,
    ) -> signaldex::Result<String> {
        let count = self.members().shard_count(at.generation);
        let tasks = self.members().assign(at.generation, count, shards, &[]);
        let tasks = tasks.map_err(|missing| Error::missing(missing.detail()))?;
        let mut plan = format!("{} (generation {})\n", wanted.merging(), at.generation);
        for task in tasks {
            let (name, shards) = (self.members().name(task.node), task.shards);
            let here = if task.node == self.members().own() {
                " (this node)"
            } else {
                ""
            };
            // Writing to a string cannot fail.
            let _ = writeln!(plan, "  {name}{here}: shards {shards:?}: {wanted}");
        }
        Ok(plan)
    }
}

impl Corpus for Coordinator {
    fn view(&self) -> Arc<CorpusView> {
        self.members().view()
    }

    fn page<'a>(
        &'a self,
        at: &'a CorpusView,
        query: &'a Query,
        today: Date,
        rendering: Rendering,
    ) -> CorpusFuture<'a, RenderedPage> {
        Box::pin(self.admitted(self.find(at, query, today, rendering)))
    }

    fn count<'a>(
        &'a self,
        at: &'a CorpusView,
        filter: &'a Filter,
        today: Date,
    ) -> CorpusFuture<'a, u64> {
        let wanted = ShardRequest::Count {
            filter: Box::new(filter.clone()),
            today,
        };
        Box::pin(self.admitted(async move {
            let answer = self.ask(at, &self.shards(at, filter), wanted).await?;
            answer.count().map_err(Unanswered::Failed)
        }))
    }

    fn facets<'a>(
        &'a self,
        at: &'a CorpusView,
        query: &'a FacetQuery,
        today: Date,
    ) -> CorpusFuture<'a, Facets> {
        let wanted = ShardRequest::Facets {
            query: Box::new(query.clone()),
            today,
        };
        // Each facet is counted without its own filter, and no facet is a company filter.
        Box::pin(self.admitted(async move {
            let answer = self
                .ask(at, &self.shards(at, &query.filter), wanted)
                .await?;
            let values = answer.facet_values().map_err(Unanswered::Failed)?;
            Ok(facets_of(values))
        }))
    }

    fn signal<'a>(&'a self, at: &'a CorpusView, id: SignalId) -> CorpusFuture<'a, Option<Vec<u8>>> {
        Box::pin(self.admitted(self.find_signal(at, id)))
    }

    fn company<'a>(
        &'a self,
        at: &'a CorpusView,
        slug: &'a str,
    ) -> CorpusFuture<'a, Option<Vec<u8>>> {
        let shards = [shard_of(slug, self.members().shard_count(at.generation))];
        let wanted = ShardRequest::Company(slug.to_owned());
        Box::pin(self.admitted(async move { self.lone(at, &shards, wanted).await }))
    }

    fn cluster(&self) -> Option<ClusterStatus> {
        Some(ClusterStatus {
            certificate_error: self.nodes().security().refused(),
            ..self.members().status()
        })
    }

    fn error(&self) -> Option<String> {
        self.members().missing().map(Unreachable::detail)
    }
}

/// The rows with checked ids.
pub(super) fn page_rows(rows: Vec<AnswerRow>) -> signaldex::Result<Vec<(SignalId, Bytes)>> {
    let row = |row: AnswerRow| {
        let id = SignalId::new(row.id);
        id.map(|id| (id, row.bytes))
            .ok_or_else(|| Error::corrupt("a node returned an invalid id"))
    };
    rows.into_iter().map(row).collect()
}

/// Creates a page from its rows and possibly one more. The first row that is empty or has no room ends it.
pub(super) fn page_of(
    query: &Query,
    today: Date,
    mut rows: Vec<(SignalId, Bytes)>,
) -> RenderedPage {
    let has_more = rows.len() > query.limit();
    rows.truncate(query.limit());
    let mut answer = SearchAnswer::with_capacity(rows.len(), Rendering::Whole);
    for (_, item) in &rows {
        if item.is_empty() || !answer.push_written(item) {
            break;
        }
    }
    let ids: Vec<SignalId> = rows.into_iter().map(|(id, _)| id).collect();
    let last = ids.last().filter(|_| has_more);
    let page = RenderedPage {
        next_cursor: last.map(|&last| query.cursor_after(last, today)),
        answer,
        ids,
        ends_early: false,
        // Counted by the node that checked them.
        rows_checked: 0,
    };
    page.ended(query, today)
}
