//! The page of recent requests by key, with their request ids.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use askama::Template;
use axum::http::StatusCode;

use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::{FormData, SelectOption};
use super::key_choices::KeyChoices;
use super::layout::{self, PageLayout};
use super::visit::Visit;
use crate::activity::{KEPT_MAX, RecentRequest};
use crate::keys::KeyRecord;

/// Maximum number of requests on the page.
const SHOWN_MAX: usize = 200;

#[derive(Template)]
#[template(path = "requests.html", config = "src/admin/askama.toml")]
struct RequestsPage<'a> {
    layout: PageLayout<'a>,
    keys: KeyChoices,
    outcomes: Vec<SelectOption>,
    find: &'a str,
    lines: Vec<RequestRow>,
    kept_max: usize,
    shows_parameters: bool,
}

/// A request.
struct RequestRow {
    at: String,
    key: String,
    /// Id and hint of the key; empty if there was none.
    key_note: String,
    endpoint: &'static str,
    query: String,
    status: u16,
    code: &'static str,
    time: String,
    charged: String,
    request_id: String,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let service = &admin.0.service.0;
    let form = FormData::parse(visit.query.as_bytes());
    let keys = KeyChoices::read(&service.state, form.value("key"))?;
    let wanted = keys.chosen.as_ref().map(|key| key.number);
    let (outcome, find) = (form.value("outcome"), form.value("find"));
    let is_wanted = |request: &RecentRequest| {
        let is_error = request.status >= 400;
        (outcome != "errors" || is_error)
            && (outcome != "answered" || !is_error)
            && (find.is_empty() || request.request_id == find)
    };
    let recent = service.activity.recent(wanted);
    let recent = recent.iter().filter(|request| is_wanted(request));
    let recent: Vec<&RecentRequest> = recent.take(SHOWN_MAX).collect();
    let mut by_number = HashMap::new();
    for request in &recent {
        if let Entry::Vacant(unknown) = by_number.entry(request.key) {
            unknown.insert(service.state.key_of_number(request.key)?);
        }
    }
    let key_of = |request: &RecentRequest| by_number.get(&request.key)?.as_ref();
    let page = RequestsPage {
        layout: PageLayout::of(visit, "Recent requests"),
        keys,
        outcomes: [("answered", "Answered"), ("errors", "Errors")]
            .map(|(value, label)| SelectOption {
                value: value.to_owned(),
                label: label.to_owned(),
                is_chosen: value == outcome,
            })
            .into(),
        find,
        lines: recent
            .iter()
            .map(|request| RequestRow::new(request, key_of(request)))
            .collect(),
        kept_max: KEPT_MAX,
        shows_parameters: service.activity.shows_parameters(),
    };
    layout::render(StatusCode::OK, &page)
}

impl RequestRow {
    fn new(request: &RecentRequest, key: Option<&KeyRecord>) -> RequestRow {
        let note = |key: &KeyRecord| match &key.hint {
            Some(hint) => hint.clone(),
            None => key.id.clone(),
        };
        RequestRow {
            at: figures::moment(request.at),
            key: key.map_or("no valid key".to_owned(), |key| {
                figures::key_name(&key.id, &key.settings.name)
            }),
            key_note: key.map(note).unwrap_or_default(),
            endpoint: request.endpoint,
            query: request.query.clone().unwrap_or_default(),
            status: request.status,
            code: request.code.unwrap_or_default(),
            time: figures::duration(request.time),
            charged: figures::grouped(request.charged),
            request_id: request.request_id.clone(),
        }
    }
}
