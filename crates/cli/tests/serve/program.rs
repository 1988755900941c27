//! The commands `serve`, `keys` and `usage`, as a person or a supervisor runs them.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client;

pub(crate) fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_signaldex"))
}

pub(crate) fn run(state: &Path, arguments: &[&str]) -> Output {
    program()
        .args(arguments)
        .arg("--state")
        .arg(state)
        .output()
        .expect("the program runs")
}

pub(crate) fn json(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Starts a service over the sample corpus and waits until it listens.
pub(crate) fn serve(
    state: &Path,
    limits: &[&str],
) -> (Child, SocketAddr, BufReader<std::process::ChildStderr>) {
    start(state, &[&["serve"], limits].concat())
}

/// Starts a service over a directory.
fn serve_directory(
    state: &Path,
    directory: &str,
) -> (Child, SocketAddr, BufReader<std::process::ChildStderr>) {
    start(state, &["serve", directory])
}

fn start(
    state: &Path,
    arguments: &[&str],
) -> (Child, SocketAddr, BufReader<std::process::ChildStderr>) {
    let mut command = program();
    command.args(arguments).args([
        "--addr",
        "127.0.0.1:0",
        "--metrics-addr",
        "127.0.0.1:0",
        "--state",
    ]);
    command.arg(state);
    launch(command)
}

/// Runs a command that serves and waits until it listens.
pub(crate) fn launch(
    command: Command,
) -> (Child, SocketAddr, BufReader<std::process::ChildStderr>) {
    let (service, [address, _], errors) = launch_with_admin(command);
    (service, address, errors)
}

/// As [`launch`], with the address of the dashboard behind that for clients.
pub(crate) fn launch_with_admin(
    mut command: Command,
) -> (Child, [SocketAddr; 2], BufReader<std::process::ChildStderr>) {
    let mut service = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the service starts");
    let mut errors = BufReader::new(service.stderr.take().expect("standard error"));
    let mut line = String::new();
    errors.read_line(&mut line).expect("a line");
    let mut addresses = line.split("http://").skip(1).map(|rest| {
        let end = rest.find([',', '/']).expect("the end of an address");
        rest[..end].parse().expect("an address")
    });
    let mut next = || addresses.next().expect("an address");
    (service, [next(), next()], errors)
}

#[test]
fn keys_are_made_listed_and_revoked_while_the_service_runs() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (mut service, address, mut errors) = serve(&state, &[]);

    let made = json(&run(
        &state,
        &["keys", "create", "--name", "mine", "--quota-signals", "100"],
    ));
    let (id, key) = (
        made["id"].as_str().expect("an id"),
        made["key"].as_str().expect("a key"),
    );
    let bearer = format!("Bearer {key}");
    let ask = || {
        client::request(
            address,
            "GET",
            "/api/v1/signals?limit=2",
            &[("authorization", &bearer)],
        )
    };
    let answer = ask();
    assert_eq!(
        (answer.status, answer.header("x-usage-remaining")),
        (200, Some("98"))
    );

    let (target, headers) = (
        "/api/v1/filter-options",
        [("authorization", bearer.as_str())],
    );
    assert_eq!(
        client::request(address, "GET", target, &headers).status,
        200
    );
    let counted = || json(&run(&state, &["usage"]))[0]["freeAnswers"].as_u64();
    let started = std::time::Instant::now();
    while counted() != Some(1) && started.elapsed() < WAIT_MAX {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert_eq!(counted(), Some(1), "recorded once a second");

    let listed = json(&run(&state, &["keys", "list"]));
    assert!(
        listed
            .as_array()
            .expect("a list")
            .iter()
            .any(|line| line["id"] == id && line["name"] == "mine")
    );
    assert!(!listed.to_string().contains(key));
    let usage = json(&run(&state, &["usage"]));
    let line = &usage.as_array().expect("a list")[0];
    assert_eq!(
        (
            line["keyId"].as_str(),
            line["name"].as_str(),
            line["signals"].as_u64()
        ),
        (Some(id), Some("mine"), Some(2))
    );
    assert_eq!(
        json(&run(&state, &["usage", "--month", "2001-01"])),
        Value::Array(Vec::new())
    );
    assert!(run(&state, &["keys", "revoke", id]).status.success());
    assert_eq!(run(&state, &["keys", "revoke", id]).status.code(), Some(1));
    let revoked = Instant::now();
    while ask().status != 401 {
        assert!(revoked.elapsed() < WAIT_MAX, "the key is not refused");
    }

    let stop = Command::new("kill")
        .args(["-TERM", &service.id().to_string()])
        .status();
    assert!(stop.expect("kill").success());
    assert_eq!(service.wait().expect("an exit status").code(), Some(0));
    let mut logs = String::new();
    errors.read_to_string(&mut logs).expect("logs");
    assert!(logs.contains(answer.header("x-request-id").expect("an id")));
    let is_whole = |after: &str| after.find(['"', ' ']).is_none_or(|length| length > 12);
    let has_key = logs.split("sdx_").skip(1).any(is_whole);
    assert!(!has_key, "no more of a key than its hint in the logs");
}

#[test]
fn without_a_directory_a_line_to_paste_is_printed() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut service, address, _errors) = serve(&directory.path().join("state.db"), &[]);
    let lines = BufReader::new(service.stdout.take().expect("standard output")).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("curl "))
        .expect("a curl line");
    let key = line
        .split("Bearer ")
        .nth(1)
        .and_then(|rest| rest.split('\'').next())
        .expect("a key");
    let target = line
        .split(&address.to_string())
        .nth(1)
        .expect("a target")
        .trim_end_matches('\'');
    let answer = client::request(
        address,
        "GET",
        target,
        &[("authorization", &format!("Bearer {key}"))],
    );
    assert_eq!((answer.status, answer.items().len()), (200, 3));
    service.kill().expect("killed");
    service.wait().expect("gone");
}

