//! Access control for the pages that need a session.
//!
//! Invariant: no such page is rendered without a session, and no form changes anything unless it carries
//! the session's token, comes from the same origin, and the person's role allows it.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{COOKIE, HOST, HeaderMap, LOCATION, ORIGIN};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::time::Instant;

use super::dashboard::Admin;
use super::failed::{Failed, PageResult};
use super::figures;
use super::form::{FORM_BYTES_MAX, FormData, FormUnread};
use super::layout;
use super::seal::Nonce;
use super::session::Session;
use super::token::TokenHash;
use super::visit::Visit;
use crate::people::{PersonRecord, Role};
use signaldex::query::limits::{KEY_FILTER_BYTES_MAX, KEY_FILTERS_MAX};

/// The name of the session's cookie.
pub(super) const COOKIE_NAME: &str = "signaldex_session";
/// The form that viewers may submit too: it changes nothing but their session.
const SIGN_OUT: &str = "/sign-out";
/// The field of a form that carries the session's token.
pub(super) const FORM_TOKEN: &str = "form_token";

/// Admits requests with a session, and forms that belong to it.
pub(super) async fn admit(State(admin): State<Admin>, request: Request, next: Next) -> Response {
    match visit(&admin, request).await {
        Ok(request) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

/// Adds the session to a request, or returns the response that refuses it.
async fn visit(admin: &Admin, request: Request) -> Result<Request, PageResult> {
    let (parts, body) = request.into_parts();
    let nonce = layout::nonce_of(&parts.extensions);
    let is_reading = parts.method == Method::GET || parts.method == Method::HEAD;
    let (session, person) = match session_of(admin, &parts.headers).await {
        Ok(Some(signed_in)) => signed_in,
        Ok(None) if is_reading => return Err(Ok(to_sign_in(&parts))),
        Ok(None) => return Err(refuse(&nonce, "Your session has ended; sign in again.")),
        Err(error) => return Err(Err(error)),
    };
    let form = if is_reading {
        FormData::default()
    } else {
        own_form(&parts, body, &session)
            .await
            .map_err(|(status, reason)| refuse_with(&nonce, status, &reason))?
    };
    let is_change = !is_reading && parts.uri.path() != SIGN_OUT;
    if is_change && person.role != Role::Admin {
        let reason = "Your role is viewer, which sees all pages and changes nothing. Ask an admin for the change.";
        return Err(refuse(&nonce, reason));
    }
    let visit = Visit {
        session,
        person,
        nonce: nonce.0,
        query: parts.uri.query().unwrap_or_default().to_owned(),
        form,
        parts: parts.clone(),
    };
    let mut request = Request::from_parts(parts, axum::body::Body::empty());
    request.extensions_mut().insert(Arc::new(visit));
    Ok(request)
}

/// Reads a form and checks that it belongs to the session.
async fn own_form(
    parts: &Parts,
    body: axum::body::Body,
    session: &Session,
) -> Result<FormData, (StatusCode, String)> {
    let forbidden = |reason: &str| (StatusCode::FORBIDDEN, reason.to_owned());
    if !is_same_origin(&parts.headers) {
        return Err(forbidden("The form was submitted from another site."));
    }
    let form = FormData::read(body, FORM_BYTES_MAX).await;
    let form = form.map_err(unread)?;
    if session.has_form_token(form.value(FORM_TOKEN)) {
        Ok(form)
    } else {
        let reason = "The form does not belong to this session. Reload the page and try again.";
        Err(forbidden(reason))
    }
}

/// Why a form was not read, for its sender.
fn unread(reason: FormUnread) -> (StatusCode, String) {
    match reason {
        FormUnread::TooLong => (
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "The form is too long: {} bytes are allowed. A key has at most {KEY_FILTERS_MAX} filters and \
                 {KEY_FILTERS_MAX} exceptions, of {} bytes each. Nothing was changed.",
                figures::grouped(FORM_BYTES_MAX as u64),
                figures::grouped(KEY_FILTER_BYTES_MAX as u64),
            ),
        ),
        FormUnread::TooLate => (
            StatusCode::REQUEST_TIMEOUT,
            "The form did not arrive in time. Nothing was changed; send it again.".to_owned(),
        ),
    }
}

/// Whether a form comes from the same origin. Browsers always send the origin of a form; other clients
/// have no session that another site could misuse.
pub(super) fn is_same_origin(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(ORIGIN) else {
        return true;
    };
    let site = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"));
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    site.zip(host).is_some_and(|((_, site), host)| site == host)
}

/// The value of the session's cookie.
pub(super) fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter();
    cookies
        .filter_map(|cookies| cookies.to_str().ok())
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .find_map(|(name, value)| (name == COOKIE_NAME).then_some(value))
}

/// The session of a request, and the person whose token has started it. Ends the session of a token that is no
/// person's any more.
pub(super) async fn session_of(
    admin: &Admin,
    headers: &HeaderMap,
) -> Result<Option<(Arc<Session>, PersonRecord)>, Failed> {
    let Some(cookie) = cookie(headers) else {
        return Ok(None);
    };
    let Some(session) = admin.0.sessions.find(cookie) else {
        return Ok(None);
    };
    let person = person_of(admin, session.token).await?;
    if person.is_none() {
        admin.0.sessions.end(cookie);
    }
    Ok(person.map(|person| (session, person)))
}

/// The person of a token, read as for a request of a client.
pub(super) async fn person_of(
    admin: &Admin,
    token: TokenHash,
) -> Result<Option<PersonRecord>, Failed> {
    let service = &admin.0.service.0;
    let until = Instant::now() + service.limits.request_time;
    let person = service.read(until, move |service| service.state.person_of(token));
    Ok(person.await?)
}

fn refuse(nonce: &Nonce, reason: &str) -> PageResult {
    refuse_with(nonce, StatusCode::FORBIDDEN, reason)
}

fn refuse_with(nonce: &Nonce, status: StatusCode, reason: &str) -> PageResult {
    layout::message(nonce, status, "Request refused", reason)
}

/// Redirects to the sign-in, which redirects back.
fn to_sign_in(parts: &Parts) -> Response {
    let wanted = parts
        .uri
        .path_and_query()
        .map_or("/", |wanted| wanted.as_str());
    let wanted = utf8_percent_encode(wanted, NON_ALPHANUMERIC);
    let reason = match cookie(&parts.headers) {
        Some(_) => "ended",
        None => "none",
    };
    let target = format!("/sign-in?session={reason}&next={wanted}");
    (StatusCode::SEE_OTHER, [(LOCATION, target)]).into_response()
}

#[cfg(test)]
mod tests;
