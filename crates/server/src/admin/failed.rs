//! A page, or the failure to render it.

use std::fmt::Display;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::problem::Problem;
use crate::state::StateError;

/// A page, or the failure to render it.
pub(super) type PageResult = Result<Response, Failed>;

/// A page that could not be rendered. The cause is logged.
#[derive(Debug)]
pub(super) struct Failed(StatusCode);

impl Failed {
    pub(super) fn of(cause: &dyn Display) -> Failed {
        tracing::error!(
            cause = format_args!("{cause:#}"),
            "a page could not be made"
        );
        Failed(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Failed {
        Failed(problem.code.status())
    }
}

impl From<StateError> for Failed {
    fn from(error: StateError) -> Failed {
        Failed::of(&error)
    }
}

impl From<signaldex::Error> for Failed {
    fn from(error: signaldex::Error) -> Failed {
        Failed::of(&error)
    }
}

impl From<askama::Error> for Failed {
    fn from(error: askama::Error) -> Failed {
        Failed::of(&error)
    }
}

impl From<getrandom::Error> for Failed {
    fn from(error: getrandom::Error) -> Failed {
        Failed::of(&error)
    }
}

impl From<tokio::task::JoinError> for Failed {
    fn from(error: tokio::task::JoinError) -> Failed {
        Failed::of(&error)
    }
}

impl IntoResponse for Failed {
    /// Plain text, because rendering may be what failed.
    fn into_response(self) -> Response {
        let text = match self.0 {
            StatusCode::SERVICE_UNAVAILABLE => {
                "The state could not be read in time; try again later.\n"
            }
            _ => "The page could not be rendered; see the service's log.\n",
        };
        (self.0, text).into_response()
    }
}
