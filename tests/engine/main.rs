//! The engine as a host sees it, compared with the plain meaning of its queries.

mod agreement;
mod damage;
mod metamorphic;
mod oracle;
mod questions;
#[cfg(feature = "json")]
mod real_corpus;
