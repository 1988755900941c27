//! `GET /api/v1/filter-options`: the values that can be filtered on. Not billed.

use std::sync::Arc;

use super::answer::Answer;
use super::asking::{self, AskedQuery};
use super::call::Call;
use super::charging;
use super::endpoint::Endpoint;
use super::free_answers::FreeAnswer;
use super::problem::Problem;
use crate::corpus::QueryKind;
use signaldex::json::{Data, FilterOptions};
use signaldex::query::{Facet, InvalidQuery};
use signaldex::{FacetQuery, Facets};

/// Filter options before they are written.
pub(super) struct FoundOptions {
    pub(super) counts: Facets,
    /// The facets that were asked for.
    pub(super) facets: Vec<Facet>,
}

pub(super) async fn filter_options(call: &Call<'_>) -> Result<Answer, Problem> {
    let (found, free) = find(call).await?;
    let data = FilterOptions {
        counts: &found.counts,
        facets: &found.facets,
    };
    let body = serde_json::to_vec(&Data { data }).map_err(|error| Problem::internal(&error))?;
    let body = call.service.room_for(body.len())?.hold(body);
    charging::count_free(call, free);
    Ok(Answer::json(body).with(axum::http::header::CACHE_CONTROL, "private, no-cache"))
}

/// The counts that a call asks for, as a free answer that is not yet given.
pub(super) async fn find(call: &Call<'_>) -> Result<(FoundOptions, FreeAnswer), Problem> {
    let query = Arc::new(parse(call.query())?);
    let free = charging::take_free(call).await?;
    let view = asking::trusted_view(call).await?;
    let subject = (&query.filter, &query.facets[..]);
    let asked = AskedQuery::over_matches(call, &view, QueryKind::Facets, subject);
    let counting = call.corpus().facets(view, Arc::clone(&query), call.today);
    let counts = asking::ask(call, asked, counting).await?;
    let facets = query.facets.clone();
    Ok((FoundOptions { counts, facets }, free))
}

/// Filtering by id is refused: the counts would reveal a record's fields for free.
pub(super) fn parse(text: &str) -> Result<FacetQuery, InvalidQuery> {
    FacetQuery::from_query_string(text, Endpoint::FilterOptions.description().search)
}
