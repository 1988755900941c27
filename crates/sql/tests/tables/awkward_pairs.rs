//! Filters of awkward pieces of text in the column `query`, and the tables of searches: statements find what
//! `Filter::matches` says.
//!
//! `SIGNALDEX_PAIRS` says how many pairs of a filter and a record are compared, `SIGNALDEX_SEED` which.

use std::sync::Arc;

use signaldex::{Filter, Index, IndexBuilder, SignalId, Snapshot};

use crate::awkward::{Awkward, TODAY};
use crate::fixture::{answer, database, shards, threads};
use crate::oracle::Record;
use crate::search_tables::{Table, index_of};

/// Records that filters are compared with.
const RECORDS: u64 = 1_000;

fn setting(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given.map_or(default, |text| text.parse().expect("a number"))
}

/// Records in two segments, in one, and as three shards.
fn corpora(records: &[Record]) -> Vec<Vec<Arc<Snapshot>>> {
    let index: Index = index_of(records, IndexBuilder::in_memory());
    let segmented = index.snapshot();
    let compacted = index.writer().and_then(|mut writer| writer.compact());
    compacted.expect("memory can be written to");
    let compacted = index.snapshot();
    let shards = shards(&compacted);
    vec![vec![segmented], vec![compacted], shards]
}

fn statement(query_string: &str) -> String {
    let text = query_string.replace('\'', "''");
    format!("SELECT id FROM signals WHERE query = '{text}' ORDER BY id")
}

fn matching(filter: &Filter, records: &[Record]) -> Vec<u64> {
    let matching = records
        .iter()
        .filter(|(signal, company)| filter.matches(signal, company, TODAY));
    matching.map(|(signal, _)| signal.id.get()).collect()
}

#[test]
fn statements_find_by_awkward_filters_what_the_definition_says() {
    let mut awkward = Awkward::new(setting("SIGNALDEX_SEED", 1));
    let ids = (1..=RECORDS).filter_map(SignalId::new);
    let records: Vec<Record> = ids.map(|id| awkward.record(id)).collect();
    let corpora = corpora(&records);
    let databases: Vec<_> = corpora.iter().map(|parts| database(parts)).collect();
    let runtime = threads();
    let filters = setting("SIGNALDEX_PAIRS", 60_000) / RECORDS;
    let mut matched = 0;
    for turn in 0..filters as usize {
        let (query_string, filter) = awkward.filter();
        let expected = matching(&filter, &records);
        matched += expected.len() as u64;
        let expected: Vec<Vec<String>> = expected.iter().map(|id| vec![id.to_string()]).collect();
        // Each corpus in turn.
        let database = &databases[turn % databases.len()];
        let found = answer(database, &runtime, &statement(&query_string));
        assert_eq!(found, expected, "{query_string}");
        let counting =
            format!("SELECT count(*) FROM signals WHERE query = '{query_string}' AND title <> ''");
        let count = answer(database, &runtime, &counting);
        assert_eq!(count, [[expected.len().to_string()]], "{query_string}");
    }
    println!("{} pairs, {matched} match", filters * RECORDS);
    assert!(matched * 50 > filters * RECORDS, "only {matched} match");
}

#[test]
fn statements_find_by_each_search_of_the_tables_what_they_should() {
    let runtime = threads();
    for table in [Table::of_titles(), Table::of_names()] {
        for parts in corpora(&table.records) {
            let database = database(&parts);
            table.check(|search| {
                let query_string = search.query_string();
                if let Err(invalid) = Filter::from_query_string(&query_string) {
                    return Err(invalid.errors()[0].code.as_str().to_owned());
                }
                let rows = answer(&database, &runtime, &statement(&query_string));
                let ids = rows.iter().flatten().map(|id| id.parse().expect("an id"));
                Ok(ids.collect())
            });
        }
    }
}
