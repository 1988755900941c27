//! The Model Context Protocol: the endpoints as tools for agents, at `POST /mcp` and over standard
//! input and output.
//!
//! A tool call is another front of the same endpoints. Its arguments become the request that a client
//! of the API would send, the endpoint answers that request under the caller's key, with the same scopes,
//! limits and charges, and the body is shortened for a model to read.
//!
//! ```text
//! message    JSON-RPC in and out
//! protocol   revisions, headers, the list of tools
//! tools      names, schemas, prices                from the table of parameters
//! arguments  arguments -> request of the endpoint
//! post       POST /mcp                             keys, limits, one answer for each message
//! stdio      lines over an index of this process   unmetered
//! compact    body of the endpoint -> short answer
//! outcome    answer or problem -> result of a call
//! ```
//!
//! The official crate, `rmcp`, is not used. What is served here is three methods and a handshake, without
//! state, streams or sessions. The crate (3.11, 61,000 lines) would bring 28 crates into a build of 156 and
//! its own types between endpoint and answer, and would leave arguments, prices and errors to this module.

mod arguments;
mod compact;
mod message;
mod outcome;
mod post;
mod protocol;
mod stdio;
mod tools;

pub(super) use post::answer;
pub use stdio::serve_mcp;
