//! `explain` tells what really happens: its numbers are those of the searches and counts that clients
//! run.

use std::collections::BTreeSet;
use std::path::Path;

use signaldex::query::{Order, Start, decode};
use signaldex::{
    Company, ExecutionExplanation, Filter, Index, IndexBuilder, Query, SegmentExplanation, Signal,
    SignalId, Snapshot, sample,
};
use signaldex_synthetic::Corpus;
use time::Date;

use crate::agreement::setting;
use crate::oracle::{Oracle, index_of};
use crate::questions::Questions;

/// Random queries of a small index of several segments.
const QUERIES: usize = 9_000;
/// Random queries of one of several blocks.
const QUERIES_OF_BLOCKS: usize = 1_000;

/// Explains random queries and compares with what search and count did. Returns how many had matches.
fn compare(index: &Index, today: Date, queries: usize, seed: u64) -> usize {
    let oracle = Oracle::of(index);
    let snapshot = index.snapshot();
    let mut questions = Questions::new(&oracle.records, today, seed);
    let mut answered = 0;
    for number in 0..queries {
        let text = questions.filter();
        let Ok(filter) = Filter::from_query_string(&text) else {
            continue;
        };
        let mut order = *questions.random.pick(&Order::ALL);
        if order.needs_currency() && !text.contains("fundingCurrency") {
            order = Order::LatestDate;
        }
        let limit = 1 + questions.random.below(50);
        let page = Start::Page(1 + questions.random.below(3) as u16);
        let Ok(query) = Query::of_filter(filter, order, limit) else {
            continue;
        };
        let query = query.part(page, limit);
        let context = format!("seed {seed}, query {number}: {text}");
        answered += usize::from(compare_one(&snapshot, &query, today, &context) > 0);
    }
    answered
}

fn compare_one(snapshot: &Snapshot, query: &Query, today: Date, context: &str) -> u64 {
    let explained = snapshot.explain(query, today).expect("a whole index");
    let page = snapshot.search(query, today).expect("a whole index");
    let count = snapshot
        .count(query.filter(), today)
        .expect("a whole index");
    assert_eq!(explained.page_length, page.len(), "{context}");
    assert_eq!(explained.matches, count, "{context}");
    let of_segments = explained.segments.iter().map(|segment| segment.matches);
    assert_eq!(of_segments.sum::<u64>(), count, "{context}");
    let pages = || explained.segments.iter().filter_map(|s| s.page.as_ref());
    let sum = |of: fn(&ExecutionExplanation) -> u64| pages().map(of).sum::<u64>();
    let explained_page = [
        sum(|page| page.rows_checked),
        sum(|page| page.blocks_visited),
        sum(|page| page.blocks_skipped),
    ];
    let counters = [
        page.rows_checked(),
        page.blocks_visited(),
        page.blocks_skipped(),
    ];
    assert_eq!(explained_page, counters, "page; {context}");
    for segment in &explained.segments {
        compare_steps(&segment.count, segment, context);
    }
    count
}

/// Rows of a block.
const BLOCK_ROWS: u64 = 1 << 16;

/// The last step that ran leaves the matches, and no step leaves fewer. Over several blocks, the order of
/// steps differs where a range leads in some, so that each step may leave more than the matches.
fn compare_steps(count: &ExecutionExplanation, segment: &SegmentExplanation, context: &str) {
    let matches = segment.matches;
    let by_range = |clause: &str| clause.starts_with("date") || clause.starts_with("amount");
    let has_range = count.steps.iter().any(|step| by_range(&step.clause));
    let left = count.steps.iter().filter_map(|step| step.actual).min();
    if count.no_match.is_some() {
        assert_eq!(matches, 0, "{context}");
    } else if count.strategy == "answered from the stored count" {
        assert!(!count.has_visits(), "{context}");
        assert_eq!(left, None, "{context}");
    } else if has_range && segment.rows > BLOCK_ROWS {
        assert!(
            left.is_none_or(|left| left >= matches),
            "{context}: {count}"
        );
    } else {
        assert!(
            left.is_none_or(|left| left == matches),
            "{context}: {count}"
        );
    }
    let is_answered_without = count.no_match.is_some() || !count.has_visits();
    assert!(
        left.is_some() || is_answered_without || matches == 0,
        "{context}: {count}"
    );
}

#[test]
fn actuals_are_those_of_the_real_run() {
    let seed = setting("SIGNALDEX_SEED", 3) as u64;
    let corpus = Corpus::new(3_000, seed).expect("a size within bounds");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let index = segmented(folder.path(), &corpus);
    let answered = compare(&index, corpus.as_of(), QUERIES, seed);
    assert!(answered * 2 > QUERIES, "most queries find something");
}

#[test]
fn actuals_are_those_of_the_real_run_over_several_blocks() {
    let seed = setting("SIGNALDEX_SEED", 4) as u64;
    let corpus = Corpus::new(150_000, seed).expect("a size within bounds");
    let index = index_of(corpus.companies(), corpus.signals());
    let answered = compare(&index, corpus.as_of(), QUERIES_OF_BLOCKS, seed);
    assert!(
        answered * 2 > QUERIES_OF_BLOCKS,
        "most queries find something"
    );
}

