//! Connections that fall silent without an end, as after a firewall has forgotten them: they are replaced.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::fixture::{Cluster, Fixture, Shape, free_port};

/// The longest that a silent connection may cost answers.
const REPLACED: Duration = Duration::from_secs(10);

/// Passes bytes on between nodes, until it is told to drop those of all connections that are open.
struct Proxy {
    port: u16,
    /// Connections so far.
    opened: Arc<AtomicUsize>,
    /// The connections before this one are silent.
    silent: Arc<AtomicUsize>,
}

impl Proxy {
    fn start(worker_port: u16) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let proxy = Proxy {
            port: listener.local_addr().expect("an address").port(),
            opened: Arc::default(),
            silent: Arc::default(),
        };
        let (opened, silent) = (Arc::clone(&proxy.opened), Arc::clone(&proxy.silent));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let number = opened.fetch_add(1, Ordering::SeqCst);
                // The worker may not listen yet.
                let Ok(worker) = TcpStream::connect((Ipv4Addr::LOCALHOST, worker_port)) else {
                    continue;
                };
                pass(&client, &worker, number, &silent);
                pass(&worker, &client, number, &silent);
            }
        });
        proxy
    }

    fn fall_silent(&self) {
        let opened = self.opened.load(Ordering::SeqCst);
        self.silent.store(opened, Ordering::SeqCst);
    }
}

/// Passes on what comes from one side. Of a silent connection it takes everything, and neither passes it
/// on nor ends.
fn pass(from: &TcpStream, to: &TcpStream, number: usize, silent: &Arc<AtomicUsize>) {
    let (mut from, mut to) = (
        from.try_clone().expect("the same socket"),
        to.try_clone().expect("the same socket"),
    );
    let silent = Arc::clone(silent);
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        let is_silent = || silent.load(Ordering::SeqCst) > number;
        loop {
            match from.read(&mut buffer) {
                Ok(read) if read > 0 && !is_silent() => {
                    if to.write_all(&buffer[..read]).is_err() {
                        return;
                    }
                }
                Ok(read) if read > 0 => {}
                _ if is_silent() => thread::sleep(Duration::from_secs(60)),
                _ => {
                    let _ = to.shutdown(std::net::Shutdown::Write);
                    return;
                }
            }
        }
    });
}

#[test]
fn a_connection_that_falls_silent_is_replaced() {
    let fixture = Fixture::new();
    fixture.generate("corpus", 1_000, 23);
    fixture.publish("corpus", 4, "store");
    let whole = fixture.serve_whole("corpus");
    let shape = Shape {
        deadline: 2.0,
        first_attempt_timeout: 0.5,
        ..Shape::with_replicas(1)
    };
    let worker_ports: Vec<u16> = (0..shape.nodes).map(|_| free_port()).collect();
    let proxies: Vec<Proxy> = worker_ports
        .iter()
        .map(|&port| Proxy::start(port))
        .collect();
    let ports: Vec<u16> = proxies.iter().map(|proxy| proxy.port).collect();
    let cluster = Cluster::start_between(&fixture, "cluster", "store", shape, &ports, worker_ports);
    let target = "/api/v1/signals?limit=50";
    let expected = whole.get(target).body;
    for is_idle in [false, true] {
        for node in &cluster.nodes {
            assert_eq!(node.get(target).status, 200, "{}", node.log());
        }
        proxies.iter().for_each(Proxy::fall_silent);
        let started = Instant::now();
        if is_idle {
            // Nothing is asked meanwhile: it is noticed all the same.
            thread::sleep(REPLACED);
        }
        for node in &cluster.nodes {
            loop {
                let answer = node.get(target);
                if answer.status == 200 {
                    assert!(answer.body == expected);
                    break;
                }
                let time = started.elapsed();
                assert!(!is_idle && time < REPLACED, "{time:?}: {}", node.log());
            }
        }
        println!(
            "idle: {is_idle}; answered again after {:?}",
            started.elapsed()
        );
        assert!(started.elapsed() < REPLACED + Duration::from_secs(2));
        for node in &cluster.nodes {
            node.await_ready("");
        }
    }
}
