//! What clients see while the files of a served index are lost, damaged or unreadable.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};

use crate::fixture::{Fixture, Settings};

/// How long the service may take to follow a commit.
const FOLLOWED_MAX: Duration = Duration::from_secs(20);

fn signal(number: u64) -> Signal<'static> {
    let id = SignalId::new(number).expect("an id");
    Signal::new(id, "acme", format!("Acme does thing {number}"))
}

/// A directory with signals 1 to 3, and a service over it.
fn served() -> (tempfile::TempDir, Fixture) {
    let directory = indexed();
    let fixture = serve(directory.path());
    (directory, fixture)
}

/// A directory with signals 1 to 3.
fn indexed() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let mut builder = IndexBuilder::in_directory(directory.path()).expect("a builder");
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("added");
    for number in 1..=3 {
        builder.add_signal(&signal(number)).expect("added");
    }
    builder.finish().expect("an index");
    directory
}

fn serve(directory: &Path) -> Fixture {
    Fixture::with(Settings {
        index: Some(Index::open(directory).expect("the index")),
        ..Settings::default()
    })
}

fn segments(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("the directory");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let is_segment = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        name.starts_with("segment-")
    };
    paths.filter(is_segment).collect()
}

/// Commits one more signal, as another process does.
fn commit(directory: &Path, number: u64) {
    let index = Index::open(directory).expect("the index");
    let mut writer = index.writer().expect("a free lock");
    writer.upsert_signal(&signal(number)).expect("taken");
    writer.commit().expect("committed");
}

/// Waits until the newest signal is this one.
fn await_newest(fixture: &Fixture, number: u64) {
    let since = Instant::now();
    while fixture.search("limit=1").items() != [number.to_string()] {
        assert!(since.elapsed() < FOLLOWED_MAX, "{number} is not served");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn deleted_files_are_served_on_from_memory_and_healed_by_a_build() {
    let (directory, fixture) = served();
    for entry in fs::read_dir(directory.path()).expect("the directory") {
        fs::remove_file(entry.expect("an entry").path()).expect("removed");
    }
    // Longer than the service takes between two looks at the directory.
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(fixture.search("").items(), ["3", "2", "1"]);
    assert_eq!(fixture.get("/readyz").status, 200);

    let mut builder = IndexBuilder::in_directory(directory.path()).expect("a builder");
    let company = Company::new("acme", "Acme");
    builder.add_company(&company).expect("added");
    builder.add_signal(&signal(9)).expect("added");
    builder.finish().expect("an index");
    await_newest(&fixture, 9);
}

#[test]
fn a_commit_that_is_damaged_is_not_served_and_the_one_before_is() {
    let (directory, fixture) = served();
    let known = segments(directory.path());
    // Until the service looks, nothing is served of the commit; what it opens has to be whole.
    let index = Index::open(directory.path()).expect("the index");
    let mut writer = index.writer().expect("a free lock");
    writer.upsert_signal(&signal(4)).expect("taken");
    writer.commit().expect("committed");
    drop(writer);
    await_newest(&fixture, 4);

    commit(directory.path(), 5);
    let mut damaged = false;
    for path in segments(directory.path()) {
        if !known.contains(&path) && damage(&path) {
            damaged = true;
        }
    }
    assert!(damaged, "a commit writes a segment");
    std::thread::sleep(Duration::from_millis(600));
    // Either the commit was opened before it was damaged, or it is refused: never anything else.
    let items = fixture.search("").items();
    assert!(
        items == ["5", "4", "3", "2", "1"] || items == ["4", "3", "2", "1"],
        "{items:?}"
    );
    assert_eq!(fixture.get("/readyz").status, 200);
}

/// Replaces a file by a damaged copy of another length; the old file stays whole for who has it open.
fn damage(path: &Path) -> bool {
    let mut bytes = fs::read(path).expect("a segment");
    bytes.truncate(bytes.len() / 2);
    let beside = path.with_extension("damaged");
    fs::write(&beside, bytes).is_ok() && fs::rename(&beside, path).is_ok()
}

/// Files are checked part by part, each when a question first needs it.
#[test]
fn a_question_that_meets_damage_is_answered_500_and_others_as_before() {
    let directory = indexed();
    let path = segments(directory.path()).pop().expect("a segment");
    let mut bytes = fs::read(&path).expect("a segment");
    // The words of titles, sorted, in their dictionary.
    let words = b"acmedoesthing";
    let at = bytes
        .windows(words.len())
        .position(|window| window == words);
    bytes[at.expect("the dictionary")] ^= 1;
    fs::write(&path, bytes).expect("written");

    let fixture = serve(directory.path());
    assert!(fixture.get("/readyz").json().get("damaged").is_none());
    for _ in 0..2 {
        assert_eq!(fixture.search("limit=2").items(), ["3", "2"]);
        for target in [
            "signals?q=does",
            "filter-options?q=does",
            "aggregates?q=does&by=company",
            "companies?has=(q=does)",
            "companies?has=(q=does)&countOnly=true",
            "export?q=does",
        ] {
            let failed = fixture.get(&format!("/api/v1/{target}"));
            assert_eq!(failed.status, 500, "{target}");
            assert_eq!(failed.charged(), 0, "{target}");
            let content_type = failed.header("content-type");
            assert_eq!(content_type, Some("application/problem+json"), "{target}");
            let problem = failed.json();
            assert_eq!(problem["code"], "internal", "{target}");
            assert_eq!(problem["status"], 500, "{target}");
            let id = failed.header("x-request-id").expect("a request id");
            assert_eq!(problem["requestId"], id, "{target}");
            // The file and the section are for the log alone.
            assert!(
                !String::from_utf8_lossy(&failed.body).contains("segment"),
                "{target}"
            );
        }
    }
    // What needs none of the damaged parts can be answered.
    let ready = fixture.get("/readyz");
    assert_eq!(ready.status, 200);
    assert_eq!(ready.json()["damaged"], true);
}

#[test]
fn a_truncated_or_foreign_segment_is_refused_by_name_at_the_start() {
    for replace_by in [Some(b"not a segment".to_vec()), None] {
        let (directory, fixture) = served();
        drop(fixture);
        let path = segments(directory.path()).pop().expect("a segment");
        match replace_by {
            Some(bytes) => fs::write(&path, bytes).expect("written"),
            None => assert!(damage(&path)),
        }
        let error = Index::open(directory.path()).expect_err("a damaged index");
        let name = path.file_name().expect("a name").to_string_lossy();
        assert!(error.to_string().contains(&*name), "{error}");
    }
}
