//! The layout of pages, rendering, and the error page.

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, LOCATION};
use axum::http::{Extensions, StatusCode};
use axum::response::{IntoResponse, Response};

use super::assets;
use super::failed::PageResult;
use super::seal::Nonce;
use super::visit::Visit;

/// The layout around the content of a page.
pub(super) struct PageLayout<'a> {
    pub(super) title: &'a str,
    pub(super) nonce: &'a str,
    /// The form token of the session; `None` for pages without a session.
    pub(super) form_token: Option<&'a str>,
    /// Who has signed in; empty for pages without a session.
    pub(super) person: &'a str,
    /// Whether that person may change anything.
    pub(super) may_change: bool,
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

#[derive(Template)]
#[template(path = "message.html", config = "src/admin/askama.toml")]
struct MessagePage<'a> {
    layout: PageLayout<'a>,
    text: &'a str,
}

impl<'a> PageLayout<'a> {
    /// The entries of the navigation.
    pub(super) const NAVIGATION: [NavigationEntry; 11] = [
        NavigationEntry::new("/", "Overview"),
        NavigationEntry::new("/search", "Search"),
        NavigationEntry::new("/companies", "Companies"),
        NavigationEntry::new("/keys", "Keys"),
        NavigationEntry::new("/searches", "Saved searches"),
        NavigationEntry::new("/usage", "Usage"),
        NavigationEntry::new("/requests", "Requests"),
        NavigationEntry::new("/slow", "Slow queries"),
        NavigationEntry::new("/storage", "Storage"),
        NavigationEntry::new("/people", "People"),
        NavigationEntry::new("/audit", "Audit"),
    ];

    /// The layout of a page without a session.
    pub(super) fn open(nonce: &'a Nonce, title: &'a str) -> PageLayout<'a> {
        PageLayout {
            title,
            nonce: &nonce.0,
            form_token: None,
            person: "",
            may_change: false,
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
            person: &visit.person.name,
            may_change: visit.may_change(),
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

/// Renders a page.
pub(super) fn render(status: StatusCode, page: &impl Template) -> PageResult {
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
pub(super) fn see(path: &str) -> PageResult {
    Ok((StatusCode::SEE_OTHER, [(LOCATION, path.to_owned())]).into_response())
}

/// A page with just a message.
pub(super) fn message(nonce: &Nonce, status: StatusCode, title: &str, text: &str) -> PageResult {
    let layout = PageLayout::open(nonce, title);
    render(status, &MessagePage { layout, text })
}

/// The same for a page that needs a session.
pub(super) fn message_of(visit: &Visit, status: StatusCode, title: &str, text: &str) -> PageResult {
    let layout = PageLayout::of(visit, title);
    render(status, &MessagePage { layout, text })
}

/// There is no such page.
pub(super) async fn not_found(Extension(nonce): Extension<Nonce>) -> PageResult {
    let text = "There is no page at this address.";
    message(&nonce, StatusCode::NOT_FOUND, "Page not found", text)
}

/// The nonce of a request, which `seal` has inserted.
pub(super) fn nonce_of(extensions: &Extensions) -> Nonce {
    let nonce = extensions.get::<Nonce>().cloned();
    nonce.unwrap_or_else(|| Nonce(String::new()))
}
