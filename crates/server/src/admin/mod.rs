//! The dashboard and the search page, on a listener that untrusted clients must not be able to reach.
//!
//! ```text
//! seal      headers and a nonce for every answer
//! guard     session, role, forged forms          -> a person, for every page that needs one
//! sign_in   exchanges the token of a person for a session
//! overview  keys  usage  requests                pages over the state and recent activity
//! people  audit                                  who uses the dashboard, and who changed what
//! series                                         the service over time, on the overview and each key's page
//! searches                                       saved searches of keys, and their webhooks
//! slow  storage                                  pages over the index
//! search    every filter, results, records       searches the index directly, unmetered
//! layout    shared layout                        templates/ and assets/, embedded
//! ```
//!
//! Pages are rendered on the threads for blocking work, so that they never delay a client's request.

mod assets;
mod audit;
mod dashboard;
mod failed;
mod figures;
mod form;
mod guard;
mod key_choices;
mod keys;
mod layout;
mod overlap;
mod overview;
mod people;
mod requests;
mod seal;
mod search;
mod searches;
mod series;
mod session;
mod sign_in;
mod slow;
mod storage;
mod text_fields;
mod token;
mod usage;
mod visit;

use std::pin::Pin;
use std::sync::Arc;

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Extension, Router, middleware};
use tokio::net::TcpListener;

pub use dashboard::{Admin, AdminSettings};
pub use token::AdminToken;

pub(crate) use token::TokenHash;

use self::failed::{Failed, PageResult};
use self::visit::Visit;
use super::admin_host;
use super::server::{metrics_routes, serve_routes};

/// Renders a page for a session.
type PageMaker = fn(&Admin, &Visit) -> PageResult;

/// A page being rendered.
type PageFuture = Pin<Box<dyn Future<Output = PageResult> + Send>>;

impl Admin {
    /// The routes below `/`: pages, assets, and `/metrics`. They answer to any `Host`; a host that mounts them
    /// decides which it serves.
    pub fn router(&self) -> Router {
        let guarded = Router::new()
            .route("/", get(page(overview::show)))
            .route("/search", get(page(search::show)))
            .route("/search.json", get(page(search::as_json)))
            .route("/search.csv", get(page(search::as_csv)))
            .route("/search.ndjson", get(page(search::as_ndjson)))
            .route("/search/figures", get(page(search::show_figures)))
            .route("/search/new", get(page(search::show_news)))
            .route("/signals/{id}", get(page(search::signal)))
            .route("/companies", get(page(search::show_companies)))
            .route("/companies/{slug}", get(page(search::company)))
            .route("/keys", get(page(keys::list)).post(page(keys::create)))
            .route("/keys/edit", get(page(keys::edit)).post(page(keys::save)))
            .route("/keys/rotate", post(page(keys::rotate)))
            .route("/keys/revoke", post(page(keys::revoke)))
            .route(
                "/searches",
                get(page(searches::list)).post(page(searches::create)),
            )
            .route(
                "/searches/edit",
                get(page(searches::show)).post(page(searches::save)),
            )
            .route("/searches/delete", post(page(searches::delete)))
            .route("/searches/pause", post(page(searches::pause)))
            .route("/searches/resume", post(page(searches::resume)))
            .route("/searches/rotate", post(page(searches::rotate)))
            // The answer to a test stands at the address of its form, and is gone when the page is loaded again.
            .route(
                "/searches/test",
                get(page(searches::show)).post(page(searches::test)),
            )
            .route("/usage", get(page(usage::show)))
            .route("/usage.csv", get(page(usage::download)))
            .route("/requests.csv", get(page(usage::download_requests)))
            .route("/requests", get(page(requests::show)))
            .route("/series.json", get(page(series::as_json)))
            .route("/slow", get(page(slow::show)))
            .route("/storage", get(page(storage::show)))
            .route("/people", get(page(people::list)).post(page(people::add)))
            .route(
                "/people/edit",
                get(page(people::edit)).post(page(people::set_role)),
            )
            .route("/people/revoke", post(page(people::revoke)))
            .route("/audit", get(page(audit::show)))
            .route("/sign-out", post(page(sign_in::leave)))
            .route_layer(middleware::from_fn_with_state(self.clone(), guard::admit));
        let open = Router::new()
            .route("/sign-in", get(sign_in::ask).post(sign_in::enter))
            .route("/assets/{name}", get(assets::asset))
            .fallback(layout::not_found);
        guarded
            .merge(open)
            .layer(middleware::from_fn_with_state(self.clone(), seal::seal))
            .with_state(self.clone())
            .merge(metrics_routes(self.0.service.clone()))
    }
}

/// Serves the dashboard, the search page and `/metrics`, until the future is dropped. Requests to foreign hosts
/// are answered 403, see [`Service::allow_admin_hosts`](crate::Service::allow_admin_hosts).
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
