//! The text of cursors: what is accepted is written the same, and no altered cursor is accepted.
//!
//! The first byte of an input says what the rest is: a text, or a cursor's bytes, which get a
//! right checksum.
#![no_main]

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fuzz_support::allocation::{Counting, bounded};
use fuzz_support::examination::TODAY;
use fuzz_support::tiny_index;
use libfuzzer_sys::fuzz_target;
use signaldex::query::{Cursor, ErrorCode, Start};
use signaldex::{Filter, Index, Query};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The bytes of a cursor in front of its checksum.
const COVERED_BYTES: usize = 30;

/// Where the fingerprint of the filters stands.
const FINGERPRINT: std::ops::Range<usize> = 14..30;

/// Filters that cursors are tried on.
const FILTERS: [&str; 4] = [
    "",
    "days=30",
    "dateRanges=7,older&q=a",
    "dateFrom=2026-01-01",
];

thread_local! {
    static INDEX: Index = tiny_index();
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, rest)) = data.split_first() else {
        return;
    };
    INDEX.with(|index| {
        bounded(data.len(), || match kind {
            b't' => check(&String::from_utf8_lossy(rest), index),
            _ => check(&cursor_of(kind, rest), index),
        });
    });
});

/// A text that is a cursor as far as its form and its checksum go.
fn cursor_of(kind: u8, bytes: &[u8]) -> String {
    let mut covered = bytes.to_vec();
    covered.resize(COVERED_BYTES, 0);
    // Half of them fit one of the filters, which only a hash could hit otherwise.
    if let Some(text) = FILTERS.get(usize::from(kind % 8)) {
        let filter = Filter::from_query_string(text).expect("a valid filter");
        covered[FINGERPRINT].copy_from_slice(filter.fingerprint().as_bytes());
    }
    let checksum = crc32c::crc32c(&covered);
    covered.extend(checksum.to_le_bytes());
    URL_SAFE_NO_PAD.encode(covered)
}

fn check(text: &str, index: &Index) {
    let Ok(cursor) = Cursor::parse(text) else {
        let query = format!("cursor={}", text.replace(['%', '+', '&'], "_"));
        assert!(Query::from_query_string(&query).is_err());
        return;
    };
    assert_eq!(cursor.to_string(), text);
    assert_eq!(Cursor::parse(&cursor.to_string()), Ok(cursor.clone()));
    check_alterations(text);
    for filter in FILTERS {
        ask(filter, &cursor, index);
    }
}

/// Every change of a single letter, and of the length by one, is noticed.
fn check_alterations(text: &str) {
    for place in 0..text.len() {
        for letter in ["A", "B", "Q", "g", "w", "_", "=", "é"] {
            let mut altered = text.to_owned();
            altered.replace_range(place..=place, letter);
            assert!(
                altered == text || Cursor::parse(&altered).is_err(),
                "{altered}"
            );
        }
        let mut shorter = text.to_owned();
        let letter = shorter.remove(place);
        assert!(Cursor::parse(&shorter).is_err(), "{shorter}");
        let mut longer = text.to_owned();
        longer.insert(place, letter);
        assert!(Cursor::parse(&longer).is_err(), "{longer}");
    }
}

/// A query takes the cursor if it was made for its filters, and goes on behind it.
fn ask(filter: &str, cursor: &Cursor, index: &Index) {
    let ampersand = if filter.is_empty() { "" } else { "&" };
    match Query::from_query_string(&format!("{filter}{ampersand}cursor={cursor}")) {
        Ok(query) => {
            assert_eq!(*query.start(), Start::After(cursor.clone()));
            let page = index
                .snapshot()
                .search(&query, TODAY)
                .expect("a whole index");
            assert!(page.ids().all(|id| id < cursor.last_id()));
            let matching = index.snapshot().count(query.filter(), cursor.day());
            let matching = matching.expect("a whole index");
            assert!(page.len() as u64 <= matching);
            if let Some(next) = page.next_cursor() {
                assert_eq!(next.day(), cursor.day());
            }
        }
        Err(errors) => {
            let codes: Vec<ErrorCode> = errors.errors().iter().map(|error| error.code).collect();
            assert_eq!(codes, [ErrorCode::CursorMismatch]);
        }
    }
}
