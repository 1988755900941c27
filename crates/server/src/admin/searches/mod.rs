//! The pages of saved searches: those of a key or of all keys, and one with its webhook. Secrets are shown once.

mod fields;
mod one;
mod table;
mod webhook;

use askama::Template;
use axum::http::StatusCode;

pub(super) use one::{save, show};
pub(super) use webhook::{pause, resume, rotate, test};

use self::fields::SearchFields;
use self::table::SearchTable;
use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::FormData;
use super::key_choices::KeyChoices;
use super::layout::{self, PageLayout};
use super::session::NewSecret;
use super::visit::Visit;
use crate::saved_searches::NewSearch;
use crate::webhooks::{WebhookRules, WebhookSecret};

#[derive(Template)]
#[template(path = "searches.html", config = "src/admin/askama.toml")]
struct SearchesPage<'a> {
    layout: PageLayout<'a>,
    keys: KeyChoices,
    table: SearchTable,
    fields: SearchFields,
    /// The id and the name of the key to save searches for, if one is chosen that is not revoked.
    saves_for: Option<(String, String)>,
}

/// The searches of a key, or of all keys.
pub(super) fn list(admin: &Admin, visit: &Visit) -> PageResult {
    let wanted = FormData::parse(visit.query.as_bytes());
    let fields = SearchFields::of_new(wanted.value("query"));
    show_table(admin, visit, StatusCode::OK, (&wanted, fields))
}

/// Saves a search and redirects to its page, which shows the secret of its webhook.
pub(super) fn create(admin: &Admin, visit: &Visit) -> PageResult {
    let key = visit.form.value("key");
    let refuse = |fields| {
        let wanted = FormData::of([("key".to_owned(), key.to_owned())]);
        show_table(admin, visit, StatusCode::BAD_REQUEST, (&wanted, fields))
    };
    let (settings, since) = match fields::read(&visit.form, &rules(admin), None) {
        Ok(read) => read,
        Err(errors) => return refuse(SearchFields::typed(&visit.form, errors)),
    };
    let new = match settings.webhook.clone() {
        Some(url) => NewSearch::with_webhook(settings, url)?,
        None => NewSearch::of(settings),
    };
    let new = NewSearch { since, ..new };
    let state = &admin.0.service.0.state;
    let search = match state.create_search_by(&visit.actor(), key, &new) {
        Ok(search) => search,
        Err(error) => return refuse(SearchFields::refused(&visit.form, error.refusal()?)),
    };
    tracing::info!(search = search.id, "a search was saved in the dashboard");
    admin.0.service.begin_searches();
    to_search(visit, &search.id, new.secret)
}

/// Deletes a search.
pub(super) fn delete(admin: &Admin, visit: &Visit) -> PageResult {
    let (id, state) = (visit.form.value("id"), &admin.0.service.0.state);
    let Some(search) = state.search(id)? else {
        return not_found(visit);
    };
    if state.delete_search_by(&visit.actor(), id)? {
        tracing::info!(search = id, "a search was deleted in the dashboard");
    }
    layout::see(&format!("/searches?key={}", search.key_id))
}

fn show_table(
    admin: &Admin,
    visit: &Visit,
    status: StatusCode,
    (wanted, fields): (&FormData, SearchFields),
) -> PageResult {
    let state = &admin.0.service.0.state;
    let keys = KeyChoices::read(state, wanted.value("key"))?;
    let chosen = keys.chosen.as_ref();
    let accepting = chosen.filter(|key| key.revoked_at.is_none() && !key.is_trial());
    let page = SearchesPage {
        layout: PageLayout::of(visit, "Saved searches"),
        table: SearchTable::read(admin, wanted)?,
        fields,
        saves_for: accepting.map(|key| {
            (
                key.id.clone(),
                figures::key_name(&key.id, &key.settings.name),
            )
        }),
        keys,
    };
    layout::render(status, &page)
}

/// Redirects to the page of a search, which shows a new secret of its webhook.
fn to_search(visit: &Visit, id: &str, secret: Option<WebhookSecret>) -> PageResult {
    let Some(secret) = secret else {
        return layout::see(&format!("/searches/edit?id={id}&saved=yes"));
    };
    let search = id.to_owned();
    let secret = NewSecret::Webhook { search, secret };
    visit.session.keep_secret(secret);
    layout::see(&format!("/searches/edit?id={id}#created"))
}

/// Which webhooks may be saved and tried.
fn rules(admin: &Admin) -> WebhookRules {
    let rules = admin.0.service.0.webhook_rules.get();
    rules.cloned().unwrap_or_default()
}

fn not_found(visit: &Visit) -> PageResult {
    let text = "There is no such saved search, or it was deleted.";
    layout::message_of(visit, StatusCode::NOT_FOUND, "Saved search not found", text)
}
