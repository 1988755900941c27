//! `people` and `audit` as commands.

use serde_json::Value;

use crate::program::{json, run};

fn lines(output: &std::process::Output) -> Vec<Value> {
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout.clone()).expect("text");
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("lines of JSON")
}

#[test]
fn people_are_added_listed_and_revoked_and_each_change_is_in_the_audit() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let added = run(&state, &["people", "add", "ada", "--role", "viewer"]);
    let token = String::from_utf8(added.stdout).expect("text");
    assert!(token.starts_with("sdxadmin_"), "{token}");
    let again = run(&state, &["people", "add", "ada", "--role", "admin"]);
    assert_eq!(again.status.code(), Some(1));
    let wrong = run(&state, &["people", "add", "bob", "--role", "owner"]);
    assert_eq!(wrong.status.code(), Some(2));
    let people = json(&run(&state, &["people", "list"]));
    assert_eq!(
        (&people[0]["name"], &people[0]["role"]),
        (&"ada".into(), &"viewer".into())
    );
    assert_eq!(people[0]["lastSignInAt"], Value::Null);
    assert!(
        run(&state, &["people", "role", "ada", "--role", "admin"])
            .status
            .success()
    );
    assert!(run(&state, &["people", "revoke", "ada"]).status.success());
    for gone in [
        &["people", "revoke", "ada"][..],
        &["people", "role", "ada", "--role", "admin"],
    ] {
        let output = run(&state, gone);
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8(output.stderr).expect("text");
        assert!(error.contains("people list"), "{error}");
    }
    json(&run(&state, &["keys", "create", "--name", "shop"]));

    let all = lines(&run(&state, &["audit"]));
    let actions: Vec<&str> = all
        .iter()
        .filter_map(|line| line["action"].as_str())
        .collect();
    let expected = ["people.add", "people.role", "people.revoke", "keys.create"];
    assert_eq!(actions, expected);
    assert!(all.iter().all(|line| {
        line["actor"]
            .as_str()
            .is_some_and(|by| by.starts_with("cli:"))
    }));
    assert!(
        !all.iter()
            .any(|line| line.to_string().contains(token.trim()))
    );
    let of_ada = lines(&run(&state, &["audit", "--target", "person:ada"]));
    assert_eq!(of_ada.len(), 3);
    assert_eq!(of_ada[1]["before"], serde_json::json!({"role": "viewer"}));
    for since in ["2999-01-01", "2999-01-01T00:00:00+02:00"] {
        assert!(lines(&run(&state, &["audit", "--since", since])).is_empty());
    }
    let wrong = run(&state, &["audit", "--since", "yesterday"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn commands_that_only_read_or_change_make_no_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("none.db");
    for words in [
        &["people", "list"][..],
        &["people", "revoke", "ada"],
        &["people", "role", "ada", "--role", "admin"],
        &["audit"],
    ] {
        assert_eq!(run(&state, words).status.code(), Some(1), "{words:?}");
        assert!(!state.exists());
    }
}
