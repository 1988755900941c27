//! `searches` over a state file: what it prints, and what it refuses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::client;
use crate::program::{json, launch, program, run, serve};

/// The longest that an event may take.
const WAIT: Duration = Duration::from_secs(20);

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
    // Taken away and given again, with a secret of its own.
    let edit = |url: &str| json(&run(&state, &["searches", "edit", id, "--webhook", url]));
    let pulled = edit("none");
    assert_eq!(
        (&pulled["webhook"], &pulled["secret"]),
        (&Value::Null, &Value::Null)
    );
    assert!(refusal(&state, &["searches", "pause", id], 1).contains("with a webhook"));
    let again = edit("https://hooks.example/again");
    assert!(text(&again["secret"]).starts_with("whsec_"));
    assert_ne!(again["secret"], rotated["secret"]);
    assert!(refusal(&state, &["searches", "pause", "srch_none"], 1).contains("with a webhook"));
    assert!(refusal(&state, &["searches", "deliveries", "srch_none"], 1).contains("searches list"));
}

/// A connection to a receiver, with TLS or without.
trait Connection: Read + Write {}
impl<C: Read + Write> Connection for C {}

/// Answers one status to every POST, and sends the head and the body of each.
fn receiver(
    status: &'static str,
    tls: Option<Arc<ServerConfig>>,
) -> (String, Receiver<(String, Value)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    let scheme = if tls.is_some() { "https" } else { "http" };
    let (sender, received) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            let connection: Box<dyn Connection> = match &tls {
                None => Box::new(stream),
                Some(tls) => {
                    let server = ServerConnection::new(Arc::clone(tls)).expect("TLS");
                    Box::new(StreamOwned::new(server, stream))
                }
            };
            if let Some(event) = answer(connection, status)
                && sender.send(event).is_err()
            {
                return;
            }
        }
    });
    (format!("{scheme}://{address}/in"), received)
}

/// Answers one request, and returns its head and its body; `None` if there is none.
fn answer(connection: Box<dyn Connection>, status: &str) -> Option<(String, Value)> {
    let mut connection = BufReader::new(connection);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        connection
            .read_line(&mut head)
            .ok()
            .filter(|&read| read > 0)?;
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length?.parse().ok()?];
    connection.read_exact(&mut body).ok()?;
    let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
    let _ = connection.get_mut().write_all(answer.as_bytes());
    let _ = connection.get_mut().flush();
    Some((head, serde_json::from_slice(&body).expect("JSON")))
}

const PERMITTED: [&str; 3] = ["--webhook-http", "--webhook-allow", "127.0.0.0/8"];

#[test]
fn serve_delivers_to_webhooks_and_test_tries_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let key = json(&run(&state, &["keys", "create", "--name", "mine"]));
    let (url, received) = receiver("200 OK", None);
    let create = |name: &str, url: &str| {
        let key = text(&key["id"]);
        let arguments = [
            "searches",
            "create",
            "--key",
            key,
            "--name",
            name,
            "--query",
            "q=robotics",
            "--since",
            "start",
            "--webhook",
            url,
        ];
        let created = json(&run(&state, &[&arguments[..], &PERMITTED].concat()));
        text(&created["id"]).to_owned()
    };
    let id = create("robots", &url);
    let tried = json(&run(
        &state,
        &[&["searches", "test", &id][..], &PERMITTED].concat(),
    ));
    assert_eq!(
        (&tried["status"], &tried["answer"]),
        (&json!(200), &json!("ok"))
    );
    let (head, body) = received.recv_timeout(WAIT).expect("an event");
    assert!(head.starts_with("POST /in HTTP/1.1\r\n") && head.contains("webhook-signature: v1,"));
    assert_eq!(
        (&body["type"], &body["data"]["matches"]),
        (&json!("search.test"), &json!([]))
    );
    let not_permitted = refusal(&state, &["searches", "test", &id], 1);
    assert!(not_permitted.contains("did not answer"), "{not_permitted}");
    let (failing, _) = receiver("500 No", None);
    let failing = create("failing", &failing);
    let refused = refusal(
        &state,
        &[&["searches", "test", &failing][..], &PERMITTED].concat(),
        1,
    );
    assert!(refused.contains("answered 500"), "{refused}");
    let (mut service, _address, _errors) = serve(&state, &[&["@sample"][..], &PERMITTED].concat());
    let (_, body) = received.recv_timeout(WAIT).expect("an event");
    let matches = body["data"]["matches"].as_array().expect("matches");
    assert_eq!(
        (&body["type"], matches.len()),
        (&json!("search.matched"), 33)
    );
    let show = || json(&run(&state, &["searches", "show", &id]));
    let until = Instant::now() + WAIT;
    while show()["lastDeliveredAt"].is_null() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(
        (&show()["status"], &show()["pending"]),
        (&json!("active"), &json!(0))
    );
    let log = json(&run(&state, &["searches", "deliveries", &id]));
    assert_eq!(
        (&log[0]["status"], &log[0]["attempt"], &log[0]["matches"]),
        (&json!(200), &json!(1), &json!(33))
    );
    while json(&run(&state, &["searches", "show", &failing]))["status"] != "failing"
        && Instant::now() < until
    {
        std::thread::sleep(Duration::from_millis(50));
    }
    let shown = json(&run(&state, &["searches", "show", &failing]));
    assert_eq!(
        (&shown["status"], &shown["pending"]),
        (&json!("failing"), &json!(33))
    );
    service.kill().expect("killed");
    service.wait().expect("gone");
}

