//! Runs the query of a request: cheap queries on the current thread, expensive ones on the pool.

use std::sync::Arc;
use std::time::{Duration, Instant};

use time::Date;

use super::call::Call;
use super::limits::RETRY_AFTER_SECONDS;
use super::problem::{Problem, ProblemCode};
use super::query_pool::NotRun;
use crate::corpus::{
    ChangesRequest, Corpus, CorpusFuture, CorpusView, ExportRequest, QueryKind, RenderedChanges,
    RenderedPage, Unanswered,
};
use signaldex::json::Rendering;
use signaldex::query::Facet;
use signaldex::{FacetQuery, Facets, Filter, PositionError, Query, SignalId};

/// The result of a query, and how long the corpus took.
type Timed<T> = (Result<T, Unanswered>, Duration);

/// The query of a request.
#[derive(Clone, Copy)]
struct AskedQuery<'a> {
    kind: QueryKind,
    filter: &'a Filter,
    /// The facets to count.
    facets: &'a [Facet],
}

/// A page of signals.
pub(super) async fn page(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    query: &Query,
    rendering: Rendering,
) -> Result<RenderedPage, Problem> {
    let asked = AskedQuery::new(QueryKind::Page, query.filter());
    let today = call.today;
    if !is_expensive(call, view, asked) {
        let page = call.service.corpus.page(view, query, today, rendering);
        return timed(call, asked, page).await;
    }
    let (corpus, view, owned) = (corpus(call), Arc::clone(view), query.clone());
    let work = async move { clocked(corpus.page(&view, &owned, today, rendering)).await };
    on_pool(call, asked, work).await
}

/// The number of matches.
pub(super) async fn count(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    filter: &Filter,
) -> Result<u64, Problem> {
    let asked = AskedQuery::new(QueryKind::Count, filter);
    total(call, view, asked, filter, <dyn Corpus>::count).await
}

/// The counts of facets.
pub(super) async fn facets(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    query: &FacetQuery,
) -> Result<Facets, Problem> {
    let asked = AskedQuery {
        facets: &query.facets,
        ..AskedQuery::new(QueryKind::Facets, &query.filter)
    };
    total(call, view, asked, query, <dyn Corpus>::facets).await
}

/// The changes after a position.
pub(super) async fn changes(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    request: &ChangesRequest,
) -> Result<Result<RenderedChanges, PositionError>, Problem> {
    let asked = AskedQuery::new(QueryKind::Changes, &request.filter);
    let (service, today) = (call.service, call.today);
    if service.corpus.changes_cost(view, request) <= service.limits.cheap_query_cost {
        let changes = service.corpus.changes(view, request, today);
        return timed(call, asked, changes).await;
    }
    let (corpus, view, owned) = (corpus(call), Arc::clone(view), request.clone());
    let work = async move { clocked(corpus.changes(&view, &owned, today)).await };
    on_pool(call, asked, work).await
}

/// The ids of the next signals of an export, at most `max`.
pub(super) async fn export_ids(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    request: &ExportRequest,
    max: usize,
) -> Result<Vec<SignalId>, Problem> {
    let asked = AskedQuery::new(QueryKind::Count, &request.filter);
    let (corpus, view, owned) = (corpus(call), Arc::clone(view), request.clone());
    let today = call.today;
    let work = async move { clocked(corpus.export_ids(&view, &owned, max, today)).await };
    on_pool(call, asked, work).await
}

impl<'a> AskedQuery<'a> {
    /// No facets.
    fn new(kind: QueryKind, filter: &'a Filter) -> AskedQuery<'a> {
        AskedQuery {
            kind,
            filter,
            facets: &[],
        }
    }
}

/// A query over all matches.
type Ask<Q, T> =
    for<'a> fn(&'a (dyn Corpus + 'static), &'a CorpusView, &'a Q, Date) -> CorpusFuture<'a, T>;

/// Runs a query over all matches, here or on the pool.
async fn total<Q, T>(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    asked: AskedQuery<'_>,
    query: &Q,
    ask: Ask<Q, T>,
) -> Result<T, Problem>
where
    Q: Clone + Send + Sync + 'static,
    T: Send + 'static,
{
    let today = call.today;
    if !is_expensive(call, view, asked) {
        let answering = ask(&*call.service.corpus, view, query, today);
        return timed(call, asked, answering).await;
    }
    let (corpus, view, owned) = (corpus(call), Arc::clone(view), query.clone());
    let work = async move { clocked(ask(&*corpus, &view, &owned, today)).await };
    on_pool(call, asked, work).await
}

fn corpus(call: &Call<'_>) -> Arc<dyn Corpus> {
    Arc::clone(&call.service.corpus)
}

fn is_expensive(call: &Call<'_>, view: &CorpusView, asked: AskedQuery<'_>) -> bool {
    let cheap = call.service.limits.cheap_query_cost;
    let AskedQuery { filter, facets, .. } = asked;
    let corpus = &call.service.corpus;
    corpus.cost(view, filter, facets, call.today, cheap) > cheap
}

/// Runs a query on this thread and measures it.
async fn timed<T>(
    call: &Call<'_>,
    asked: AskedQuery<'_>,
    answering: CorpusFuture<'_, T>,
) -> Result<T, Problem> {
    let (answer, time) = clocked(answering).await;
    note(call, asked, time);
    Ok(answer?)
}

/// Runs a query on the pool and measures it, excluding the wait.
async fn on_pool<T: Send + 'static>(
    call: &Call<'_>,
    asked: AskedQuery<'_>,
    work: impl Future<Output = Timed<T>> + Send + 'static,
) -> Result<T, Problem> {
    let service = call.service;
    // Commits wait for requests of microseconds, not for one in a queue.
    drop(call.take_arrival());
    service.metrics.expensive_queries.inc();
    let ran = service.query_pool.run(call.key.record.number, work).await;
    let (answer, time) = ran.map_err(|reason| not_run(call, &reason))?;
    note(call, asked, time);
    Ok(answer?)
}

async fn clocked<T>(answering: impl Future<Output = Result<T, Unanswered>>) -> Timed<T> {
    let started = Instant::now();
    let answer = answering.await;
    (answer, started.elapsed())
}

fn note(call: &Call<'_>, asked: AskedQuery<'_>, time: Duration) {
    let (queries, key) = (&call.service.slow_queries, &call.key.record.id);
    queries.note(asked.kind, call.query(), asked.filter, key, time);
}

pub(super) fn not_run(call: &Call<'_>, reason: &NotRun) -> Problem {
    match reason {
        NotRun::Busy => {
            call.service.metrics.expensive_queries_refused.inc();
            let detail = "The query is expensive, and too many such queries wait; try again later, \
                          or narrow it.";
            Problem::new(ProblemCode::RateLimited, detail).retry_after(RETRY_AFTER_SECONDS)
        }
        NotRun::Failed => {
            tracing::error!("an expensive query has failed");
            let detail = "The request could not be answered; it was not charged.";
            Problem::new(ProblemCode::Internal, detail)
        }
    }
}
