//! Directories that are rebuilt, swapped or mixed while an index over them is open.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::model::TODAY;
use crate::ErrorKind;
use crate::index::{Index, IndexBuilder};
use crate::query::Query;
use crate::signal::{Company, Signal, SignalId};

const SEGMENT: &str = "segment-00000000000000000001";

/// A directory with an index of some titles. Titles of equal lengths make files of equal lengths.
fn built(titles: &[&str]) -> TempDir {
    let directory = TempDir::new().expect("a temporary directory");
    let mut builder = IndexBuilder::in_directory(directory.path()).expect("an empty directory");
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a writable directory");
    for (id, title) in (1..).zip(titles) {
        builder
            .add_signal(&signal(id, title))
            .expect("a writable directory");
    }
    builder.finish().expect("a writable directory");
    directory
}

fn signal(id: u64, title: &str) -> Signal<'static> {
    let id = SignalId::new(id).expect("an id");
    Signal::new(id, "acme", title.to_owned())
}

/// Puts the files of one directory in place of those of another, as a nightly rebuild does.
fn swap(from: &Path, to: &Path) {
    for entry in fs::read_dir(to).expect("a readable directory") {
        fs::remove_file(entry.expect("an entry").path()).expect("a writable directory");
    }
    for entry in fs::read_dir(from).expect("a readable directory") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name");
        fs::copy(&path, to.join(name)).expect("a writable directory");
    }
}

fn titles(index: &Index) -> Vec<String> {
    let snapshot = index.snapshot();
    let query = Query::from_query_string("").expect("a valid query");
    let page = snapshot.search(&query, TODAY).expect("a whole index");
    let items = snapshot.records(&page).expect("whole records");
    let titles = items.iter().map(|item| item.signal.title.to_string());
    titles.collect()
}

fn commit(directory: &Path, id: u64, title: &str) {
    let index = Index::open(directory).expect("a whole index");
    let mut writer = index.writer().expect("nobody else writes");
    writer
        .upsert_signal(&signal(id, title))
        .expect("a known company");
    writer.commit().expect("a writable directory");
    writer.wait_for_merges();
}

#[test]
fn a_rebuilt_directory_is_loaded_though_generation_and_lengths_are_equal() {
    let (old, new) = (built(&["alpha", "omega"]), built(&["gamma", "delta"]));
    let index = Index::open(old.path()).expect("a whole index");
    swap(new.path(), old.path());
    index.refresh().expect("a whole index");
    assert_eq!(titles(&index), ["delta", "gamma"]);
}

#[test]
fn a_rebuilt_directory_is_never_mixed_with_the_one_before() {
    let (old, new) = (built(&["alpha", "omega"]), built(&["gamma", "delta"]));
    let index = Index::open(old.path()).expect("a whole index");
    let whole = Index::open(new.path()).expect("a whole index");
    let mut writer = whole.writer().expect("nobody else writes");
    writer.delete_signal(SignalId::MIN).expect("a whole index");
    writer.commit().expect("a writable directory");
    drop(writer);
    let expected = titles(&whole);
    swap(new.path(), old.path());
    index.refresh().expect("a whole index");
    assert_eq!(titles(&index), expected);
}

#[test]
fn a_foreign_segment_of_equal_number_and_length_is_refused_by_name() {
    let (own, foreign) = (built(&["alpha", "omega"]), built(&["gamma", "delta"]));
    let path = own.path().join(SEGMENT);
    let length = |path: &Path| fs::metadata(path).expect("a file").len();
    assert_eq!(length(&path), length(&foreign.path().join(SEGMENT)));
    fs::copy(foreign.path().join(SEGMENT), &path).expect("a writable directory");
    let error = Index::open(own.path()).expect_err("a foreign segment");
    assert!(
        error.kind() == ErrorKind::Foreign && error.path() == Some(&path),
        "{error}"
    );
}

#[test]
fn a_segment_whose_records_alone_differ_is_foreign_too() {
    let with_evidence = |evidence: &'static str| {
        let directory = TempDir::new().expect("a temporary directory");
        let mut builder = IndexBuilder::in_directory(directory.path()).expect("an empty one");
        builder
            .add_company(&Company::new("acme", "Acme"))
            .expect("written");
        let mut signal = signal(1, "alpha");
        signal.evidence = Some(evidence.into());
        builder.add_signal(&signal).expect("written");
        builder.finish().expect("written");
        directory
    };
    let (own, foreign) = (with_evidence("one"), with_evidence("two"));
    let path = own.path().join(SEGMENT);
    fs::copy(foreign.path().join(SEGMENT), &path).expect("a writable directory");
    let error = Index::open(own.path()).expect_err("a foreign segment");
    assert!(
        error.kind() == ErrorKind::Foreign && error.path() == Some(&path),
        "{error}"
    );
}

#[test]
fn copies_that_were_changed_apart_are_told_apart() {
    let (one, other) = (
        built(&["alpha", "omega"]),
        TempDir::new().expect("a directory"),
    );
    swap(one.path(), other.path());
    commit(one.path(), 2, "gamma");
    commit(other.path(), 2, "delta");
    let index = Index::open(one.path()).expect("a whole index");
    swap(other.path(), one.path());
    index.refresh().expect("a whole index");
    assert_eq!(titles(&index), ["delta", "alpha"]);
}

#[test]
fn a_copy_that_is_put_back_is_loaded_though_its_generation_is_lower() {
    let (index, kept) = (built(&["alpha"]), TempDir::new().expect("a directory"));
    swap(index.path(), kept.path());
    commit(index.path(), 1, "omega");
    let open = Index::open(index.path()).expect("a whole index");
    assert_eq!(titles(&open), ["omega"]);
    swap(kept.path(), index.path());
    open.refresh().expect("a whole index");
    assert_eq!(titles(&open), ["alpha"]);
    // A writer goes on from what is there, and not from what was.
    let mut writer = open.writer().expect("nobody else writes");
    writer
        .upsert_signal(&signal(2, "gamma"))
        .expect("a known company");
    writer.commit().expect("a writable directory");
    assert_eq!(titles(&open), ["gamma", "alpha"]);
}

#[test]
fn a_writer_of_a_swapped_directory_shows_it() {
    let (old, new) = (built(&["alpha", "omega"]), built(&["gamma", "delta"]));
    let index = Index::open(old.path()).expect("a whole index");
    swap(new.path(), old.path());
    let writer = index.writer().expect("nobody else writes");
    assert_eq!(titles(&index), ["delta", "gamma"]);
    drop(writer);
}