#[test]
fn an_address_that_is_taken_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let (mut service, address, _errors) = serve(&directory.path().join("state.db"), &[]);
    let address = address.to_string();
    let second = run(
        &directory.path().join("other.db"),
        &["serve", "--addr", &address],
    );
    let said = String::from_utf8(second.stderr).expect("text");
    assert_eq!(second.status.code(), Some(1));
    assert!(said.contains(&address) && said.contains("--addr"), "{said}");
    service.kill().expect("killed");
    service.wait().expect("gone");
}

#[test]
fn wrong_settings_of_a_key_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    for arguments in [
        ["--scopes", "signals:write"],
        ["--rate", "0"],
        ["--burst", "0"],
        ["--expires", "2026-02-30"],
        ["--expires", "2020-01-01"],
        ["--quota-signals", "-1"],
    ] {
        let output = run(&state, &["keys", "create", arguments[0], arguments[1]]);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn names_of_keys_that_cannot_be_seen_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let longest = "é".repeat(180);
    let made = json(&run(&state, &["keys", "create", "--name", &longest]));
    let id = made["id"].as_str().expect("an id");
    json(&run(&state, &["keys", "create"]));
    let before = json(&run(&state, &["keys", "list"]));
    for (name, reason) in [
        ("", "is empty"),
        (" \u{3000}", "is empty"),
        (&"é".repeat(181), "too long"),
        ("a\nb", "U+000A"),
        ("a\u{1b}[31mb", "U+001B"),
        ("a\u{9b}b", "U+009B"),
        ("a\u{202e}b", "U+202E"),
        ("a\u{200b}b", "U+200B"),
        ("\u{feff}ab", "U+FEFF"),
        ("a\u{e0041}b", "U+E0041"),
        ("a\u{2028}b", "U+2028"),
    ] {
        for arguments in [["keys", "create"].as_slice(), &["keys", "edit", id]] {
            let output = run(&state, &[arguments, &["--name", name]].concat());
            let said = String::from_utf8(output.stderr).expect("text");
            assert_eq!(output.status.code(), Some(1), "{name:?}: {said}");
            let is_told = said.contains(reason) && said.contains("name") && said.contains("180");
            assert!(is_told, "{name:?}: {said}");
        }
    }
    assert_eq!(json(&run(&state, &["keys", "list"])), before);
}

