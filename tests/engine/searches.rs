//! Searches over titles as the world writes them, with what each finds: `data/searches`.

use signaldex::query::{InvalidQuery, Order};
use signaldex::{Company, Filter, Index, IndexBuilder, SavedSearches, Signal, SignalId};

use crate::agreement::{compare, setting};
use crate::awkward::{Awkward, TODAY};
use crate::oracle::{Record, index_of};
use crate::search_tables::{self, Table, encoded};

/// The searches that are valid, with the numbers of the lines that they find.
fn valid_searches() -> Vec<(String, Vec<u64>)> {
    let searches = Table::of_titles().searches.into_iter();
    searches
        .filter_map(|search| Some((search.query_string(), search.found.ok()?)))
        .collect()
}

fn titled() -> Vec<(Signal<'static>, Company<'static>)> {
    Table::of_titles().records
}

fn index() -> Index {
    Table::of_titles().index(IndexBuilder::in_memory())
}

fn filter(query_string: &str) -> Result<Filter, InvalidQuery> {
    Filter::from_query_string(query_string)
}

#[test]
fn each_search_finds_its_titles() {
    let table = Table::of_titles();
    let snapshot = table.index(IndexBuilder::in_memory()).snapshot();
    snapshot.verify().expect("what was built is valid");
    table.check(|search| {
        let query_string = search.query_string();
        let filter = filter(&query_string).map_err(|invalid| {
            let code = invalid.errors()[0].code;
            code.as_str().to_owned()
        })?;
        let records = table.records.iter();
        let matching = records.filter(|(signal, company)| filter.matches(signal, company, TODAY));
        let matching: Vec<u64> = matching.map(|(signal, _)| signal.id.get()).collect();
        let count = snapshot.count(&filter, TODAY).expect("a whole index");
        assert_eq!(count, matching.len() as u64, "{query_string}");
        let matches = snapshot.matches(&filter, TODAY, Order::OldestFirst);
        let ids = matches.ids().map(|id| id.expect("a whole index").get());
        assert!(ids.eq(matching.iter().copied()), "{query_string}");
        assert_eq!(filter.to_string().parse(), Ok(filter), "{query_string}");
        Ok(matching)
    });
}

#[test]
fn each_saved_search_finds_its_titles() {
    let mut saved = SavedSearches::new();
    let searches: Vec<(String, Vec<u64>)> = valid_searches()
        .into_iter()
        .enumerate()
        .map(|(number, (query_string, found))| {
            let filter = filter(&query_string).expect("a valid filter");
            let name = format!("{number}: {query_string}");
            saved.insert(name.clone(), filter);
            (name, found)
        })
        .collect();
    for (signal, company) in titled() {
        let id = signal.id.get();
        let expected = searches.iter().filter(|(_, found)| found.contains(&id));
        let expected: Vec<&str> = expected.map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            saved.matches(&signal, &company, TODAY),
            expected,
            "{}",
            signal.title
        );
    }
}

/// The words of a company's name match as those of a title do, except that there are no phrases but those of a word.
#[test]
fn a_word_finds_the_names_that_it_finds_as_titles() {
    let (titled, index) = (titled(), index());
    let snapshot = index.snapshot();
    let words = valid_searches()
        .into_iter()
        .filter_map(|(query_string, found)| {
            let word = query_string.strip_prefix("q=")?.to_owned();
            let is_word = !["%20", "%22", "%2A", "%EF%BC%8A", "*"]
                .iter()
                .any(|part| word.contains(part));
            is_word.then_some((word, found))
        });
    for (word, found) in words {
        let filter = filter(&format!("company={word}")).expect("a valid filter");
        let matching = titled
            .iter()
            .filter(|(signal, company)| filter.matches(signal, company, TODAY));
        assert!(
            matching
                .map(|(signal, _)| signal.id.get())
                .eq(found.iter().copied()),
            "{word}"
        );
        let count = snapshot.count(&filter, TODAY).expect("a whole index");
        assert_eq!(count, found.len() as u64, "{word}");
    }
}

/// Alternates survive what rewrites segments: merges with deletions, and changed titles.
#[test]
fn alternates_are_found_after_merges_and_deletions() {
    let mut titled = titled();
    let index = index();
    let mut writer = index.writer().expect("a free lock");
    for (signal, _) in &mut titled[..30] {
        signal.title = format!("{} today", signal.title).into();
        writer.upsert_signal(signal).expect("a known company");
    }
    for (signal, _) in titled.drain(3..6) {
        writer.delete_signal(signal.id).expect("a whole index");
    }
    writer.commit().expect("memory can be written to");
    for is_compact in [false, true] {
        if is_compact {
            writer.compact().expect("memory can be written to");
        }
        let snapshot = index.snapshot();
        snapshot.verify().expect("what was written is valid");
        for (query_string, _) in valid_searches() {
            let filter = filter(&query_string).expect("a valid filter");
            let matching = titled
                .iter()
                .filter(|(signal, company)| filter.matches(signal, company, TODAY));
            let count = snapshot.count(&filter, TODAY).expect("a whole index");
            assert_eq!(count, matching.count() as u64, "{query_string}");
        }
    }
}

