//! The page of slow queries: what took longest since the start, each with its plan.

use askama::Template;
use axum::http::StatusCode;
use time::Date;

use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::FormData;
use super::layout::{self, PageLayout};
use super::search::{
    AggregatePlan, COMPANIES_PATH, CompaniesPlan, QueryPlan, QueryText, SEARCH_PATH,
};
use super::visit::Visit;
use crate::corpus::QueryKind;
use crate::slow::SlowQuery;
use signaldex::query::{CompanyQuery, InvalidQuery, Parameter, ParameterSet};
use signaldex::{AggregateQuery, Query, Snapshot};

#[derive(Template)]
#[template(path = "slow.html", config = "src/admin/askama.toml")]
struct SlowQueriesPage<'a> {
    layout: PageLayout<'a>,
    lines: Vec<SlowQueryRow>,
    threshold: String,
    plan: Option<SlowPlan>,
}

/// The plan of a slow query.
enum SlowPlan {
    Search(QueryPlan),
    Aggregates(AggregatePlan),
    Companies(CompaniesPlan),
}

/// A slow query.
struct SlowQueryRow {
    rank: usize,
    kind: &'static str,
    filters: Vec<(String, String)>,
    /// The page that asks it again.
    link: String,
    time: String,
    at: String,
    runs: String,
    key: String,
    is_shown: bool,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let form = FormData::parse(visit.query.as_bytes());
    let queries = admin.0.service.0.slow_queries.all();
    let keys = admin.0.service.0.state.keys()?;
    let name_of = |id: &str| {
        let key = keys.iter().find(|key| key.id == id);
        key.map(|key| key.settings.name.clone())
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| id.to_owned())
    };
    let shown: Option<usize> = form.value("plan").parse().ok();
    let page = SlowQueriesPage {
        layout: PageLayout::of(visit, "Slow queries"),
        threshold: figures::duration(admin.0.service.0.slow_queries.threshold()),
        lines: queries
            .iter()
            .enumerate()
            .map(|(rank, query)| line(rank, query, name_of(&query.key_id), shown))
            .collect(),
        plan: match shown.and_then(|rank| queries.get(rank)) {
            Some(query) => plan(admin, query)?,
            None => None,
        },
    };
    layout::render(StatusCode::OK, &page)
}

fn line(rank: usize, query: &SlowQuery, key: String, shown: Option<usize>) -> SlowQueryRow {
    let text = QueryText::of(&FormData::parse(query.text.as_bytes()));
    SlowQueryRow {
        rank,
        kind: query.kind.as_str(),
        link: link(query.kind, &text),
        filters: text.into_pairs(),
        time: figures::duration(query.time),
        at: figures::instant(query.at),
        runs: figures::grouped(query.runs),
        key,
        is_shown: shown == Some(rank),
    }
}

/// The page that asks a query again. What aggregates are grouped by is no filter, so the search is for their matches.
fn link(kind: QueryKind, text: &QueryText) -> String {
    match kind {
        QueryKind::Companies => text.link_to(COMPANIES_PATH),
        QueryKind::Aggregates => {
            let is_filter = |name: &str| Parameter::of_name(name).is_some_and(Parameter::is_filter);
            text.only(is_filter).link_to(SEARCH_PATH)
        }
        _ => text.link_to(SEARCH_PATH),
    }
}

/// The plan of a query as the index is now.
fn plan(admin: &Admin, query: &SlowQuery) -> Result<Option<SlowPlan>, signaldex::Error> {
    let service = &admin.0.service.0;
    // A node of a cluster has no plan of the whole to show.
    let Some(index) = service.corpus.for_operator().index() else {
        return Ok(None);
    };
    let planned = planned(&index.snapshot(), query, service.today());
    // What cannot be read any more has no plan.
    planned.map_or(Ok(None), |plan| plan.map(Some))
}

/// The plan, or why the query string cannot be read.
fn planned(
    snapshot: &Snapshot,
    query: &SlowQuery,
    today: Date,
) -> Result<Result<SlowPlan, signaldex::Error>, InvalidQuery> {
    let text = query.text.as_str();
    Ok(match query.kind {
        QueryKind::Aggregates => {
            let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
            let explanation = snapshot.explain_aggregate(&query, today);
            explanation.map(|it| SlowPlan::Aggregates(AggregatePlan::of(&it)))
        }
        QueryKind::Companies => {
            let query = CompanyQuery::from_query_string(text)?;
            let explanation = snapshot.explain_companies(&query, today);
            explanation.map(|it| SlowPlan::Companies(CompaniesPlan::of(&it)))
        }
        _ => {
            let explanation = snapshot.explain(&Query::from_query_string(text)?, today);
            explanation.map(|it| SlowPlan::Search(QueryPlan::of(&it)))
        }
    })
}
