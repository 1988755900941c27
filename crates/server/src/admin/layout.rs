//! The layout of pages, rendering, and the error page.

use std::fmt::Display;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, LOCATION};
use axum::http::{Extensions, StatusCode};
use axum::response::{IntoResponse, Response};

use super::guard::Visit;
use super::seal::Nonce;
use super::{Answer, assets};
use crate::problem::Problem;
use crate::state::StateError;

/// The layout around the content of a page.
pub(super) struct PageLayout<'a> {
    pub(super) title: &'a str,
    pub(super) nonce: &'a str,
    /// The form token of the session; `None` for pages without a session.
    pub(super) form_token: Option<&'a str>,
    /// The path of the page, which is highlighted in the navigation.
    pub(super) path: &'a str,
    /// The version of the assets, so that browsers do not use stale ones.
    pub(super) version: &'static str,
}

/// An entry of the navigation.
pub(super) struct NavigationEntry {
    pub(super) path: &'static str,
    pub(super) name: &'static str,
}

/// A figure and what it counts.
pub(super) struct Fact {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) note: String,
}

/// A page that could not be rendered. The cause is logged.
#[derive(Debug)]
pub(super) struct Failed(StatusCode);

#[derive(Template)]
#[template(path = "message.html", config = "src/admin/askama.toml")]
struct Message<'a> {
    layout: PageLayout<'a>,
    text: &'a str,
}

impl<'a> PageLayout<'a> {
    /// The entries of the navigation.
    pub(super) const NAVIGATION: [NavigationEntry; 7] = [
        NavigationEntry::new("/", "Overview"),
        NavigationEntry::new("/search", "Search"),
        NavigationEntry::new("/keys", "Keys"),
        NavigationEntry::new("/usage", "Usage"),
        NavigationEntry::new("/requests", "Requests"),
        NavigationEntry::new("/slow", "Slow queries"),
        NavigationEntry::new("/storage", "Storage"),
    ];

    /// The layout of a page without a session.
    pub(super) fn open(nonce: &'a Nonce, title: &'a str) -> PageLayout<'a> {
        PageLayout {
            title,
            nonce: &nonce.0,
            form_token: None,
            path: "",
            version: assets::version(),
        }
    }

    /// The layout of a page that needs a session.
    pub(super) fn of(visit: &'a Visit, title: &'a str) -> PageLayout<'a> {
        PageLayout {
            title,
            nonce: &visit.nonce,
            form_token: Some(&visit.session.form_token),
            path: visit.parts.uri.path(),
            version: assets::version(),
        }
    }

    /// The layout of a page that highlights an entry of the navigation.
    pub(super) fn under(visit: &'a Visit, title: &'a str, path: &'a str) -> PageLayout<'a> {
        let layout = PageLayout::of(visit, title);
        PageLayout { path, ..layout }
    }

    /// The form token of the page.
    pub(super) fn form_token(&self) -> &str {
        self.form_token.unwrap_or_default()
    }
}

impl NavigationEntry {
    const fn new(path: &'static str, name: &'static str) -> NavigationEntry {
        NavigationEntry { path, name }
    }
}

impl Fact {
    pub(super) fn new(
        name: &'static str,
        value: impl Into<String>,
        note: impl Into<String>,
    ) -> Fact {
        Fact {
            name,
            value: value.into(),
            note: note.into(),
        }
    }
}

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

/// Renders a page.
pub(super) fn render(status: StatusCode, page: &impl Template) -> Answer {
    let html = page.render()?;
    Ok((status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
}

/// A download.
pub(super) fn download(content_type: &'static str, name: &str, body: impl Into<Body>) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, content_type.to_owned()),
        (CONTENT_DISPOSITION, disposition),
    ];
    (headers, body.into()).into_response()
}

/// Redirects to a page after a form was processed.
pub(super) fn see(path: &str) -> Answer {
    Ok((StatusCode::SEE_OTHER, [(LOCATION, path.to_owned())]).into_response())
}

/// A page with just a message.
pub(super) fn message(nonce: &Nonce, status: StatusCode, title: &str, text: &str) -> Answer {
    let layout = PageLayout::open(nonce, title);
    render(status, &Message { layout, text })
}

/// The same for a page that needs a session.
pub(super) fn message_of(visit: &Visit, status: StatusCode, title: &str, text: &str) -> Answer {
    let layout = PageLayout::of(visit, title);
    render(status, &Message { layout, text })
}

/// There is no such page.
pub(super) async fn not_found(Extension(nonce): Extension<Nonce>) -> Answer {
    let text = "There is no page at this address.";
    message(&nonce, StatusCode::NOT_FOUND, "Page not found", text)
}

/// The nonce of a request, which `seal` has inserted.
pub(super) fn nonce_of(extensions: &Extensions) -> Nonce {
    let nonce = extensions.get::<Nonce>().cloned();
    nonce.unwrap_or_else(|| Nonce(String::new()))
}
