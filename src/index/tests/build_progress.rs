//! What a builder tells of its progress while it finishes.

use crate::{Company, IndexBuilder, Signal, SignalId};

/// Adds signals with enough text to be worth compressing.
fn filled(mut builder: IndexBuilder) -> IndexBuilder {
    builder
        .add_company(&Company::new("acme", "Acme"))
        .expect("memory");
    for number in 1..=9000 {
        let id = SignalId::new(number).expect("an id");
        let mut signal = Signal::new(id, "acme", format!("Acme hires {number}"));
        signal.evidence = Some(format!("{number} ").repeat(100).into());
        builder.add_signal(&signal).expect("memory");
    }
    builder
}

/// The shares that a builder tells.
fn shares(compress: bool) -> Vec<f64> {
    let builder = filled(IndexBuilder::in_memory().compress_records(compress));
    let mut shares = Vec::new();
    let index = builder.finish_with(|share| shares.push(share));
    assert_eq!(index.expect("memory").snapshot().signal_count(), 9000);
    shares
}

#[test]
fn a_builder_tells_its_progress_from_the_start_to_the_end() {
    for compress in [false, true] {
        let shares = shares(compress);
        assert!(shares.is_sorted(), "{shares:?}");
        assert!(
            shares
                .first()
                .is_some_and(|share| (0.0..0.1).contains(share))
        );
        assert_eq!(shares.last(), Some(&1.0));
        // One step alone is longer in so small an index: the one view of all records that are compressed.
        let steps = shares.windows(2).map(|pair| pair[1] - pair[0]);
        assert_eq!(
            steps.filter(|step| *step > 0.25).count(),
            usize::from(compress)
        );
    }
}

/// The plain records take as much of a disk as the rest of the segment, so they are gone before it is written.
#[test]
fn plain_records_are_removed_before_anything_but_records_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("index");
    let builder = filled(IndexBuilder::in_directory(&path).expect("a folder"));
    let segments = || {
        let names = std::fs::read_dir(&path).expect("the index").flatten();
        let names = names.map(|entry| entry.file_name());
        names
            .filter(|name| name.to_string_lossy().starts_with("segment-"))
            .count()
    };
    let mut counts = Vec::new();
    let index = builder.finish_with(|_| counts.push(segments()));
    assert_eq!(index.expect("a disk").snapshot().signal_count(), 9000);
    // Training and the one view of all records; then columns, postings and the end.
    assert_eq!(counts[..2], [2, 2]);
    assert!(counts.len() > 10 && counts[2..].iter().all(|&count| count == 1));
}
