//! The engine between nodes: standing plans of datafusion-distributed, whose names no other module uses.
//!
//! On each peer a node keeps one distributed plan for as long as the connection lives. Its only leaf is [`FeedExec`](feed):
//! questions reach it as the engine's work units, and answers are rows of the plan's stream. So a question costs no
//! plan, no session and no stream of its own.
//!
//! ```text
//! peer     the plan on a peer: its questions under way, what is lost when its stream ends
//! feed     the leaf, its codec, and the refusal of other plans
//! server   the worker's port: sessions, limits, TLS      requests   what is checked before the engine reads it
//! unit     a question as a work unit         rows   answers as record batches
//! ```

mod feed;
mod peer;
mod requests;
mod rows;
mod server;
mod unit;

pub(super) use peer::{Peer, PeerFailure};
pub(super) use server::serve;

/// The release of the engine. Standing plans run between equal major ones.
pub(super) const ENGINE_RELEASE: &str = "4.0.0";

/// The version of questions and answers.
pub(super) const MESSAGES_VERSION: &str = "1";
