//! The engine between nodes: standing plans of datafusion-distributed, whose names no other module uses.
//!
//! On each peer a node keeps one distributed plan for as long as the connection lives. Its only leaf is [`FeedExec`](feed):
//! questions reach it as the engine's work units, and answers are rows of the plan's stream. So a question costs no
//! plan, no session and no stream of its own.
//!
//! For a scan of a statement of SQL it runs one more plan, over a connection of its own, whose only leaf is
//! [`ScanExec`](scan); nodes take it if they answer SQL themselves.
//!
//! ```text
//! peer     the plan on a peer: its questions under way, what is lost when its stream ends     scan   the leaf of SQL
//! feed     the leaf, its codec, and the refusal of other plans
//! server   the worker's port: sessions, limits, TLS      requests   what is checked before the engine reads it
//! unit     a question as a work unit         rows   answers as record batches     leaf   what both leaves have in common
//! ```

mod feed;
mod leaf;
mod peer;
mod requests;
mod rows;
mod scan;
mod server;
mod unit;

pub(super) use peer::{Peer, PeerFailure};
pub(super) use scan::ScanMessage;
pub(super) use server::serve;
#[cfg(test)]
pub(super) use server::{Handover, answer};

/// The release of the engine. Standing plans run between equal major ones.
pub(super) const ENGINE_RELEASE: &str = "4.0.0";

/// The release of this program. Statements of SQL run between equal ones.
pub(super) const OWN_RELEASE: &str = env!("CARGO_PKG_VERSION");

/// The version of questions and answers.
pub(super) const MESSAGES_VERSION: &str = "1";