#[test]
fn any_form_marks_the_whole_word() {
    let cases: [(&str, &str, &[&str]); 12] = [
        ("mcdonalds", "McDonald’s tests robots", &["McDonald’s"]),
        ("mcdonald", "McDonald’s tests robots", &["McDonald’s"]),
        ("oreal", "L’Oréal hires", &["L’Oréal"]),
        ("gearmod", "GearMod™-Shaft", &["GearMod"]),
        (
            "cybersecurity",
            "Cyber\u{AD}security Cyber\u{200B}security",
            &["Cyber\u{AD}security", "Cyber\u{200B}security"],
        ),
        ("cars", "Cars.com buys", &["Cars"]),
        ("자산", "한국투자증권 가상자산", &["자", "자", "산"]),
        ("c++", "C, C++ and C++'s", &["C++", "C++'s"]),
        ("us", "The U.S.'s army, U.S. army", &["U.S.'s", "U.S."]),
        ("lodz", "In Łódź:", &["Łódź"]),
        ("xc u", "x℆", &["x℆"]),
        (
            "a",
            "x A\u{34F}\u{301} e\u{200B}\u{301}",
            &["A\u{34F}\u{301}"],
        ),
    ];
    for (keywords, title, expected) in cases {
        let filter = filter(&format!("q={}", encoded(keywords))).expect("a valid filter");
        let ranges = filter.matched_words(title);
        let marked: Vec<&str> = ranges.into_iter().map(|range| &title[range]).collect();
        assert_eq!(marked, expected, "{keywords}");
    }
}

#[test]
fn answers_over_awkward_texts_agree_with_a_scan() {
    let mut awkward = Awkward::new(48);
    let companies: Vec<_> = (0..40)
        .map(|number| Company::new(format!("company-{number}"), awkward.text()))
        .collect();
    let some_signal = |awkward: &mut Awkward| {
        let id = SignalId::new(1 + awkward.random.below(400)).expect("a number of a signal");
        let company = format!("company-{}", awkward.random.below(40));
        Signal::new(id, company, awkward.text())
    };
    let signals: Vec<_> = (0..600).map(|_| some_signal(&mut awkward)).collect();
    let index = index_of(companies, signals);
    let mut writer = index.writer().expect("a free lock");
    for round in 0..4 {
        let found = compare(&index, TODAY, 150, round);
        assert!(found > 50, "{found}");
        index
            .snapshot()
            .verify()
            .expect("what was written is valid");
        for _ in 0..30 {
            writer
                .upsert_signal(&some_signal(&mut awkward))
                .expect("a known company");
        }
        writer.commit().expect("memory can be written to");
        // The last round is over one segment.
        if round == 2 {
            writer.compact().expect("memory can be written to");
        }
    }
}

/// Records and filters of a round, each pair of which is compared.
const RECORDS: usize = 500;
const FILTERS: usize = 200;

#[test]
fn filters_of_awkward_pieces_agree_with_the_index_and_saved_searches() {
    let pairs = setting("SIGNALDEX_PAIRS", RECORDS * FILTERS);
    let mut awkward = Awkward::new(setting("SIGNALDEX_SEED", 1) as u64);
    let rounds = pairs.div_ceil(RECORDS * FILTERS);
    let matched: usize = (0..rounds).map(|_| compare_pairs(&mut awkward)).sum();
    println!("{} pairs, {matched} match", rounds * RECORDS * FILTERS);
    assert!(
        matched * 50 > pairs,
        "only {matched} of {pairs} pairs match"
    );
}

/// Compares each filter with each record: in a segment that was built, one that was committed, and the one of both, and
/// as a saved search. Returns how many match.
fn compare_pairs(awkward: &mut Awkward) -> usize {
    let ids = (1..=RECORDS as u64).filter_map(SignalId::new);
    let records: Vec<Record> = ids.map(|id| awkward.record(id)).collect();
    let filters: Vec<(String, Filter)> = (0..FILTERS).map(|_| awkward.filter()).collect();
    let index = search_tables::index_of(&records, IndexBuilder::in_memory());
    let segmented = index.snapshot();
    index
        .writer()
        .and_then(|mut writer| writer.compact())
        .expect("memory can be written to");
    let compacted = index.snapshot();
    let mut saved = SavedSearches::new();
    let mut matched = 0;
    for (query_string, filter) in &filters {
        let matching = records
            .iter()
            .filter(|(signal, company)| filter.matches(signal, company, TODAY));
        let expected: Vec<SignalId> = matching.map(|(signal, _)| signal.id).collect();
        for snapshot in [&segmented, &compacted] {
            let found = snapshot.matches(filter, TODAY, Order::OldestFirst).ids();
            let found: Vec<SignalId> = found.map(|id| id.expect("a whole index")).collect();
            assert_eq!(found, expected, "{query_string}");
            let count = snapshot.count(filter, TODAY).expect("a whole index");
            assert_eq!(count, expected.len() as u64, "{query_string}");
        }
        assert_eq!(filter.to_string().parse().as_ref(), Ok(filter));
        saved.insert(query_string.clone(), filter.clone());
        matched += expected.len();
    }
    for (signal, company) in &records {
        let matching = saved
            .iter()
            .filter(|(_, filter)| filter.matches(signal, company, TODAY));
        let expected: Vec<&str> = matching.map(|(name, _)| name).collect();
        let found = saved.matches(signal, company, TODAY);
        assert_eq!(found, expected, "{}, {}", signal.title, company.name);
    }
    matched
}
