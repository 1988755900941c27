//! Names under which the admin address may be asked: a page of another site that resolves its own name to
//! loopback reads nothing.

use crate::client::{self, Response};
use crate::dashboard::{Dashboard, text};

fn ask(dashboard: &Dashboard, method: &str, target: &str, hosts: &[&str]) -> Response {
    let mut request = format!("{method} {target} HTTP/1.1\r\nconnection: close\r\n");
    for host in hosts {
        request.push_str(&format!("host: {host}\r\n"));
    }
    request.push_str("content-length: 0\r\n\r\n");
    client::parse(&client::raw(dashboard.address, request.as_bytes()))
}

#[test]
fn a_foreign_host_is_refused_with_the_way_out() {
    let dashboard = Dashboard::start();
    for host in [
        "evil.example",
        "evil.example:9464",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example@127.0.0.1",
        "[::1].evil.example",
        "",
    ] {
        for (method, target) in [
            ("GET", "/metrics"),
            ("GET", "/sign-in"),
            ("POST", "/sign-in"),
            ("GET", "/"),
        ] {
            let answer = ask(&dashboard, method, target, &[host]);
            assert_eq!(answer.status, 403, "{method} {target} of {host:?}");
            let said = text(&answer);
            assert!(said.contains("--admin-host"), "{said}");
            assert_eq!(answer.header("set-cookie"), None);
        }
    }
    let both = ["127.0.0.1", "evil.example"];
    assert_eq!(ask(&dashboard, "GET", "/metrics", &both).status, 403);
}

#[test]
fn addresses_and_localhost_are_answered() {
    let dashboard = Dashboard::start();
    for host in [
        "127.0.0.1",
        "127.0.0.1:9464",
        "10.1.2.3:9464",
        "[::1]",
        "[::1]:9464",
        "localhost",
        "LocalHost:9464",
    ] {
        assert_eq!(
            ask(&dashboard, "GET", "/metrics", &[host]).status,
            200,
            "{host}"
        );
        assert_eq!(
            ask(&dashboard, "GET", "/sign-in", &[host]).status,
            200,
            "{host}"
        );
    }
}
