//! The engine as a host sees it, compared with the plain meaning of its queries.

mod agreement;
#[cfg(feature = "cli")]
mod command;
#[cfg(all(feature = "cli", unix))]
mod files;
#[cfg(feature = "json")]
mod golden;
mod house;
mod layers;
mod metamorphic;
mod oracle;
mod parsing;
mod questions;
#[cfg(feature = "json")]
mod real_corpus;
#[cfg(feature = "json")]
mod stored;
