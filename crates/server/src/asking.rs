//! Runs the query of a request: cheap queries on the current thread, expensive ones on the pool.

use std::sync::Arc;
use std::time::Instant;

use super::call::Call;
use super::limits::RETRY_AFTER_SECONDS;
use super::problem::{Problem, ProblemCode};
use super::query_pool::NotRun;
use super::slow::AskedFilter;
use crate::corpus::{CorpusFuture, CorpusView, QueryKind};
use signaldex::query::{CompanyQuery, Facet};
use signaldex::{Cost, Filter, Query};

/// The query of a request: what it costs here decides where it runs, and the rest is noted if it is slow.
#[derive(Clone, Copy)]
pub(super) struct AskedQuery<'a> {
    pub(super) kind: QueryKind,
    pub(super) filter: AskedFilter<'a>,
    /// An upper bound.
    pub(super) cost: Cost,
}

impl<'a> AskedQuery<'a> {
    /// A page of a query.
    pub(super) fn of_page(call: &Call<'_>, view: &CorpusView, query: &'a Query) -> AskedQuery<'a> {
        let (corpus, cheap) = (call.corpus(), call.service.limits.cheap_query_cost);
        AskedQuery {
            kind: QueryKind::Page,
            filter: AskedFilter::Signals(query.filter()),
            cost: corpus.page_cost(view, query, call.today, cheap),
        }
    }

    /// A query over all matches, which counts these facets of them, if any.
    pub(super) fn over_matches(
        call: &Call<'_>,
        view: &CorpusView,
        kind: QueryKind,
        (filter, facets): (&'a Filter, &[Facet]),
    ) -> AskedQuery<'a> {
        let (corpus, cheap) = (call.corpus(), call.service.limits.cheap_query_cost);
        AskedQuery {
            kind,
            filter: AskedFilter::Signals(filter),
            cost: corpus.cost(view, filter, facets, call.today, cheap),
        }
    }

    /// A page of companies, or their number and facets.
    pub(super) fn of_companies(
        call: &Call<'_>,
        view: &CorpusView,
        query: &'a CompanyQuery,
    ) -> AskedQuery<'a> {
        let (corpus, cheap) = (call.corpus(), call.service.limits.cheap_query_cost);
        AskedQuery {
            kind: QueryKind::Companies,
            filter: AskedFilter::Companies(query.filter()),
            cost: corpus.companies_cost(view, query, call.today, cheap),
        }
    }
}

/// The current view of what the key of a call may read. If its filter has to be evaluated first, that is a query, too.
///
/// # Errors
/// The index was overwritten, the key's filter cannot be applied, or its turn does not come in time.
pub(super) async fn trusted_view(call: &Call<'_>) -> Result<Arc<CorpusView>, Problem> {
    let (corpus, service) = (call.corpus(), call.service);
    let cost = |filter| service.corpus.narrowing_cost(filter, call.today);
    if call.filter().map_or(0, cost) <= service.limits.cheap_query_cost {
        return Ok(corpus.trusted_view()?);
    }
    Ok(run_in_turn(call, async move { corpus.trusted_view() }).await??)
}

/// Answers a query, here or on the pool. Its time excludes the wait.
pub(super) async fn ask<T: Send + 'static>(
    call: &Call<'_>,
    asked: AskedQuery<'_>,
    answering: CorpusFuture<T>,
) -> Result<T, Problem> {
    let service = call.service;
    let timed = async {
        let started = Instant::now();
        let answer = answering.await;
        (answer, started.elapsed())
    };
    let (answer, time) = if asked.cost <= service.limits.cheap_query_cost {
        timed.await
    } else {
        run_in_turn(call, timed).await?
    };
    let (queries, key) = (&service.slow_queries, &call.key.record.id);
    queries.note(asked.kind, call.query(), asked.filter, key, time);
    Ok(answer?)
}

/// Runs an expensive query on the pool, when it is the turn of its key.
async fn run_in_turn<T: Send + 'static>(
    call: &Call<'_>,
    query: impl Future<Output = T> + Send + 'static,
) -> Result<T, Problem> {
    let service = call.service;
    // Commits wait for requests of microseconds, not for one in a queue.
    drop(call.take_arrival());
    service.metrics.expensive_queries.inc();
    let ran = service.query_pool.run(call.key.record.number, query).await;
    ran.map_err(|reason| not_run(call, &reason))
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
