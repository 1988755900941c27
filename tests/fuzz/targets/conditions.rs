//! Queries for companies: what is refused names its parameter and condition, what is accepted is read as it was written,
//! and counts and pages agree with the plain meaning.
#![no_main]

use std::sync::{Arc, LazyLock};

use fuzz_support::allocation::{Counting, bounded};
use fuzz_support::examination::TODAY;
use fuzz_support::tiny_index;
use libfuzzer_sys::fuzz_target;
use signaldex::query::{CompanyQuery, CompanyStart, MatchedCompany};
use signaldex::{Company, Signal, Snapshot};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most characters of an error's message: 64 of input, and the names of all parameters.
const MESSAGE_CHARS_MAX: usize = 600;

/// What no question to the index of the target can fail with.
const WHOLE: &str = "a whole index";

/// The index and its records.
struct Known {
    snapshot: Arc<Snapshot>,
    companies: Vec<(Company<'static>, Vec<Signal<'static>>)>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let snapshot: &'static Arc<Snapshot> = Box::leak(Box::new(tiny_index().snapshot()));
    let with_signals = |company: signaldex::Result<Company<'static>>| {
        let company = company.expect(WHOLE);
        let found = snapshot.scan().map(|found| found.expect(WHOLE).signal);
        let signals = found.filter(|signal| signal.company_slug == company.slug);
        let signals = signals.collect();
        (company, signals)
    };
    Known {
        snapshot: Arc::clone(snapshot),
        companies: snapshot.scan_companies().map(with_signals).collect(),
    }
});

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let known = &*KNOWN;
    bounded(data.len(), || check(&text, known));
});

fn check(text: &str, known: &Known) {
    match CompanyQuery::from_query_string(text) {
        Ok(query) => {
            assert_eq!(query.to_string().parse(), Ok(query.clone()));
            assert_eq!(query.clone().into_builder().build(), Ok(query.clone()));
            check_answers(&query, known);
        }
        Err(invalid) => {
            assert!(!invalid.errors().is_empty());
            for error in invalid.errors() {
                assert!(!error.message.is_empty(), "{error:?}");
                assert!(!error.message.contains(char::is_control), "{error:?}");
                let chars = error.message.chars().count();
                assert!(chars < MESSAGE_CHARS_MAX, "{error:?}");
            }
        }
    }
}

fn check_answers(query: &CompanyQuery, known: &Known) {
    let Known {
        snapshot,
        companies,
    } = known;
    let filter = query.filter();
    let fulfilling = companies
        .iter()
        .filter(|(company, signals)| filter.matches(company, signals.iter(), TODAY));
    let slugs: Vec<&str> = fulfilling.map(|(company, _)| &*company.slug).collect();
    let count = snapshot.count_companies(filter, TODAY).expect(WHOLE);
    assert_eq!(count, slugs.len() as u64);
    // A page after a cursor is of the cursor's day.
    if matches!(query.start(), CompanyStart::After(_)) {
        return;
    }
    let page = snapshot.companies(query, TODAY).expect(WHOLE);
    assert!(page.len() <= query.limit());
    let is_known = |item: &MatchedCompany<'_>| slugs.contains(&&*item.profile.company.slug);
    assert!(page.items().iter().all(is_known));
    let order = query.order();
    let items = page.items();
    assert!(items.is_sorted_by(|a, b| order.compare(a, b).is_lt()));
}
