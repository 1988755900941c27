//! The page of one saved search: its settings, its webhook, and the log of attempts.

use askama::Template;
use axum::http::StatusCode;

use super::fields::{self, SearchFields};
use super::table::{self, StatusBadge};
use super::{not_found, rules, to_search};
use crate::admin::dashboard::Admin;
use crate::admin::failed::PageResult;
use crate::admin::figures;
use crate::admin::form::FormData;
use crate::admin::layout::{self, PageLayout};
use crate::admin::overlap::OverlapField;
use crate::admin::visit::Visit;
use crate::saved_searches::SearchRecord;
use crate::state::StateError;
use crate::webhooks::{DeliveryAttempt, SearchStatus};

/// The overlap that is chosen at first, in hours: receivers change their secret by hand.
const OVERLAP: i64 = 24;

#[derive(Template)]
#[template(path = "saved_search.html", config = "src/admin/askama.toml")]
struct SavedSearchPage<'a> {
    layout: PageLayout<'a>,
    id: &'a str,
    name: &'a str,
    status: StatusBadge,
    /// What a person may do about the status; empty if there is nothing to do.
    advice: &'static str,
    key_id: &'a str,
    key_name: String,
    query: String,
    created: String,
    /// Where it begins.
    begins: String,
    webhook: Option<WebhookSection>,
    forms: SearchForms,
    is_paused: bool,
    /// A new secret, to show once.
    secret: Option<String>,
    /// Whether the dashboard can search.
    has_index: bool,
}

/// What is known of a webhook.
struct WebhookSection {
    url: String,
    progress: String,
    pending: usize,
    delivered: String,
    attempts: Vec<AttemptRow>,
}

/// An attempt in the log.
struct AttemptRow {
    at: String,
    event: String,
    attempt: u32,
    outcome: AttemptOutcome,
    time: String,
    matches: String,
}

/// The status of an answer, or why there was none.
pub(super) struct AttemptOutcome {
    pub(super) text: String,
    pub(super) is_accepted: bool,
}

/// The forms of the page, and what has come of them.
pub(super) struct SearchForms {
    pub(super) fields: SearchFields,
    pub(super) is_saved: bool,
    pub(super) overlap: OverlapField,
    /// What a webhook has answered to a test.
    pub(super) tested: Option<TestedWebhook>,
    /// Whether no test was sent, because as many as may be are under way.
    pub(super) not_tested: bool,
    /// Why it was not resumed; empty if nothing is wrong.
    pub(super) not_resumed: String,
    /// What was skipped, in words; empty if nothing was.
    pub(super) skipped: String,
}

/// The answer to a test.
pub(super) struct TestedWebhook {
    pub(super) outcome: AttemptOutcome,
    pub(super) time: String,
    pub(super) answer: String,
}

impl SearchForms {
    /// The forms of a search.
    pub(super) fn of(search: &SearchRecord) -> SearchForms {
        SearchForms {
            fields: SearchFields::of(&search.settings),
            is_saved: false,
            overlap: OverlapField::of(OVERLAP),
            tested: None,
            not_tested: false,
            not_resumed: String::new(),
            skipped: String::new(),
        }
    }
}

impl AttemptOutcome {
    pub(super) fn new(status: Option<u16>, reason: Option<&str>) -> AttemptOutcome {
        let text = match status {
            Some(status) => status.to_string(),
            None => reason.unwrap_or("no answer").to_owned(),
        };
        AttemptOutcome {
            text,
            is_accepted: status.is_some_and(|status| (200..300).contains(&status)),
        }
    }
}

impl AttemptRow {
    fn new(attempt: DeliveryAttempt) -> AttemptRow {
        AttemptRow {
            at: figures::moment(attempt.at),
            outcome: AttemptOutcome::new(attempt.status, attempt.reason.as_deref()),
            time: format!("{} ms", figures::grouped(attempt.milliseconds)),
            matches: figures::grouped(attempt.matches as u64),
            event: attempt.id,
            attempt: attempt.attempt,
        }
    }
}

/// The page of a search.
pub(in crate::admin) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let form = FormData::parse(visit.query.as_bytes());
    let Some(search) = find(admin, form.value("id"))? else {
        return not_found(visit);
    };
    let forms = SearchForms {
        is_saved: !form.value("saved").is_empty(),
        skipped: skipped(form.value("skipped")),
        ..SearchForms::of(&search)
    };
    render(admin, visit, StatusCode::OK, (&search, forms))
}

