//! Downloads: a page as JSON, all matches as CSV or NDJSON.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use time::Date;
use tokio::sync::mpsc;

use super::messages;
use super::viewpoint::{Viewpoint, sent_without_key};
use crate::admin::dashboard::Admin;
use crate::admin::failed::{Failed, PageResult};
use crate::admin::layout;
use crate::admin::visit::Visit;
use crate::corpus::{self, ExportFormat, ExportRequest, export_header, export_slice};
use crate::export::{self, ExportBody, ExportPart};
use crate::search;
use signaldex::json::Rendering;
use signaldex::{Query, Snapshot};

/// The page, as answered by the API.
pub(in crate::admin) fn as_json(admin: &Admin, visit: &Visit) -> PageResult {
    found(admin, visit, |snapshot, query, today| {
        let body = if query.count_only() {
            let count = snapshot.count(query.filter(), today)?;
            search::count_body(count).map_err(|problem| Failed::of(&problem.detail))?
        } else {
            let page = corpus::page(snapshot, query, today, Rendering::Whole)?;
            match search::without_gap(page, query) {
                Ok(page) => search::body(page),
                Err(error) => return messages::invalid(visit, &error.message),
            }
        };
        Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
    })
}

/// All matches as CSV.
pub(in crate::admin) fn as_csv(admin: &Admin, visit: &Visit) -> PageResult {
    all(admin, visit, ExportFormat::Csv, "signals.csv")
}

/// All matches as NDJSON.
pub(in crate::admin) fn as_ndjson(admin: &Admin, visit: &Visit) -> PageResult {
    all(admin, visit, ExportFormat::Ndjson, "signals.ndjson")
}

/// Streams a file of all matches.
fn all(admin: &Admin, visit: &Visit, format: ExportFormat, name: &str) -> PageResult {
    found(admin, visit, |snapshot, query, today| {
        let request = ExportRequest {
            filter: query.filter().clone(),
            order: query.order(),
            format,
            after: None,
            items_max: u64::MAX,
        };
        let (parts, body) = ExportBody::new();
        let snapshot = Arc::clone(snapshot);
        tokio::task::spawn_blocking(move || send_all(&snapshot, request, today, &parts.sender));
        let content_type = export::content_type(format);
        Ok(layout::download(content_type, name, Body::new(body)))
    })
}

/// Sends all slices of an export, until the browser disconnects or a record is corrupt.
fn send_all(
    snapshot: &Snapshot,
    request: ExportRequest,
    today: Date,
    parts: &mpsc::Sender<ExportPart>,
) {
    let header = Bytes::from(export_header(request.format));
    if parts.blocking_send(ExportPart::Data(header)).is_err() {
        return;
    }
    let mut next = Some(request);
    while let Some(request) = next {
        let slice = match export_slice(snapshot, &request, today) {
            Ok(slice) => slice,
            Err(error) => {
                tracing::error!(
                    error = format_args!("{error:#}"),
                    "a download was broken off"
                );
                return;
            }
        };
        next = request.after_slice(&slice);
        if parts
            .blocking_send(ExportPart::Data(slice.body.into()))
            .is_err()
        {
            return;
        }
    }
    // Fails only if the browser has disconnected.
    let _ = parts.blocking_send(ExportPart::End);
}

fn found(
    admin: &Admin,
    visit: &Visit,
    answer: impl FnOnce(&Arc<Snapshot>, &Query, Date) -> PageResult,
) -> PageResult {
    let viewpoint = match Viewpoint::of(admin, visit, "Search") {
        Ok(viewpoint) => viewpoint,
        Err(page) => return *page,
    };
    match viewpoint.query(&sent_without_key(&visit.query)) {
        Ok(query) => answer(&viewpoint.snapshot, &query, viewpoint.today),
        Err(invalid) => messages::invalid(visit, &invalid.to_string()),
    }
}
