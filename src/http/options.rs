//! `GET /api/v1/filter-options`: the values that can be filtered on. Not billed.

use super::answer::Answer;
use super::asking;
use super::call::Call;
use super::charging;
use super::endpoint::Endpoint;
use super::problem::Problem;
use crate::json::{Data, FilterOptions};
use crate::query::InvalidQuery;
use crate::{FacetQuery, Facets};

pub(super) async fn answer(call: &Call<'_>) -> Result<Answer, Problem> {
    let query = parse(call.query())?;
    let free = charging::take_free(call).await?;
    let view = call.service.corpus.trusted_view()?;
    let body = body(&asking::facets(call, &view, &query).await?, &query)?;
    let body = call.service.room_for(body.len())?.hold(body);
    charging::count_free(call, free);
    Ok(Answer::json(body).with(axum::http::header::CACHE_CONTROL, "private, no-cache"))
}

/// Filtering by id is refused: the counts would reveal a record's fields for free.
pub(super) fn parse(text: &str) -> Result<FacetQuery, InvalidQuery> {
    FacetQuery::from_query_string(text, Endpoint::FilterOptions.description().search)
}

pub(super) fn body(counts: &Facets, query: &FacetQuery) -> Result<Vec<u8>, Problem> {
    let data = FilterOptions {
        counts,
        facets: &query.facets,
    };
    serde_json::to_vec(&Data { data }).map_err(|error| Problem::internal(&error))
}