/// Saves the settings of a search.
pub(in crate::admin) fn save(admin: &Admin, visit: &Visit) -> PageResult {
    let Some(search) = find(admin, visit.form.value("id"))? else {
        return not_found(visit);
    };
    let refuse = |fields| {
        let forms = SearchForms {
            fields,
            ..SearchForms::of(&search)
        };
        render(admin, visit, StatusCode::BAD_REQUEST, (&search, forms))
    };
    let present = search.settings.webhook.as_ref();
    let new = match fields::read(&visit.form, &rules(admin), present) {
        Ok((new, _)) => new,
        Err(errors) => return refuse(SearchFields::typed(&visit.form, errors)),
    };
    let state = &admin.0.service.0.state;
    let edited = state.edit_search_by(&visit.actor(), &search.id, |settings| *settings = new);
    let secret = match edited {
        Ok(Some((_, secret))) => secret,
        Ok(None) => return not_found(visit),
        Err(error) => return refuse(SearchFields::refused(&visit.form, error.refusal()?)),
    };
    tracing::info!(search = search.id, "a search was edited in the dashboard");
    admin.0.service.begin_searches();
    to_search(visit, &search.id, secret)
}

pub(super) fn find(admin: &Admin, id: &str) -> Result<Option<SearchRecord>, StateError> {
    admin.0.service.0.state.search(id)
}

/// What a search was resumed without, of the number in its address.
fn skipped(typed: &str) -> String {
    match typed.parse::<u64>() {
        Ok(1) => "Resumed; 1 commit is skipped.".to_owned(),
        Ok(commits) => format!(
            "Resumed; {} commits are skipped.",
            figures::grouped(commits)
        ),
        Err(_) if typed.is_empty() => String::new(),
        Err(_) => "Resumed; what was before is skipped.".to_owned(),
    }
}

/// Renders the page of a search.
pub(super) fn render(
    admin: &Admin,
    visit: &Visit,
    status: StatusCode,
    (search, forms): (&SearchRecord, SearchForms),
) -> PageResult {
    let service = &admin.0.service.0;
    let secret = visit.take_webhook_secret(&search.id);
    let page = SavedSearchPage {
        layout: PageLayout::under(visit, "Saved search", "/searches"),
        id: &search.id,
        name: &search.settings.name,
        status: StatusBadge::of(search.status),
        advice: advice(search.status),
        key_id: &search.key_id,
        key_name: table::key_name(&service.state, &search.key_id)?,
        query: search.settings.filter.to_string(),
        created: figures::instant(search.created_at),
        begins: match &search.first_position {
            Some(position) => position.to_string(),
            None => "with the first snapshot that the service sees".to_owned(),
        },
        webhook: webhook(admin, search)?,
        forms,
        is_paused: search.status == SearchStatus::Paused,
        secret: secret.map(|secret| secret.text()),
        has_index: service.corpus.for_operator().index().is_some(),
    };
    layout::render(status, &page)
}

fn webhook(admin: &Admin, search: &SearchRecord) -> Result<Option<WebhookSection>, StateError> {
    let Some(webhook) = &search.webhook else {
        return Ok(None);
    };
    let attempts = admin.0.service.0.state.deliveries(&search.id)?;
    Ok(Some(WebhookSection {
        url: webhook.url.to_string(),
        progress: table::progress(search, table::position(admin).as_ref()),
        pending: webhook.pending,
        delivered: table::delivered(search),
        attempts: attempts.into_iter().map(AttemptRow::new).collect(),
    }))
}

/// What a status means for who looks at it.
fn advice(status: SearchStatus) -> &'static str {
    match status {
        SearchStatus::Active => "",
        SearchStatus::Paused => "Nothing is sent until the search is resumed.",
        SearchStatus::Failing => "The last attempt failed; the next follows by itself.",
        SearchStatus::Disabled => {
            "All attempts failed, or the receiver has answered 410. Correct the receiver, send a test, and resume."
        }
        SearchStatus::Quota => {
            "Nothing is left of the key's quota of signals. The search goes on with the next month or a larger quota."
        }
        SearchStatus::KeyEnded => "The key is revoked or expired, so nothing is sent.",
        SearchStatus::Expired => {
            "Its position is forgotten or of another index. Resume from now, and skip what was before."
        }
    }
}
