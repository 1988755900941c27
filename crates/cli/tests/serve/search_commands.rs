//! `searches` over a state file: what it prints, and what it refuses.

use std::path::Path;

use serde_json::{Value, json};

use crate::program::{json, run};

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// What a refused command says.
fn refusal(state: &Path, arguments: &[&str], status: i32) -> String {
    let output = run(state, arguments);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{message}");
    message
}

#[test]
fn searches_are_saved_listed_edited_and_deleted() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let key = json(&run(&state, &["keys", "create", "--name", "mine"]));
    let key = text(&key["id"]);
    let create = |more: &[&str]| {
        let arguments = ["searches", "create", "--key", key, "--query", "q=robotics"];
        run(&state, &[&arguments[..], more].concat())
    };
    let created = json(&create(&["--name", "robots", "--since", "start"]));
    assert_eq!(created["secret"], Value::Null);
    let id = text(&created["id"]).to_owned();
    let expected = json!({
        "id": id, "keyId": key, "name": "robots", "query": "all=robotics", "webhook": null, "onlyNew": false,
        "removals": false, "status": "active", "position": "start", "pending": 0, "lastDeliveredAt": null,
    });
    assert_eq!(json(&run(&state, &["searches", "list"])), json!([expected]));
    assert_eq!(json(&run(&state, &["searches", "show", &id])), expected);
    assert_eq!(
        json(&run(&state, &["searches", "list", "--key", "key_none"])),
        json!([])
    );
    let edit = [
        "searches",
        "edit",
        &id,
        "--only-new",
        "--removals",
        "--query",
        "q=drones",
    ];
    let edited = json(&run(&state, &edit));
    assert_eq!(
        (&edited["onlyNew"], &edited["query"]),
        (&json!(true), &json!("all=drones"))
    );
    let edited = json(&run(&state, &["searches", "edit", &id, "--removals=false"]));
    assert_eq!(
        (&edited["onlyNew"], &edited["removals"]),
        (&json!(true), &json!(false))
    );
    let again = create(&["--name", "robots"]);
    assert!(String::from_utf8_lossy(&again.stderr).contains(&id));
    assert!(run(&state, &["searches", "delete", &id]).status.success());
    assert!(refusal(&state, &["searches", "show", &id], 1).contains("searches list"));
}

#[test]
fn what_is_wrong_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let create = [
        "searches", "create", "--key", "key_none", "--name", "a", "--query", "q=a",
    ];
    assert!(refusal(&state, &create, 1).contains("state.db"));
    json(&run(&state, &["keys", "create"]));
    assert!(refusal(&state, &create, 1).contains("there is no key \"key_none\""));
    let mut wrong = create;
    wrong[7] = "contry=Germany";
    assert!(refusal(&state, &wrong, 2).contains("country"));
    let since = [&create[..], &["--since", "yesterday"]].concat();
    assert!(refusal(&state, &since, 2).contains("now, start, or a position"));
}

#[test]
fn a_webhook_is_saved_moved_paused_and_rotated() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let key = json(&run(&state, &["keys", "create", "--name", "mine"]));
    let key = text(&key["id"]);
    let create = |url: &str, more: &[&str]| {
        let arguments = [
            "searches", "create", "--key", key, "--name", "hook", "--query", "q=a",
        ];
        run(
            &state,
            &[&arguments[..], &["--webhook", url], more].concat(),
        )
    };
    let refused = create("https://10.1.2.3/in", &[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("10.1.2.3 is not public"), "{said}");
    assert_eq!(refused.status.code(), Some(1));
    let created = json(&create(
        "http://10.1.2.3/in",
        &["--webhook-allow", "10.1.0.0/16", "--webhook-http"],
    ));
    assert!(text(&created["secret"]).starts_with("whsec_"));
    let id = text(&created["id"]);
    let edit = ["searches", "edit", id, "--webhook", "https://hooks.example"];
    let edited = json(&run(&state, &edit));
    assert_eq!(
        (&edited["webhook"], &edited["status"], &edited["pending"]),
        (
            &json!("https://hooks.example/"),
            &json!("active"),
            &json!(0)
        )
    );
    assert!(run(&state, &["searches", "pause", id]).status.success());
    assert_eq!(
        json(&run(&state, &["searches", "show", id]))["status"],
        "paused"
    );
    assert!(run(&state, &["searches", "resume", id]).status.success());
    let rotated = json(&run(&state, &["searches", "rotate", id, "--overlap", "1h"]));
    assert_ne!(rotated["secret"], created["secret"]);
    assert_eq!(
        json(&run(&state, &["searches", "deliveries", id])),
        json!([])
    );
    assert!(refusal(&state, &["searches", "resume", id, "--from", "now"], 1).contains("start one"));
    assert!(refusal(&state, &["searches", "pause", "srch_none"], 1).contains("with a webhook"));
    assert!(refusal(&state, &["searches", "deliveries", "srch_none"], 1).contains("searches list"));
}