#[test]
fn a_state_file_with_two_names_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let (state, other) = (path("state.db"), path("other.db"));
    json(&run(&state, &["keys", "create"]));
    std::fs::hard_link(&state, &other).expect("a link");
    std::os::unix::fs::symlink(&state, path("symbolic.db")).expect("a link");
    let before = fingerprint(&state);
    for file in [&state, &other, &path("symbolic.db")] {
        for arguments in [
            ["keys", "create"].as_slice(),
            &["keys", "list"],
            &["usage"],
            &["serve"],
        ] {
            let output = run(file, arguments);
            let said = String::from_utf8(output.stderr).expect("text");
            assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
            let is_told = said.contains("2 hard links") && said.contains("delete the other names");
            assert!(is_told && said.lines().count() == 1, "{said}");
        }
    }
    assert!(before == fingerprint(&state), "the file was changed");
    assert!(!path("other.db-wal").exists());
    std::fs::remove_file(&other).expect("a link");
    json(&run(&path("symbolic.db"), &["keys", "list"]));
}

#[test]
fn a_link_that_is_made_while_the_service_runs_stops_no_request() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let made = json(&run(&state, &["keys", "create"]));
    let (mut service, address, _errors) = serve(&state, &["@sample"]);
    std::fs::hard_link(&state, directory.path().join("other.db")).expect("a link");
    let authorization = format!("Bearer {}", made["key"].as_str().expect("a key"));
    let headers = [("authorization", authorization.as_str())];
    for _ in 0..20 {
        let answer = client::request(address, "GET", "/api/v1/signals?limit=1", &headers);
        assert_eq!((answer.status, answer.charged()), (200, 1));
    }
    service.kill().expect("killed");
    service.wait().expect("gone");
}

#[test]
fn an_empty_origin_is_refused_with_the_way_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let by_option = program().args(["serve", "--cors-origin", ""]).output();
    let by_variable = program()
        .args(["serve", "--state"])
        .arg(&state)
        .env("SIGNALDEX_CORS_ORIGIN", "")
        .output();
    for output in [by_option, by_variable] {
        let output = output.expect("the program runs");
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{said}");
        let is_told = said.contains("--cors-origin") && said.contains("leave the setting out");
        assert!(is_told, "{said}");
    }
    assert!(!state.exists());
}

#[test]
fn every_stop_signal_ends_the_service_gracefully() {
    for name in ["-TERM", "-INT", "-HUP"] {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut service, _, _errors) = serve(&directory.path().join("state.db"), &[]);
        let stop = Command::new("kill")
            .args([name, &service.id().to_string()])
            .status();
        assert!(stop.expect("kill").success());
        let status = service.wait().expect("an exit status");
        assert_eq!(status.code(), Some(0), "{name}");
    }
}

/// Longer than a service takes to notice a signal.
const WAIT_MAX: Duration = Duration::from_secs(30);

fn terminate(service: &Child) {
    let sent = Command::new("kill")
        .args(["-TERM", &service.id().to_string()])
        .status();
    assert!(sent.expect("kill").success());
}