#[test]
fn every_step_that_excludes_says_that_it_drops_rows() {
    let corpus = Corpus::new(12_000, 5).expect("a size within bounds");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let small = segmented(folder.path(), &corpus);
    let large = index_of(corpus.companies(), corpus.signals());
    let ids: Vec<String> = corpus
        .signals()
        .step_by(1_000)
        .map(|signal| signal.id.to_string())
        .collect();
    let mut strategies = BTreeSet::new();
    for text in [
        "exclude=hires",
        "q=series -a",
        "q=raises -series&country=Germany",
        "q=\"series a\" -\"new york\" -hires",
        "exclude=\"led by\" \"of the\" series",
        "days=7&exclude=a",
        &format!("ids={}&exclude=series", ids.join(",")),
    ] {
        let query = Query::from_query_string(text).expect("a valid query");
        let explained = [&small, &large].map(|index| {
            index
                .snapshot()
                .explain(&query, corpus.as_of())
                .expect("a whole index")
        });
        let segments = explained.iter().flat_map(|explained| &explained.segments);
        let runs = segments.flat_map(|segment| segment.page.iter().chain([&segment.count]));
        for run in runs {
            for step in &run.steps {
                let excludes = is_excluded(&query, &step.clause);
                let says_so = step.strategy.starts_with("drop rows") || step.strategy == "not run";
                assert!(says_so || !excludes, "{text}: {run}");
                assert!(excludes || !step.strategy.contains("drop"), "{text}: {run}");
                if excludes {
                    strategies.insert(format!("{}; {}", run.strategy, step.strategy));
                }
            }
        }
    }
    let of = |run: &str| {
        strategies
            .iter()
            .filter(|seen| seen.starts_with(run))
            .count()
    };
    for run in ["block by block", "part by part", "row by row"] {
        assert!(of(run) > 0, "{run}: {strategies:?}");
    }
}

/// Whether a clause stands for what a query excludes, or for deleted rows.
fn is_excluded(query: &Query, clause: &str) -> bool {
    let text = query.filter().to_string();
    let excluded = text
        .split('&')
        .find_map(|part| part.strip_prefix("exclude="));
    let excluded = decode(excluded.unwrap_or_default()).expect("written by the library");
    // Outside of quotes are single words, within them phrases.
    let mut phrases = excluded.split('"').enumerate().flat_map(|(number, text)| {
        let separator = if number % 2 == 0 { ' ' } else { '"' };
        text.split(separator)
    });
    clause == "deleted" || phrases.any(|phrase| clause == format!("title has \"{phrase}\""))
}

/// Two bitsets of eight kilobytes a block are read by a count, and nothing by one that is stored.
#[test]
fn bytes_read_are_those_of_the_sets() {
    const SIGNALS: u64 = 3 << 16;
    let mut builder = IndexBuilder::in_memory();
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a valid company");
    for number in 1..=SIGNALS {
        let title = match number % 6 {
            0 => "hires raises",
            1..4 => "hires",
            _ => "raises",
        };
        let id = SignalId::new(number).expect("an id");
        let signal = Signal::new(id, "acme", title);
        builder.add_signal(&signal).expect("a valid signal");
    }
    let index = builder.finish().expect("memory");
    let bytes = |text: &str| {
        let query = Query::from_query_string(text).expect("a valid query");
        let explained = index.snapshot().explain(&query, sample::AS_OF);
        let explained = explained.expect("a whole index");
        let segment = &explained.segments[0];
        (
            segment.page.as_ref().map_or(0, |page| page.bytes_read),
            segment.count.bytes_read,
        )
    };
    assert_eq!(bytes("").1, 0, "the count is stored");
    assert_eq!(bytes("all=hires").1, 0, "the count is stored");
    let (page, count) = bytes("all=hires raises");
    assert_eq!(count, 2 * 3 * 8192, "both sets of three blocks");
    assert!(
        (1..count / 8).contains(&page),
        "a page reads windows: {page}"
    );
    assert_eq!(bytes("all=hires nowhere"), (0, 0), "a word has no rows");
    let listed = bytes("ids=5,6,7&all=raises").1;
    assert!((1..1024).contains(&listed), "few rows: {listed}");
}

/// A corpus in several segments, some of whose rows are deleted.
fn segmented(folder: &Path, corpus: &Corpus) -> Index {
    let mut builder = IndexBuilder::in_directory(folder).expect("an empty folder");
    for company in corpus.companies() {
        builder.add_company(&company).expect("a valid company");
    }
    let (first, rest) = (1_800, 600);
    for signal in corpus.signals().take(first) {
        builder.add_signal(&signal).expect("a valid signal");
    }
    let index = builder.finish().expect("an index");
    let mut writer = index.writer().expect("the only writer");
    for commit in 0..2 {
        let signals = corpus.signals().skip(first + commit * rest).take(rest);
        for signal in signals {
            writer.upsert_signal(&signal).expect("a valid signal");
        }
        for signal in corpus.signals().skip(commit).step_by(11).take(50) {
            writer.delete_signal(signal.id).expect("a whole index");
        }
        writer.commit().expect("a disk with room");
    }
    index
}
