//! The page of the audit: who changed which key or person, newest first.

use askama::Template;
use axum::http::StatusCode;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::dashboard::Admin;
use super::failed::PageResult;
use super::figures;
use super::form::FormData;
use super::layout::{self, PageLayout};
use super::visit::Visit;
use crate::state::{AuditEntry, AuditWanted};

/// Entries of a page.
const PAGE_ROWS: u64 = 100;
/// Bytes of a value on the page; the command shows all of it.
const VALUE_BYTES_MAX: usize = 300;

#[derive(Template)]
#[template(path = "audit.html", config = "src/admin/askama.toml")]
struct AuditPage<'a> {
    layout: PageLayout<'a>,
    find: &'a str,
    rows: Vec<AuditRow>,
    /// The URL of the next page.
    older: Option<String>,
    is_first: bool,
}

struct AuditRow {
    at: String,
    actor: String,
    from: String,
    action: String,
    target: String,
    changes: Vec<ChangeLine>,
}

/// A setting that has changed.
struct ChangeLine {
    name: String,
    before: String,
    after: String,
}

/// A page of entries.
pub(super) fn show(admin: &Admin, visit: &Visit) -> PageResult {
    let form = FormData::parse(visit.query.as_bytes());
    let (find, before) = (form.value("find"), form.value("before").parse().ok());
    let mut entries = admin.0.service.0.state.audit_page(&AuditWanted {
        before,
        find,
        // One more tells whether there is a further page.
        rows: PAGE_ROWS + 1,
    })?;
    let are_more = entries.len() as u64 > PAGE_ROWS;
    entries.truncate(PAGE_ROWS as usize);
    let last = entries.last().filter(|_| are_more);
    let page = AuditPage {
        layout: PageLayout::of(visit, "Audit"),
        find,
        older: last.map(|last| {
            let find = utf8_percent_encode(find, NON_ALPHANUMERIC);
            format!("/audit?find={find}&before={}", last.number)
        }),
        rows: entries.into_iter().map(AuditRow::new).collect(),
        is_first: before.is_none(),
    };
    layout::render(StatusCode::OK, &page)
}

impl AuditRow {
    fn new(entry: AuditEntry) -> AuditRow {
        let changes = changes(&entry);
        AuditRow {
            at: figures::moment(entry.at),
            actor: entry.actor,
            from: entry.from.unwrap_or_default(),
            action: entry.action,
            target: entry.target,
            changes,
        }
    }
}

/// The settings that either side has, by name.
fn changes(entry: &AuditEntry) -> Vec<ChangeLine> {
    let sides = [&entry.before, &entry.after];
    let members = sides.iter().filter_map(|side| side.as_object());
    let mut names: Vec<&String> = members.flat_map(|members| members.keys()).collect();
    names.sort();
    names.dedup();
    let line = |name: &String| ChangeLine {
        name: name.clone(),
        before: shown(entry.before.get(name)),
        after: shown(entry.after.get(name)),
    };
    names.into_iter().map(line).collect()
}

/// A value as text, cut to a bound; empty if there is none.
fn shown(value: Option<&Value>) -> String {
    let text = match value {
        None => return String::new(),
        Some(Value::Null) => return "none".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    figures::cut(&text, VALUE_BYTES_MAX)
}
