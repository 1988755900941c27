//! A successful response before it is sent: status, body and headers.

use axum::body::Body;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue, LOCATION};

/// A successful response.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Body,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
}

impl Answer {
    pub(super) fn new(content_type: &'static str, body: impl Into<Body>) -> Answer {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))];
        Answer {
            status: StatusCode::OK,
            body: body.into(),
            headers,
        }
    }

    pub(super) fn json(body: impl Into<Body>) -> Answer {
        Answer::new("application/json", body)
    }

    /// 304: the client's cached answer is current.
    pub(super) fn not_modified() -> Answer {
        Answer {
            status: StatusCode::NOT_MODIFIED,
            body: Body::empty(),
            headers: Vec::new(),
        }
    }

    /// 204: headers only.
    pub(super) fn no_content() -> Answer {
        Answer {
            status: StatusCode::NO_CONTENT,
            ..Answer::not_modified()
        }
    }

    /// 303: redirects the client to `path`.
    pub(super) fn see_other(path: &str) -> Answer {
        let answer = Answer {
            status: StatusCode::SEE_OTHER,
            ..Answer::not_modified()
        };
        answer.with(LOCATION, path)
    }

    /// Adds a header; an invalid value is ignored.
    pub(super) fn with(mut self, name: HeaderName, value: impl TryInto<HeaderValue>) -> Answer {
        if let Ok(value) = value.try_into() {
            self.headers.push((name, value));
        }
        self
    }
}
