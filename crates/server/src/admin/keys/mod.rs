//! The pages of keys: the table, creating a key, and editing, rotating or revoking one. Secrets are shown
//! once.

mod edit;
mod fields;
mod table;

#[cfg(test)]
mod tests;

use askama::Template;
use axum::http::StatusCode;

pub(super) use edit::{edit, rotate, save};

use self::fields::KeyFields;
use self::table::KeyTable;
use super::dashboard::Admin;
use super::failed::PageResult;
use super::form::FormData;
use super::layout::{self, PageLayout};
use super::session::{NewKeySecret, NewSecret};
use super::visit::Visit;
use crate::metering::Month;

#[derive(Template)]
#[template(path = "keys.html", config = "src/admin/askama.toml")]
struct KeysPage<'a> {
    layout: PageLayout<'a>,
    fields: KeyFields,
    secret: Option<Secret>,
    table: KeyTable,
    month: String,
    public_url: &'a str,
}

/// A secret to show once.
struct Secret {
    id: String,
    name: String,
    key: String,
    is_rotated: bool,
}

pub(super) fn list(admin: &Admin, visit: &Visit) -> PageResult {
    show(admin, visit, StatusCode::OK, KeyFields::of_new())
}

/// Creates a key and redirects to the table, which shows it, so that reloading creates no further key.
pub(super) fn create(admin: &Admin, visit: &Visit) -> PageResult {
    let now = admin.0.service.0.state.now();
    let new = match fields::read(&visit.form, now, None) {
        Ok(new) => new,
        Err(errors) => {
            let fields = KeyFields::typed(&visit.form, errors);
            return show(admin, visit, StatusCode::BAD_REQUEST, fields);
        }
    };
    let (record, key) = admin
        .0
        .service
        .0
        .state
        .create_key_by(&visit.actor(), &new)?;
    tracing::info!(key = record.id, "a key was created in the dashboard");
    admin.0.service.follow_keys();
    visit
        .session
        .keep_secret(NewSecret::Key(Box::new(NewKeySecret {
            record,
            key,
            is_rotated: false,
        })));
    layout::see("/keys#created")
}

/// Revokes a key.
pub(super) fn revoke(admin: &Admin, visit: &Visit) -> PageResult {
    let id = visit.form.value("id");
    if admin.0.service.0.state.revoke_key_by(&visit.actor(), id)? {
        tracing::info!(key = id, "a key was revoked in the dashboard");
    }
    admin.0.service.follow_keys();
    layout::see("/keys")
}

fn show(admin: &Admin, visit: &Visit, status: StatusCode, fields: KeyFields) -> PageResult {
    let now = admin.0.service.0.state.now();
    let wanted = FormData::parse(visit.query.as_bytes());
    let secret = visit.take_key().map(|secret| Secret {
        id: secret.record.id,
        name: secret.record.settings.name,
        key: secret.key.as_str().to_owned(),
        is_rotated: secret.is_rotated,
    });
    let page = KeysPage {
        layout: PageLayout::of(visit, "API keys"),
        fields,
        secret,
        table: KeyTable::read(&admin.0.service.0.state, &wanted, now)?,
        month: Month::of(now).to_string(),
        public_url: &admin.0.settings.public_url,
    };
    layout::render(status, &page)
}
