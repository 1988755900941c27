//! The page of slow queries: what took longest since the start, each with its plan.

use askama::Template;
use axum::http::StatusCode;

use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::FormData;
use super::layout::{self, PageLayout};
use super::search::{QueryPlan, QueryText};
use super::visit::Visit;
use crate::slow::SlowQuery;
use signaldex::Query;

#[derive(Template)]
#[template(path = "slow.html", config = "src/admin/askama.toml")]
struct SlowQueriesPage<'a> {
    layout: PageLayout<'a>,
    lines: Vec<SlowQueryRow>,
    threshold: String,
    plan: Option<QueryPlan>,
}

/// A slow query.
struct SlowQueryRow {
    rank: usize,
    kind: &'static str,
    filters: Vec<(String, String)>,
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
        link: text.to_string(),
        filters: text.into_pairs(),
        time: figures::duration(query.time),
        at: figures::instant(query.at),
        runs: figures::grouped(query.runs),
        key,
        is_shown: shown == Some(rank),
    }
}

/// The plan of a query as the index is now.
fn plan(admin: &Admin, query: &SlowQuery) -> Result<Option<QueryPlan>, signaldex::Error> {
    let Ok(query) = Query::from_query_string(&query.text) else {
        return Ok(None);
    };
    let service = &admin.0.service.0;
    // A node of a cluster has no plan of the whole to show.
    let Some(index) = service.corpus.index() else {
        return Ok(None);
    };
    let explanation = index.snapshot().explain(&query, service.today())?;
    Ok(Some(QueryPlan::of(&explanation)))
}
