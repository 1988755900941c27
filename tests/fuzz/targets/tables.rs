//! Tables: any bytes, under any options, are records, or faults that name line and field, or an error; and a check finds
//! what a load finds.
//!
//! The first line of an input has the kind of its records and options of the load, with spaces between them, as in
//! `signals decimal=, make-keys`. The rest is the file: CSV, a workbook, Parquet or JSON.
#![no_main]

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

use fuzz_support::allocation::{Counting, bounded_by};
use fuzz_support::scratch::Scratch;
use libfuzzer_sys::fuzz_target;
use signaldex::json::{CheckSink, FaultGroup, LoadOptions, LoadReport, Loader, Sink};
use signaldex::{ErrorKind, IndexBuilder};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a load may hold: batches of rows of the greatest length, and what a workbook or a page of Parquet becomes.
const LOAD_BYTES: usize = 512 << 20;

/// The companies of the signals that are loaded.
const COMPANIES: &str = "slug,name\na,A\nacme,Acme GmbH\n";

/// The most characters of what is said of a fault: two shortened texts, and what is allowed.
const REASON_CHARS_MAX: usize = 400;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new("tables"));
}

fuzz_target!(|data: &[u8]| {
    tolerate_other_packages();
    let Some(end) = data.iter().position(|&byte| byte == b'\n') else {
        return;
    };
    let Ok(given) = std::str::from_utf8(&data[..end]) else {
        return;
    };
    let mut words = given.split(' ');
    let is_signals = words.next() == Some("signals");
    let options = options(words);
    SCRATCH.with_borrow(|scratch| {
        let (companies, signals) = if is_signals {
            (COMPANIES.as_bytes(), Some(&data[end + 1..]))
        } else {
            (&data[end + 1..], None)
        };
        scratch.write("companies", companies);
        scratch.write("signals", signals.unwrap_or_default());
        bounded_by(LOAD_BYTES, || {
            let mut builder = IndexBuilder::in_memory();
            let loaded = load(scratch, is_signals, &options, &mut builder);
            let checked = load(scratch, is_signals, &options, &mut CheckSink::default());
            assert_eq!(loaded, checked, "a check, and a load");
            let (_, report, _) = loaded;
            let snapshot = builder
                .finish()
                .expect("records that were taken")
                .snapshot();
            let signals = report.signals - report.signals_replaced;
            assert_eq!(snapshot.signal_count(), signals);
        });
    });
});

/// Other packages panic at some damage, which the library says as an error; a panic of its own ends the process.
fn tolerate_other_packages() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let end_process = panic::take_hook();
        panic::set_hook(Box::new(move |found| {
            let file = found.location().map_or("", |location| location.file());
            if !file.contains("/registry/") {
                end_process(found);
            }
        }));
    });
}

/// The options that can be set. Files of mappings are left out: any path could be read.
fn options<'t>(words: impl Iterator<Item = &'t str>) -> LoadOptions {
    let mut options = LoadOptions::default();
    let _ = options.set("skip-invalid", "");
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if !value.contains('@') {
            let _ = options.set(name, value);
        }
    }
    options
}

/// Loads the files: how it ended, the numbers, and the faults.
fn load(
    scratch: &Scratch,
    is_signals: bool,
    options: &LoadOptions,
    sink: &mut impl Sink,
) -> (Option<String>, LoadReport, Vec<FaultGroup>) {
    let mut loader = Loader::with_options(options.clone()).making_ids();
    let (companies, signals) = (scratch.path("companies"), scratch.path("signals"));
    let loaded = loader.load(Some(&companies), is_signals.then_some(&*signals), sink);
    let faults = loader.faults();
    faults.iter().for_each(check_fault);
    let ended = loaded.err().map(|error| {
        let expected = [ErrorKind::Corrupt, ErrorKind::Io, ErrorKind::Invalid];
        assert!(expected.contains(&error.kind()), "{error}");
        error.to_string()
    });
    (ended, loader.report(), faults)
}

fn check_fault(fault: &FaultGroup) {
    assert!(fault.line > 0 && fault.count > 0 && !fault.reason.is_empty());
    let value = fault.value.as_deref().unwrap_or_default();
    for text in [value, &fault.reason] {
        assert!(!text.contains(char::is_control), "{text:?}");
        assert!(text.chars().count() < REASON_CHARS_MAX, "{text:?}");
    }
    for (option, count) in &fault.options {
        assert!(
            option.starts_with("--") && (1..=fault.count).contains(count),
            "{option}"
        );
    }
}
