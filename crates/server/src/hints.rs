//! Hints on answers: sentences for people about the first page of a result, in the header `X-Hints`.
//!
//! The header is a list of RFC 9651: strings, and display strings where there are other characters than ASCII.

use std::sync::Arc;

use axum::http::header::HeaderName;
use sfv::{ListSerializer, RefBareItem, StringRef};

use super::call::Call;
use crate::corpus::CorpusView;
use signaldex::Query;
use signaldex::query::Start;

pub(super) const HEADER: HeaderName = HeaderName::from_static("x-hints");

/// The most that the header holds; hints at the end are left out.
const BYTES_MAX: usize = 4_096;

/// The hints for the result of a query; none for a page after the first. An answer is worth more than its hints, so
/// it has none where they cannot be found.
pub(super) async fn find(
    call: &Call<'_>,
    view: &Arc<CorpusView>,
    query: &Arc<Query>,
    is_empty: bool,
) -> Vec<String> {
    if !matches!(query.start(), Start::First | Start::Page(1)) {
        return Vec::new();
    }
    let corpus = call.corpus();
    let hints = corpus
        .hints(Arc::clone(view), Arc::clone(query), is_empty)
        .await;
    hints.unwrap_or_default()
}

/// The value of the header; `None` without hints.
pub(super) fn value(hints: &[String]) -> Option<String> {
    // Each turn leaves one out; few hints are so long.
    (1..=hints.len())
        .rev()
        .filter_map(|count| list(&hints[..count]))
        .find(|value| value.len() <= BYTES_MAX)
}

fn list(hints: &[String]) -> Option<String> {
    let mut list = ListSerializer::new();
    for hint in hints {
        let item = match StringRef::from_str(hint) {
            Ok(ascii) => RefBareItem::String(ascii),
            Err(_) => RefBareItem::DisplayString(hint),
        };
        list.bare_item(item);
    }
    list.finish()
}

#[cfg(test)]
mod tests;
