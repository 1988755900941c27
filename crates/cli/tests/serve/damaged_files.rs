//! Files of a served index that are truncated or overwritten: what the process does and logs.

use std::fs::OpenOptions;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use signaldex_server::{NewKey, State};

use crate::client;
use crate::index_files::{build, bytes, overwrite, segment};
use crate::program::serve;

/// As the guide says: the only fault of a file that can end the service, until it looks at its files again.
#[test]
fn a_segment_truncated_in_place_is_refused_or_ends_the_process() {
    let folder = tempfile::tempdir().expect("a directory");
    let (directory, state) = (folder.path().join("index"), folder.path().join("state.db"));
    build(&directory, "alpha");
    let (mut service, address, _errors) = serve(&state, &[&directory.display().to_string()]);
    // The address is announced before the index is opened.
    while client::request(address, "GET", "/readyz", &[]).status != 200 {}
    let key = State::open(&state).and_then(|state| state.create_key(&NewKey::named("mine")));
    let (_, key) = key.expect("a key");
    let bearer = format!("Bearer {}", key.as_str());
    let headers = [("authorization", bearer.as_str())];
    let ask = || client::try_request(address, "GET", "/api/v1/signals/1", &headers);
    assert!(ask().is_some_and(|answer| answer.status == 200));
    let file = OpenOptions::new().write(true).open(segment(&directory));
    file.expect("a segment").set_len(0).expect("truncated");
    match ask() {
        // The look at the files came first.
        Some(answer) => {
            assert_eq!(answer.status, 500);
            service.kill().expect("a service that runs");
            service.wait().expect("a child");
        }
        None => {
            let status = service.wait().expect("an exit status");
            assert_eq!(status.signal(), Some(7), "SIGBUS");
        }
    }
}

/// The log is for the operator: it names the file, once for each change.
#[test]
fn the_log_names_a_file_that_was_overwritten() {
    let folder = tempfile::tempdir().expect("a directory");
    let (alpha, omega) = (folder.path().join("alpha"), folder.path().join("omega"));
    build(&alpha, "alpha");
    build(&omega, "omega");
    let state = folder.path().join("state.db");
    let directory = alpha.display().to_string();
    let (mut service, address, mut errors) = serve(&state, &[&directory]);
    while client::request(address, "GET", "/readyz", &[]).status != 200 {}
    let before = bytes(&segment(&alpha));
    overwrite(&segment(&alpha), &bytes(&segment(&omega)));
    let damage_becomes = |expected: bool| {
        let since = Instant::now();
        let ready = || client::request(address, "GET", "/readyz", &[]).json();
        while ready().get("damaged").is_some() != expected {
            assert!(since.elapsed() < client::WAIT_MAX, "it is not noticed");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    damage_becomes(true);
    overwrite(&segment(&alpha), &before);
    damage_becomes(false);
    service.kill().expect("a service that runs");
    let mut log = String::new();
    errors.read_to_string(&mut log).expect("text");
    service.wait().expect("a child");
    let name = segment(&alpha);
    let name = name.file_name().expect("a name").to_string_lossy();
    let named: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("ERROR") && line.contains(&*name))
        .collect();
    assert!((1..=3).contains(&named.len()), "{log}");
    assert!(log.contains("read again"), "{log}");
}
