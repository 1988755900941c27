//! `keys edit` and `keys rotate` beside a running service, which follows within a quarter of a second.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::client::{self, Response};
use crate::program::{json, run, serve};

/// Longer than the service may take to notice a change.
const TIMEOUT: Duration = Duration::from_secs(20);

struct Running {
    service: Child,
    address: SocketAddr,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.service.kill();
        let _ = self.service.wait();
    }
}

fn ask(address: SocketAddr, target: &str, key: &str) -> Response {
    let bearer = format!("Bearer {key}");
    client::request(address, "GET", target, &[("authorization", &bearer)])
}

/// The status of a request once it is `expected`, or at last.
fn status_in_time(address: SocketAddr, target: &str, key: &str, expected: u16) -> u16 {
    let started = Instant::now();
    loop {
        let status = ask(address, target, key).status;
        if status == expected || started.elapsed() > TIMEOUT {
            return status;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn create(state: &Path) -> (String, String) {
    let arguments = ["keys", "create", "--name", "mine", "--quota-signals", "2"];
    let created = json(&run(state, &arguments));
    let text = |name: &str| created[name].as_str().expect("text").to_owned();
    (text("id"), text("key"))
}

/// What a list has of a key. The list also has the trial key.
fn listed(state: &Path, id: &str, arguments: &[&str]) -> Option<serde_json::Value> {
    let list = json(&run(state, &[&["keys", "list"], arguments].concat()));
    let mut keys = list.as_array().expect("a list").iter();
    keys.find(|key| key["id"] == id).cloned()
}

#[test]
fn an_edited_key_is_followed_by_a_running_service() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (service, address, _errors) = serve(&state, &[]);
    let running = Running { service, address };
    let (id, key) = create(&state);
    let status = |target, expected| status_in_time(running.address, target, &key, expected);
    let edit =
        |arguments: &[&str]| json(&run(&state, &[&["keys", "edit", &id], arguments].concat()));

    let (search, company) = ("/api/v1/signals?limit=2", "/api/v1/companies/pomelora");
    assert_eq!(status(search, 200), 200);
    assert_eq!(status(search, 402), 402, "the quota of 2 is used up");
    let edited = edit(&["--quota-signals", "none", "--scopes", "signals:read"]);
    assert_eq!(edited["quotaSignals"], serde_json::Value::Null);
    assert_eq!(edited["name"], "mine", "what is not given stays");
    assert_eq!(status(search, 200), 200);
    assert_eq!(status(company, 403), 403);
    edit(&["--expires", "2020-01-01"]);
    assert_eq!(status(search, 401), 401);
    edit(&["--expires", "never"]);
    assert_eq!(status(search, 200), 200);
}

#[test]
fn filters_of_a_key_are_replaced_removed_and_refused_with_every_fault() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (service, address, _errors) = serve(&state, &[]);
    let running = Running { service, address };
    let arguments = [
        "keys",
        "create",
        "--filter",
        "country=GERMANY",
        "--except",
        "categories=hiring",
    ];
    let created = json(&run(&state, &arguments));
    let text = |name: &str| created[name].as_str().expect("text").to_owned();
    let (id, key) = (text("id"), text("key"));
    let counted = |expected: &str| {
        let started = Instant::now();
        loop {
            let answer = ask(running.address, "/api/v1/signals?countOnly=true", &key).json();
            let count = answer["data"]["count"].to_string();
            if count == expected || started.elapsed() > TIMEOUT {
                return count;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let whole = json(&run(&state, &["keys", "create"]));
    let whole = whole["key"].as_str().expect("text");
    let count_of = |query: &str| {
        let target = format!("/api/v1/signals?countOnly=true&{query}");
        ask(running.address, &target, whole).json()["data"]["count"]
            .as_u64()
            .expect("a count")
    };
    let german = count_of("country=Germany");
    let hidden = count_of("country=Germany&categories=hiring");
    let expected = (german - hidden).to_string();
    assert_eq!(counted(&expected), expected);
    let edit = |arguments: &[&str]| run(&state, &[&["keys", "edit", &id], arguments].concat());
    let edited = json(&edit(&["--except", "none"]));
    assert_eq!(edited["filters"], serde_json::json!(["country=germany"]));
    assert_eq!(edited["exceptions"], serde_json::json!([]));
    assert_eq!(counted(&german.to_string()), german.to_string());
    let refused = edit(&[
        "--name",
        "other",
        "--filter",
        "contry=Japan&limit=5",
        "--except",
        "",
    ]);
    assert_eq!(refused.status.code(), Some(1));
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    for part in [
        "filter 1: ",
        "did you mean country?",
        "limit",
        "exception 1 is empty",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let listed = json(&run(&state, &["keys", "list"]));
    let keys = listed.as_array().expect("keys");
    let edited = keys.iter().find(|listed| listed["id"] == id.as_str());
    let edited = edited.expect("the key");
    assert_eq!(edited["name"], "unnamed", "nothing was edited");
    assert_eq!(edited["filters"], serde_json::json!(["country=germany"]));
}

#[test]
fn a_rotated_key_keeps_its_id_and_usage_and_ends_its_old_secret() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (service, address, _errors) = serve(&state, &[]);
    let running = Running { service, address };
    let (id, old) = create(&state);
    let search = "/api/v1/signals?limit=1";
    assert_eq!(status_in_time(running.address, search, &old, 200), 200);

    let rotated = json(&run(&state, &["keys", "rotate", &id]));
    assert_eq!(rotated["id"], id.as_str());
    let new = rotated["key"].as_str().expect("a key");
    assert_ne!(new, old);
    // A request that would be charged otherwise as long as the old secret is still known.
    let company = "/api/v1/companies/pomelora";
    assert_eq!(status_in_time(running.address, company, &old, 401), 401);
    let answer = ask(running.address, search, new);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("x-usage-remaining"), Some("0"), "one usage");
    let usage = json(&run(&state, &["usage"]));
    assert_eq!(usage[0]["keyId"], id.as_str());
    assert_eq!(usage[0]["signals"], 2);

    let unknown = run(&state, &["keys", "rotate", "key_none"]);
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn copied_keys_are_accepted_with_their_settings_and_stay_revoked() {
    let directory = tempfile::tempdir().expect("a directory");
    let [first, second] = ["first.db", "second.db"].map(|name| directory.path().join(name));
    let (id, key) = create(&first);
    let (service, address, _errors) = serve(&second, &[]);
    let running = Running { service, address };
    let search = "/api/v1/signals?limit=2";
    assert_eq!(ask(running.address, search, &key).status, 401);
    let from = first.display().to_string();
    let copy = || json(&run(&second, &["keys", "copy", &from]));
    assert_eq!(copy()["copied"], 1);
    assert_eq!(status_in_time(running.address, search, &key, 200), 200);
    assert_eq!(
        ask(running.address, search, &key).status,
        402,
        "its quota holds"
    );
    // What is edited is taken over; usage is each state's own.
    json(&run(&first, &["keys", "edit", &id, "--quota-signals", "4"]));
    copy();
    assert_eq!(status_in_time(running.address, search, &key, 200), 200);
    assert_eq!(ask(running.address, search, &key).status, 402);
    assert_eq!(json(&run(&first, &["usage"])), serde_json::json!([]));
    // A key that is revoked in either stays revoked.
    run(&second, &["keys", "revoke", &id]);
    copy();
    assert_eq!(status_in_time(running.address, search, &key, 401), 401);
}

#[test]
fn both_secrets_of_a_key_work_until_the_overlap_ends() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (service, address, _errors) = serve(&state, &[]);
    let running = Running { service, address };
    let (id, old) = create(&state);
    let company = "/api/v1/companies/pomelora";
    let status = |key: &str, expected| status_in_time(running.address, company, key, expected);
    assert_eq!(status(&old, 200), 200);
    for wrong in [
        "31d",
        "-1h",
        "1",
        "h",
        "1w",
        "9999999999d",
        "1.5h",
        "99999999h",
    ] {
        let output = run(&state, &["keys", "rotate", &id, "--overlap", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
    let rotated = json(&run(&state, &["keys", "rotate", &id, "--overlap", "24h"]));
    let new = rotated["key"].as_str().expect("a key");
    assert_eq!((status(new, 200), status(&old, 200)), (200, 200));
    let key = |state: &Path| listed(state, &id, &[]).expect("the key");
    assert_eq!(key(&state)["hints"].as_array().map(Vec::len), Some(2));
    // A copy has both, too; a second rotation ends the oldest one at once.
    let copy = directory.path().join("copy.db");
    json(&run(&copy, &["keys", "copy", &state.display().to_string()]));
    assert_eq!(key(&copy)["hints"], key(&state)["hints"]);
    let again = json(&run(&state, &["keys", "rotate", &id, "--overlap", "2s"]));
    let newest = again["key"].as_str().expect("a key");
    assert_eq!((status(newest, 200), status(&old, 401)), (200, 401));
    assert_eq!(status(new, 401), 401, "after two seconds");
    let answer = ask(running.address, company, new);
    let said = String::from_utf8(answer.body).expect("text");
    assert!(said.contains("The key was rotated"), "{said}");
    assert_eq!(key(&state)["hints"].as_array().map(Vec::len), Some(1));
    assert_eq!(status(newest, 200), 200);
}

#[test]
fn a_key_knows_when_it_was_last_used() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (service, address, _errors) = serve(&state, &[]);
    let running = Running { service, address };
    let (id, key) = create(&state);
    let list = |arguments: &[&str]| listed(&state, &id, arguments);
    let used = || list(&[]).expect("the key")["lastUsedAt"].clone();
    assert_eq!(used(), serde_json::Value::Null);
    assert!(list(&["--unused-since", "2999-01-01"]).is_some());
    let before_it = list(&["--unused-since", "2020-01-01"]);
    assert_eq!(before_it, None, "it did not exist then");
    assert_eq!(
        status_in_time(running.address, "/api/v1/signals?limit=1", &key, 200),
        200
    );
    let started = Instant::now();
    while used().is_null() && started.elapsed() < TIMEOUT {
        std::thread::sleep(Duration::from_millis(100));
    }
    let used = used().as_str().expect("an instant").to_owned();
    assert!(used.ends_with(":00Z"), "to the minute: {used}");
    assert!(list(&["--unused-since", "2999-01-01"]).is_some());
    let since_the_day = list(&["--unused-since", &used[..10]]);
    assert_eq!(since_the_day, None, "it was created on that day");
}
