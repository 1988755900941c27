//! Index directories that are missing, foreign, truncated or damaged: a typed error that names
//! the file, or the same answers; never a panic, never another answer, never much memory.
//!
//! With `SIGNALDEX_EVERY_BIT=1` every bit is flipped and every length tried, which takes minutes in
//! a release build: `SIGNALDEX_EVERY_BIT=1 cargo test --release --features synthetic --test damage`.

use std::fs;
use std::path::{Path, PathBuf};

use peak_alloc::PeakAlloc;
use signaldex::synthetic::Corpus;
use signaldex::{Error, Index, IndexBuilder, Query, SignalId};
use tempfile::TempDir;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Signals of the index that is damaged: a segment of more than 64 KiB.
const SIGNALS: u64 = 130;

/// In the ordinary run, every so manieth bit is flipped and every so manieth length tried; a prime,
/// so that all bits of a byte have their turn.
const STRIDE: usize = 997;

/// What opening and asking an index may allocate beside four times the file.
const MEMORY_BYTES: usize = 16 << 20;

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
        pages.push(
            snapshot
                .search(&query, corpus.as_of())
                .ids()
                .collect::<Vec<_>>(),
        );
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

/// Damages of a file: every bit flipped and every length, or every [`STRIDE`]th of both.
fn damages(whole: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    let stride = match std::env::var_os("SIGNALDEX_EVERY_BIT") {
        Some(_) => 1,
        None => STRIDE,
    };
    let flips = (0..whole.len() * 8).step_by(stride).map(|bit| {
        let mut damaged = whole.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        (format!("bit {bit} flipped"), damaged)
    });
    let lengths = (0..whole.len()).step_by(stride);
    flips.chain(lengths.map(|length| (format!("cut at {length}"), whole[..length].to_vec())))
}

#[test]
fn flipped_bits_and_truncations_never_change_an_answer() {
    let directory = TempDir::new().expect("a temporary directory");
    let corpus = build(directory.path());
    let expected = answers(directory.path(), &corpus).expect("a whole index");
    let segment = segment_file(directory.path());
    let length = fs::metadata(&segment).expect("a file").len() as usize;
    assert!(length >= 64 * 1024, "{length} bytes");
    let mut cases = 0;
    for file in [segment, directory.path().join("manifest")] {
        let whole = fs::read(&file).expect("a readable file");
        for (damage, bytes) in damages(&whole) {
            // A new file each time: one that is mapped must not be altered.
            fs::remove_file(&file).expect("a removable file");
            fs::write(&file, &bytes).expect("a writable directory");
            drop(bytes);
            let before = MEMORY.current_usage();
            MEMORY.reset_peak_usage();
            let found = answers(directory.path(), &corpus);
            let used = MEMORY.peak_usage().saturating_sub(before);
            assert!(used <= 4 * length + MEMORY_BYTES, "{damage}: {used} bytes");
            match found {
                Ok(answers) => assert_eq!(answers, expected, "{damage}"),
                Err(error) => assert!(
                    error.is_corrupt() || error.is_foreign() || error.is_newer_format(),
                    "{damage}: {error}"
                ),
            }
            cases += 1;
        }
        fs::write(&file, &whole).expect("a writable file");
    }
    println!("{cases} damaged copies of an index of {length} bytes");
}

#[test]
fn verify_covers_every_byte_of_a_segment() {
    let directory = TempDir::new().expect("a temporary directory");
    build(directory.path());
    let file = segment_file(directory.path());
    let whole = fs::read(&file).expect("a readable file");
    // The header's padding ends where the first section starts.
    let padding = (12..64).map(|place| (format!("byte {place}"), place));
    let padding = padding.map(|(name, place)| {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        (name, damaged)
    });
    for (damage, bytes) in padding.chain(damages(&whole)) {
        fs::remove_file(&file).expect("a removable file");
        fs::write(&file, &bytes).expect("a writable directory");
        let verified = Index::open(directory.path()).and_then(|index| index.snapshot().verify());
        let error = verified.expect_err(&damage);
        assert_eq!(error.path(), Some(&*file), "{damage}: {error}");
    }
}
