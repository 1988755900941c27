//! The dashboard and the search page, on a listener that untrusted clients must not be able to reach.
//!
//! ```text
//! seal      headers and a nonce for every answer
//! guard     session, forged forms                -> a session, for every page that needs one
//! sign_in   exchanges the admin token for a session
//! overview  keys  usage  requests                pages over the state and recent activity
//! slow  storage                                  pages over the index
//! search    every filter, results, records       searches the index directly, unmetered
//! layout    shared layout                        templates/ and assets/, embedded
//! ```
//!
//! Pages are rendered on the threads for blocking work, so that they never delay a client's request.

mod assets;
mod figures;
mod form;
mod guard;
mod key_choices;
mod keys;
mod layout;
mod overview;
mod requests;
mod seal;
mod search;
mod session;
mod sign_in;
mod slow;
mod storage;
mod token;
mod usage;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Extension, Router, middleware};
use tokio::net::TcpListener;

pub use token::AdminToken;

pub(crate) use token::TokenHash;

use self::guard::Visit;
use self::layout::Failed;
use self::session::Sessions;
use super::admin_host;
use super::server::{metrics_routes, serve_routes};
use super::service::Service;

/// Settings of the dashboard.
#[derive(Clone, Debug)]
pub struct AdminSettings {
    /// The public URL of the API, for command lines to copy.
    pub public_url: String,
    /// How long a session lasts.
    pub session_time: Duration,
}

impl Default for AdminSettings {
    /// The default address of `signaldex serve`, and sessions of a working day.
    fn default() -> AdminSettings {
        AdminSettings {
            public_url: "http://127.0.0.1:8080".to_owned(),
            session_time: Duration::from_secs(12 * 60 * 60),
        }
    }
}

/// The dashboard and the search page of a service. Clones share everything.
#[derive(Clone)]
pub struct Admin(Arc<Shared>);

struct Shared {
    service: Service,
    settings: AdminSettings,
    sessions: Sessions,
}

/// A page, or the failure to render it.
type Answer = Result<Response, Failed>;

/// Renders a page for a session.
type PageMaker = fn(&Admin, &Visit) -> Answer;

/// A page being rendered.
type PageFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl Admin {
    /// Creates the dashboard of a service. Users sign in with the admin token of the service's
    /// [`State`](super::State), which [`first_admin_token`](super::State::first_admin_token) creates.
    pub fn new(service: Service, settings: AdminSettings) -> Admin {
        Admin(Arc::new(Shared {
            sessions: Sessions::new(settings.session_time),
            service,
            settings,
        }))
    }

    /// The routes below `/`: pages, assets, and `/metrics`. They answer to any `Host`; a host that mounts them
    /// decides which it serves.
    pub fn router(&self) -> Router {
        let guarded = Router::new()
            .route("/", get(page(overview::show)))
            .route("/search", get(page(search::show)))
            .route("/search.json", get(page(search::as_json)))
            .route("/search.csv", get(page(search::as_csv)))
            .route("/search.ndjson", get(page(search::as_ndjson)))
            .route("/search/new", get(page(search::show_news)))
            .route("/signals/{id}", get(page(search::signal)))
            .route("/companies/{slug}", get(page(search::company)))
            .route("/keys", get(page(keys::list)).post(page(keys::create)))
            .route("/keys/edit", get(page(keys::edit)).post(page(keys::save)))
            .route("/keys/rotate", post(page(keys::rotate)))
            .route("/keys/revoke", post(page(keys::revoke)))
            .route("/usage", get(page(usage::show)))
            .route("/usage.csv", get(page(usage::download)))
            .route("/requests.csv", get(page(usage::download_requests)))
            .route("/requests", get(page(requests::show)))
            .route("/slow", get(page(slow::show)))
            .route("/storage", get(page(storage::show)))
            .route("/sign-out", post(page(sign_in::leave)))
            .route_layer(middleware::from_fn_with_state(self.clone(), guard::admit));
        let open = Router::new()
            .route("/sign-in", get(sign_in::ask).post(sign_in::enter))
            .route("/assets/{name}", get(assets::answer))
            .fallback(layout::not_found);
        guarded
            .merge(open)
            .layer(middleware::from_fn_with_state(self.clone(), seal::seal))
            .with_state(self.clone())
            .merge(metrics_routes(self.0.service.clone()))
    }
}

/// Serves the dashboard, the search page and `/metrics`, until the future is dropped. Requests to foreign hosts
/// are answered 403, see [`Service::allow_admin_hosts`].
pub async fn serve_admin(listener: TcpListener, admin: Admin) {
    let routes = admin_host::guarded(admin.router(), admin.0.service.clone());
    serve_routes(listener, routes).await;
}

/// A handler that renders a page on a thread for blocking work.
fn page(make: PageMaker) -> impl Fn(State<Admin>, Extension<Arc<Visit>>) -> PageFuture + Clone {
    move |State(admin), Extension(visit)| {
        Box::pin(async move {
            let make = move || make(&admin, &visit);
            let made = tokio::task::spawn_blocking(make).await;
            made.map_err(Failed::from)?
        })
    }
}
