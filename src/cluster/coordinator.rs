//! The coordinator of a node: answers a whole corpus by asking the nodes that hold its parts.
//!
//! A question goes to one replica of each shard. Where a node fails or does not answer in time, its
//! shards are asked of other replicas, once; a shard without another ends in a refusal that names
//! it, never in a shorter answer.

use std::sync::Arc;
use std::time::Duration;

use time::Date;

use super::engine::{Engine, Failure, Task};
use super::loaded_shards::shards_of_report;
use super::members::{Held, Members, Unreachable};
use super::placement::shard_of;
use super::question::{Answer, Question, Row, Wanted};
use crate::corpus::{Corpus, CorpusFuture, CorpusView, RenderedPage, Unanswered};
use crate::json::SearchAnswer;
use crate::query::{Facet, Start};
use crate::{Error, FacetQuery, Facets, Filter, Query, SignalId};

/// How long a query may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeouts {
    /// The whole query.
    pub(super) deadline: Duration,
    /// The first attempt.
    pub(super) first_attempt: Duration,
}

/// Asks the nodes of a cluster.
pub(super) struct Coordinator {
    engine: Engine,
    members: Arc<Members>,
    timeouts: Timeouts,
}

impl Coordinator {
    pub(super) fn new(engine: Engine, members: Arc<Members>, timeouts: Timeouts) -> Coordinator {
        Coordinator {
            engine,
            members,
            timeouts,
        }
    }

    /// Asks shards of a generation: one try, and one more where a node lets us wait or fails.
    async fn ask(
        &self,
        at: &CorpusView,
        shards: &[u32],
        wanted: Wanted,
    ) -> Result<Answer, Unanswered> {
        let question = Arc::new(Question {
            generation: at.generation,
            wanted,
        });
        let tasks = self.assign(at, shards, &[])?;
        let first = self
            .engine
            .ask(&question, &tasks, self.timeouts.first_attempt);
        let failure = match first.await {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        self.tell(&failure);
        let again = self.assign(at, shards, &failure.nodes)?;
        let left = self
            .timeouts
            .deadline
            .saturating_sub(self.timeouts.first_attempt);
        self.engine
            .ask(&question, &again, left)
            .await
            .map_err(|failure| {
                self.tell(&failure);
                let shard = Members::first_shard_of(&again, &failure.nodes);
                Unanswered::Unreachable(
                    Unreachable {
                        shard: shard.unwrap_or_default(),
                        shards: self.members.shard_count(at.generation),
                    }
                    .detail(),
                )
            })
    }

    fn assign(
        &self,
        at: &CorpusView,
        shards: &[u32],
        avoided: &[usize],
    ) -> Result<Vec<Task>, Unanswered> {
        let count = self.members.shard_count(at.generation);
        if count == 0 {
            let detail = "No generation of the corpus is loaded yet.";
            return Err(Unanswered::Unreachable(detail.to_owned()));
        }
        let assigned = self.members.assign(at.generation, count, shards, avoided);
        assigned.map_err(|missing| Unanswered::Unreachable(missing.detail()))
    }

    /// Notes that nodes did not answer, so that others are asked until they do.
    fn tell(&self, failure: &Failure) {
        let Failure { nodes, reason } = failure;
        tracing::warn!(?nodes, reason, "nodes have not answered");
        for &node in nodes {
            self.members.note(node, None);
        }
    }

    /// The shards that can hold matches: one, where the filter names a company.
    fn shards(&self, at: &CorpusView, filter: &Filter) -> Vec<u32> {
        let count = self.members.shard_count(at.generation);
        match &filter.company_slug {
            Some(slug) if count > 0 => vec![shard_of(slug, count)],
            _ => (0..count).collect(),
        }
    }

    async fn find(
        &self,
        at: &CorpusView,
        query: &Query,
        today: Date,
    ) -> Result<RenderedPage, Unanswered> {
        let start = match query.start() {
            Start::First => Start::First,
            Start::After(cursor) => Start::After(cursor.clone()),
            Start::Page(number) => match self.start_of(at, query, *number, today).await? {
                Some(start) => start,
                None => return Ok(page_of(query, today, Vec::new())),
            },
        };
        // One more than the page says whether there is a next one.
        let part = query.part(start, query.limit() + 1);
        page_rows(self.rows(at, part, today, true).await?)
            .map(|rows| page_of(query, today, rows))
            .map_err(Unanswered::Failed)
    }

    /// Where the page of a number starts: after the last row of the pages before, whose ids alone
    /// are asked for. `None` where these already are all.
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
        let rows = self.rows(at, query.part(Start::First, skipped), today, false);
        let rows = rows.await?;
        let last = rows.get(skipped - 1).and_then(|row| SignalId::new(row.id));
        Ok(last.map(|last| Start::After(query.cursor_after(last, today))))
    }

