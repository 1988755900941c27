//! Indexes that earlier releases have written, one a format version, under `data/index`: every
//! later release opens them, answers as then, and goes on writing to them.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use signaldex::{Index, IndexBuilder, Query, Signal, SignalId, Snapshot};
use signaldex_synthetic::Corpus;
use tempfile::TempDir;
use time::Date;
use time::macros::date;

use crate::golden_file::compare_with_golden;

const TODAY: Date = date!(2026 - 06 - 30);

/// Signals of a stored index: enough that a few later ones stay in a segment of their own.
const SIGNALS: u64 = 1_500;

/// How often a stored signal's evidence repeats its title.
const TITLES_IN_EVIDENCE: usize = 60;

fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data/index")
        .join(version)
}

/// Writes an index of two segments, with deletions, in the format of this release.
fn write(directory: &Path) -> signaldex::Result<()> {
    let corpus = Corpus::new(SIGNALS, 11).expect("a size within bounds");
    let mut builder = IndexBuilder::in_directory(directory)?;
    for company in corpus.companies() {
        builder.add_company(&company)?;
    }
    for mut signal in corpus.signals() {
        // So much text that records are compressed, in a file that is small all the same.
        signal.evidence = Some(signal.title.repeat(TITLES_IN_EVIDENCE).into());
        builder.add_signal(&signal)?;
    }
    let mut writer = builder.finish()?.writer()?;
    for mut signal in corpus.signals().step_by(60) {
        signal.title = "Rewritten since, \"quoted\"".into();
        writer.upsert_signal(&signal)?;
    }
    for signal in corpus.signals().skip(30).step_by(60) {
        writer.delete_signal(signal.id).expect("a whole index");
    }
    writer.commit().map(drop)
}

/// All that an index says, in lines that can be kept.
fn described(snapshot: &Snapshot) -> String {
    let mut text = String::new();
    for query in [
        "",
        "q=rewritten",
        "country=Germany",
        "all=series a",
        "exact=machine learning",
        "all=robot*",
        "fundingMin=1000000&fundingCurrency=USD",
        "days=90",
    ] {
        let parsed = Query::from_query_string(query).expect("a valid query");
        let page = snapshot.search(&parsed, TODAY).expect("a whole index");
        let count = snapshot
            .count(parsed.filter(), TODAY)
            .expect("a whole index");
        let ids: Vec<u64> = page.ids().map(|id| id.get()).take(12).collect();
        writeln!(text, "{query}: {count}, {ids:?}").expect("memory");
    }
    let mut lines = Vec::new();
    for found in snapshot.scan() {
        let found = found.expect("a whole index");
        lines.push(signaldex_json(&found.signal));
    }
    lines.sort();
    let records = lines.concat();
    writeln!(text, "{} signals, {} bytes", lines.len(), records.len()).expect("memory");
    text.push_str(lines.first().map_or("", String::as_str));
    text.push_str(lines.last().map_or("", String::as_str));
    text
}

fn signaldex_json(signal: &Signal<'_>) -> String {
    let mut line = Vec::new();
    signaldex::json::write_signal(&mut line, signal);
    String::from_utf8(line).expect("JSON is UTF-8")
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a stored index") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        fs::copy(&path, to.join(name)).expect("a copy");
    }
}

#[test]
fn every_format_version_is_opened_read_and_written() {
    let latest = folder("v1");
    if std::env::var_os("SIGNALDEX_BLESS").is_some() && !latest.exists() {
        write(&latest).expect("a new folder");
        let _ = fs::remove_file(latest.join("lock"));
    }
    let versions = fs::read_dir(folder("")).expect("the stored indexes");
    let versions: Vec<PathBuf> = versions
        .map(|version| version.expect("an entry").path())
        .collect();
    assert!(versions.contains(&latest), "{versions:?}");
    for stored in versions {
        let name = stored.file_name().expect("a name").to_string_lossy();
        let directory = TempDir::new().expect("a temporary directory");
        copy(&stored, directory.path());
        let index = Index::open(directory.path()).expect("an index of that version");
        index.snapshot().verify().expect("a whole index");
        compare_with_golden(&format!("index-{name}.txt"), &described(&index.snapshot()));

        let before = index.snapshot().signal_count();
        let mut writer = index.writer().expect("a free lock");
        let found = index.snapshot().scan().next().map(|found| {
            let found = found.expect("a whole index");
            found.signal.company_slug.into_owned()
        });
        let slug = found.expect("a signal");
        let free = (1..)
            .filter_map(SignalId::new)
            .find(|&id| !index.snapshot().contains(id).expect("a whole index"));
        let signal = Signal::new(free.expect("a free id"), slug, "Written by a later release");
        writer.upsert_signal(&signal).expect("a known company");
        writer.commit().expect("a writable directory");
        writer.compact().expect("a writable directory");
        let after = Index::open(directory.path()).expect("an index").snapshot();
        after.verify().expect("a whole index");
        assert_eq!(after.signal_count(), before + 1);
    }
}
