//! `GET /api/v1/filter-options`: the values that can be filtered on. It costs nothing.

use super::problem::Problem;
use super::router::{Answer, Call};
use super::slow::Asked;
use crate::Filter;
use crate::json::{Data, FilterOptions};

pub(super) async fn answer(call: &Call<'_>) -> Result<Answer, Problem> {
    let filter = Filter::parse(call.query())?;
    let corpus = &call.service.corpus;
    let moment = corpus.moment();
    let facets = corpus.facets(&moment, &filter, call.today);
    let facets = call.timed(Asked::Facets, &filter, facets).await?;
    let data = FilterOptions { facets: &facets };
    let body = serde_json::to_vec(&Data { data }).map_err(|error| Problem::internal(&error))?;
    Ok(Answer::json(body).with(axum::http::header::CACHE_CONTROL, "private, no-cache"))
}
