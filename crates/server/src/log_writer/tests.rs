//! White-box tests of `log_writer.rs`.

use super::*;
use std::sync::Mutex;
use std::time::Instant;

const A_WHILE: Duration = Duration::from_secs(10);

/// An output that keeps what is written to it.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("a lock").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An output on which every write fails.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An output that blocks until the sender is dropped.
struct Blocked(Receiver<()>);

impl Write for Blocked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.recv();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_are_written_in_order() {
    let kept = Kept::default();
    let mut log = LogWriter::start(kept.clone()).expect("a thread");
    for number in 0..1000 {
        writeln!(log, "line {number}").expect("queued");
    }
    log.flush_for(A_WHILE);
    let written = String::from_utf8(kept.0.lock().expect("a lock").clone()).expect("text");
    let expected: String = (0..1000).map(|number| format!("line {number}\n")).collect();
    assert_eq!(written, expected);
    assert_eq!(log.dropped_lines(), 0);
}

#[test]
fn lines_that_cannot_be_written_are_counted() {
    let mut log = LogWriter::start(Full).expect("a thread");
    for _ in 0..10 {
        log.write_all(b"line\n").expect("dropped");
    }
    log.flush_for(A_WHILE);
    assert_eq!(log.dropped_lines(), 10);
}

#[test]
fn an_output_that_blocks_holds_nothing_up_and_the_queue_is_bounded() {
    const LINE: [u8; 1024] = [b'x'; 1024];
    let (release, blocked) = mpsc::channel();
    let mut log = LogWriter::start(Blocked(blocked)).expect("a thread");
    let started = Instant::now();
    for _ in 0..2 * QUEUE_BYTES_MAX / LINE.len() {
        log.write_all(&LINE).expect("queued or dropped");
    }
    log.flush_for(Duration::from_millis(50));
    assert!(started.elapsed() < A_WHILE);
    let queued = log.counts.queued_bytes.load(Ordering::Relaxed);
    assert!(queued <= QUEUE_BYTES_MAX, "{queued} bytes");
    assert_eq!(log.dropped_lines() as usize, QUEUE_BYTES_MAX / LINE.len());
    drop(release);
    log.flush_for(A_WHILE);
    log.write_all(b"line\n").expect("queued");
    assert_eq!(log.dropped_lines() as usize, QUEUE_BYTES_MAX / LINE.len());
}
