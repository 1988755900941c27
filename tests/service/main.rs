//! The service over real sockets: the specification rule by rule, hostile bytes, and what is charged.
//!
//! Every test starts a server of its own over the sample corpus and checks at its end that the
//! state holds exactly what its answers said was charged.

mod activity;
mod admin_hosts;
#[cfg(feature = "cli")]
mod bounds;
mod changes;
mod charges;
mod client;
#[cfg(feature = "cli")]
mod clock;
mod contract;
mod cors;
mod dashboard;
#[cfg(feature = "cli")]
mod deployment;
#[cfg(feature = "cli")]
mod documents;
mod errors;
mod export;
mod fixture;
mod following;
mod guide;
mod histories;
mod host;
mod hostile;
mod index_faults;
mod kept;
#[cfg(feature = "cli")]
mod key_commands;
mod key_pages;
mod large_pages;
#[cfg(feature = "cli")]
mod logs;
mod mcp;
#[cfg(all(target_os = "linux", feature = "cli"))]
mod memory;
mod metering;
mod metrics;
mod mistakes;
mod named_export;
mod openapi;
#[cfg(feature = "cli")]
mod operators;
#[cfg(all(feature = "cli", target_os = "linux"))]
mod out_of_memory;
mod overload;
mod overwritten;
#[cfg(feature = "cli")]
mod program;
mod reference;
#[cfg(feature = "cli")]
mod replaced;
#[cfg(all(target_os = "linux", feature = "cli"))]
mod slow_readers;
#[cfg(all(target_os = "linux", feature = "cli"))]
mod stalled;
mod state_layouts;
mod unsent;
