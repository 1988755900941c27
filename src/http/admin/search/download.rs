//! What a search finds, as JSON and CSV.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use time::Date;

use crate::http::admin::guard::Visit;
use crate::http::admin::layout::{self, Failed};
use crate::http::admin::{Admin, Answer};
use crate::json::{self, Data, SearchData, SignalItem};
use crate::query::Order;
use crate::{Query, Snapshot};

/// Signals of a file; more are a matter for `signaldex export`.
pub(super) const CSV_ROWS_MAX: usize = 10_000;

/// The page as the API answers it.
pub(in crate::http::admin) fn as_json(admin: &Admin, visit: &Visit) -> Answer {
    found(admin, visit, |snapshot, query, today| {
        let page = snapshot.search(query, today);
        let records = snapshot.records(&page)?;
        let items: Vec<SignalItem<'_>> = records.iter().map(SignalItem::from).collect();
        let next_cursor = page.next_cursor().map(|cursor| cursor.to_string());
        let count = query
            .count_only()
            .then(|| snapshot.count(query.filter(), today));
        let data = SearchData {
            items: if query.count_only() { &[] } else { &items },
            next_cursor: next_cursor.as_deref().filter(|_| !query.count_only()),
            count,
        };
        let body = serde_json::to_vec(&Data { data }).map_err(|error| Failed::of(&error))?;
        Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
    })
}

/// Every match, up to a bound.
pub(in crate::http::admin) fn as_csv(admin: &Admin, visit: &Visit) -> Answer {
    found(admin, visit, |snapshot, query, today| {
        let mut text = Vec::new();
        json::write_csv_header(&mut text);
        let matches = snapshot.matches(query.filter(), today, Order::NewestFirst);
        for item in matches.take(CSV_ROWS_MAX) {
            json::write_csv_item(&mut text, &item?);
        }
        let content_type = "text/csv; charset=utf-8";
        Ok(layout::download(content_type, "signals.csv", text))
    })
}

fn found(
    admin: &Admin,
    visit: &Visit,
    answer: impl FnOnce(&Snapshot, &Query, Date) -> Answer,
) -> Answer {
    let service = &admin.0.service.0;
    let Some(index) = service.corpus.index() else {
        return super::no_index(visit, "Search");
    };
    match Query::parse(&visit.query) {
        Ok(query) => answer(&index.snapshot(), &query, service.today()),
        Err(invalid) => {
            let text = invalid.to_string();
            layout::message_of(visit, StatusCode::BAD_REQUEST, "Invalid search", &text)
        }
    }
}
