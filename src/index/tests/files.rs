//! The files of a directory on disk: which of them the writer removes, and which it refuses to read.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::disk::Disk;
use super::model::{TODAY, empty_index, open};
use crate::ErrorKind;
use crate::index::{Index, IndexBuilder, Position, Writer};
use crate::query::Filter;
use crate::segment::WRITTEN;
use crate::signal::{Company, Signal, SignalId};

/// A directory with an index of one company.
fn directory() -> TempDir {
    let directory = TempDir::new().expect("a temporary directory");
    let mut builder = IndexBuilder::in_directory(directory.path()).expect("an empty directory");
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("a writable directory");
    builder.finish().expect("a writable directory");
    directory
}

fn writer(directory: &Path) -> Writer {
    let index = Index::open(directory).expect("a whole index");
    index.writer().expect("nobody else writes")
}

fn commit(writer: &mut Writer, id: u64) {
    let id = SignalId::new(id).expect("an id");
    let signal = Signal::new(id, "acme", "Acme hires");
    writer.upsert_signal(&signal).expect("a known company");
    writer.commit().expect("a writable directory");
}

/// The number that the next new file would get.
const NEXT: &str = "segment-00000000000000000002";

#[test]
fn a_writer_removes_only_names_of_the_exact_form() {
    let directory = directory();
    let foreign = [
        "segment-",
        "segment-1",
        "segment-0000000000000000007",
        "segment-000000000000000000007",
        "segment-0000000000000000000x",
        "segment-+0000000000000000007",
        "segment-99999999999999999999",
        "segment-00000000000000000007.bak",
        "deleted-2026-11-22.txt",
        "deleted-",
        "manifest.old",
        "notes.txt",
    ];
    let leftovers = [
        "segment-00000000000000000007",
        "deleted-00000000000000000008",
        "manifest.next",
    ];
    for name in foreign.iter().chain(&leftovers) {
        fs::write(directory.path().join(name), "text").expect("a writable directory");
    }
    let mut writer = writer(directory.path());
    commit(&mut writer, 1);
    writer.compact().expect("a writable directory");
    drop(writer);
    for name in foreign {
        assert!(directory.path().join(name).is_file(), "{name} is not ours");
    }
    for name in leftovers {
        assert!(
            !directory.path().join(name).exists(),
            "{name} is a leftover"
        );
    }
}

#[test]
fn a_folder_with_the_name_of_a_file_does_not_stop_a_writer() {
    let directory = directory();
    let folders = [
        "segment-00000000000000000007",
        "deleted-00000000000000000008",
        // The next number of a new file: the writer takes the one after it.
        NEXT,
    ];
    for name in folders {
        fs::create_dir(directory.path().join(name)).expect("a writable directory");
    }
    let mut writer = writer(directory.path());
    for id in 1..10 {
        commit(&mut writer, id);
    }
    writer.compact().expect("a writable directory");
    drop(writer);
    for name in folders {
        assert!(directory.path().join(name).is_dir(), "{name} is not ours");
    }
    let index = Index::open(directory.path()).expect("a whole index");
    assert_eq!(index.snapshot().signal_count(), 9);
}

#[test]
fn a_segment_is_opened_and_validated_once() {
    let first = "segment-00000000000000000001".to_owned();
    let once = [(first, 1)].into();
    let disk = Disk::default();
    drop(empty_index(&disk));
    assert_eq!(disk.take_views(), once, "by IndexBuilder::finish");
    let index = open(&disk).expect("a whole index");
    let writer = index.writer().expect("nobody else writes");
    assert_eq!(disk.take_views(), once, "by Index::open and Index::writer");
    drop(writer);
    drop(index.writer().expect("nobody else writes"));
    assert!(disk.take_views().is_empty(), "by another writer");
}

#[test]
fn a_record_is_written_once() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = index.writer().expect("nobody else writes");
    let before = WRITTEN.get();
    for slug in ["acme", "beta"] {
        let company = Company::new(slug, "Acme");
        writer.upsert_company(&company).expect("a valid company");
    }
    for id in 1..=10 {
        let id = SignalId::new(id).expect("an id");
        let signal = Signal::new(id, "acme", "Acme hires");
        writer.upsert_signal(&signal).expect("a known company");
    }
    writer.commit().expect("the disk is whole");
    assert_eq!(WRITTEN.get() - before, 12);
}

#[test]
fn texts_as_long_as_a_record_may_have_are_committed() {
    let disk = Disk::default();
    let index = empty_index(&disk);
    let mut writer = index.writer().expect("nobody else writes");
    let company = Company::new("c", "C");
    writer.upsert_company(&company).expect("a valid company");
    let mut signal = Signal::new(SignalId::MIN, "c", "t");
    let others = signal.slug.len() + "ct".len();
    // Quotes are escaped in JSON, so that the texts are stored otherwise.
    for letter in ["x", "\""] {
        let evidence = letter.repeat((16 << 20) - others);
        signal.evidence = Some(format!("{evidence}!").into());
        let error = writer.upsert_signal(&signal).expect_err("a byte too many");
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        signal.evidence = Some(evidence.into());
        writer.upsert_signal(&signal).expect("as long as allowed");
        writer.commit().expect("what was accepted can be written");
        let snapshot = index.snapshot();
        let found = snapshot.signal(signal.id).expect("a whole record");
        assert_eq!(found.expect("the signal").signal, signal);
    }
}

#[test]
fn a_manifest_of_any_length_takes_little_memory() {
    let directory = directory();
    let manifest = directory.path().join("manifest");
    let file = fs::OpenOptions::new().append(true).open(&manifest);
    // Sparse: it takes no room on the disk, but would not fit into memory.
    file.and_then(|file| file.set_len(1 << 40))
        .expect("a file system with sparse files");
    let error = Index::open(directory.path()).expect_err("no manifest is that long");
    assert!(
        error.kind() == ErrorKind::Corrupt && error.path() == Some(&manifest),
        "{error}"
    );
}

#[test]
fn damage_of_digests_concerns_old_positions_alone() {
    let directory = directory();
    let mut writer = writer(directory.path());
    let index = Index::open(directory.path()).expect("a whole index");
    let old = index.snapshot().position();
    for id in 1..10 {
        commit(&mut writer, id);
    }
    drop(writer);
    let files = fs::read_dir(directory.path()).expect("a readable directory");
    let mut paths = files.map(|file| file.expect("an entry").path());
    let is_chain = |path: &PathBuf| path.to_string_lossy().contains("chain-");
    let path = paths.find(is_chain).expect("a file of digests");
    let mut bytes = fs::read(&path).expect("a readable file");
    bytes[0] ^= 1;
    // What is mapped must not be altered.
    fs::remove_file(&path).expect("a removable file");
    fs::write(&path, bytes).expect("a writable directory");

    let index = Index::open(directory.path()).expect("a file of the right length");
    let snapshot = index.snapshot();
    let filter = Filter::default();
    let changes = |since: &Position| {
        let changes = snapshot.changes(&filter, TODAY, since);
        let mut changes = changes.expect("a position of this index");
        let found = changes.next().transpose();
        assert!(found.is_ok() || changes.position() == *since);
        found.map(|change| change.is_some())
    };
    for error in [
        snapshot.check().expect_err("damage"),
        snapshot.verify().expect_err("damage"),
        changes(&old).expect_err("damage"),
    ] {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert_eq!(error.path(), Some(&*path));
    }
    assert!(!changes(&snapshot.position()).expect("no damage"));
    let mut writer = index.writer().expect("nobody else writes");
    for id in 10..20 {
        commit(&mut writer, id);
    }
}