#[test]
fn the_certificate_of_a_webhook_is_checked_against_the_roots_of_the_system() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let key = json(&run(&state, &["keys", "create", "--name", "mine"]));
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let roots = directory.path().join("roots.pem");
    std::fs::write(&roots, made.cert.pem()).expect("written");
    let secret = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("TLS")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], secret);
    let (url, received) = receiver("200 OK", Some(Arc::new(config.expect("a certificate"))));
    let create = [
        "searches",
        "create",
        "--key",
        text(&key["id"]),
        "--name",
        "hook",
        "--query",
        "q=a",
    ];
    let permitted = &PERMITTED[1..];
    let created = json(&run(
        &state,
        &[&create[..], &["--webhook", &url], permitted].concat(),
    ));
    let test = |roots: Option<&Path>| {
        let mut command = program();
        command
            .args(["searches", "test", text(&created["id"])])
            .args(permitted);
        command
            .arg("--state")
            .arg(&state)
            .envs(roots.map(|roots| ("SSL_CERT_FILE", roots)));
        command.output().expect("the program runs")
    };
    let unknown = test(None);
    let printed: Value = serde_json::from_slice(&unknown.stdout).expect("JSON");
    assert_eq!(
        (unknown.status.code(), &printed["status"]),
        (Some(1), &Value::Null)
    );
    assert!(
        text(&printed["reason"]).contains("certificate"),
        "{printed}"
    );
    let known = json(&test(Some(&roots)));
    assert_eq!(known["status"], 200);
    let (head, _) = received.recv_timeout(WAIT).expect("an event");
    assert!(head.contains("webhook-id: msg_"));
}

#[test]
fn serve_sends_alerts_of_quotas_to_the_operator() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let create = ["keys", "create", "--name", "shop", "--quota-signals", "1"];
    let key = json(&run(&state, &create));
    let (url, received) = receiver("204 No Content", None);
    let serve_with = |secret: Option<&str>, url: &str| {
        let mut command = program();
        command.args(["serve", "@sample", "--addr", "127.0.0.1:0"]);
        command.args(["--admin-addr", "127.0.0.1:0", "--alert-webhook", url]);
        command.args(PERMITTED).arg("--state").arg(&state);
        command.env_remove("SIGNALDEX_ALERT_SECRET");
        command.envs(secret.map(|secret| ("SIGNALDEX_ALERT_SECRET", secret)));
        command
    };
    for (secret, url, fault) in [
        (None, url.as_str(), "SIGNALDEX_ALERT_SECRET"),
        (Some("password"), url.as_str(), "whsec_"),
        (Some("whsec_AQID"), "http://10.1.1.1/", "10.1.1.1"),
    ] {
        let output = serve_with(secret, url).output().expect("the program runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && message.contains(fault),
            "{message}"
        );
        assert!(message.contains("--alert-webhook"), "{message}");
    }
    let (mut service, address, _errors) = launch(serve_with(Some("whsec_AQID"), &url));
    let bearer = format!("Bearer {}", text(&key["key"]));
    let target = "/api/v1/signals?limit=1";
    let answer = client::request(address, "GET", target, &[("authorization", &bearer)]);
    assert_eq!(answer.status, 200);
    let (head, body) = received.recv_timeout(WAIT).expect("an event");
    assert!(head.contains("webhook-signature: v1,"), "{head}");
    assert_eq!(
        (
            &body["type"],
            &body["data"]["keyId"],
            &body["data"]["percent"]
        ),
        (&json!("quota.reached"), &key["id"], &json!(100))
    );
    service.kill().expect("killed");
    service.wait().expect("gone");
}
