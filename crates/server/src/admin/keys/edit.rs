//! The page of one key: edit its settings, replace its secret, revoke it.

use askama::Template;
use axum::http::StatusCode;

use super::fields::{self, KeyFields};
use crate::admin::dashboard::Admin;
use crate::admin::failed::PageResult;
use crate::admin::figures;
use crate::admin::form::FormData;
use crate::admin::layout::{self, PageLayout};
use crate::admin::session::NewSecret;
use crate::admin::visit::Visit;
use crate::keys::{KeyRecord, KeyStatus};
use crate::state::StateError;

#[derive(Template)]
#[template(path = "key.html", config = "src/admin/askama.toml")]
struct EditPage<'a> {
    layout: PageLayout<'a>,
    fields: KeyFields,
    id: &'a str,
    name: String,
    hint: &'a str,
    status: KeyStatus,
    created: String,
    /// When the key was revoked, if it was.
    revoked: Option<String>,
    /// What it sees now, if it has a filter.
    visible: Option<String>,
    is_trial: bool,
    is_saved: bool,
}

/// The page of a key.
pub(in crate::admin) fn edit(admin: &Admin, visit: &Visit) -> PageResult {
    let form = FormData::parse(visit.query.as_bytes());
    let Some(key) = find(admin, form.value("id"))? else {
        return not_found(visit);
    };
    let fields = KeyFields::of(&key.settings);
    let is_saved = !form.value("saved").is_empty();
    show(admin, visit, StatusCode::OK, &key, (fields, is_saved))
}

/// Saves the settings of a key.
pub(in crate::admin) fn save(admin: &Admin, visit: &Visit) -> PageResult {
    let Some(key) = find(admin, visit.form.value("id"))? else {
        return not_found(visit);
    };
    let now = admin.0.service.0.state.now();
    let new = match fields::read(&visit.form, now, Some(&key.settings)) {
        Ok(new) => new,
        Err(errors) => {
            let fields = KeyFields::typed(&visit.form, errors);
            return show(admin, visit, StatusCode::BAD_REQUEST, &key, (fields, false));
        }
    };
    let state = &admin.0.service.0.state;
    if state
        .edit_key(&key.id, |settings| *settings = new)?
        .is_none()
    {
        return not_found(visit);
    }
    tracing::info!(key = key.id, "a key was edited in the dashboard");
    admin.0.service.follow_keys();
    layout::see(&format!("/keys/edit?id={}&saved=yes", key.id))
}

/// Replaces the secret of a key and redirects to the table, which shows it.
pub(in crate::admin) fn rotate(admin: &Admin, visit: &Visit) -> PageResult {
    let id = visit.form.value("id");
    let Some(secret) = admin.0.service.0.state.rotate_key(id)? else {
        return not_found(visit);
    };
    tracing::info!(key = id, "a key was rotated in the dashboard");
    admin.0.service.follow_keys();
    let Some(record) = find(admin, id)? else {
        return not_found(visit);
    };
    visit.session.keep_secret(NewSecret {
        record,
        key: secret,
        is_rotated: true,
    });
    layout::see("/keys#created")
}

fn find(admin: &Admin, id: &str) -> Result<Option<KeyRecord>, StateError> {
    admin.0.service.0.state.key(id)
}

fn not_found(visit: &Visit) -> PageResult {
    let text = "There is no such key, or it is revoked.";
    layout::message_of(visit, StatusCode::NOT_FOUND, "Key not found", text)
}

/// What a key with a filter sees now, in words.
fn visible(admin: &Admin, key: &KeyRecord) -> Option<String> {
    let (filter, service) = (key.settings.filter.as_ref()?, &admin.0.service.0);
    let whole = service.corpus.for_operator().index()?.snapshot();
    let narrowed = whole.narrowed(filter, service.today()).ok()?;
    let counts = [narrowed.signal_count(), whole.signal_count()].map(figures::grouped);
    let companies = figures::grouped(narrowed.company_count().ok()?);
    Some(format!(
        "{} of {} signals, of {companies} companies",
        counts[0], counts[1]
    ))
}

fn show(
    admin: &Admin,
    visit: &Visit,
    status: StatusCode,
    key: &KeyRecord,
    (fields, is_saved): (KeyFields, bool),
) -> PageResult {
    let page = EditPage {
        layout: PageLayout::under(visit, "API key", "/keys"),
        fields,
        id: &key.id,
        name: figures::key_name(&key.id, &key.settings.name),
        hint: key.hint.as_deref().unwrap_or_default(),
        status: KeyStatus::of(key, admin.0.service.0.state.now()),
        created: figures::instant(key.created_at),
        revoked: key.revoked_at.map(figures::instant),
        visible: visible(admin, key),
        is_trial: key.is_trial(),
        is_saved,
    };
    layout::render(status, &page)
}
