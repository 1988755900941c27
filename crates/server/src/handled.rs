//! An answered request, with what is recorded of it.

use std::borrow::Cow;

use axum::http::StatusCode;
use axum::response::Response;

/// An answered request.
pub(super) struct Handled<'p> {
    pub(super) response: Response,
    pub(super) note: Note<'p>,
    /// Whether the whole request has been read from the connection.
    pub(super) is_body_read: bool,
}

/// What metrics, the log and the dashboard record of a request.
pub(super) struct Note<'p> {
    pub(super) endpoint: &'static str,
    pub(super) status: StatusCode,
    /// The problem code, if the request was refused.
    pub(super) code: Option<&'static str>,
    pub(super) query: Option<Cow<'p, str>>,
    /// Units charged before the first byte.
    pub(super) charged: u64,
}

impl Note<'_> {
    pub(super) fn of_status(status: StatusCode) -> Note<'static> {
        Note {
            endpoint: "unknown",
            status,
            code: None,
            query: None,
            charged: 0,
        }
    }
}
