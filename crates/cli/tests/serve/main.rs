//! `signaldex serve` and the commands for its keys and usage, as a person or a supervisor runs them.

mod addresses;
mod bounds;
mod clock;
mod damaged_files;
mod deployment;
mod documents;
#[cfg(target_os = "linux")]
mod headers;
mod health;
mod key_commands;
mod logs;
#[cfg(target_os = "linux")]
mod memory;
mod operators;
#[cfg(target_os = "linux")]
mod out_of_memory;
mod people;
mod program;
mod replaced;
mod search_commands;
#[cfg(target_os = "linux")]
mod slow_readers;
#[cfg(target_os = "linux")]
mod stalled;

#[path = "../../../server/tests/service/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "../../../server/tests/service/console.rs"]
mod console;
#[path = "../../../server/tests/service/index_files.rs"]
mod index_files;
#[path = "../../../server/tests/service/large_signals.rs"]
#[allow(dead_code)]
mod large_signals;
