//! The table of saved searches, filtered by the query string, newest first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::admin::dashboard::Admin;
use crate::admin::figures;
use crate::admin::form::{FormData, SelectOption};
use crate::corpus::FeedPosition;
use crate::saved_searches::SearchRecord;
use crate::state::{SearchesWanted, State, StateError};
use crate::webhooks::SearchStatus;

/// Rows of a page.
const PAGE_ROWS: usize = 100;
/// Bytes of a query or a URL in a row; the page of the search shows all of it.
const CELL_BYTES_MAX: usize = 160;

/// A page of the wanted rows.
pub(super) struct SearchTable {
    pub(super) rows: Vec<SearchRow>,
    pub(super) statuses: Vec<SelectOption>,
    pub(super) find: String,
    /// How many searches the key has, or all keys together.
    pub(super) all: String,
    pub(super) is_empty: bool,
    /// The URLs of the first page and of the next.
    pub(super) newest: Option<String>,
    pub(super) older: Option<String>,
}

/// A row of the table.
pub(super) struct SearchRow {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) query: String,
    pub(super) key_id: String,
    pub(super) key_name: String,
    pub(super) status: StatusBadge,
    /// Where matches go.
    pub(super) webhook: String,
    pub(super) progress: String,
    pub(super) delivered: String,
}

/// The status of a search, with the class of its badge.
pub(super) struct StatusBadge {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
}

impl SearchTable {
    /// The table for a query string with `key`, `status`, `find` and `before`.
    pub(super) fn read(admin: &Admin, wanted: &FormData) -> Result<SearchTable, StateError> {
        let state = &admin.0.service.0.state;
        let status = SearchStatus::parse(wanted.value("status"));
        let key = wanted.value("key");
        let found = state.search_page(&SearchesWanted {
            key,
            status,
            find: wanted.value("find"),
            before: wanted.value("before"),
            rows: PAGE_ROWS,
        })?;
        let all = state.search_count(key)?;
        Ok(SearchTable {
            older: found.are_more.then(|| link(wanted, Some(&found.last))),
            newest: (!wanted.value("before").is_empty()).then(|| link(wanted, None)),
            rows: rows(admin, found.searches)?,
            statuses: SearchStatus::ALL
                .map(|known| SelectOption {
                    value: known.as_str().to_owned(),
                    label: known.as_str().to_owned(),
                    is_chosen: Some(known) == status,
                })
                .into(),
            find: wanted.value("find").to_owned(),
            is_empty: all == 0,
            all: figures::grouped(all),
        })
    }
}

/// The URL of the page after a search, or of the first, under the same choices.
fn link(wanted: &FormData, before: Option<&str>) -> String {
    let mut link = form_urlencoded::Serializer::new(String::new());
    for name in ["key", "status", "find"] {
        link.append_pair(name, wanted.value(name));
    }
    if let Some(before) = before {
        link.append_pair("before", before);
    }
    format!("/searches?{}", link.finish())
}

fn rows(admin: &Admin, found: Vec<SearchRecord>) -> Result<Vec<SearchRow>, StateError> {
    let (state, now) = (&admin.0.service.0.state, position(admin));
    let mut names = HashMap::new();
    for search in &found {
        if let Entry::Vacant(unknown) = names.entry(search.key_id.clone()) {
            unknown.insert(key_name(state, &search.key_id)?);
        }
    }
    let row = |search: SearchRecord| {
        let name = names.get(&search.key_id).cloned();
        SearchRow::new(search, name.unwrap_or_default(), now.as_ref())
    };
    Ok(found.into_iter().map(row).collect())
}

/// The name of a key, or its id.
pub(super) fn key_name(state: &State, id: &str) -> Result<String, StateError> {
    let key = state.key(id)?;
    let name = key.map(|key| key.settings.name).unwrap_or_default();
    Ok(figures::key_name(id, &name))
}

/// The present position of the index, if it is in this process.
pub(super) fn position(admin: &Admin) -> Option<FeedPosition> {
    let index = admin.0.service.0.corpus.for_operator().index()?;
    Some(FeedPosition::Index(index.snapshot().position()))
}

/// How far a webhook is, in words; empty without one.
pub(super) fn progress(search: &SearchRecord, now: Option<&FeedPosition>) -> String {
    let Some(webhook) = &search.webhook else {
        return String::new();
    };
    let position = webhook.position.as_ref();
    if position.is_some() && position == now {
        return "current".to_owned();
    }
    let commits = position
        .zip(now)
        .and_then(|(from, to)| from.commits_until(to));
    match (position, commits) {
        (None, _) => "has not begun".to_owned(),
        (_, None) => "position of another index".to_owned(),
        (_, Some(0 | 1)) => "lagging: 1 commit".to_owned(),
        (_, Some(commits)) => format!("lagging: {} commits", figures::grouped(commits)),
    }
}

/// When an event was last accepted.
pub(super) fn delivered(search: &SearchRecord) -> String {
    let at = search.webhook.as_ref().map(|webhook| webhook.delivered_at);
    match at {
        None => String::new(),
        Some(None) => "never".to_owned(),
        Some(Some(at)) => figures::instant(at),
    }
}

impl SearchRow {
    fn new(search: SearchRecord, key_name: String, now: Option<&FeedPosition>) -> SearchRow {
        let webhook = search.webhook.as_ref();
        SearchRow {
            query: figures::cut(&search.settings.filter.to_string(), CELL_BYTES_MAX),
            status: StatusBadge::of(search.status),
            webhook: webhook.map_or_else(
                || "pulled by the key".to_owned(),
                |webhook| figures::cut(webhook.url.as_str(), CELL_BYTES_MAX),
            ),
            progress: progress(&search, now),
            delivered: delivered(&search),
            name: search.settings.name,
            id: search.id,
            key_id: search.key_id,
            key_name,
        }
    }
}

impl StatusBadge {
    pub(super) fn of(status: SearchStatus) -> StatusBadge {
        StatusBadge {
            name: status.as_str(),
            class: match status {
                SearchStatus::Active => "badge-active",
                SearchStatus::Paused => "",
                SearchStatus::Quota | SearchStatus::Failing => "badge-money",
                SearchStatus::Disabled | SearchStatus::KeyEnded | SearchStatus::Expired => {
                    "badge-bad"
                }
            },
        }
    }
}
