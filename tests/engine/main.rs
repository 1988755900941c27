//! The engine as a host sees it, compared with the plain meaning of its queries.

mod agreement;
#[cfg(feature = "json")]
mod alerts;
#[cfg(feature = "local")]
mod changes;
mod command;
mod explain;
#[cfg(all(feature = "local", unix))]
mod files;
mod format;
#[cfg(feature = "json")]
mod golden;
mod house;
mod layers;
mod library;
mod metamorphic;
#[cfg(feature = "cli")]
mod mistakes;
mod oracle;
mod parsing;
mod questions;
#[path = "../../src/fixtures/random.rs"]
mod random;
#[cfg(feature = "json")]
mod real_corpus;
#[cfg(feature = "local")]
mod records;
#[cfg(feature = "local")]
mod saved;
#[cfg(feature = "json")]
mod stored;
#[cfg(all(feature = "local", unix))]
mod terminal;
