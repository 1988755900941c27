//! Problem bodies (RFC 9457), from one table of codes.

use axum::http::StatusCode;
use serde::Serialize;

use super::limits::RETRY_AFTER_SECONDS;
use crate::corpus::Unanswered;
use signaldex::query::{ErrorCode, InvalidQuery, ParameterError};

/// The problem codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ProblemCode {
    InvalidRequest,
    UriTooLong,
    Unauthorized,
    QuotaExceeded,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    RequestInProgress,
    IdempotencyKeyReused,
    RateLimited,
    Internal,
    ChargeUncertain,
    Overloaded,
    PositionExpired,
}

/// The name of a code with its status and title.
type CodeRow = (&'static str, StatusCode, &'static str);

/// The table of codes, in the order of [`ProblemCode`].
const TABLE: [CodeRow; ProblemCode::ALL.len()] = [
    (
        "invalid_request",
        StatusCode::BAD_REQUEST,
        "The request is invalid",
    ),
    (
        "invalid_request",
        StatusCode::URI_TOO_LONG,
        "The request's URI is too long",
    ),
    (
        "unauthorized",
        StatusCode::UNAUTHORIZED,
        "A valid API key is required",
    ),
    (
        "quota_exceeded",
        StatusCode::PAYMENT_REQUIRED,
        "The month's quota is used up",
    ),
    (
        "forbidden",
        StatusCode::FORBIDDEN,
        "The API key lacks a scope",
    ),
    ("not_found", StatusCode::NOT_FOUND, "There is nothing here"),
    (
        "method_not_allowed",
        StatusCode::METHOD_NOT_ALLOWED,
        "Only GET and HEAD are allowed",
    ),
    (
        "request_in_progress",
        StatusCode::CONFLICT,
        "The first request is still under way",
    ),
    (
        "idempotency_key_reused",
        StatusCode::UNPROCESSABLE_ENTITY,
        "The idempotency key belongs to another request",
    ),
    (
        "rate_limited",
        StatusCode::TOO_MANY_REQUESTS,
        "Too many requests",
    ),
    (
        "internal",
        StatusCode::INTERNAL_SERVER_ERROR,
        "The service has failed",
    ),
    (
        "charge_uncertain",
        StatusCode::INTERNAL_SERVER_ERROR,
        "It is not certain whether the request was charged",
    ),
    (
        "overloaded",
        StatusCode::SERVICE_UNAVAILABLE,
        "The service is overloaded",
    ),
    (
        "position_expired",
        StatusCode::GONE,
        "Changes since this position are not known",
    ),
];

impl ProblemCode {
    pub(crate) const ALL: [ProblemCode; 14] = [
        ProblemCode::InvalidRequest,
        ProblemCode::UriTooLong,
        ProblemCode::Unauthorized,
        ProblemCode::QuotaExceeded,
        ProblemCode::Forbidden,
        ProblemCode::NotFound,
        ProblemCode::MethodNotAllowed,
        ProblemCode::RequestInProgress,
        ProblemCode::IdempotencyKeyReused,
        ProblemCode::RateLimited,
        ProblemCode::Internal,
        ProblemCode::ChargeUncertain,
        ProblemCode::Overloaded,
        ProblemCode::PositionExpired,
    ];

    const fn row(self) -> CodeRow {
        TABLE[self as usize]
    }

    pub(crate) const fn as_str(self) -> &'static str {
        self.row().0
    }

    pub(crate) const fn status(self) -> StatusCode {
        self.row().1
    }

    pub(crate) const fn title(self) -> &'static str {
        self.row().2
    }
}