    async fn rows(
        &self,
        at: &CorpusView,
        query: Query,
        today: Date,
        with_items: bool,
    ) -> Result<Vec<Row>, Unanswered> {
        let shards = self.shards(at, query.filter());
        let wanted = Wanted::Rows {
            query: Box::new(query),
            today,
            with_items,
        };
        match self.ask(at, &shards, wanted).await? {
            Answer::Rows(rows) => Ok(rows),
            _ => Err(unexpected()),
        }
    }

    async fn lone(
        &self,
        at: &CorpusView,
        shards: &[u32],
        wanted: Wanted,
    ) -> Result<Option<Vec<u8>>, Unanswered> {
        match self.ask(at, shards, wanted).await? {
            Answer::Rows(rows) => Ok(rows.into_iter().next().map(|row| row.bytes)),
            _ => Err(unexpected()),
        }
    }

    /// Asks one node what it holds.
    pub(super) async fn loaded_shards_of(&self, node: usize, timeout: Duration) -> Option<Held> {
        let question = Arc::new(Question {
            generation: 0,
            wanted: Wanted::LoadedShards,
        });
        let task = Task {
            node,
            shards: vec![0],
        };
        let answer = self.engine.ask(&question, &[task], timeout).await;
        let Ok(Answer::Rows(rows)) = answer else {
            return None;
        };
        let held = |row: Row| (row.id, shards_of_report(&row.bytes).collect());
        Some(rows.into_iter().map(held).collect())
    }

    /// Rows that nodes have sent over the network so far to answer clients.
    pub(super) fn rows_received(&self) -> u64 {
        self.engine.rows_received()
    }

    /// The plan of a query's page, as the engine draws it.
    pub(super) async fn explain(&self, query: &Query, today: Date) -> crate::Result<String> {
        let view = self.members.view();
        let shards = self.shards(&view, query.filter());
        let wanted = if query.count_only() {
            Wanted::Count {
                filter: Box::new(query.filter().clone()),
                today,
            }
        } else {
            Wanted::Rows {
                query: Box::new(query.part(Start::First, query.limit() + 1)),
                today,
                with_items: true,
            }
        };
        self.explain_wanted(&view, &shards, wanted).await
    }

    /// The plan of counting all facets, as the engine draws it.
    pub(super) async fn explain_facets(
        &self,
        filter: &Filter,
        today: Date,
    ) -> crate::Result<String> {
        let view = self.members.view();
        let shards = self.shards(&view, filter);
        let wanted = Wanted::Facets {
            filter: Box::new(filter.clone()),
            today,
        };
        self.explain_wanted(&view, &shards, wanted).await
    }

    async fn explain_wanted(
        &self,
        at: &CorpusView,
        shards: &[u32],
        wanted: Wanted,
    ) -> crate::Result<String> {
        let count = self.members.shard_count(at.generation);
        let tasks = self.members.assign(at.generation, count, shards, &[]);
        let tasks = tasks.map_err(|missing| Error::missing(missing.detail()))?;
        let question = Question {
            generation: at.generation,
            wanted,
        };
        self.engine.explain(&Arc::new(question), &tasks).await
    }
}

