//! A directory that is built anew while it is served.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use signaldex::{Company, IndexBuilder, Signal, SignalId};

use crate::client;
use crate::program::serve;

/// How long the service may take to see what stands in its directory.
const SEEN_MAX: Duration = Duration::from_secs(30);

fn build(directory: &Path, title: &str) {
    let mut builder = IndexBuilder::in_directory(directory).expect("an empty directory");
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("a writable directory");
    let signal = Signal::new(SignalId::MIN, "acme", title.to_owned());
    builder.add_signal(&signal).expect("a writable directory");
    builder.finish().expect("a writable directory");
}

fn new_key(state: &Path) -> String {
    let mut create = Command::new(env!("CARGO_BIN_EXE_signaldex"));
    create
        .args(["keys", "create", "--name", "mine", "--state"])
        .arg(state);
    let made = create.output().expect("the program runs");
    let made: Value = serde_json::from_slice(&made.stdout).expect("JSON");
    made["key"].as_str().expect("a key").to_owned()
}

#[test]
fn an_index_that_is_built_anew_in_place_is_served_and_shares_no_tag() {
    let folder = tempfile::tempdir().expect("a directory");
    let (index, next) = (folder.path().join("index"), folder.path().join("next"));
    let state = folder.path().join("state.db");
    build(&index, "alpha");
    let key = format!("Bearer {}", new_key(&state));
    let (mut service, address, mut errors) = serve(&state, &[&index.display().to_string()]);
    let ask = |tag: &str| {
        let headers = [("authorization", key.as_str()), ("if-none-match", tag)];
        client::request(address, "GET", "/api/v1/signals/1", &headers)
    };
    let first = ask("\"none\"");
    let tag = first.header("etag").expect("a tag").to_owned();
    assert_eq!(ask(&tag).status, 304);

    // The same generation, the same lengths, other records.
    build(&next, "omega");
    fs::remove_dir_all(&index).expect("a writable directory");
    fs::rename(&next, &index).expect("a writable directory");
    let since = Instant::now();
    let second = loop {
        let answer = ask(&tag);
        if answer.status != 304 {
            break answer;
        }
        assert!(since.elapsed() < SEEN_MAX, "the old index is still served");
        std::thread::sleep(Duration::from_millis(100));
    };
    assert_eq!(second.status, 200);
    let body = String::from_utf8_lossy(&second.body);
    assert!(body.contains("omega"), "{body}");
    service.kill().expect("a service that runs");
    let mut log = String::new();
    errors.read_to_string(&mut log).expect("text");
    service.wait().expect("a child");
    assert!(log.contains("another index"), "{log}");
}
