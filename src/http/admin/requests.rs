//! The page of recent requests by key, with their request ids.

use std::collections::HashMap;

use askama::Template;
use axum::http::StatusCode;

use super::figures;
use super::form::{Choice, Form};
use super::guard::Visit;
use super::layout::{self, PageLayout};
use super::{Admin, Answer};
use crate::http::activity::{KEPT_MAX, RecentRequest};
use crate::http::keys::KeyRecord;

/// Maximum number of requests on the page.
const SHOWN_MAX: usize = 200;

#[derive(Template)]
#[template(path = "requests.html", config = "src/http/admin/askama.toml")]
struct Page<'a> {
    layout: PageLayout<'a>,
    keys: Vec<Choice>,
    outcomes: Vec<Choice>,
    find: &'a str,
    lines: Vec<Line>,
    kept_max: usize,
    shows_parameters: bool,
}

/// A request.
struct Line {
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

pub(super) fn show(admin: &Admin, visit: &Visit) -> Answer {
    let service = &admin.0.service.0;
    let form = Form::parse(visit.query.as_bytes());
    let keys = service.state.keys()?;
    let wanted = keys.iter().find(|key| key.id == form.value("key"));
    let (outcome, find) = (form.value("outcome"), form.value("find"));
    let is_wanted = |request: &RecentRequest| {
        let is_error = request.status >= 400;
        (outcome != "errors" || is_error)
            && (outcome != "answered" || !is_error)
            && (find.is_empty() || request.request_id == find)
    };
    let by_number: HashMap<i64, &KeyRecord> = keys.iter().map(|key| (key.number, key)).collect();
    let recent = service.activity.recent(wanted.map(|key| key.number));
    let recent = recent.iter().filter(|request| is_wanted(request));
    let page = Page {
        layout: PageLayout::of(visit, "Recent requests"),
        keys: keys
            .iter()
            .rev()
            .map(|key| Choice {
                label: figures::key_name(&key.id, &key.settings.name),
                is_chosen: wanted.is_some_and(|wanted| wanted.id == key.id),
                value: key.id.clone(),
            })
            .collect(),
        outcomes: [("answered", "Answered"), ("errors", "Errors")]
            .map(|(value, label)| Choice {
                value: value.to_owned(),
                label: label.to_owned(),
                is_chosen: value == outcome,
            })
            .into(),
        find,
        lines: recent
            .take(SHOWN_MAX)
            .map(|request| Line::new(request, by_number.get(&request.key).copied()))
            .collect(),
        kept_max: KEPT_MAX,
        shows_parameters: service.activity.shows_parameters(),
    };
    layout::render(StatusCode::OK, &page)
}

impl Line {
    fn new(request: &RecentRequest, key: Option<&KeyRecord>) -> Line {
        let note = |key: &KeyRecord| match &key.hint {
            Some(hint) => hint.clone(),
            None => key.id.clone(),
        };
        Line {
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
