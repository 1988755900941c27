//! What the program's memory grows by under answers that nobody reads, and that it gives it back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use signaldex::IndexBuilder;
use signaldex_server::{ApiKey, NewKey, State};

use crate::client;
use crate::large_signals::add_signals;
use crate::program::{launch, program};

const MEBIBYTE: u64 = 1 << 20;
/// How long the process may take to give memory back.
const RETURNED_MAX: Duration = Duration::from_secs(20);

/// A service over an index on disk, as a process of its own.
pub(crate) struct Service {
    pub(crate) process: Child,
    pub(crate) address: SocketAddr,
    pub(crate) errors: std::io::BufReader<std::process::ChildStderr>,
    admin: SocketAddr,
    key: ApiKey,
    directory: tempfile::TempDir,
}

impl Service {
    /// Serves signals whose evidence has these lengths.
    pub(crate) fn start(lengths: &[usize], options: &[&str]) -> Service {
        let directory = tempfile::tempdir().expect("a directory");
        let index = directory.path().join("index");
        let mut builder = IndexBuilder::in_directory(&index).expect("a directory");
        add_signals(&mut builder, lengths);
        builder.finish().expect("an index");
        let state = directory.path().join("state.db");
        let key = NewKey {
            rate: 10_000,
            burst: 10_000,
            ..NewKey::named("reader")
        };
        let made = State::open(&state).and_then(|state| state.create_key(&key));
        let admin = free_address();
        let mut command = program();
        command.args(["serve", "--addr", "127.0.0.1:0", "--admin-addr"]);
        command.arg(admin.to_string()).arg("--state").arg(&state);
        command.args(options).arg(&index);
        let (process, address, errors) = launch(command);
        Service {
            process,
            address,
            errors,
            admin,
            key: made.expect("a key").1,
            directory,
        }
    }

    /// Sends a request on a connection of its own and reads nothing.
    pub(crate) fn send(&self, target: &str) -> TcpStream {
        let mut socket = client::connect(self.address);
        let authorization = format!("Bearer {}", self.key.as_str());
        let headers = [("authorization", authorization.as_str())];
        let text = client::text_of(self.address, "GET", target, &headers);
        socket.write_all(&text).expect("sent");
        socket
    }

    fn call(&self, tool: &str, arguments: serde_json::Value) -> client::Response {
        let authorization = format!("Bearer {}", self.key.as_str());
        let params = json!({"name": tool, "arguments": arguments});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = [
            ("authorization", authorization.as_str()),
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        client::post(
            self.address,
            "/mcp",
            &headers,
            message.to_string().as_bytes(),
        )
    }

    fn metric(&self, name: &str) -> u64 {
        let metrics = client::request(self.admin, "GET", "/metrics", &[]);
        let text = String::from_utf8(metrics.body).expect("text");
        let mut lines = text.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.expect("the metric").parse().expect("a number")
    }

    fn recorded(&self) -> u64 {
        let state = State::open(self.directory.path().join("state.db")).expect("a state");
        let usage = state.usage(None).expect("usage");
        usage.iter().map(|line| line.counts[0]).sum()
    }

    /// A figure of the process in bytes.
    fn memory(&self, name: &str) -> u64 {
        let path = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(Path::new(&path)).expect("a process");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|line| line.split_whitespace().nth(1));
        kilobytes
            .expect("a figure")
            .parse::<u64>()
            .expect("a number")
            * 1024
    }

    /// Waits until the process has at most that much memory more than before.
    fn gives_back_all_but(&self, bytes: u64, before: u64) {
        let started = Instant::now();
        loop {
            let kept = self.memory("VmRSS").saturating_sub(before);
            if kept <= bytes {
                return;
            }
            assert!(
                started.elapsed() < RETURNED_MAX,
                "{} MiB are kept",
                kept / MEBIBYTE
            );
            thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An address that nothing listens on.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
    listener.local_addr().expect("an address")
}

/// The status of the answer on a connection.
fn status(socket: &mut TcpStream) -> u16 {
    let mut line = [0; 12];
    socket.read_exact(&mut line).expect("a status line");
    let line = std::str::from_utf8(&line).expect("text");
    line.rsplit(' ')
        .next()
        .and_then(|status| status.parse().ok())
        .expect("a status")
}

#[test]
fn unread_pages_take_bounded_memory_that_is_given_back() {
    const CLIENTS: usize = 40;
    let service = Service::start(&[1_000_000; 60], &["--log", "off"]);
    let before = service.memory("VmRSS");
    let asked = (0..CLIENTS).map(|_| service.send("/api/v1/signals?limit=50"));
    let mut sockets: Vec<TcpStream> = asked.collect();
    // Each has its first byte, so what is to be refused has been.
    let statuses: Vec<u16> = sockets.iter_mut().map(status).collect();
    let grown = service.memory("VmHWM") - before;
    assert!(grown <= 350 * MEBIBYTE, "{} MiB more", grown / MEBIBYTE);
    let pages = statuses.iter().filter(|&&status| status == 200).count() as u64;
    let refused = statuses.iter().filter(|&&status| status == 503).count();
    assert_eq!(pages as usize + refused, CLIENTS);
    assert_eq!(pages, 33, "as many as have room");
    assert_eq!(
        service.metric("signaldex_unsent_refused_total"),
        refused as u64
    );
    let unsent = service.metric("signaldex_unsent_bytes");
    assert!(
        (pages * 7_000_000..=256 * MEBIBYTE).contains(&unsent),
        "{unsent}"
    );

    drop(sockets);
    service.gives_back_all_but(64 * MEBIBYTE, before);
    assert_eq!(service.metric("signaldex_unsent_bytes"), 0);
    assert_eq!(service.recorded(), 8 * pages);
    assert_eq!(status(&mut service.send("/api/v1/signals?limit=1")), 200);
}

#[test]
fn calls_of_tools_take_the_memory_of_what_they_show() {
    const CALLS: usize = 8;
    let service = Service::start(&[1_000_000; 60], &["--log", "off"]);
    // Maps the file of 60 MB, which is no memory of the calls.
    service.call("search", json!({"limit": 50}));
    let before = service.memory("VmRSS");
    thread::scope(|scope| {
        for _ in 0..CALLS {
            scope.spawn(|| {
                let answer = service.call("search", json!({"limit": 50})).json();
                let shown = &answer["result"]["structuredContent"]["signals"];
                assert_eq!(shown.as_array().map(Vec::len), Some(50));
            });
        }
    });
    let grown = service.memory("VmHWM").saturating_sub(before);
    assert!(grown <= 32 * MEBIBYTE, "{} MiB more", grown / MEBIBYTE);
}
