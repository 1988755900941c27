//! The page of requests by key, endpoint, outcome, time and request id, latest first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use askama::Template;
use axum::http::StatusCode;
use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::{FormData, SelectOption};
use super::key_choices::KeyChoices;
use super::layout::{self, PageLayout};
use super::visit::Visit;
use crate::endpoint::ENDPOINTS;
use crate::keys::KeyRecord;
use crate::request_log::{LoggedRequest, RequestsWanted};

/// Requests of a page.
const PAGE_ROWS: u32 = 100;
/// How long the page waits for what was answered just now.
const FLUSH_TIME: Duration = Duration::from_secs(2);
/// What requests came to, and the statuses of that.
const OUTCOMES: [(&str, &str, (u16, u16)); 4] = [
    ("answered", "Answered", (100, 399)),
    ("errors", "Errors", (400, 599)),
    ("refused", "Refused (4xx)", (400, 499)),
    ("failed", "Failed (5xx)", (500, 599)),
];

#[derive(Template)]
#[template(path = "requests.html", config = "src/admin/askama.toml")]
struct RequestsPage<'a> {
    layout: PageLayout<'a>,
    keys: KeyChoices,
    outcomes: Vec<SelectOption>,
    endpoints: Vec<SelectOption>,
    find: &'a str,
    from: &'a str,
    to: &'a str,
    /// What is wrong with a time; empty if nothing is.
    error: &'a str,
    lines: Vec<RequestRow>,
    /// The URL of the next page.
    older: Option<String>,
    is_first: bool,
    /// Days that are kept; 0 if there is no log.
    days: u32,
    shows_parameters: bool,
}

/// A request.
struct RequestRow {
    at: String,
    key: String,
    /// Id and hint of the key; empty if there was none.
    key_note: String,
    endpoint: String,
    query: String,
    status: u16,
    code: String,
    time: String,
    charged: String,
    request_id: String,
}

pub(super) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let service = &admin.0.service.0;
    let form = FormData::parse(visit.query.as_bytes());
    let keys = KeyChoices::read(&service.state, form.value("key"))?;
    let (from, to) = (moment_of(form.value("from")), moment_of(form.value("to")));
    let is_known =
        |name: &str, moment: Option<UtcDateTime>| form.value(name).is_empty() || moment.is_some();
    let error = if is_known("from", from) && is_known("to", to) {
        ""
    } else {
        "Write a time as 2026-06-30T14:00."
    };
    let wanted = RequestsWanted {
        key: keys.chosen.as_ref().map(|key| key.number),
        endpoint: form.value("endpoint"),
        statuses: statuses(form.value("outcome")),
        request_id: form.value("find"),
        from,
        to,
        before: form.value("before").parse().ok(),
        // One more tells whether there is a further page.
        rows: PAGE_ROWS + 1,
    };
    let mut requests = Vec::new();
    if let Some(log) = &service.request_log {
        log.flush_for(FLUSH_TIME);
        requests = log.requests(&wanted)?;
    }
    let are_more = requests.len() > PAGE_ROWS as usize;
    requests.truncate(PAGE_ROWS as usize);
    let last = requests.last().filter(|_| are_more);
    let mut by_number = HashMap::new();
    for request in &requests {
        if let Entry::Vacant(unknown) = by_number.entry(request.key) {
            unknown.insert(service.state.key_of_number(request.key)?);
        }
    }
    let key_of = |request: &LoggedRequest| by_number.get(&request.key)?.as_ref();
    let chosen = |value: &str, label: &str, name| SelectOption {
        value: value.to_owned(),
        label: label.to_owned(),
        is_chosen: value == form.value(name),
    };
    let endpoints = ENDPOINTS.iter().filter(|known| known.scope.is_some());
    let page = RequestsPage {
        layout: PageLayout::of(visit, "Requests"),
        outcomes: OUTCOMES
            .map(|(value, label, _)| chosen(value, label, "outcome"))
            .into(),
        endpoints: endpoints
            .map(|known| chosen(known.name, known.name, "endpoint"))
            .collect(),
        find: form.value("find"),
        from: form.value("from"),
        to: form.value("to"),
        error,
        lines: requests
            .iter()
            .map(|request| RequestRow::new(request, key_of(request)))
            .collect(),
        older: last.map(|last| older(&form, last.number)),
        is_first: wanted.before.is_none(),
        days: service.limits.request_log_days,
        shows_parameters: service.limits.show_parameters,
        keys,
    };
    layout::render(StatusCode::OK, &page)
}

/// The smallest and the largest status of an outcome.
fn statuses(outcome: &str) -> Option<(u16, u16)> {
    let mut known = OUTCOMES.into_iter();
    let known = known.find(|(name, ..)| *name == outcome);
    known.map(|(_, _, statuses)| statuses)
}

/// An instant as browsers send it, in UTC; `None` for anything else.
fn moment_of(typed: &str) -> Option<UtcDateTime> {
    UtcDateTime::parse(&format!("{typed}:00Z"), &Rfc3339).ok()
}

/// The page after a request, under the same choices.
fn older(form: &FormData, number: i64) -> String {
    let mut link = form_urlencoded::Serializer::new(String::new());
    for name in ["key", "outcome", "endpoint", "find", "from", "to"] {
        if !form.value(name).is_empty() {
            link.append_pair(name, form.value(name));
        }
    }
    link.append_pair("before", &number.to_string());
    format!("/requests?{}", link.finish())
}

impl RequestRow {
    fn new(request: &LoggedRequest, key: Option<&KeyRecord>) -> RequestRow {
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
            endpoint: request.endpoint.to_string(),
            query: request.query.clone().unwrap_or_default(),
            status: request.status,
            code: request.code.clone().unwrap_or_default().into_owned(),
            time: figures::duration(request.time),
            charged: figures::grouped(request.charged),
            request_id: request.request_id.clone(),
        }
    }
}
