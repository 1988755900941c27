//! The `Host` of requests to the admin address.
//!
//! A web page can have its own name resolve to this machine and then read what is served there, across the
//! same-origin policy (DNS rebinding). Its requests still carry that name, so only addresses, `localhost` and
//! names that the operator has given are answered.

use std::net::{IpAddr, Ipv6Addr};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::HOST;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};

use super::service::Service;
use signaldex::text::quoted;

/// Adds the check to routes. A request without the header comes from no browser, and passes.
pub(super) fn guarded(routes: Router, service: Service) -> Router {
    routes.layer(middleware::from_fn_with_state(service, check))
}

async fn check(State(service): State<Service>, request: Request, next: Next) -> Response {
    let names = service.0.admin_hosts.get().map_or(&[][..], Vec::as_slice);
    let mut hosts = request.headers().get_all(HOST).iter();
    let foreign = hosts.find(|host| !host.to_str().is_ok_and(|host| is_known(host, names)));
    let Some(host) = foreign else {
        return next.run(request).await;
    };
    let text = format!(
        "The host {} is not allowed at this address: use the IP address or localhost, or allow the host with \
         --admin-host.\n",
        quoted(&String::from_utf8_lossy(host.as_bytes()))
    );
    (StatusCode::FORBIDDEN, text).into_response()
}

/// Whether a `Host`, with or without a port, is an address literal, `localhost` or one of the names.
fn is_known(host: &str, names: &[String]) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split_once(']').is_some_and(|(address, port)| {
            address.parse::<Ipv6Addr>().is_ok() && (port.is_empty() || is_port(port))
        });
    }
    let (name, port) = host.split_at(host.find(':').unwrap_or(host.len()));
    let is_name = |known: &str| known.eq_ignore_ascii_case(name);
    (port.is_empty() || is_port(port))
        && (name.parse::<IpAddr>().is_ok()
            || is_name("localhost")
            || names.iter().any(|known| is_name(known)))
}

/// Whether a text is a colon and a number.
fn is_port(text: &str) -> bool {
    text.strip_prefix(':')
        .is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}
