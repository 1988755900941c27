//! What the program's memory grows by under headers without end.

use std::io::Write;

use crate::client::{self, read_to_end};
use crate::program;

/// The most memory that a process has had resident, in bytes.
fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .expect("a figure");
    let kilobytes: u64 = line
        .trim_end_matches("kB")
        .trim()
        .parse()
        .expect("a number");
    kilobytes * 1024
}

/// Headers without end, on as many connections as are let in, again and again. Each may hold 128
/// KiB; while its buffer doubles and in what the allocator keeps for the next there are as many
/// again, and what one wave has left has to do for the next.
#[test]
fn memory_stays_within_its_bound_under_headers_without_end() {
    const CONNECTIONS: usize = 128;
    const WAVES: usize = 4;
    const BYTES_A_CONNECTION: u64 = 512 * 1024;
    let directory = tempfile::tempdir().expect("a directory");
    let limits = ["--max-connections", "128"];
    let (mut service, address, _errors) =
        program::serve(&directory.path().join("state.db"), &limits);
    // The code that a flood runs through is mapped memory as well, but not the connections'.
    flood(address);
    let before = peak_memory(service.id());
    for _ in 0..WAVES {
        let flooding: Vec<_> = (0..CONNECTIONS)
            .map(|_| std::thread::spawn(move || flood(address)))
            .collect();
        for thread in flooding {
            thread.join().expect("a flood ends");
        }
    }
    let used = peak_memory(service.id()) - before;
    service.kill().expect("a process");
    service.wait().expect("a process");
    let bound = CONNECTIONS as u64 * BYTES_A_CONNECTION;
    assert!(used <= bound, "{used} bytes, {bound} are allowed");
}

/// Sends a megabyte of one header, or as much as is taken.
fn flood(address: std::net::SocketAddr) {
    let mut socket = client::connect(address);
    let _ = socket.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\nx: ");
    for _ in 0..256 {
        if socket.write_all(&[b'a'; 4096]).is_err() {
            return;
        }
    }
    read_to_end(&mut socket);
}
