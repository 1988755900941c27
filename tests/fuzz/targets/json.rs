//! JSON lines: any bytes are records or errors that name line and field, and what is accepted is
//! the same record after it was written and read again.
//!
//! The first byte of an input says what the rest is: `c` a file of companies, `s` a file of
//! signals, anything else lines that are parsed one by one.
#![no_main]

use std::cell::RefCell;
use std::path::PathBuf;

use fuzz_support::allocation::{Counting, bounded, bounded_by};
use fuzz_support::scratch::Scratch;
use libfuzzer_sys::fuzz_target;
use signaldex::json::{
    LoadReport, Loader, OnInvalid, RecordError, Rejected, parse_company, parse_signal,
    write_company, write_signal,
};
use signaldex::{Company, ErrorKind, Index, IndexBuilder, Signal};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a load may hold: a line of the greatest length at every place where one can wait, in
/// buffers that have doubled, since a compressed file is larger than it looks.
const LOAD_BYTES: usize = 256 << 20;

/// The companies of the signals that are loaded.
const COMPANIES: &str = "{\"slug\":\"a\",\"name\":\"A\"}\n{\"slug\":\"acme\",\"name\":\"Acme\"}\n";

/// The most characters of an error: 64 of input, and what is allowed.
const FAULT_CHARS_MAX: usize = 300;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new("json"));
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else {
        return;
    };
    SCRATCH.with_borrow(|scratch| match kind {
        b'c' => bounded_by(LOAD_BYTES, || check_file(scratch, rest, b"")),
        b's' => bounded_by(LOAD_BYTES, || {
            check_file(scratch, COMPANIES.as_bytes(), rest)
        }),
        _ => bounded(data.len(), || {
            rest.split(|&byte| byte == b'\n').for_each(check_line)
        }),
    });
});

fn check_line(line: &[u8]) {
    match parse_signal(line) {
        Ok(signal) => assert_eq!(parse_signal(&line_of_signal(&signal)), Ok(signal)),
        Err(error) => check_fault(&error),
    }
    match parse_company(line) {
        Ok(company) => assert_eq!(parse_company(&line_of_company(&company)), Ok(company)),
        Err(error) => check_fault(&error),
    }
}

fn check_fault(error: &RecordError) {
    let text = error.to_string();
    assert!(!error.reason().is_empty());
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(text.chars().count() < FAULT_CHARS_MAX, "{text:?}");
    let is_named = |field: &str| text.starts_with(&format!("{field}: "));
    assert!(error.field().is_none_or(is_named), "{text:?}");
}

/// Loads files, writes the index's records as files, and loads those.
fn check_file(scratch: &Scratch, companies: &[u8], signals: &[u8]) {
    let (Some(index), _) = load(scratch, companies, signals) else {
        return;
    };
    let snapshot = index.snapshot();
    let companies: Vec<Company<'_>> = snapshot
        .scan_companies()
        .map(|company| company.expect("a record that was just built"))
        .collect();
    let signals: Vec<Signal<'_>> = snapshot
        .scan()
        .map(|found| found.expect("a record that was just built").signal)
        .collect();
    let (again, report) = load(
        scratch,
        &companies
            .iter()
            .flat_map(line_of_company)
            .collect::<Vec<u8>>(),
        &signals.iter().flat_map(line_of_signal).collect::<Vec<u8>>(),
    );
    let again = again.expect("lines that were just written").snapshot();
    assert_eq!((report.rejected, report.signals), (0, signals.len() as u64));
    let read = again.scan().map(|found| found.expect("a record").signal);
    assert!(read.eq(signals));
    let read = again
        .scan_companies()
        .map(|company| company.expect("a record"));
    assert!(read.eq(companies));
}

/// The index of two files; none where one is damaged.
fn load(scratch: &Scratch, companies: &[u8], signals: &[u8]) -> (Option<Index>, LoadReport) {
    let path = |name: &str, bytes: &[u8]| -> PathBuf {
        scratch.write(name, bytes);
        scratch.path(name)
    };
    let mut builder = IndexBuilder::in_memory();
    let mut loader = Loader::new(OnInvalid::Skip).on_rejected(|rejected: &Rejected| {
        assert!(rejected.line > 0);
        rejected.errors.iter().for_each(check_fault);
    });
    let loaded = loader
        .companies(path("companies", companies), &mut builder)
        .and_then(|()| loader.signals(path("signals", signals), &mut builder));
    let report = loader.report();
    match loaded {
        Ok(()) => {
            let index = builder.finish().expect("what was built is valid");
            (Some(index), report)
        }
        Err(error) => {
            // Compressed data that ends early or is none, a table that is none, or nothing but invalid records.
            let expected = [ErrorKind::Corrupt, ErrorKind::Io, ErrorKind::Invalid];
            assert!(expected.contains(&error.kind()), "{error}");
            (None, report)
        }
    }
}

fn line_of_signal(signal: &Signal<'_>) -> Vec<u8> {
    let mut line = Vec::new();
    write_signal(&mut line, signal);
    line
}

fn line_of_company(company: &Company<'_>) -> Vec<u8> {
    let mut line = Vec::new();
    write_company(&mut line, company);
    line
}