/// Every code in `errors`, with its meaning.
pub(crate) const PARAMETER_ERRORS: [(ErrorCode, &str); ErrorCode::ALL.len()] = {
    use ErrorCode as E;
    [
        (
            E::UnknownParameter,
            "The endpoint has no parameter of this name",
        ),
        (
            E::RepeatedParameter,
            "The parameter is given more than once",
        ),
        (E::EmptyValue, "The parameter has no value"),
        (E::InvalidValue, "The value is not one of those allowed"),
        (
            E::TooLong,
            "The value, or an item of it, has too many characters",
        ),
        (E::TooManyItems, "The list has too many items"),
        (
            E::ConflictingParameters,
            "The parameters exclude each other, or need another one",
        ),
        (
            E::UnsearchableText,
            "The text has no word that can be searched for, or a `*` that makes no prefix",
        ),
        (
            E::MalformedQuery,
            "The query string is too long, or not percent-encoded UTF-8",
        ),
        (
            E::InvalidCursor,
            "The cursor is none of this service, or was changed",
        ),
        (E::CursorMismatch, "The cursor belongs to other filters"),
        (
            E::InvalidPosition,
            "The position is none of an index, or ahead of this one",
        ),
        (
            E::TooManyGroups,
            "More groups than are computed; take a larger unit of time or a narrower filter",
        ),
    ]
};

/// An error response.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) code: ProblemCode,
    pub(crate) detail: String,
    pub(crate) errors: Vec<ParameterError>,
    pub(crate) retry_after_seconds: Option<u64>,
}

/// The body of an error.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProblemBody<'a> {
    r#type: String,
    title: &'a str,
    status: u16,
    detail: &'a str,
    code: &'a str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Vec<ParameterErrorBody<'a>>>,
}

#[derive(Serialize)]
struct ParameterErrorBody<'a> {
    parameter: &'a str,
    code: &'a str,
    message: &'a str,
}

impl Problem {
    pub(crate) fn new(code: ProblemCode, detail: impl Into<String>) -> Problem {
        Problem {
            code,
            detail: detail.into(),
            errors: Vec::new(),
            retry_after_seconds: None,
        }
    }

    pub(crate) fn of_errors(errors: Vec<ParameterError>) -> Problem {
        let detail = match errors.len() {
            1 => "One parameter is invalid; errors describes it.".to_owned(),
            count => format!("The request has {count} errors; errors lists them."),
        };
        Problem {
            errors,
            ..Problem::new(ProblemCode::InvalidRequest, detail)
        }
    }

    pub(crate) fn overloaded(detail: &str) -> Problem {
        Problem::new(ProblemCode::Overloaded, detail).retry_after(RETRY_AFTER_SECONDS)
    }

    pub(crate) fn too_many_requests() -> Problem {
        Problem::overloaded("Too many requests are under way.")
    }

    /// The request exceeded its time limit; nothing was charged.
    pub(crate) fn timed_out() -> Problem {
        Problem::overloaded("The request took too long; nothing was charged.")
    }

    /// An internal error. The cause is logged, not sent to the client.
    pub(crate) fn internal(cause: &dyn std::error::Error) -> Problem {
        tracing::error!(cause = format_args!("{cause:#}"), "a request has failed");
        Problem::new(
            ProblemCode::Internal,
            "The request could not be answered; it was not charged.",
        )
    }

    pub(crate) fn retry_after(self, seconds: u64) -> Problem {
        Problem {
            retry_after_seconds: Some(seconds),
            ..self
        }
    }

    /// The JSON body. `type` links to the API reference of the service mounted at `base`.
    pub(crate) fn body(&self, base: &str, request_id: &str) -> Vec<u8> {
        let errors = self.errors.iter().map(|error| ParameterErrorBody {
            parameter: &error.parameter,
            code: error.code.as_str(),
            message: &error.message,
        });
        let body = ProblemBody {
            r#type: format!("{base}/docs#{}", self.code.as_str()),
            title: self.code.title(),
            status: self.code.status().as_u16(),
            detail: &self.detail,
            code: self.code.as_str(),
            request_id,
            errors: (self.code == ProblemCode::InvalidRequest).then(|| errors.collect()),
        };
        serde_json::to_vec(&body).unwrap_or_default()
    }
}

impl From<ParameterError> for Problem {
    fn from(error: ParameterError) -> Problem {
        Problem::of_errors(vec![error])
    }
}

impl From<InvalidQuery> for Problem {
    fn from(invalid: InvalidQuery) -> Problem {
        Problem::of_errors(invalid.errors().to_vec())
    }
}

impl From<Unanswered> for Problem {
    fn from(unanswered: Unanswered) -> Problem {
        match unanswered {
            Unanswered::Failed(error) => Problem::internal(&error),
            Unanswered::Unavailable(detail) => Problem::overloaded(&detail),
        }
    }
}

#[cfg(test)]
mod tests;