impl Corpus for Coordinator {
    fn view(&self) -> Arc<CorpusView> {
        self.members.view()
    }

    fn page<'a>(
        &'a self,
        at: &'a CorpusView,
        query: &'a Query,
        today: Date,
    ) -> CorpusFuture<'a, RenderedPage> {
        Box::pin(self.find(at, query, today))
    }

    fn count<'a>(
        &'a self,
        at: &'a CorpusView,
        filter: &'a Filter,
        today: Date,
    ) -> CorpusFuture<'a, u64> {
        Box::pin(async move {
            let wanted = Wanted::Count {
                filter: Box::new(filter.clone()),
                today,
            };
            match self.ask(at, &self.shards(at, filter), wanted).await? {
                Answer::Count(count) => Ok(count),
                _ => Err(unexpected()),
            }
        })
    }

    fn facets<'a>(
        &'a self,
        at: &'a CorpusView,
        query: &'a FacetQuery,
        today: Date,
    ) -> CorpusFuture<'a, Facets> {
        Box::pin(async move {
            // The shards count all facets: one plan serves them all.
            let wanted = Wanted::Facets {
                filter: Box::new(query.filter.clone()),
                today,
            };
            // Each list is lifted from its own filter, and none is about the company.
            match self
                .ask(at, &self.shards(at, &query.filter), wanted)
                .await?
            {
                Answer::Facets(values) => Ok(facets_of(values)),
                _ => Err(unexpected()),
            }
        })
    }

    fn signal<'a>(&'a self, at: &'a CorpusView, id: SignalId) -> CorpusFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            // An id does not say which company it belongs to.
            let shards: Vec<u32> = (0..self.members.shard_count(at.generation)).collect();
            self.lone(at, &shards, Wanted::Signal(id)).await
        })
    }

    fn company<'a>(
        &'a self,
        at: &'a CorpusView,
        slug: &'a str,
    ) -> CorpusFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let count = self.members.shard_count(at.generation);
            let shards = [shard_of(slug, count)];
            self.lone(at, &shards, Wanted::Company(slug.to_owned()))
                .await
        })
    }

    fn error(&self) -> Option<String> {
        self.members.missing().map(Unreachable::detail)
    }
}

fn unexpected() -> Unanswered {
    Unanswered::Failed(Error::corrupt("the nodes have answered something else"))
}

/// The rows with their ids, which are what they should be unless a node is invalid.
fn page_rows(rows: Vec<Row>) -> crate::Result<Vec<(SignalId, Vec<u8>)>> {
    let row = |row: Row| {
        let id = SignalId::new(row.id);
        id.map(|id| (id, row.bytes))
            .ok_or_else(|| Error::corrupt("a node has answered an id that is none"))
    };
    rows.into_iter().map(row).collect()
}

/// A page of rows, of which there may be one too many.
fn page_of(query: &Query, today: Date, mut rows: Vec<(SignalId, Vec<u8>)>) -> RenderedPage {
    let has_more = rows.len() > query.limit();
    rows.truncate(query.limit());
    let mut answer = SearchAnswer::with_capacity(rows.len());
    let mut ids = Vec::with_capacity(rows.len());
    for (id, item) in rows {
        ids.push(id);
        answer.push_written(&item);
    }
    let last = ids.last().filter(|_| has_more);
    RenderedPage {
        next_cursor: last.map(|&last| query.cursor_after(last, today)),
        answer,
        ids,
        // Counted where they were checked.
        rows_checked: 0,
    }
}

/// The sums of all shards. Values that are spelled differently are one where their keys are.
fn facets_of(values: Vec<(u8, String, u64)>) -> Facets {
    let mut lists: [Vec<(String, u64)>; Facet::ALL.len()] = Default::default();
    for (facet, label, count) in values {
        if let Some(list) = lists.get_mut(usize::from(facet)) {
            list.push((label, count));
        }
    }
    let mut facets = Facets::default();
    for (facet, list) in Facet::ALL.into_iter().zip(lists) {
        facets.set(facet, list);
    }
    facets
}
