//! Index directories that are missing, foreign, truncated or damaged: a typed error that names
//! the file, or the same answers; never a panic, never another answer.

use std::fs;
use std::path::{Path, PathBuf};

use signaldex::synthetic::Corpus;
use signaldex::{Error, Index, IndexBuilder, Query, SignalId};
use tempfile::TempDir;

use crate::questions::Random;

/// Signals of the index that is damaged.
const SIGNALS: u64 = 300;

/// Damaged copies in the ordinary run.
const CASES: usize = 400;

fn build(directory: &Path) -> Corpus {
    let corpus = Corpus::new(SIGNALS, 5).expect("a size within bounds");
    let mut builder = IndexBuilder::in_directory(directory).expect("an empty directory");
    for company in corpus.companies() {
        builder.add_company(&company).expect("a writable directory");
    }
    for signal in corpus.signals() {
        builder.add_signal(&signal).expect("a writable directory");
    }
    builder.finish().expect("a writable directory");
    corpus
}

fn segment_file(directory: &Path) -> PathBuf {
    let files = fs::read_dir(directory).expect("a readable directory");
    let mut paths = files.map(|file| file.expect("a readable directory").path());
    let is_segment = |path: &PathBuf| {
        path.file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("segment-"))
    };
    paths.find(is_segment).expect("a segment")
}

/// Everything the index has to say: ids of some queries, and all records.
fn answers(directory: &Path, corpus: &Corpus) -> Result<(Vec<Vec<SignalId>>, usize), Error> {
    let index = Index::open(directory)?;
    let snapshot = index.snapshot();
    let mut pages = Vec::new();
    for text in [
        "",
        "q=series",
        "days=90",
        "exact=machine learning",
        "fundingMin=1000",
        "country=Germany",
    ] {
        let query = Query::parse(text).expect("a valid query");
        pages.push(snapshot.search(&query, corpus.as_of())?.ids().to_vec());
    }
    let mut bytes = 0;
    for found in snapshot.scan() {
        let found = found?;
        bytes += found.signal.title.len() + found.company.name.len();
        bytes += found.signal.evidence.map_or(0, |evidence| evidence.len());
    }
    Ok((pages, bytes))
}

#[test]
fn an_index_opens_without_rebuilding() {
    let directory = TempDir::new().expect("a temporary directory");
    let corpus = build(directory.path());
    let first = answers(directory.path(), &corpus).expect("a whole index");
    assert_eq!(
        answers(directory.path(), &corpus).expect("a whole index"),
        first
    );
    let error = IndexBuilder::in_directory(directory.path()).expect_err("there is one already");
    assert!(error.is_invalid(), "{error}");
}

#[test]
fn missing_and_foreign_directories_are_named() {
    let directory = TempDir::new().expect("a temporary directory");
    let error = Index::open(directory.path().join("nowhere")).expect_err("nothing is there");
    assert!(error.is_missing(), "{error}");
    assert!(error.to_string().contains("nowhere"), "{error}");

    fs::write(directory.path().join("manifest"), "something else").expect("a writable directory");
    let error = Index::open(directory.path()).expect_err("that is no manifest");
    assert!(
        error.is_foreign() && error.to_string().contains("manifest"),
        "{error}"
    );
}

#[test]
fn a_missing_or_foreign_segment_is_named() {
    let directory = TempDir::new().expect("a temporary directory");
    build(directory.path());
    let segment = segment_file(directory.path());
    let length = fs::metadata(&segment).expect("a file").len() as usize;
    fs::write(&segment, vec![b'x'; length]).expect("a writable file");
    let error = Index::open(directory.path()).expect_err("that is no segment");
    assert!(
        error.is_foreign() && error.path() == Some(&segment),
        "{error}"
    );
    fs::remove_file(&segment).expect("a removable file");
    let error = Index::open(directory.path()).expect_err("the segment is gone");
    assert!(
        error.is_missing() && error.path() == Some(&segment),
        "{error}"
    );
}

#[test]
fn newer_formats_are_refused_and_left_alone() {
    let directory = TempDir::new().expect("a temporary directory");
    build(directory.path());
    for file in [
        segment_file(directory.path()),
        directory.path().join("manifest"),
    ] {
        let whole = fs::read(&file).expect("a readable file");
        let mut newer = whole.clone();
        newer[8] = 200;
        fs::write(&file, &newer).expect("a writable file");
        let error = Index::open(directory.path()).expect_err("a format of the future");
        assert!(
            error.is_newer_format() && error.path() == Some(&file),
            "{error}"
        );
        assert_eq!(fs::read(&file).expect("a readable file"), newer);
        fs::write(&file, &whole).expect("a writable file");
    }
}

#[test]
fn flipped_bits_and_truncations_never_change_an_answer() {
    let directory = TempDir::new().expect("a temporary directory");
    let corpus = build(directory.path());
    let expected = answers(directory.path(), &corpus).expect("a whole index");
    let mut random = Random::new(3);
    for file in [
        segment_file(directory.path()),
        directory.path().join("manifest"),
    ] {
        let whole = fs::read(&file).expect("a readable file");
        for case in 0..CASES {
            let mut damaged = whole.clone();
            let place = random.below(damaged.len());
            match case % 4 {
                0 => damaged.truncate(place),
                _ => damaged[place] ^= 1 << random.below(8),
            }
            fs::write(&file, &damaged).expect("a writable file");
            match answers(directory.path(), &corpus) {
                Ok(answers) => assert_eq!(answers, expected, "damage at {place}"),
                Err(error) => assert!(
                    error.is_corrupt() || error.is_foreign() || error.is_newer_format(),
                    "damage at {place}: {error}"
                ),
            }
        }
        fs::write(&file, &whole).expect("a writable file");
    }
}
