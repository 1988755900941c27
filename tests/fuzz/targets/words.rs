//! Words, names and prefix words: whatever is written and typed, forms are stable, and an index, saved searches and the
//! text form of a filter find what `Filter::matches` and `is_company_name` say.
//!
//! The first line of an input is typed, into each parameter that takes a text. The others are titles and names.
#![no_main]

use fuzz_support::allocation::{Counting, bounded};
use fuzz_support::examination::{TODAY, compare_query};
use libfuzzer_sys::fuzz_target;
use signaldex::query::QueryBuilder;
use signaldex::text::{fold_value, is_company_name, terms, words};
use signaldex::{
    Company, Filter, Found, Index, IndexBuilder, Query, Result, SavedSearches, Signal, SignalId,
    Snapshot,
};
use unicode_normalization::UnicodeNormalization;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Texts of an input that are indexed, and characters of each: a word may be compared with all others.
const TEXTS_MAX: usize = 6;
const CHARS_MAX: usize = 300;

/// Texts whose words are asked for as well.
const ASKED_TEXTS: usize = 2;

/// Letters of the prefix words that are made of the words of titles.
const PREFIX_LETTERS: usize = 3;

/// What cannot fail on an index of the target.
const WHOLE: &str = "a whole index";

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    bounded(data.len(), || check(&text));
});

fn check(text: &str) {
    let lines = text.lines().map(|line| line.chars().take(CHARS_MAX));
    let lines = lines.map(|line| line.filter(|letter| !letter.is_control()).collect());
    let texts: Vec<String> = lines.take(TEXTS_MAX).collect();
    let Some(typed) = texts.first() else { return };
    texts.iter().for_each(|text| check_forms(text));
    for name in &texts {
        assert_eq!(is_company_name(typed, name), is_company_name(name, typed));
    }
    // What is typed is a title and a name, too.
    let index = index_of(&texts).expect(WHOLE);
    let snapshot = index.snapshot();
    snapshot.verify().expect(WHOLE);
    let records: Vec<Found<'_>> = snapshot.scan().map(|found| found.expect(WHOLE)).collect();
    let mut saved = SavedSearches::new();
    for query in queries(typed, &texts) {
        check_query(&query, &snapshot, &records);
        saved.insert(query.filter().to_string(), query.filter().clone());
    }
    check_saved(&saved, &records);
    check_names(typed, &snapshot, &records);
}

/// Analysing a form gives the form, and neither composition nor where a text is cut matters.
fn check_forms(text: &str) {
    let all = words(text);
    for form in all.iter().flatten() {
        assert_eq!(words(form), [vec![form.clone()]], "{text:?}");
    }
    let primary = all.iter().map(|forms| &forms[0]);
    assert!(terms(text).iter().eq(primary), "{text:?}");
    let alone: Vec<_> = text.split_whitespace().flat_map(words).collect();
    assert_eq!(alone, all, "{text:?}");
    let composed: String = text.nfc().collect();
    let decomposed: String = text.nfd().collect();
    assert_eq!(words(&composed), all, "{text:?}");
    assert_eq!(words(&decomposed), all, "{text:?}");
    let key = fold_value(text);
    assert_eq!(fold_value(&key), key, "{text:?}");
}

/// A segment that was built and one that was committed, each with half of the texts as titles and names. What is no
/// title or name is left out.
fn index_of(texts: &[String]) -> Result<Index> {
    let numbered = (1..).zip(texts);
    let records = numbered.filter_map(|(number, text)| {
        let slug = format!("company-{number}");
        let signal = Signal::new(SignalId::new(number)?, slug.clone(), text.clone());
        Some((Company::new(slug, text.clone()), signal))
    });
    let (first, later): (Vec<_>, Vec<_>) =
        records.partition(|(_, signal)| signal.id.get().is_multiple_of(2));
    let mut builder = IndexBuilder::in_memory();
    for (company, signal) in &first {
        if builder.add_company(company).is_ok() {
            builder.add_signal(signal).ok();
        }
    }
    let index = builder.finish()?;
    let mut writer = index.writer()?;
    for (company, signal) in &later {
        if writer.upsert_company(company).is_ok() {
            writer.upsert_signal(signal).ok();
        }
    }
    writer.commit()?;
    drop(writer);
    Ok(index)
}

/// What is typed in each parameter that takes a text, and the words of the titles.
fn queries(typed: &str, texts: &[String]) -> Vec<Query> {
    let query = Query::builder;
    let mut builders: Vec<QueryBuilder> = vec![
        query().keywords(typed),
        query().all(typed),
        query().any(typed),
        query().exclude(typed),
        query().exact(typed),
        query().company(typed),
        query().companies([typed]),
    ];
    for text in texts.iter().rev().take(ASKED_TEXTS) {
        let forms: Vec<String> = words(text).into_iter().flatten().collect();
        builders.push(query().any(forms.join(" ")));
        builders.push(query().exact(terms(text).join(" ")));
        builders.push(query().companies([text]));
        let prefixes = forms.iter().map(|form| {
            let beginning: String = form.chars().take(PREFIX_LETTERS).collect();
            format!("{beginning}* ")
        });
        builders.push(query().any(prefixes.collect::<String>()));
    }
    let built = builders.into_iter().map(QueryBuilder::build);
    built.filter_map(|query| query.ok()).collect()
}

/// The index finds what the filter matches, and so does what its text form is read as.
fn check_query(query: &Query, snapshot: &Snapshot, records: &[Found<'_>]) {
    compare_query(snapshot, records, query);
    let filter = query.filter();
    let text = filter.to_string();
    assert_eq!(text.parse::<Filter>().as_ref(), Ok(filter), "{text}");
    let text = query.to_string();
    assert_eq!(text.parse::<Query>().as_ref(), Ok(query), "{text}");
    for found in records {
        let title = &*found.signal.title;
        let marked = filter.matched_words(title);
        assert!(marked.iter().all(|range| !title[range.clone()].is_empty()));
        assert!(marked.is_sorted_by(|one, next| one.end <= next.start));
    }
}

fn check_saved(saved: &SavedSearches, records: &[Found<'_>]) {
    for found in records {
        let (signal, company) = (&found.signal, &found.company);
        let matching = saved
            .iter()
            .filter(|(_, filter)| filter.matches(signal, company, TODAY));
        let expected: Vec<&str> = matching.map(|(name, _)| name).collect();
        assert_eq!(saved.matches(signal, company, TODAY), expected);
    }
}

/// An item of `companies` is the companies whose slug or name it is.
fn check_names(typed: &str, snapshot: &Snapshot, records: &[Found<'_>]) {
    let Ok(query) = Query::builder().companies([typed]).build() else {
        return;
    };
    let mut expected = 0;
    for found in records {
        let company = &found.company;
        let is_named = company.slug == typed.trim() || is_company_name(typed, &company.name);
        let is_found = query.filter().matches(&found.signal, company, TODAY);
        assert_eq!(is_found, is_named, "{typed:?}, {:?}", company.name);
        expected += u64::from(is_named);
    }
    assert_eq!(
        snapshot.count(query.filter(), TODAY).expect(WHOLE),
        expected
    );
}
