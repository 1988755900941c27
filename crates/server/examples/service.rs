//! A host with a page and a login of its own, and the service below `/signals` for users who are signed in.
//!
//! ```sh
//! cargo run -p signaldex-server --example service -- 127.0.0.1:8085 host.db
//! curl -c jar -d user=ada http://127.0.0.1:8085/login
//! curl -b jar 'http://127.0.0.1:8085/signals/api/v1/signals?q=%22series+a%22&limit=1'
//! ```

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use signaldex::sample;
use signaldex_server::{Limits, Principal, Server, ServerLimits, Service, Today};

/// The users by the tokens of their sessions.
type Sessions = Arc<Mutex<HashMap<String, String>>>;

/// Begins a session. A real host checks a password first, and draws the token at random.
async fn login(State(sessions): State<Sessions>, form: String) -> Response {
    let Some(user) = form.strip_prefix("user=").filter(|user| !user.is_empty()) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let mut sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
    let token = format!("session-{}", sessions.len());
    let cookie = format!("session={token}; HttpOnly; SameSite=Strict; Path=/");
    sessions.insert(token, user.to_owned());
    ([(header::SET_COOKIE, cookie)], "welcome\n").into_response()
}

fn user_of(headers: &HeaderMap, sessions: &Sessions) -> Option<String> {
    let cookies = headers.get(header::COOKIE)?.to_str().ok()?;
    let token = cookies.strip_prefix("session=")?;
    let sessions = sessions.lock().unwrap_or_else(PoisonError::into_inner);
    sessions.get(token).cloned()
}

/// Tells the service who asks. Requests without a session need an API key of the state file.
async fn identify(State(sessions): State<Sessions>, mut request: Request, next: Next) -> Response {
    if let Some(user) = user_of(request.headers(), &sessions) {
        let principal = Principal::new(user).rate(10, 20);
        request.extensions_mut().insert(principal);
    }
    next.run(request).await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let address = words.next().unwrap_or("127.0.0.1:8085".into());
    let state = signaldex_server::State::open(words.next().unwrap_or("host.db".into()))?;
    let (index, today) = (sample::index()?, Today::Fixed(sample::AS_OF));
    let service = Service::new(index, state, today, Limits::default())?;
    service.set_sign_in("Cookie: session=");

    let sessions = Sessions::default();
    let identified = from_fn_with_state(sessions.clone(), identify);
    let routes = Router::new()
        .route("/", get(async || "The signals are below /signals.\n"))
        .route("/login", post(login))
        .with_state(sessions)
        .nest("/signals", service.router().layer(identified));

    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    // Any server of axum's routers will do. This one maintains the service; with another, keep the guard of
    // `service.maintain()` until it ends.
    let stop = async { tokio::signal::ctrl_c().await.unwrap_or(()) };
    let server = Server::new(service, ServerLimits::default()).routes(routes);
    server.run(listener, stop).await?;
    Ok(())
}
