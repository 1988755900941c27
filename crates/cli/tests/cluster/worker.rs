//! What a worker's port accepts: questions of this program, and nothing else.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::client::{connect, read_to_end};
use crate::fixture::{Cluster, Fixture, Shape, worker_address};

/// The status of a question that breaks a rule.
const INVALID: u8 = 3;

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

fn message(bytes: &[u8]) -> Vec<u8> {
    let length = (bytes.len() as u32).to_be_bytes();
    [&length[..], bytes].concat()
}

/// The content of the next reply.
fn reply(socket: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    socket.read_exact(&mut length).expect("a length");
    let mut reply = vec![0; u32::from_be_bytes(length) as usize];
    socket.read_exact(&mut reply).expect("a reply");
    reply
}

#[test]
fn questions_that_break_a_rule_are_refused_with_the_reason() {
    let (_fixture, cluster, address) = start();
    let node = &cluster.nodes[0];
    let mut socket = connect(address);
    for (question, reason) in [
        (&[][..], "the question is empty"),
        (&[9, 1, 2], "the question has version 9"),
        (&[1], "the question is malformed"),
        (&[1, 1, 0, 99], "the question is malformed"),
        // Generation 1, shards 0 and 0, and the question what is held.
        (&[1, 1, 2, 0, 0, 5], "names shard 0 twice"),
        (&[1, 1, 1, 0, 5, 7], "bytes follow the end"),
        // A filter that is none, at a day.
        (&[1, 1, 1, 0, 1, 3, b'x', b'=', b'1', 0], "malformed query"),
    ] {
        socket.write_all(&message(question)).expect("sent");
        let reply = reply(&mut socket);
        let text = String::from_utf8_lossy(&reply[1..]);
        assert_eq!(reply[0], INVALID, "{question:?}: {text}");
        assert!(text.contains(reason), "{question:?}: {text}");
        node.await_log(reason);
    }
    // The connection is as good as before.
    socket.write_all(&message(&[1, 0, 0, 5])).expect("sent");
    assert_eq!(reply(&mut socket)[..2], [0, 3], "what the node holds");
    assert_eq!(node.get("/api/v1/signals?countOnly=true").status, 200);
}

#[test]
fn what_is_no_message_ends_its_connection() {
    let (_fixture, cluster, address) = start();
    let node = &cluster.nodes[0];
    for bytes in [
        &b"GET / HTTP/1.1\r\nhost: worker\r\n\r\n"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        &[0xff; 64],
    ] {
        let mut socket = connect(address);
        socket.write_all(bytes).expect("sent");
        assert!(read_to_end(&mut socket).is_empty());
    }
    node.await_log("a message declares 1195725856 bytes; at most");
    assert_eq!(node.get("/api/v1/signals?countOnly=true").status, 200);
}

/// A declared length allocates little, and what does not come in time is not waited for.
#[test]
fn a_question_that_stays_away_is_given_up() {
    let (_fixture, cluster, address) = start();
    let started = Instant::now();
    let mut sockets: Vec<TcpStream> = (0..100).map(|_| connect(address)).collect();
    for socket in &mut sockets {
        socket.write_all(&[0, 0, 0xff, 0xff, 3]).expect("sent");
    }
    for socket in &mut sockets {
        assert!(read_to_end(socket).is_empty());
    }
    assert!(started.elapsed() < Duration::from_secs(15));
    let answer = cluster.nodes[0].get("/api/v1/signals?countOnly=true");
    assert_eq!(answer.status, 200);
}
