//! The Model Context Protocol: the endpoints as tools for agents, at `POST /mcp` and over standard
//! input and output.
//!
//! A tool call uses the same endpoints as the API. Its arguments become an API request, which the
//! endpoint answers under the caller's key, with the same scopes, limits and charges; what it found is then
//! shortened for a model.
//!
//! ```text
//! message    JSON-RPC in and out
//! protocol   revisions, headers, the list of tools
//! tools      names, schemas, prices                from the table of parameters
//! answers    schemas of answers                    from the table of fields
//! arguments  arguments -> request of the endpoint
//! post       POST /mcp                             keys, limits, one answer for each message
//! stdio      lines over an index of this process   unmetered
//! compact    what the endpoint found -> short answer
//! outcome    answer or problem -> result of a call
//! ```
//!
//! docs/decisions/mcp.md says why the official crate, `rmcp`, is not used.

mod answers;
mod arguments;
mod compact;
mod conditions;
mod message;
mod outcome;
mod post;
mod protocol;
mod stdio;
mod tools;

pub(super) use post::answer_post;
pub use stdio::serve_mcp;
