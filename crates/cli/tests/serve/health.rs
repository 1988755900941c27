//! `health`: exit status 0 for a service that answers, 1 and the reason for anything else.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Output;
use std::time::{Duration, Instant};

use crate::program::{program, serve};

fn health(address: SocketAddr, arguments: &[&str]) -> Output {
    let address = address.to_string();
    let mut command = program();
    command.args(["health", "--addr", &address]).args(arguments);
    command.output().expect("the program runs")
}

fn reason(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    String::from_utf8(output.stderr.clone()).expect("text")
}

/// Answers one connection with bytes, and holds it open if there are none.
fn answer_once(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("a connection");
        let mut request = [0; 1024];
        let _ = connection.read(&mut request);
        if bytes.is_empty() {
            std::thread::sleep(Duration::from_secs(30));
        }
        let _ = connection.write_all(bytes);
    });
    address
}

#[test]
fn a_service_that_answers_is_healthy_and_one_that_is_gone_is_not() {
    let directory = tempfile::tempdir().expect("a directory");
    let state = directory.path().join("state.db");
    let (mut service, address, _errors) = serve(&state, &[]);
    for arguments in [&[][..], &["--live"]] {
        let output = health(address, arguments);
        assert!(output.status.success(), "{output:?}");
        assert!(output.stdout.is_empty() && output.stderr.is_empty());
    }
    // The process lives on when its state is gone, and cannot answer.
    std::fs::rename(&state, directory.path().join("away.db")).expect("moved");
    assert!(health(address, &["--live"]).status.success());
    let said = reason(&health(address, &[]));
    assert!(
        said.contains("503 ") && said.contains("The state file was"),
        "{said}"
    );
    service.kill().expect("killed");
    service.wait().expect("gone");
    let said = reason(&health(address, &["--live"]));
    assert!(said.contains(&address.to_string()), "{said}");
}

#[test]
fn what_is_no_answer_has_a_reason_within_two_seconds() {
    for (bytes, expected) in [
        (&b"SSH-2.0-x\r\n"[..], "not one of HTTP"),
        (
            b"HTTP/1.1 502 Bad Gateway\r\n\r\n<h1>\x1b[31mno",
            "502 <h1>[31mno",
        ),
        (
            b"HTTP/1.1 404 Not Found\r\n\r\n{\"detail\":\"Nothing.\"}",
            "404 Nothing.",
        ),
    ] {
        let said = reason(&health(answer_once(bytes), &[]));
        assert!(said.contains(expected), "{said}");
    }
    let started = Instant::now();
    let said = reason(&health(answer_once(b""), &[]));
    assert!(said.contains("within 2 s"), "{said}");
    assert!(started.elapsed() < Duration::from_secs(10));
    let wrong = program().args(["health", "--addr", "http://a:80"]).output();
    assert_eq!(wrong.expect("the program runs").status.code(), Some(2));
}
