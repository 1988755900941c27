//! What happens when something takes too long or too much: bounds of time, of queues, of memory.

use std::io::Write;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};
use signaldex_server::{Limits, ServerLimits};

use crate::client::{self, Response, read_to_end};
use crate::fixture::{Fixture, Settings};

/// Holds the one lock that charges need, until it is dropped.
pub(crate) fn hold_charges(fixture: &Fixture) -> Connection {
    let blocker = Connection::open(fixture.state_path()).expect("the state");
    blocker
        .execute_batch("BEGIN IMMEDIATE")
        .expect("the only writer");
    blocker
}

/// Asks on a connection and a thread of its own.
pub(crate) fn ask_aside(
    fixture: &Fixture,
    headers: &[(&'static str, &str)],
) -> impl FnOnce() -> Response + Send + use<> {
    let address = fixture.address;
    let authorization = format!("Bearer {}", fixture.key.as_str());
    let headers: Vec<(&str, String)> = headers
        .iter()
        .map(|(name, value)| (*name, (*value).to_owned()))
        .chain([("authorization", authorization)])
        .collect();
    move || {
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        client::request(address, "GET", "/api/v1/signals?limit=3", &headers)
    }
}

pub(crate) fn with_limits(limits: Limits) -> Fixture {
    Fixture::with(Settings {
        limits,
        ..Settings::default()
    })
}

/// The answer to a request whose name another request holds that waits for its charge.
pub(crate) fn request_in_progress() -> Response {
    let fixture = Fixture::start();
    let name = ("idempotency-key", "golden-4712");
    let blocker = hold_charges(&fixture);
    let first = std::thread::spawn(ask_aside(&fixture, &[name]));
    let started = Instant::now();
    // The first request holds the name from the moment it is read.
    let second = loop {
        let probe = ask_aside(&fixture, &[name]);
        std::thread::sleep(Duration::from_millis(20));
        let answer = probe();
        if answer.status == 409 || started.elapsed() > Duration::from_secs(3) {
            break answer;
        }
    };
    drop(blocker);
    fixture.note(first.join().expect("an answer").charged());
    second
}

/// The answer to a request for a record that has been damaged on the disk.
pub(crate) fn damaged_record() -> Response {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("index");
    let mut builder = IndexBuilder::in_directory(&path).expect("a directory");
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a company");
    let evidence = "evidence that is nowhere but in the record";
    let mut signal = Signal::new(SignalId::MIN, "acme", "Acme raises");
    signal.evidence = Some(evidence.into());
    builder.add_signal(&signal).expect("a signal");
    builder.finish().expect("an index");
    let file = std::fs::read_dir(&path)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.to_string_lossy().contains("segment"))
        .expect("a segment");
    let mut bytes = std::fs::read(&file).expect("a segment");
    let place = bytes
        .windows(evidence.len())
        .position(|window| window == evidence.as_bytes())
        .expect("the evidence");
    bytes[place] ^= 1;
    std::fs::write(&file, bytes).expect("written");
    let fixture = Fixture::with(Settings {
        index: Some(Index::open(&path).expect("records are checked as they are read")),
        ..Settings::default()
    });
    fixture.search("")
}

#[test]
fn charges_over_the_bound_of_the_queue_are_refused_at_once() {
    let fixture = with_limits(Limits {
        charge_queue: 2,
        ..Limits::default()
    });
    let blocker = hold_charges(&fixture);
    let waiting: Vec<_> = (0..8)
        .map(|_| std::thread::spawn(ask_aside(&fixture, &[])))
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    drop(blocker);
    let answers: Vec<Response> = waiting
        .into_iter()
        .map(|thread| thread.join().expect("an answer"))
        .collect();
    let refused: Vec<&Response> = answers.iter().filter(|a| a.status == 503).collect();
    // The writer holds one batch and the queue two charges; what a batch takes is not bounded here.
    assert!(!refused.is_empty() && refused.len() < answers.len());
    for answer in refused {
        let detail = answer.json()["detail"].to_string();
        assert!(detail.contains("Too many charges"), "{detail}");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    fixture.note(answers.iter().map(Response::charged).sum());
}

#[test]
fn a_client_that_does_not_read_is_left() {
    const REQUESTS: usize = 500;
    let server = ServerLimits {
        min_send_rate: 1 << 20,
        send_window: Duration::from_millis(400),
        header_time: Duration::from_secs(20),
        ..ServerLimits::default()
    };
    let fixture = Fixture::with(Settings {
        server,
        ..Settings::default()
    });
    let mut socket = client::connect(fixture.address);
    // Answers of 47 MB: more than the buffers of both sides of a socket hold.
    let request = "GET /openapi.json HTTP/1.1\r\nhost: a\r\n\r\n".repeat(REQUESTS);
    socket.write_all(request.as_bytes()).expect("sent");
    std::thread::sleep(Duration::from_secs(2));
    let started = Instant::now();
    let answers = read_to_end(&mut socket);
    let count = answers
        .windows(9)
        .filter(|window| *window == b"HTTP/1.1 ")
        .count();
    assert!(count < REQUESTS, "all {count} answers came");
    assert!(
        started.elapsed() < Duration::from_secs(10),
        "the connection ended by itself"
    );
}

/// Each two neighbours of these words stand next to each other in every title of the heavy index,
/// and no three of them.
const WORDS: [&str; 40] = [
    "ab", "ac", "ad", "ae", "af", "ag", "ah", "ai", "aj", "ak", "al", "am", "an", "ao", "ap", "aq",
    "ar", "as", "at", "au", "av", "aw", "ax", "ay", "az", "ba", "bc", "bd", "be", "bf", "bg", "bh",
    "bi", "bj", "bk", "bl", "bm", "bn", "bo", "bp",
];

/// An index in which a phrase that occurs nowhere is looked for in every title.
fn heavy_index() -> Index {
    const ROWS: u64 = 30_000;
    let mut builder = IndexBuilder::in_memory();
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("a company");
    let pairs: Vec<String> = WORDS.windows(2).map(|pair| pair.join(" ")).collect();
    let title = pairs.join(" and ");
    for number in 1..=ROWS {
        let id = SignalId::new(number).expect("an id");
        let signal = Signal::new(id, "acme", title.as_str());
        builder.add_signal(&signal).expect("a signal");
    }
    builder.finish().expect("an index")
}

/// Phrases of three words, whose absence only the titles tell.
fn heavy_count() -> String {
    let phrases = WORDS.windows(3);
    let phrases: Vec<String> = phrases
        .map(|words| format!("%22{}%22", words.join("+")))
        .collect();
    format!("/api/v1/signals?countOnly=true&any={}", phrases.join("+"))
}

/// The longest and the median time of requests, one after the other.
fn times(requests: usize, ask: impl Fn() -> Response) -> (Duration, Duration) {
    let mut times: Vec<Duration> = (0..requests)
        .map(|_| {
            let started = Instant::now();
            assert_eq!(ask().status, 200);
            started.elapsed()
        })
        .collect();
    times.sort();
    (times[requests - 1], times[requests / 2])
}

/// Sends a request again and again on connections of its own, until it is dropped.
struct Neighbour {
    is_over: std::sync::Arc<std::sync::atomic::AtomicBool>,
    threads: Vec<std::thread::JoinHandle<Vec<Response>>>,
}

impl Neighbour {
    fn start(fixture: &Fixture, connections: usize, target: &str) -> Neighbour {
        use std::sync::atomic::{AtomicBool, Ordering};
        let is_over = std::sync::Arc::new(AtomicBool::new(false));
        let authorization = format!("Bearer {}", fixture.key.as_str());
        let thread = |_| {
            let (is_over, address) = (std::sync::Arc::clone(&is_over), fixture.address);
            let (authorization, target) = (authorization.clone(), target.to_owned());
            std::thread::spawn(move || {
                let headers = [("authorization", authorization.as_str())];
                let mut answers = Vec::new();
                while !is_over.load(Ordering::Relaxed) {
                    answers.push(client::request(address, "GET", &target, &headers));
                }
                answers
            })
        };
        let threads = (0..connections).map(thread).collect();
        std::thread::sleep(Duration::from_millis(300));
        Neighbour { is_over, threads }
    }

    fn stop(self) -> Vec<Response> {
        self.is_over
            .store(true, std::sync::atomic::Ordering::Relaxed);
        let threads = self.threads.into_iter();
        threads
            .flat_map(|thread| thread.join().expect("answers"))
            .collect()
    }
}

#[test]
fn expensive_queries_of_one_key_leave_those_of_others_alone() {
    let fixture = Fixture::with(Settings {
        limits: Limits {
            query_threads: 1,
            query_wait: Duration::from_millis(500),
            ..Limits::default()
        },
        index: Some(heavy_index()),
        ..Settings::default()
    });
    let other = fixture.other_key(&Settings::default().key);
    let bearer = format!("Bearer {}", other.as_str());
    let headers = [("authorization", bearer.as_str())];
    let cheap = || fixture.send_as_is("GET", "/api/v1/signals?q=ab&limit=2", &headers);
    let health = || fixture.send_as_is("GET", "/healthz", &[]);
    let heavy = heavy_count();
    let (_, alone) = times(5, || fixture.get(&heavy));

    let neighbour = Neighbour::start(&fixture, 24, &heavy);
    let (_, cheap_time) = times(30, cheap);
    let (_, health_time) = times(30, health);
    let answers = neighbour.stop();

    assert!(cheap_time < alone / 2, "{cheap_time:?}, {alone:?} alone");
    assert!(health_time < alone / 2, "{health_time:?}, {alone:?} alone");
    let (counted, refused): (Vec<&Response>, Vec<&Response>) =
        answers.iter().partition(|answer| answer.status == 200);
    assert!(!counted.is_empty() && !refused.is_empty());
    for answer in counted {
        assert_eq!(answer.json()["data"]["count"], 0);
    }
    for answer in refused {
        assert_eq!(answer.json()["code"], "rate_limited");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
}

#[test]
fn expensive_queries_are_answered_as_cheap_ones_are() {
    let fixture = |cheap_query_cost| {
        Fixture::with(Settings {
            limits: Limits {
                cheap_query_cost,
                ..Limits::default()
            },
            ..Settings::default()
        })
    };
    let (cheap, expensive) = (fixture(u64::MAX), fixture(0));
    for target in [
        "signals?q=raises&limit=7",
        "signals?q=raises&countOnly=true",
        "signals?any=%22series+a+funding%22+raises&limit=3&page=2",
        "signals?country=Germany&days=90",
        "signals?q=nothing+of+the+kind",
        "filter-options?q=raises&country=Germany",
    ] {
        let target = format!("/api/v1/{target}");
        let (one, other) = (cheap.get(&target), expensive.get(&target));
        assert_eq!(one.status, 200, "{target}");
        assert_eq!((one.status, one.charged()), (other.status, other.charged()));
        assert_eq!(one.json(), other.json(), "{target}");
    }
}
