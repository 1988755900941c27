//! `GET /api/v1/saved-searches`: the searches that are saved for the key. Free.

use axum::http::header::CACHE_CONTROL;
use serde::Serialize;

use super::SearchRecord;
use crate::answer::{Answer, Price};
use crate::call::Call;
use crate::endpoint::Endpoint;
use crate::problem::Problem;
use crate::service::ServiceCore;
use signaldex::json::Data;
use signaldex::query::QueryBuilder;

#[derive(Serialize)]
struct ListedSearches<'a> {
    searches: Vec<ListedSearch<'a>>,
}

#[derive(Serialize)]
struct ListedSearch<'a> {
    id: &'a str,
    name: &'a str,
    query: String,
    status: &'static str,
}

pub(crate) async fn list(call: &Call<'_>) -> Result<Answer, Problem> {
    let accepted = Endpoint::SavedSearches.description().search;
    let (builder, []) = QueryBuilder::from_query_string(call.query(), accepted, []);
    builder.build()?;
    let key = call.key.record.number;
    let find = move |service: &ServiceCore| service.state.searches_of_key(key);
    let found = call.service.read(call.deadline.at(), find).await?;
    let data = ListedSearches {
        searches: found.iter().map(listed).collect(),
    };
    let body = serde_json::to_vec(&Data { data }).map_err(|error| Problem::internal(&error))?;
    let body = call.service.room_for(body.len())?.hold(body);
    let answer = Answer::json(body).with(CACHE_CONTROL, "private, no-cache");
    Ok(answer.priced(Price::FREE))
}

fn listed(search: &SearchRecord) -> ListedSearch<'_> {
    ListedSearch {
        id: &search.id,
        name: &search.settings.name,
        query: search.settings.filter.to_string(),
        status: search.status.as_str(),
    }
}
