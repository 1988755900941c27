//! Messages in place of a page.

use axum::http::StatusCode;

use crate::admin::failed::PageResult;
use crate::admin::layout;
use crate::admin::visit::Visit;

pub(super) fn invalid(visit: &Visit, text: &str) -> PageResult {
    layout::message_of(visit, StatusCode::BAD_REQUEST, "Invalid search", text)
}

/// The page of a cluster node, which has only part of the corpus.
pub(super) fn no_index(visit: &Visit, title: &str) -> PageResult {
    let text = "This page needs a local index, and this node is part of a cluster. Use \
                /api/v1/signals instead.";
    layout::message_of(visit, StatusCode::NOT_IMPLEMENTED, title, text)
}
