//! Commands that have ended: what they printed, and that they did so with the right status.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::process::{Command, Output};

pub(crate) fn run(arguments: &[impl AsRef<OsStr> + Debug]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_signaldex"))
        .args(arguments)
        .output()
        .expect("the program can be started")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints UTF-8")
}

/// Standard output of a command that has to succeed.
pub(crate) fn printed(arguments: &[impl AsRef<OsStr> + Debug]) -> String {
    let output = run(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Standard error of a command that has to fail with this status.
pub(crate) fn refused(status: i32, arguments: &[impl AsRef<OsStr> + Debug]) -> String {
    let output = run(arguments);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    assert!(
        output.stdout.is_empty(),
        "{arguments:?}: {}",
        text(&output.stdout)
    );
    text(&output.stderr)
}
