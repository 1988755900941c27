//! Signing in with the token of a person, and signing out.

use std::time::Duration;

use askama::Template;
use axum::Extension;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{HeaderMap, LOCATION, SET_COOKIE};
use axum::response::{IntoResponse, Response};

use super::dashboard::Admin;
use super::failed::PageResult;
use super::form::{FormData, SIGN_IN_BYTES_MAX};
use super::guard::{self, COOKIE_NAME};
use super::layout::{self, PageLayout};
use super::seal::Nonce;
use super::token::TokenHash;
use super::visit::Visit;
use crate::request;

/// The page after signing in, by default.
const START: &str = "/";

#[derive(Template)]
#[template(path = "sign_in.html", config = "src/admin/askama.toml")]
struct SignIn<'a> {
    layout: PageLayout<'a>,
    notice: &'a str,
    error: &'a str,
    next: &'a str,
}

/// The sign-in form.
pub(super) async fn ask(
    State(admin): State<Admin>,
    Extension(nonce): Extension<Nonce>,
    request: Request,
) -> PageResult {
    let form = FormData::parse(request.uri().query().unwrap_or_default().as_bytes());
    let next = own_path(form.value("next"));
    if guard::session_of(&admin, request.headers())
        .await?
        .is_some()
    {
        return Ok(to(next));
    }
    let notice = match form.value("session") {
        "ended" => "Your session has ended. Sign in again.",
        _ => "",
    };
    show(&nonce, StatusCode::OK, notice, "", next)
}

/// Starts a session if the token is correct.
pub(super) async fn enter(
    State(admin): State<Admin>,
    Extension(nonce): Extension<Nonce>,
    request: Request,
) -> PageResult {
    let (parts, body) = request.into_parts();
    let form = if guard::is_same_origin(&parts.headers) {
        FormData::read(body, SIGN_IN_BYTES_MAX)
            .await
            .unwrap_or_default()
    } else {
        FormData::default()
    };
    let next = own_path(form.value("next"));
    let shown = TokenHash::of(form.value("token"));
    let Some(person) = guard::person_of(&admin, shown).await? else {
        tracing::warn!("sign-in refused: wrong token");
        let error = "Wrong token.";
        return show(&nonce, StatusCode::UNAUTHORIZED, "", error, next);
    };
    note(&admin, shown).await;
    let sessions = &admin.0.sessions;
    let cookie = set_cookie(&sessions.begin(shown)?, sessions.lifetime(), &parts.headers);
    tracing::info!(person = person.name, "signed in to the dashboard");
    Ok(([(SET_COOKIE, cookie)], to(next)).into_response())
}

/// Notes the sign-in with the person. Where the state cannot be written, people can still look at it.
async fn note(admin: &Admin, token: TokenHash) {
    let admin = admin.clone();
    let note = move || admin.0.service.0.state.note_sign_in(token);
    let noted = tokio::task::spawn_blocking(note).await;
    if let Ok(Err(error)) = noted {
        tracing::warn!(error = format_args!("{error:#}"), "a sign-in is not noted");
    }
}

/// Ends the session.
pub(super) fn leave(admin: &Admin, visit: &Visit) -> PageResult {
    let headers = &visit.parts.headers;
    if let Some(cookie) = guard::cookie(headers) {
        admin.0.sessions.end(cookie);
    }
    let cookie = set_cookie("", Duration::ZERO, headers);
    Ok(([(SET_COOKIE, cookie)], to("/sign-in")).into_response())
}

fn show(nonce: &Nonce, status: StatusCode, notice: &str, error: &str, next: &str) -> PageResult {
    let layout = PageLayout::open(nonce, "Sign in");
    let page = SignIn {
        layout,
        notice,
        error,
        next,
    };
    layout::render(status, &page)
}

fn to(path: &str) -> Response {
    (StatusCode::SEE_OTHER, [(LOCATION, path.to_owned())]).into_response()
}

/// Restricts a redirect to paths on this listener.
fn own_path(wanted: &str) -> &str {
    let is_own = wanted.starts_with('/')
        && !wanted.starts_with("//")
        && wanted
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_own { wanted } else { START }
}

/// The listener uses plain HTTP, where browsers would not return a `Secure` cookie, so it is set only if a
/// TLS proxy announces itself. A client that forges that header harms only itself.
fn set_cookie(value: &str, lifetime: Duration, headers: &HeaderMap) -> String {
    let seconds = lifetime.as_secs();
    let secure = if request::is_https(headers) {
        "; Secure"
    } else {
        ""
    };
    format!("{COOKIE_NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

#[cfg(test)]
mod tests;
