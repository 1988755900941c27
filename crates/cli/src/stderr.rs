//! Standard error, which never fails a command: a message that cannot be written is dropped.

use std::fmt;
use std::io::{self, Write};
use std::sync::OnceLock;

/// What a message tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    Note,
    Failure,
}

/// What takes the messages in place of standard error.
type Redirect = Box<dyn Fn(Severity, fmt::Arguments<'_>) + Send + Sync>;

static REDIRECT: OnceLock<Redirect> = OnceLock::new();

/// Writes a line, unlike `eprintln!` without a panic where that fails.
pub(crate) fn say(message: impl fmt::Display) {
    write(Severity::Note, format_args!("{message}"));
}

/// As [`say`], of what ends a command or a thread.
pub(crate) fn fail(message: impl fmt::Display) {
    write(Severity::Failure, format_args!("{message}"));
}

fn write(severity: Severity, message: fmt::Arguments<'_>) {
    if let Some(redirect) = REDIRECT.get() {
        redirect(severity, message);
    } else {
        let _ = io::stderr().write_fmt(format_args!("{message}\n"));
    }
}

/// From now on messages go there, the first time that this is called.
#[cfg(feature = "serve")]
pub(crate) fn redirect(to: impl Fn(Severity, fmt::Arguments<'_>) + Send + Sync + 'static) {
    let _ = REDIRECT.set(Box::new(to));
}

/// A number of things in words: `1 signal`, `2 signals`.
pub(crate) fn counted(number: impl TryInto<u64>, one: &str, many: &str) -> String {
    let number = number.try_into().unwrap_or(u64::MAX);
    let name = if number == 1 { one } else { many };
    format!("{number} {name}")
}

pub(crate) fn signals(number: impl TryInto<u64>) -> String {
    counted(number, "signal", "signals")
}

pub(crate) fn companies(number: impl TryInto<u64>) -> String {
    counted(number, "company", "companies")
}
