//! Saved searches: signaldex beside mokaccino, a percolator. The same 100,000 searches, the same signals.
//!
//! mokaccino has no phrases, so it is asked for both words of one; and it is given documents, whose words and folded
//! values the host has made: that is part of what is measured, as it is of signaldex. Both are given signals with
//! their companies in memory, so no record is read.

use std::time::Instant;

use mokaccino::prelude::{CNFQueryable, Document, Percolator, Query};
use signaldex::query::Facet;
use signaldex::{Company, Filter, IndexBuilder, SavedSearches, Signal, text};
use signaldex_synthetic::Corpus;

use crate::Result;
use crate::searches::{Search, Searches};

/// Signals that are matched together, and how often; the median counts.
const COMMITS: [(usize, usize); 3] = [(1, 101), (30, 15), (1000, 3)];
/// Signals by which mokaccino arranges its index.
const WARM_UP: usize = 300;

/// Matches both, compares the matches where they mean the same, and prints the times.
pub(crate) fn run(signals: u64, search_count: usize) -> Result<()> {
    let corpus = Corpus::new(signals, 1)?;
    let companies: Vec<Company<'_>> = corpus.companies().collect();
    let all: Vec<Signal<'_>> = corpus.signals().collect();
    let count: usize = COMMITS.iter().map(|(length, count)| length * count).sum();
    let (new, old) = all.split_at(count + WARM_UP);
    let company_of = |signal: &Signal<'_>| {
        let found = companies
            .iter()
            .find(|known| known.slug == signal.company_slug);
        found.expect("every signal has a company")
    };
    let records: Vec<(&Signal<'_>, &Company<'_>)> = new
        .iter()
        .map(|signal| (signal, company_of(signal)))
        .collect();
    let searches: Vec<Search> = Searches::new(old, &companies).take(search_count).collect();

    let mut builder = IndexBuilder::in_memory();
    for company in &companies {
        builder.add_company(company)?;
    }
    for signal in old.iter().take(10_000) {
        builder.add_signal(signal)?;
    }
    let (snapshot, today) = (builder.finish()?.snapshot(), corpus.as_of());
    let mut ours = SavedSearches::for_index(&snapshot, today)?;
    let mut theirs = Percolator::default();
    for (number, search) in searches.iter().enumerate() {
        ours.insert(
            number.to_string(),
            Filter::from_query_string(&search.query_string())?,
        );
        theirs.add_query(query_of(search));
    }
    let (warm_up, mut rest) = records.split_at(WARM_UP);
    for (signal, company) in warm_up {
        theirs.percolate(&document_of(signal, company)).count();
    }
    let theirs = theirs.optimized();
    println!("| signals | signaldex | mokaccino | matches a signal |");
    println!("|--:|--:|--:|--:|");
    for (length, count) in COMMITS {
        let (mut our_times, mut their_times, mut matches) = (Vec::new(), Vec::new(), 0);
        for _ in 0..count {
            let (commit, others) = rest.split_at(length);
            rest = others;
            let started = Instant::now();
            let found: Vec<Vec<&str>> = commit
                .iter()
                .map(|(signal, company)| ours.matches(signal, company, today))
                .collect();
            our_times.push(started.elapsed());
            let started = Instant::now();
            let percolated: Vec<Vec<usize>> = commit
                .iter()
                .map(|(signal, company)| {
                    let document = document_of(signal, company);
                    theirs.percolate(&document).map(|id| id as usize).collect()
                })
                .collect();
            their_times.push(started.elapsed());
            matches += found.iter().map(Vec::len).sum::<usize>();
            compare(&searches, &found, percolated)?;
        }
        our_times.sort();
        their_times.sort();
        let median = |times: &[std::time::Duration]| times[times.len() / 2].as_secs_f64() * 1000.0;
        println!(
            "| {length} | {:.3} ms | {:.3} ms | {} |",
            median(&our_times),
            median(&their_times),
            matches / (length * count)
        );
    }
    Ok(())
}

/// Whether a search has phrases: it says so, or a word of it is analysed to several or to none.
fn has_phrases(search: &Search) -> bool {
    let words = [&search.all, &search.any, &search.none];
    let mut words = words.into_iter().flatten();
    search.is_phrase || words.any(|word| text::terms(word).len() != 1)
}

/// Phrases aside, both find the same.
fn compare(searches: &[Search], found: &[Vec<&str>], percolated: Vec<Vec<usize>>) -> Result<()> {
    for (ours, mut theirs) in found.iter().zip(percolated) {
        let ours: std::result::Result<Vec<usize>, _> =
            ours.iter().map(|name| name.parse()).collect();
        let mut ours = ours?;
        ours.retain(|&number| !has_phrases(&searches[number]));
        theirs.retain(|&number| !has_phrases(&searches[number]));
        theirs.sort_unstable();
        if ours != theirs {
            let differs = |number: &&usize| !(ours.contains(number) && theirs.contains(number));
            let first = ours.iter().chain(&theirs).find(differs);
            let first = first.map(|&number| searches[number].query_string());
            return Err(format!("{first:?} is matched by one of them").into());
        }
    }
    Ok(())
}

fn facet_of(name: &str) -> Facet {
    match name {
        "country" => Facet::Country,
        "industry" => Facet::Industry,
        "size" => Facet::Size,
        _ => Facet::Category,
    }
}

/// The terms of words, each of which may be several.
fn terms(words: &[String]) -> Vec<Query> {
    let terms = words.iter().flat_map(|word| text::terms(word));
    terms.map(|term| "title".has_value(term)).collect()
}

fn query_of(search: &Search) -> Query {
    let mut parts = terms(&search.all);
    if !search.any.is_empty() {
        parts.push(Query::from_or(terms(&search.any)));
    }
    parts.extend(terms(&search.none).into_iter().map(Query::negation));
    if !search.companies.is_empty() {
        let slugs = search.companies.iter();
        parts.push(Query::from_or(
            slugs.map(|slug| "slug".has_value(slug.as_str())).collect(),
        ));
    }
    for (name, value) in &search.values {
        let key = facet_of(name).key(value).into_owned();
        parts.push((*name).has_value(key));
    }
    parts.extend(
        search
            .funding_min
            .map(|min| "amount".i64_gt(min as i64 - 1)),
    );
    Query::from_and(parts)
}

fn document_of(signal: &Signal<'_>, company: &Company<'_>) -> Document {
    let mut document = Document::new();
    for form in text::words(&signal.title).into_iter().flatten() {
        document = document.with_value("title", form);
    }
    document = document.with_value("slug", &*company.slug);
    for name in ["country", "industry", "size", "categories"] {
        let facet = facet_of(name);
        if let Some(label) = facet.label(signal, company) {
            document = document.with_value(name, &*facet.key(&label));
        }
    }
    let amount = signal.funding.as_ref().and_then(|funding| funding.amount);
    if let Some(amount) = amount {
        document = document.with_value("amount", (amount as i64).to_string());
    }
    document
}
