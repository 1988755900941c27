//! The service over real sockets: the specification rule by rule, hostile bytes, and what is charged.
//!
//! Every test starts a server of its own over the sample corpus and checks at its end that the
//! state holds exactly what its answers said was charged.

mod activity;
mod admin_hosts;
mod aggregates;
mod changes;
mod charges;
mod client;
mod companies;
mod compression;
mod console;
mod contract;
mod cors;
mod dashboard;
mod errors;
mod export;
mod first_uses;
mod fixture;
mod following;
mod guide;
mod hints;
mod histories;
mod host;
mod hostile;
mod index_faults;
mod index_files;
mod kept;
mod key_filters;
mod key_pages;
mod large_pages;
mod large_signals;
mod mcp;
mod metering;
mod metrics;
mod mistakes;
mod named_export;
mod openapi;
mod orders;
mod overload;
mod overwritten;
mod people;
mod reference;
mod saved_searches;
mod search_pages;
#[path = "../../../../tests/engine/search_tables.rs"]
mod search_tables;
mod searching_as_key;
mod table_searches;
mod unsent;
mod versions;
