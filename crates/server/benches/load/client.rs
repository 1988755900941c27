//! A client that costs little: keep-alive connections, answers read by their length.

use std::fmt::Display;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

/// How far apart in the list of requests two connections begin: a prime, so that they spread.
const START_DISTANCE: usize = 211;

/// What is asked for. Clones share the requests.
#[derive(Clone)]
pub(crate) struct Target {
    address: SocketAddr,
    /// Each connection asks them in turn, beginning at another one.
    requests: Arc<[Vec<u8>]>,
}

impl Target {
    pub(crate) fn new(address: SocketAddr, key: &str, paths: &[impl Display]) -> Target {
        let request = |path| {
            let text = format!(
                "GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {key}\r\n\r\n"
            );
            text.into_bytes()
        };
        Target {
            address,
            requests: paths.iter().map(request).collect(),
        }
    }
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) latencies: Vec<Duration>,
    /// Of all bodies.
    pub(crate) bytes: usize,
    pub(crate) errors: usize,
}

struct Connection {
    socket: TcpStream,
    requests: Arc<[Vec<u8>]>,
    next: usize,
    buffer: Vec<u8>,
}

/// Asks over all connections at once, each as soon as it has its answer.
pub(crate) async fn as_fast_as_possible(
    target: &Target,
    connections: usize,
    time: Duration,
) -> Outcome {
    gather(target, connections, |_, start| Schedule {
        next: None,
        interval: Duration::ZERO,
        end: start + time,
    })
    .await
}

/// Asks at a fixed rate over all; a late answer makes the ones behind it late, and counted so.
pub(crate) async fn at_rate(
    target: &Target,
    connections: usize,
    rate: f64,
    time: Duration,
) -> Outcome {
    let interval = Duration::from_secs_f64(connections as f64 / rate);
    let schedule = |number: usize, start: Instant| Schedule {
        next: Some(start + interval.mul_f64(number as f64 / connections as f64)),
        interval,
        end: start + time,
    };
    gather(target, connections, schedule).await
}

/// The length of a target's body.
pub(crate) async fn body_length(target: &Target) -> io::Result<usize> {
    Connection::open(target, 0).await?.ask().await
}

#[derive(Clone, Copy)]
struct Schedule {
    next: Option<Instant>,
    interval: Duration,
    end: Instant,
}

async fn gather(
    target: &Target,
    connections: usize,
    schedule: impl Fn(usize, Instant) -> Schedule,
) -> Outcome {
    let mut total = Outcome::default();
    let mut opened = Vec::with_capacity(connections);
    // One after the other, before the clock starts: a burst of new connections measures the queue
    // of the operating system.
    for number in 0..connections {
        match Connection::open(target, number).await {
            Ok(connection) => opened.push(connection),
            Err(_) => total.errors += 1,
        }
    }
    let start = Instant::now();
    let tasks: Vec<_> = (0..)
        .zip(opened)
        .map(|(number, connection)| tokio::spawn(run(connection, schedule(number, start))))
        .collect();
    for task in tasks {
        match task.await {
            Ok(outcome) => {
                total.latencies.extend(outcome.latencies);
                total.bytes += outcome.bytes;
                total.errors += outcome.errors;
            }
            Err(_) => total.errors += 1,
        }
    }
    total
}

async fn run(mut connection: Connection, mut schedule: Schedule) -> Outcome {
    let mut outcome = Outcome::default();
    while Instant::now() < schedule.end {
        let mut started = Instant::now();
        if let Some(next) = schedule.next {
            sleep_until(next).await;
            started = next;
            schedule.next = Some(next + schedule.interval);
        }
        match connection.ask().await {
            Ok(length) => {
                outcome.latencies.push(started.elapsed());
                outcome.bytes += length;
            }
            Err(error) => {
                eprintln!("{error}");
                outcome.errors += 1;
                return outcome;
            }
        }
    }
    outcome
}

impl Connection {
    async fn open(target: &Target, number: usize) -> io::Result<Connection> {
        let socket = TcpStream::connect(target.address).await?;
        socket.set_nodelay(true)?;
        Ok(Connection {
            socket,
            requests: Arc::clone(&target.requests),
            next: number * START_DISTANCE,
            buffer: Vec::with_capacity(1 << 17),
        })
    }

    /// Asks once and returns the length of the body of an answer 200.
    async fn ask(&mut self) -> io::Result<usize> {
        let request = &self.requests[self.next % self.requests.len()];
        self.next += 1;
        self.socket.write_all(request).await?;
        self.buffer.clear();
        let mut wanted = None;
        loop {
            if self.socket.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if wanted.is_none() {
                wanted = head(&self.buffer).map_err(|answer| refused(request, &answer))?;
            }
            if let Some((head, body)) = wanted
                && self.buffer.len() >= head + body
            {
                return Ok(body);
            }
        }
    }
}

fn refused(request: &[u8], answer: &str) -> io::Error {
    let request = String::from_utf8_lossy(request);
    let line = request.lines().next().unwrap_or_default();
    io::Error::other(format!("{line}: {answer}"))
}

/// The lengths of head and body, once the head is there; the head of any answer but a 200.
fn head(bytes: &[u8]) -> Result<Option<(usize, usize)>, String> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.split("\r\n").next());
    let length = length.and_then(|length| length.parse().ok());
    match length {
        Some(length) if head.starts_with("http/1.1 200") => Ok(Some((end + 4, length))),
        _ => Err(head),
    }
}
