//! A successful response before it is sent: status, body, headers and price.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, LOCATION, VARY,
};
use axum::http::{HeaderMap, StatusCode};

/// A successful response.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) body: Body,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// `None` where an answer does not say what it costs.
    pub(super) price: Option<Price>,
    /// Sentences for people about the result.
    pub(super) hints: Vec<String>,
}

/// What an answer was charged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Price {
    pub(super) charged: u64,
    /// Units left this month after the charge, if the key has a quota.
    pub(super) remaining: Option<u64>,
    /// Whether the answer repeats an earlier one.
    pub(super) is_replayed: bool,
}

impl Price {
    pub(super) const FREE: Price = Price {
        charged: 0,
        remaining: None,
        is_replayed: false,
    };

    /// Adds the headers with the price.
    pub(super) fn write(self, headers: &mut HeaderMap) {
        let numbers = [
            ("x-usage-charged", Some(self.charged)),
            ("x-usage-remaining", self.remaining),
        ];
        for (name, number) in numbers {
            headers.extend(number.map(|number| (HeaderName::from_static(name), number.into())));
        }
        if self.is_replayed {
            let name = HeaderName::from_static("idempotency-replayed");
            headers.insert(name, HeaderValue::from_static("true"));
        }
    }
}

impl Answer {
    pub(super) fn new(content_type: &'static str, body: impl Into<Body>) -> Answer {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))];
        Answer {
            status: StatusCode::OK,
            body: body.into(),
            headers,
            price: None,
            hints: Vec::new(),
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
            price: None,
            hints: Vec::new(),
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
    /// Adds the entity tag, with which a client can revalidate the answer for free. Answers belong to one key,
    /// so shared caches must not store them.
    pub(super) fn tagged(self, tag: &str) -> Answer {
        self.with(ETAG, tag)
            .with(CACHE_CONTROL, "private, no-cache")
            .with(VARY, "Authorization")
    }

    /// Adds hints, unless the client has them with its cached answer.
    pub(super) fn hinted(self, hints: Vec<String>) -> Answer {
        if self.status == StatusCode::NOT_MODIFIED {
            return self;
        }
        Answer { hints, ..self }
    }

    pub(super) fn priced(self, price: Price) -> Answer {
        Answer {
            price: Some(price),
            ..self
        }
    }
}
