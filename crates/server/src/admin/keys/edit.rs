//! The page of one key: edit its settings, replace its secret, revoke it.

use askama::Template;
use axum::http::StatusCode;
use time::UtcDateTime;

use super::fields::{self, KeyFields};
use crate::admin::dashboard::Admin;
use crate::admin::failed::PageResult;
use crate::admin::figures;
use crate::admin::form::FormData;
use crate::admin::layout::{self, PageLayout};
use crate::admin::overlap::{self, OverlapField};
use crate::admin::series::SeriesSection;
use crate::admin::session::{NewKeySecret, NewSecret};
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
    /// The hints of the secrets that are accepted, and until when the former one is.
    hints: String,
    used: String,
    status: KeyStatus,
    created: String,
    /// When the key was revoked, if it was.
    revoked: Option<String>,
    /// What it sees now, if it has a filter.
    visible: Option<String>,
    /// Whether the dashboard can search.
    has_index: bool,
    is_trial: bool,
    is_saved: bool,
    overlap: OverlapField,
    /// How many searches are saved for it, in words.
    searches: String,
    series: SeriesSection,
}

/// The forms of the page.
struct KeyForms {
    fields: KeyFields,
    is_saved: bool,
    overlap: OverlapField,
}

impl KeyForms {
    /// The forms with these settings.
    fn with(fields: KeyFields) -> KeyForms {
        KeyForms {
            fields,
            is_saved: false,
            overlap: OverlapField::of(0),
        }
    }
}

/// The page of a key.
pub(in crate::admin) fn edit(admin: &Admin, visit: &Visit) -> PageResult {
    let form = FormData::parse(visit.query.as_bytes());
    let Some(key) = find(admin, form.value("id"))? else {
        return not_found(visit);
    };
    let forms = KeyForms {
        is_saved: !form.value("saved").is_empty(),
        ..KeyForms::with(KeyFields::of(&key.settings))
    };
    show(admin, visit, StatusCode::OK, &key, forms)
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
            let forms = KeyForms::with(KeyFields::typed(&visit.form, errors));
            return show(admin, visit, StatusCode::BAD_REQUEST, &key, forms);
        }
    };
    let state = &admin.0.service.0.state;
    if state
        .edit_key_by(&visit.actor(), &key.id, |settings| *settings = new)?
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
    let overlap = match overlap::read(&visit.form) {
        Ok(overlap) => overlap,
        Err(error) => return refuse_overlap(admin, visit, error),
    };
    let state = &admin.0.service.0.state;
    let Some(secret) = state.rotate_key_by(&visit.actor(), id, overlap)? else {
        return not_found(visit);
    };
    tracing::info!(key = id, "a key was rotated in the dashboard");
    admin.0.service.follow_keys();
    let Some(record) = find(admin, id)? else {
        return not_found(visit);
    };
    visit
        .session
        .keep_secret(NewSecret::Key(Box::new(NewKeySecret {
            record,
            key: secret,
            is_rotated: true,
        })));
    layout::see("/keys#created")
}

/// The page with what is wrong with the overlap.
fn refuse_overlap(admin: &Admin, visit: &Visit, error: String) -> PageResult {
    let Some(key) = find(admin, visit.form.value("id"))? else {
        return not_found(visit);
    };
    let forms = KeyForms::with(KeyFields::of(&key.settings));
    let forms = KeyForms {
        overlap: forms.overlap.refused(error),
        ..forms
    };
    show(admin, visit, StatusCode::BAD_REQUEST, &key, forms)
}

/// Such as `sdx_07Yl…dvBw`, and the former secret with its end.
fn hints(key: &KeyRecord, now: UtcDateTime) -> String {
    let hints = key.hints(now).join(", ");
    match &key.former {
        Some(former) if now < former.until => {
            format!("{hints} until {}", figures::instant(former.until))
        }
        _ => hints,
    }
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
    forms: KeyForms,
) -> PageResult {
    let state = &admin.0.service.0.state;
    let now = state.now();
    admin.0.service.record_requests();
    let span = FormData::parse(visit.query.as_bytes());
    let address = format!("/keys/edit?id={}&", key.id);
    let page = EditPage {
        series: SeriesSection::read(state, Some(key), span.value("span"), &address)?,
        layout: PageLayout::under(visit, "API key", "/keys"),
        fields: forms.fields,
        id: &key.id,
        name: figures::key_name(&key.id, &key.settings.name),
        hints: hints(key, now),
        used: key
            .used_at
            .map_or_else(|| "never".to_owned(), figures::instant),
        status: KeyStatus::of(key, now),
        created: figures::instant(key.created_at),
        revoked: key.revoked_at.map(figures::instant),
        visible: visible(admin, key),
        has_index: admin.0.service.0.corpus.for_operator().index().is_some(),
        is_trial: key.is_trial(),
        is_saved: forms.is_saved,
        overlap: forms.overlap,
        searches: figures::grouped(state.search_count(&key.id)?),
    };
    layout::render(status, &page)
}
