//! The HTTP API and the dashboard, metered exactly.
//!
//! A host mounts [`Service::router`] in a router of its own; `signaldex serve` runs it behind
//! [`Server`], whose accept loop is bounded against untrusted clients.
//!
//! ```text
//! server    sockets, time-outs, connections     limits for untrusted clients
//! endpoint  each endpoint, described once       read by router, OpenAPI, reference, tools and metrics
//! router    path, method, key, rate limit       -> one answer for every request
//! search, details, options, aggregates, changes, export   the endpoints
//! saved_searches   searches that the operator keeps for a key, and their matches
//! webhooks  sends matches to their URLs         at least once, charged at most once
//! mcp       the endpoints as tools for agents   one message per request or line
//! activity  recent requests                     for the dashboard, bounded
//! charging  units and quotas
//! state     charge + answer, one durable write  before the first byte is sent
//! admin     dashboard and search page           on a listener of their own, for operators
//! ```
//!
//! Queries run on the worker that read the request: a search takes microseconds, less than switching
//! threads. A query whose plan estimates milliseconds runs on a pool (`query_pool`), where keys take
//! turns. Concurrent charges share a commit.
//!
//! `SPECIFICATION.md` compares the service with its specification, rule by rule.

mod activity;
mod actor;
mod admin;
mod admin_host;
mod aggregates;
mod answer;
mod asking;
mod call;
mod changes;
mod charging;
mod companies;
mod compression;
pub mod corpus;
mod cors;
mod deadline;
mod deprecation;
mod details;
#[cfg(test)]
mod documents;
mod endpoint;
mod etag;
mod export;
mod fields;
mod follow_report;
mod following;
mod free_answers;
mod handled;
mod hints;
mod idempotency_keys;
mod instants;
mod keyring;
mod keys;
mod limits;
mod log_writer;
mod maintenance;
mod mcp;
mod metering;
mod metrics;
mod openapi;
mod options;
mod pace;
mod pages;
mod parameters;
mod people;
mod principal;
mod problem;
mod query_pool;
mod reading;
mod recording;
mod reference;
mod replay;
mod request;
mod request_log;
mod request_target;
mod router;
mod saved_searches;
mod search;
mod selling;
mod server;
mod service;
mod slow;
mod state;
mod stream;
mod time_histogram;
mod unsent;
pub mod webhooks;
mod words;

pub use admin::{Admin, AdminSettings, AdminToken, serve_admin};
pub use cors::{AllowedOrigin, InvalidOrigin};
pub use deprecation::{Deprecation, TooShortNotice};
pub use follow_report::Following;
pub use keys::{ApiKey, FormerSecret, KeyRecord, NewKey, Scope, Scopes};
pub use limits::{Limits, ServerLimits};
pub use log_writer::LogWriter;
pub use maintenance::Maintenance;
pub use mcp::serve_mcp;
pub use metering::{Counter, Counts, Month, Quotas};
pub use openapi::document as openapi_document;
pub use people::{PersonRecord, Role};
pub use principal::Principal;
pub use saved_searches::{NewSearch, SearchRecord, SearchSettings};
pub use server::{Server, serve_metrics};
pub use service::{Service, Today};
pub use state::{AuditEntry, State, StateError, UsageLine};

/// The README's examples, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ServerReadme;
