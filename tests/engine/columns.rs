//! Rows and columns of segments equal the records of the matches.

use std::collections::BTreeMap;
use std::ops::Bound;

use signaldex::{
    Company, Facet, Filter, Index, RowBlock, SegmentColumns, Signal, SignalId, Snapshot,
};
use signaldex_synthetic::Corpus;
use time::Date;

use crate::oracle::{Oracle, index_of};
use crate::questions::Questions;

/// The matches of a filter, read in blocks of `n` rows, segment by segment.
fn blocks<'s>(
    snapshot: &'s Snapshot,
    filter: &Filter,
    today: Date,
    n: usize,
) -> Vec<(SegmentColumns<'s>, RowBlock<'s>)> {
    let mut blocks = Vec::new();
    for segment in snapshot.segments() {
        let mut ids = (Bound::Unbounded, Bound::Unbounded);
        loop {
            let block = segment.rows(filter, today, ids, n).expect("a whole index");
            let Some(last) = block.last_id().expect("a whole index") else {
                break;
            };
            assert!(block.len() <= n);
            ids.1 = Bound::Excluded(last);
            blocks.push((segment, block));
        }
    }
    blocks
}

fn compare(index: &Index, today: Date, seed: u64) {
    let oracle = Oracle::of(index);
    let snapshot = index.snapshot();
    let mut questions = Questions::new(&oracle.records, today, seed);
    let mut found_some = 0;
    for _ in 0..60 {
        let text = questions.filter();
        let Ok(filter) = Filter::from_query_string(&text) else {
            continue;
        };
        let matches = oracle.matches(&filter, today);
        found_some += usize::from(!matches.is_empty());
        let n = 1 + questions.random.below(200);
        let mut found = Vec::new();
        for (segment, block) in &blocks(&snapshot, &filter, today, n) {
            let ids = block.ids().expect("a whole index");
            assert!(ids.is_sorted_by(|a, b| a > b), "seed {seed}: {text}");
            compare_columns(&oracle, segment, block, &ids);
            found.extend(ids);
        }
        found.sort_unstable();
        assert_eq!(found, matches, "seed {seed}, blocks of {n}: {text}");
        let Some(&middle) = matches.get(matches.len() / 2) else {
            continue;
        };
        let rows = |segment: SegmentColumns<'_>| {
            let found = segment.rows(&filter, today, middle.., usize::MAX);
            found.expect("a whole index").len()
        };
        let total: usize = snapshot.segments().map(rows).sum();
        assert_eq!(
            total,
            matches.len() - matches.len() / 2,
            "seed {seed}: {text}"
        );
    }
    assert!(found_some > 20, "most filters find something");
}

fn compare_columns(
    oracle: &Oracle,
    segment: &SegmentColumns<'_>,
    block: &RowBlock<'_>,
    ids: &[SignalId],
) {
    let records: BTreeMap<SignalId, &(Signal<'static>, Company<'static>)> = oracle
        .records
        .iter()
        .map(|record| (record.0.id, record))
        .collect();
    let records: Vec<_> = ids.iter().map(|id| records[id]).collect();
    for facet in Facet::ALL {
        let labels: Vec<&str> = segment.labels(facet).expect("a whole index").collect();
        let values = block.values(facet).expect("a whole index");
        let found: Vec<Option<&str>> = values
            .map(|value| value.map(|value| labels[value as usize]))
            .collect();
        let expected: Vec<_> = records
            .iter()
            .map(|(signal, company)| facet.label(signal, company))
            .collect();
        let expected: Vec<Option<&str>> = expected.iter().map(Option::as_deref).collect();
        assert_eq!(found, expected, "{facet:?}");
    }
    let amounts = block.amounts().expect("a whole index");
    let amount = |signal: &Signal<'_>| signal.funding.as_ref()?.amount;
    assert!(amounts.eq(records.iter().map(|(signal, _)| amount(signal))));
    let epoch = time::macros::date!(1970 - 01 - 01).to_julian_day();
    let day = |date: Date| date.to_julian_day() - epoch;
    let days = block.days().expect("a whole index");
    assert!(days.eq(records.iter().map(|(signal, _)| signal.date.map(day))));
    let companies = block.companies().expect("a whole index");
    for (company, (signal, record)) in companies.zip(&records) {
        assert_eq!(
            segment.company_slug(company).expect("its number"),
            signal.company_slug
        );
        assert_eq!(
            segment.company_name(company).expect("its number"),
            record.name
        );
    }
    let mut read = records.iter();
    let visited = block.visit_records(|signal| {
        assert_eq!(Some(signal), read.next().map(|(signal, _)| signal));
        std::ops::ControlFlow::Continue(())
    });
    visited.expect("whole records");
    assert!(read.next().is_none());
}

#[test]
fn blocks_hold_the_columns_of_matches() {
    for (seed, signals) in [(1, 1), (2, 900), (3, 2500)] {
        let corpus = Corpus::new(signals, seed).expect("a size within bounds");
        let index = index_of(corpus.companies(), corpus.signals());
        if signals > 1 {
            compare(&index, corpus.as_of(), seed);
            change(&index);
            compare(&index, corpus.as_of(), seed);
        }
    }
}

/// Adds segments, and deletes rows of the first.
fn change(index: &Index) {
    let signals: Vec<Signal<'static>> = Oracle::of(index)
        .records
        .into_iter()
        .map(|(signal, _)| signal)
        .collect();
    let mut writer = index.writer().expect("the only writer");
    for signal in signals.iter().step_by(9) {
        let mut signal = signal.clone();
        signal.date = None;
        writer.upsert_signal(&signal).expect("a signal");
    }
    writer.commit().expect("a commit");
    for signal in signals.iter().step_by(5) {
        writer.delete_signal(signal.id).expect("a signal");
    }
    writer.commit().expect("a commit");
}