#[test]
fn a_second_signal_ends_the_drain() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (mut service, address, _errors) = serve(&state, &["--drain-time", "600"]);
    let ready = || client::request(address, "GET", "/readyz", &[]).status;
    assert_eq!(ready(), 200);
    terminate(&service);
    let started = Instant::now();
    while ready() != 503 {
        assert!(started.elapsed() < WAIT_MAX, "it does not drain");
    }
    assert!(service.try_wait().expect("a process").is_none());
    terminate(&service);
    while service.try_wait().expect("a process").is_none() {
        assert!(started.elapsed() < WAIT_MAX, "it drains on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = service.wait().expect("an exit");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn the_reference_names_the_public_url_and_the_admin_address_its_names() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let options = [
        "--public-url",
        "https://signals.example/v/",
        "--admin-host",
        "dash.example",
        "--admin-host",
        "Metrics.internal",
    ];
    let mut command = program();
    command.args([
        "serve",
        "--addr",
        "127.0.0.1:0",
        "--admin-addr",
        "127.0.0.1:0",
    ]);
    command.args(options).arg("--state").arg(&state);
    let (mut service, [address, admin], _errors) = launch_with_admin(command);
    let page = client::request(address, "GET", "/docs", &[]);
    let page = String::from_utf8(page.body).expect("text");
    assert!(page.contains("export SIGNALDEX_URL=https://signals.example/v\n"));
    for (host, expected) in [
        ("dash.example", 200),
        ("DASH.example:443", 200),
        ("metrics.internal:9464", 200),
        ("dash.example.evil", 403),
    ] {
        let request = format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let answer = client::parse(&client::raw(admin, request.as_bytes()));
        assert_eq!(answer.status, expected, "{host}");
    }
    service.kill().expect("killed");
    service.wait().expect("gone");
    for wrong in ["http://dash.example", "dash.example:443", "a b", ""] {
        let output = run(&state, &["serve", "--admin-host", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn commands_that_read_a_state_file_never_make_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("mistyped.db");
    for arguments in [
        ["usage"].as_slice(),
        &["keys", "list"],
        &["keys", "revoke", "key_1"],
    ] {
        let output = run(&state, arguments);
        let said = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {said}");
        assert!(said.contains("mistyped.db"), "{arguments:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        assert!(!state.exists(), "{arguments:?}");
    }
}

/// The bytes of a file that a command may not change.
fn fingerprint(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

#[test]
fn what_is_no_state_file_is_refused_in_one_sentence_and_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let foreign = rusqlite::Connection::open(path("foreign.db")).expect("a database");
    foreign
        .execute_batch("CREATE TABLE keys (number INTEGER); INSERT INTO keys VALUES (1)")
        .expect("a table");
    drop(foreign);
    let marked = rusqlite::Connection::open(path("marked.db")).expect("a database");
    marked
        .execute_batch("PRAGMA application_id = 252006675")
        .expect("an application id");
    drop(marked);
    std::fs::write(path("text.db"), "not a database at all ".repeat(100)).expect("a file");
    std::fs::create_dir(path("folder.db")).expect("a folder");
    for (name, reason) in [
        ("foreign.db", "of another program"),
        ("marked.db", "of another program"),
        ("text.db", "not a SQLite file"),
        ("folder.db", "not a regular file"),
        ("nowhere/state.db", "No such file"),
    ] {
        let is_file = path(name).is_file();
        let before = is_file.then(|| fingerprint(&path(name)));
        for arguments in [["keys", "create"].as_slice(), &["keys", "list"], &["serve"]] {
            let output = run(&path(name), arguments);
            let said = String::from_utf8(output.stderr).expect("text");
            assert_eq!(
                output.status.code(),
                Some(1),
                "{name} {arguments:?}: {said}"
            );
            assert_eq!(said.lines().count(), 1, "{name} {arguments:?}: {said}");
            assert!(said.contains(name) && !said.contains("CREATE"), "{said}");
            assert!(said.contains(reason), "{name} {arguments:?}: {said}");
        }
        let after = is_file.then(|| fingerprint(&path(name)));
        assert!(before == after, "{name} was changed");
    }
}

#[test]
#[cfg(unix)]
fn a_state_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (mut service, _address, _errors) = serve(&state, &[]);
    json(&run(&state, &["keys", "create"]));
    for entry in std::fs::read_dir(directory.path()).expect("a directory") {
        let entry = entry.expect("an entry");
        let mode = entry.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", entry.path());
    }
    service.kill().expect("killed");
    service.wait().expect("gone");
}

/// The key in the line to paste that `serve` without a directory prints.
fn trial_key(service: &mut Child) -> String {
    let lines = BufReader::new(service.stdout.take().expect("standard output")).lines();
    let line = lines
        .map_while(Result::ok)
        .find(|line| line.starts_with("curl "))
        .expect("a curl line");
    let key = line.split("Bearer ").nth(1);
    let key = key.and_then(|rest| rest.split('\'').next());
    key.expect("a key").to_owned()
}

fn status_with(address: SocketAddr, key: &str) -> u16 {
    let bearer = format!("Bearer {key}");
    let headers = [("authorization", bearer.as_str())];
    client::request(address, "GET", "/api/v1/signals?limit=1", &headers).status
}

#[test]
fn the_trial_key_ends_with_its_process_also_when_that_is_killed() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (mut first, address, _errors) = serve(&state, &[]);
    let key = trial_key(&mut first);
    assert_eq!(status_with(address, &key), 200);
    first.kill().expect("killed");
    first.wait().expect("gone");

    let (mut second, address, _errors) = serve(&state, &[]);
    let other = trial_key(&mut second);
    assert_eq!(status_with(address, &key), 401, "of the killed process");
    assert_eq!(status_with(address, &other), 200);
    let listed = json(&run(&state, &["keys", "list"]));
    let listed = listed.as_array().expect("a list");
    assert_eq!(listed.len(), 1, "one, however often it is started");
    assert!(listed[0]["revokedAt"].is_string(), "no file lets it in");
    let usage = json(&run(&state, &["usage"]));
    assert_eq!(usage[0]["signals"], 2, "what it reads is counted");
    second.kill().expect("killed");
    second.wait().expect("gone");

    // A service over the same file with a directory of its own lets none of them in.
    let run_dir = serve_directory(&state, "@sample");
    let (mut third, address, _errors) = run_dir;
    assert_eq!(status_with(address, &key), 401);
    assert_eq!(status_with(address, &other), 401);
    third.kill().expect("killed");
    third.wait().expect("gone");
}

#[test]
fn the_sample_is_not_served_to_the_keys_of_another_service() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    json(&run(&state, &["keys", "create", "--name", "customer"]));
    let output = run(
        &state,
        &[
            "serve",
            "--addr",
            "127.0.0.1:0",
            "--admin-addr",
            "127.0.0.1:0",
        ],
    );
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{said}");
    let last = said.lines().last().expect("a line");
    assert!(
        last.contains("state.db") && last.contains("@sample"),
        "{said}"
    );
    assert!(output.stdout.is_empty(), "no key is printed");
    let listed = json(&run(&state, &["keys", "list"]));
    assert_eq!(listed.as_array().expect("a list").len(), 1);
}

/// A limit on the size of files stands for a full disk: writes beyond it fail.
#[test]
#[cfg(unix)]
fn a_full_disk_is_503_charges_nothing_and_heals() {
    const SERVE: &str = "trap '' XFSZ; ulimit -f 256; exec \"$0\" serve @sample \
                         --addr 127.0.0.1:0 --admin-addr 127.0.0.1:0 --state \"$1\"";
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let made = json(&run(&state, &["keys", "create", "--burst", "1000000"]));
    let bearer = format!("Bearer {}", made["key"].as_str().expect("a key"));
    let ask = |address| {
        let headers = [("authorization", bearer.as_str())];
        client::request(address, "GET", "/api/v1/signals?limit=3", &headers)
    };
    let usage = || json(&run(&state, &["usage"]))[0]["signals"].as_u64();

    let mut command = Command::new("sh");
    command.args(["-c", SERVE, env!("CARGO_BIN_EXE_signaldex")]);
    command.arg(&state);
    let (mut service, address, _errors) = launch(command);
    let mut charged = 0;
    let refused = loop {
        let answer = ask(address);
        charged += answer.charged();
        if answer.status != 200 {
            break answer;
        }
        assert!(charged < 3000, "the disk never fills");
    };
    assert!(charged > 0);
    assert_eq!(refused.status, 503);
    assert_eq!(refused.json()["code"], "overloaded");
    assert_eq!(usage(), Some(charged));
    let ready = client::request(address, "GET", "/readyz", &[]);
    assert_eq!(ready.status, 503);
    service.kill().expect("killed");
    service.wait().expect("gone");

    let (mut service, address, _errors) = serve_directory(&state, "@sample");
    assert_eq!(ask(address).status, 200);
    assert_eq!(usage(), Some(charged + 3));
    service.kill().expect("killed");
    service.wait().expect("gone");
}

#[test]
fn a_version_that_ends_too_early_is_refused_before_anything_is_opened() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let serve = |options: &[&str]| {
        let mut command = program();
        command
            .arg("serve")
            .args(options)
            .arg("--state")
            .arg(&state);
        let output = command.output().expect("the program runs");
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), errors)
    };
    let since = ["--deprecated-since", "2027-01-31"];
    let (status, errors) = serve(&[&since[..], &["--sunset", "2028-01-30"]].concat());
    assert_eq!(status, Some(1), "{errors}");
    assert!(
        errors.contains("--sunset is 2028-01-30") && errors.contains("2028-01-31"),
        "{errors}"
    );
    assert!(!state.exists());
    for lone in [&since[..], &["--sunset", "2028-01-31"]] {
        assert_eq!(serve(lone).0, Some(2), "{lone:?}");
    }
}
