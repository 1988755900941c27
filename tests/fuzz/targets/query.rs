//! Query strings: what is refused says why, what is accepted means one thing however it is
//! written, and the engine answers it as the plain meaning says.
#![no_main]

use fuzz_support::allocation::{Counting, bounded};
use fuzz_support::canonical::query_string;
use fuzz_support::examination::{TODAY, compare_query};
use fuzz_support::tiny_index;
use libfuzzer_sys::fuzz_target;
use signaldex::query::{FaultCode, InvalidQuery, PARAMETERS};
use signaldex::{Facets, Filter, Found, Index, Query};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most characters of a fault's message: 64 of input, and the names of all parameters.
const MESSAGE_CHARS_MAX: usize = 600;

thread_local! {
    static INDEX: Index = tiny_index();
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    INDEX.with(|index| bounded(data.len(), || check(&text, index)));
});

fn check(text: &str, index: &Index) {
    for refused in [Query::parse(text).err(), Filter::parse(text).err()] {
        refused.iter().for_each(check_faults);
    }
    if let Ok(query) = Query::parse(text) {
        check_canonical(&query);
        check_answers(&query, index);
    }
}

/// Every fault names its parameter, unless it is of no parameter's.
fn check_faults(refused: &InvalidQuery) {
    assert!(!refused.faults().is_empty());
    for fault in refused.faults() {
        let is_known = PARAMETERS.iter().any(|known| known.name == fault.parameter);
        let may_be_unknown = [FaultCode::UnknownParameter, FaultCode::MalformedQuery];
        assert!(
            is_known || may_be_unknown.contains(&fault.code),
            "{fault:?}"
        );
        assert!(!fault.message.is_empty(), "{fault:?}");
        assert!(!fault.message.contains(char::is_control), "{fault:?}");
        assert!(
            fault.message.chars().count() < MESSAGE_CHARS_MAX,
            "{fault:?}"
        );
    }
}

/// The canonical form, asked for again, is the same filter.
fn check_canonical(query: &Query) {
    let rebuilt = query.clone().into_builder().build();
    assert_eq!(rebuilt.as_ref(), Ok(query));
    let canonical = query.filter().canonical();
    let Some(text) = query_string(&canonical) else {
        return;
    };
    match Filter::parse(&text) {
        Ok(again) => {
            assert_eq!(again.canonical(), canonical, "{text}");
            assert_eq!(again.fingerprint(), query.filter().fingerprint());
            assert_eq!(again, *query.filter());
        }
        // Folding can make a text longer than it may be typed.
        Err(refused) => {
            let is_too_long = |code| code == FaultCode::TooLong;
            let faults = refused.faults();
            assert!(
                faults.iter().all(|fault| is_too_long(fault.code)),
                "{text}: {refused}"
            );
        }
    }
}

fn check_answers(query: &Query, index: &Index) {
    let snapshot = index.snapshot();
    let records: Vec<Found<'_>> = snapshot
        .scan()
        .map(|found| found.expect("a record that was just built"))
        .collect();
    compare_query(&snapshot, &records, query);
    let pairs = records.iter().map(|found| (&found.signal, &found.company));
    let facets = snapshot.facets(query.filter(), TODAY);
    assert_eq!(
        facets.expect("facets read no records"),
        Facets::of(pairs, query.filter(), TODAY)
    );
    let explanation = snapshot
        .explain(query, TODAY)
        .expect("plans read no records");
    let count = snapshot.count(query.filter(), TODAY);
    assert_eq!(explanation.matches, count.expect("counts read no records"));
}
