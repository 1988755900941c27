//! The HTTP API and the dashboard, metered exactly.
//!
//! A host mounts [`Service::router`] in a router of its own; `signaldex serve` runs it behind
//! [`Server`], whose accept loop is bounded against untrusted clients.
//!
//! ```text
//! server    sockets, time-outs, connections     bounded against untrusted clients
//! router    path, method, key, rate limit       -> one answer for every request
//! search, details, options, changes, export     what is asked of the corpus
//! mcp       the same as tools for agents        one message a request, or a line
//! activity  what was answered lately           for the dashboard, bounded
//! charging  what an answer costs                within what a quota leaves
//! state     charge + answer, one durable write  before the first byte leaves
//! admin     dashboard and search page           on a listener of their own, for operators
//! ```
//!
//! Index work runs on the worker that read the request: a search takes microseconds, less than
//! handing it to another thread and back. A query that its plan expects to take milliseconds runs on
//! a pool (`query_pool`), where keys take turns. Charges wait for the commit they share.
//!
//! The comparison with the specification, rule by rule, is `SPECIFICATION.md` at the root.

mod activity;
mod admin;
mod answer;
mod asking;
mod call;
mod changes;
mod charging;
mod cors;
mod deadline;
mod details;
mod etag;
mod export;
mod following;
mod free_answers;
mod keyring;
mod keys;
mod limits;
mod log_writer;
mod mcp;
mod metering;
mod metrics;
mod openapi;
mod options;
mod pages;
mod principal;
mod problem;
mod query_pool;
mod reference;
mod replay;
mod request;
mod request_target;
mod router;
mod search;
mod server;
mod service;
mod slow;
mod state;
mod stream;

pub use admin::{Admin, AdminSettings, AdminToken, serve_admin};
pub use cors::{AllowedOrigin, InvalidOrigin};
pub use following::Following;
pub use keys::{ApiKey, KeyRecord, NewKey, Scope, Scopes};
pub use limits::{Limits, ServerLimits};
pub use log_writer::LogWriter;
pub use mcp::serve_mcp;
pub use metering::{Counter, Counts, Month, Quotas};
pub use openapi::document as openapi_document;
pub use principal::Principal;
pub use server::{Server, serve_metrics};
pub use service::{Service, Today};
pub use state::{State, StateError, UsageLine};
