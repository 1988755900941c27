//! Clients that read slowly: what is above the rate of `--min-send-rate` is never cut off, and what is
//! below it ends, with its reason in the log.

use std::io::{BufRead, ErrorKind, Read};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use crate::client;
use crate::memory::Service;

/// Reads that many bytes every interval for some time, or until the connection is reset. Returns what
/// was read, and when the reset came.
fn read_slowly(
    socket: &mut TcpStream,
    bytes: usize,
    interval: Duration,
    time: Duration,
) -> (Vec<u8>, Option<Duration>) {
    let started = Instant::now();
    let (mut read, mut buffer) = (Vec::new(), vec![0; bytes]);
    while started.elapsed() < time {
        // A reset is told at once, however much is still to be read.
        let reset = socket.take_error().expect("a socket");
        match reset.map_or_else(|| socket.read(&mut buffer), Err) {
            Ok(length) => read.extend_from_slice(&buffer[..length]),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionReset);
                return (read, Some(started.elapsed()));
            }
        }
        thread::sleep(interval);
    }
    (read, None)
}

#[test]
#[ignore = "takes 75 seconds"]
fn a_reader_at_20_kb_per_second_keeps_its_export_and_one_at_320_bytes_loses_it() {
    const SIGNALS: usize = 60;
    const TIME: Duration = Duration::from_secs(75);
    const SECOND: Duration = Duration::from_secs(1);
    let mut service = Service::start(&[1_000_000; SIGNALS], &["--log-format", "json"]);
    let reader = |bytes: usize| {
        let mut socket = service.send("/api/v1/export");
        thread::spawn(move || {
            let outcome = read_slowly(&mut socket, bytes, SECOND, TIME);
            (socket, outcome)
        })
    };
    let (slow, steady, quick) = (reader(320), reader(2_000), reader(20_000));
    let (_, (_, lost)) = slow.join().expect("a reader");
    assert!(
        lost.is_some(),
        "a reader at 320 bytes a second is still served"
    );
    for reader in [steady, quick] {
        let (mut socket, (mut read, lost)) = reader.join().expect("a reader");
        assert_eq!(lost, None);
        socket.read_to_end(&mut read).expect("the rest");
        let answer = client::parse(&read);
        assert!(answer.is_whole);
        let lines = answer.body.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!(lines, SIGNALS);
    }
    service.process.kill().expect("a process");
    let lines = (&mut service.errors).lines().map_while(Result::ok);
    let lines: Vec<String> = lines.filter(|line| line.contains("too slowly")).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("--min-send-rate"), "{}", lines[0]);
}
