//! What all pages share: their layout, how they are rendered, and the page of a failure.

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
use crate::http::state::StateError;

/// What stands around the content of a page.
pub(super) struct PageLayout<'a> {
    pub(super) title: &'a str,
    pub(super) nonce: &'a str,
    /// What the forms of the session carry; `None` for pages in front of the sign-in.
    pub(super) form_token: Option<&'a str>,
    /// The path of the page, which marks it in the navigation.
    pub(super) path: &'a str,
    /// Changes with what pages load, so that browsers keep nothing that is old.
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

/// A page that could not be made. The cause goes to the log.
#[derive(Debug)]
pub(super) struct Failed(());

#[derive(Template)]
#[template(path = "message.html", config = "src/http/admin/askama.toml")]
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

    /// The layout of a page in front of the sign-in.
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

    /// The layout of a page that belongs to an entry of the navigation.
    pub(super) fn under(visit: &'a Visit, title: &'a str, path: &'a str) -> PageLayout<'a> {
        let layout = PageLayout::of(visit, title);
        PageLayout { path, ..layout }
    }

    /// The field that every form of the page carries.
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
        Failed(())
    }
}

impl From<StateError> for Failed {
    fn from(error: StateError) -> Failed {
        Failed::of(&error)
    }
}

impl From<crate::Error> for Failed {
    fn from(error: crate::Error) -> Failed {
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
    /// Plain text, since what makes pages may be what has failed.
    fn into_response(self) -> Response {
        let text = "The page could not be rendered; see the service's log.\n";
        (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
    }
}

/// Renders a page.
pub(super) fn render(status: StatusCode, page: &impl Template) -> Answer {
    let html = page.render()?;
    Ok((status, [(CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response())
}

/// A file that a browser saves.
pub(super) fn download(content_type: &'static str, name: &str, body: impl Into<Body>) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [
        (CONTENT_TYPE, content_type.to_owned()),
        (CONTENT_DISPOSITION, disposition),
    ];
    (headers, body.into()).into_response()
}

/// Leads to a page, after a form was taken.
pub(super) fn see(path: &str) -> Answer {
    Ok((StatusCode::SEE_OTHER, [(LOCATION, path.to_owned())]).into_response())
}

/// A page that only says something.
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

/// The nonce of a request; `seal` has put it there.
pub(super) fn nonce_of(extensions: &Extensions) -> Nonce {
    let nonce = extensions.get::<Nonce>().cloned();
    nonce.unwrap_or_else(|| Nonce(String::new()))
}
