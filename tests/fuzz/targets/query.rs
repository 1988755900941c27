//! Query strings: what is refused says why, what is accepted means one thing however it is
//! written, and the engine answers it as the plain meaning says.
#![no_main]

use std::sync::{Arc, LazyLock};

use fuzz_support::allocation::{Counting, bounded};
use fuzz_support::examination::{TODAY, compare_query};
use fuzz_support::tiny_index;
use libfuzzer_sys::fuzz_target;
use signaldex::query::{ErrorCode, InvalidQuery, PARAMETERS};
use signaldex::{Facets, Filter, Found, Query, Snapshot};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most characters of an error's message: 64 of input, and the names of all parameters.
const MESSAGE_CHARS_MAX: usize = 600;

/// What no question to the index of the target can fail with.
const WHOLE: &str = "a whole index";

/// One accepted query in n has its facets counted, which is slow in the plain way.
const FACETS_SHARE: u8 = 8;

/// The index and its records.
struct Known {
    snapshot: Arc<Snapshot>,
    records: Vec<Found<'static>>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let snapshot: &'static Arc<Snapshot> = Box::leak(Box::new(tiny_index().snapshot()));
    let records = snapshot
        .scan()
        .map(|found| found.expect("a record that was just built"));
    Known {
        snapshot: Arc::clone(snapshot),
        records: records.collect(),
    }
});

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let known = &*KNOWN;
    bounded(data.len(), || check(&text, known));
});

fn check(text: &str, known: &Known) {
    for refused in [
        Query::from_query_string(text).err(),
        Filter::from_query_string(text).err(),
    ] {
        refused.iter().for_each(check_faults);
    }
    if let Ok(query) = Query::from_query_string(text) {
        check_written(&query);
        check_answers(&query, known);
    }
}

/// Every error names its parameter, unless it is of no parameter's.
fn check_faults(refused: &InvalidQuery) {
    assert!(!refused.errors().is_empty());
    for error in refused.errors() {
        let is_known = PARAMETERS.iter().any(|known| known.name == error.parameter);
        let may_be_unknown = [ErrorCode::UnknownParameter, ErrorCode::MalformedQuery];
        assert!(
            is_known || may_be_unknown.contains(&error.code),
            "{error:?}"
        );
        assert!(!error.message.is_empty(), "{error:?}");
        assert!(!error.message.contains(char::is_control), "{error:?}");
        assert!(
            error.message.chars().count() < MESSAGE_CHARS_MAX,
            "{error:?}"
        );
    }
}

/// What a filter writes is read as the same filter.
fn check_written(query: &Query) {
    let rebuilt = query.clone().into_builder().build();
    assert_eq!(rebuilt.as_ref(), Ok(query));
    let text = query.filter().to_string();
    let again: Filter = text.parse().expect("what was written can be read");
    assert_eq!(again.to_string(), text);
    assert_eq!(again.fingerprint(), query.filter().fingerprint());
    assert_eq!(again, *query.filter());
}

fn check_answers(query: &Query, known: &Known) {
    let Known { snapshot, records } = known;
    compare_query(snapshot, records, query);
    let explanation = snapshot.explain(query, TODAY).expect(WHOLE);
    let count = snapshot.count(query.filter(), TODAY).expect(WHOLE);
    assert_eq!(explanation.matches, count);
    if query.fingerprint().as_bytes()[0].is_multiple_of(FACETS_SHARE) {
        let pairs = records.iter().map(|found| (&found.signal, &found.company));
        let facets = snapshot.facets(query.filter(), TODAY).expect(WHOLE);
        let expected = Facets::of(pairs, query.filter(), TODAY);
        assert_eq!(facets, expected);
    }
}
