//! What a worker's port does with bytes from untrusted clients. Foreign plans are tested beside the engine.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::client::{connect, read_to_end};
use crate::fixture::{Cluster, Fixture, Shape, worker_address};

/// How HTTP/2 begins, with empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// The frames of HTTP/2 with headers that end them, and with data.
const HEADERS: [u8; 2] = [1, 4];
const DATA: [u8; 2] = [0, 0];

/// One node, and the address of its worker.
fn start() -> (Fixture, Cluster, SocketAddr) {
    let fixture = Fixture::new();
    fixture.generate("corpus", 200, 9);
    fixture.publish("corpus", 2, "store");
    let shape = Shape {
        nodes: 1,
        ..Shape::with_replicas(1)
    };
    let cluster = Cluster::start(&fixture, "cluster", "store", shape);
    let address = worker_address(&fixture, "cluster", 0);
    (fixture, cluster, address)
}

/// A frame of the first stream.
fn frame(kind: [u8; 2], content: &[u8]) -> Vec<u8> {
    let length = &(content.len() as u32).to_be_bytes()[1..];
    [length, &kind, &[0, 0, 0, 1], content].concat()
}

/// The headers of a gRPC request, without compression.
fn headers(path: &str) -> Vec<u8> {
    let header = |(name, value): (&str, &str)| {
        let text = |text: &str| [&[text.len() as u8], text.as_bytes()].concat();
        [vec![0], text(name), text(value)].concat()
    };
    let headers = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "worker"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    frame(HEADERS, &headers.map(header).concat())
}

#[test]
fn requests_that_break_a_rule_are_refused_with_the_reason() {
    let (_fixture, cluster, address) = start();
    let node = &cluster.nodes[0];
    let plan = "/worker.WorkerService/CoordinatorChannel";
    for (path, message, reason) in [
        // 4 GB, and 100 MB that never come.
        (
            plan,
            &[0, 0xff, 0xff, 0xff, 0xff][..],
            "declares 4294967295 bytes",
        ),
        (plan, &[0, 5, 0xf5, 0xe1, 0], "declares 100000000 bytes"),
        (plan, &[1, 0, 0, 0, 1, 0], "the message is compressed"),
        (plan, &[0, 0, 0, 0, 3, 1, 2, 3], "the request is malformed"),
        (plan, &[0, 0, 0, 0, 0], "a channel begins with its plan"),
        (
            "/worker.WorkerService/ExecuteTask",
            &[0, 0, 0, 0, 2, 0x42, 0],
            "are not allowed",
        ),
        (
            "/worker.WorkerService/GetWorkerInfo",
            &[0, 0, 0, 0, 0],
            "takes questions alone",
        ),
        (
            "/observability.ObservabilityService/Ping",
            &[0, 0, 0, 0, 0],
            "takes questions alone",
        ),
    ] {
        let mut socket = connect(address);
        let bytes = [PREFACE, &headers(path), &frame(DATA, message)].concat();
        socket.write_all(&bytes).expect("sent");
        node.await_log(reason);
    }
    assert_eq!(node.get("/api/v1/signals?countOnly=true").status, 200);
}

#[test]
fn what_is_no_http_2_ends_its_connection() {
    let (_fixture, cluster, address) = start();
    let node = &cluster.nodes[0];
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: worker\r\n\r\n"[..],
        &[0xff; 64],
        // A frame of 16 MB after the preface.
        &[PREFACE, &[0xff; 64]].concat(),
    ] {
        let mut socket = connect(address);
        socket.write_all(bytes).expect("sent");
        read_to_end(&mut socket);
        assert!(socket.read(&mut [0]).map_or(true, |read| read == 0));
    }
    assert_eq!(node.get("/api/v1/signals?countOnly=true").status, 200);
}

/// More connections than one address may have, each with half of the preface, or with that of gossip alone.
fn open_silent(address: SocketAddr) -> Vec<TcpStream> {
    let mut sockets: Vec<TcpStream> = (0..300).map(|_| connect(address)).collect();
    for (number, socket) in sockets.iter_mut().enumerate() {
        // Those beyond the bound are closed already.
        let _ = if number % 2 == 0 {
            socket.write_all(&PREFACE[..12])
        } else {
            socket.write_all(b"gossip 1")
        };
    }
    sockets
}

/// What does not come in time is not waited for, and one address has no more than its share of connections.
#[test]
fn connections_that_stay_silent_are_given_up() {
    let (_fixture, cluster, address) = start();
    let node = &cluster.nodes[0];
    let started = Instant::now();
    let mut sockets = open_silent(address);
    // On a busy machine the first are given up before the last are accepted.
    while !node.logs("it has too many connections", Duration::from_secs(3)) {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "{}",
            node.log()
        );
        sockets = open_silent(address);
    }
    let opened = Instant::now();
    for socket in &mut sockets {
        read_to_end(socket);
    }
    assert!(opened.elapsed() < Duration::from_secs(15));
    let answer = cluster.nodes[0].get("/api/v1/signals?countOnly=true");
    assert_eq!(answer.status, 200);
}
