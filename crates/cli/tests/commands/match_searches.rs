//! `signaldex match`: what it prints, and what it refuses.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use signaldex::{Filter, IndexBuilder, PositionError, SavedSearches};
use signaldex_synthetic::Corpus;
use time::Date;
use time::macros::date;

use crate::changes::Restored;

const TODAY: Date = date!(2026 - 06 - 30);

/// Runs `signaldex match` over searches and says what it printed.
fn run_match(directory: &Path, searches: &str, arguments: &[&str]) -> Output {
    let file = directory.with_extension("searches");
    std::fs::write(&file, searches).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_signaldex"));
    command
        .arg("match")
        .arg(directory)
        .arg(file)
        .args(arguments);
    command.output().expect("the program can be started")
}

fn lines(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{output:?}");
    let lines = std::str::from_utf8(&output.stdout).expect("UTF-8").lines();
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn the_command_line_prints_matches_and_the_next_position() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path().join("index");
    let corpus = Corpus::new(200, 4).expect("a corpus");
    let mut builder = IndexBuilder::in_directory(&directory).expect("an empty directory");
    for company in corpus.companies() {
        builder.add_company(&company).expect("a company");
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal).expect("a signal");
    }
    let index = builder.finish().expect("an index");
    let queries = [
        ("all", ""),
        ("funding", "categories=funding"),
        ("none", "q=nobodyatall"),
    ];
    let file = queries.map(|(name, query)| json!({"name": name, "query": query}).to_string());
    let file = format!("{}\n\n", file.join("\n"));
    let only = lines(&run_match(&directory, &file, &[]));
    assert_eq!(
        only,
        [json!({"next": index.snapshot().position().to_string()})]
    );

    let printed = lines(&run_match(&directory, &file, &["--since", "start"]));
    for (name, query) in queries {
        let filter = Filter::from_query_string(query).expect("valid");
        let found = printed.iter().filter(|line| line["search"] == name);
        let count = index
            .snapshot()
            .count(&filter, TODAY)
            .expect("a whole index");
        assert_eq!(found.clone().count() as u64, count, "{name}");
        assert!(
            found
                .clone()
                .all(|line| line["isNew"] == true && line["signal"]["id"].is_string())
        );
    }
    let next = printed
        .last()
        .and_then(|line| line["next"].as_str())
        .expect("a position");
    let mut writer = index.writer().expect("nobody else writes");
    let changed = corpus.signals().next().expect("a signal");
    writer.upsert_signal(&changed).expect("a known company");
    writer.commit().expect("committed");
    let since = lines(&run_match(&directory, &file, &["--since", next]));
    assert_eq!(since[0]["search"], "all");
    assert_eq!(since[0]["isNew"], false);
    assert_eq!(since[0]["signal"]["id"], changed.id.to_string());
}

#[test]
fn a_bad_file_of_searches_is_named_with_its_line_and_nothing_is_matched() {
    let folder = tempfile::tempdir().expect("a folder");
    let directory = folder.path().join("index");
    IndexBuilder::in_directory(&directory)
        .and_then(IndexBuilder::finish)
        .expect("an index");
    let good = "{\"name\":\"good\",\"query\":\"\"}\n";
    let cases = [
        (
            "{\"name\":\"a\",\"query\":\"contry=x\"}",
            "did you mean country?",
        ),
        (
            "{\"name\":\"a\",\"query\":\"limit=5\"}",
            "\"limit\" is not a parameter here",
        ),
        (
            "{\"name\":\"good\",\"query\":\"q=x\"}",
            "the name \"good\" is given twice",
        ),
        ("{\"name\":\"\",\"query\":\"q=x\"}", "the name is empty"),
        ("{\"name\":\"a\"}", "missing field `query`"),
        (
            "{\"name\":\"a\",\"query\":\"\",\"more\":1}",
            "unknown field `more`",
        ),
        ("q=robotics", "expected value"),
    ];
    for (line, fault) in cases {
        let output = run_match(
            &directory,
            &format!("{good}{line}\n"),
            &["--since", "start"],
        );
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{output:?}"
        );
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            error.contains(".searches:2: ") && error.contains(fault),
            "{error}"
        );
    }
    let refused = run_match(&directory, good, &["--since", "nonsense"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_position_that_a_restored_backup_lost_is_refused() {
    let restored = Restored::new();
    let snapshot = restored.index.snapshot();
    let mut saved = SavedSearches::new();
    let filter = Filter::from_query_string("q=moves").expect("valid");
    saved.insert("moves", filter);
    let searches = r#"{"name":"moves","query":"q=moves"}"#;
    for lost in &restored.lost {
        let refused = saved.matching(&snapshot, lost, TODAY).err();
        assert_eq!(refused, Some(PositionError::Diverged));
        let since = lost.to_string();
        let output = run_match(&restored.directory(), searches, &["--since", &since]);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(output.stdout.is_empty());
    }
    let since = restored.before.to_string();
    let output = run_match(&restored.directory(), searches, &["--since", &since]);
    assert_eq!(lines(&output).len(), 3);
}
