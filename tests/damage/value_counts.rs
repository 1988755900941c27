//! Damaged and forged value counts: an error that names the file where facets need them, the same answers elsewhere.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;

use signaldex::{Company, Facets, Filter, Index, IndexBuilder, Result, Signal, SignalId};
use tempfile::TempDir;
use time::Date;
use time::macros::date;

use crate::fixture::is_damage;
use crate::manifest_file::of_segment;
use crate::random::Random;
use crate::segment_file::{Table, repair};

const TODAY: Date = date!(2026 - 06 - 30);

/// The kind of value counts.
const VALUE_COUNTS: u32 = 65_536;

/// Signals, which are many for the few values that they have.
const SIGNALS: u64 = 400;

/// Forged files.
const FORGED_FILES: u32 = 300;

/// An index with value counts, and where these are in its segment.
struct Counted {
    directory: TempDir,
    segment: PathBuf,
    bytes: Vec<u8>,
    counts: Range<usize>,
}

impl Counted {
    fn build() -> Counted {
        let directory = TempDir::new().expect("a temporary directory");
        let mut builder = IndexBuilder::in_directory(directory.path()).expect("an empty directory");
        for (slug, country) in [("a", "France"), ("b", "Japan")] {
            let mut company = Company::new(slug, slug);
            company.country = Some(country.into());
            builder.add_company(&company).expect("a writable directory");
        }
        for id in 1..=SIGNALS {
            let slug = if id % 3 == 0 { "b" } else { "a" };
            let title = if id % 4 == 0 { "Raises funds" } else { "Hires" };
            let id = SignalId::new(id).expect("an id");
            let signal = Signal::new(id, slug, title);
            builder.add_signal(&signal).expect("a writable directory");
        }
        builder.finish().expect("a writable directory");
        let segment = directory.path().join("segment-00000000000000000001");
        let bytes = fs::read(&segment).expect("a readable file");
        let (table, _) = Table::of(&bytes).expect("a whole file");
        let mut lines = table.lines.iter();
        let line = lines.find(|line| line.kind == VALUE_COUNTS);
        let counts = line.and_then(|line| line.range(bytes.len()));
        Counted {
            counts: counts.expect("words have value counts"),
            directory,
            segment,
            bytes,
        }
    }

    /// The facets under a word of an index whose segment has other bytes; its manifest names these.
    fn facets(&self, bytes: &[u8]) -> Result<Facets> {
        self.facets_by(bytes, &of_segment(bytes))
    }

    fn facets_by(&self, bytes: &[u8], manifest: &[u8]) -> Result<Facets> {
        // What is mapped must not be altered.
        fs::remove_file(&self.segment).expect("a removable file");
        fs::write(&self.segment, bytes).expect("a writable directory");
        fs::write(self.directory.path().join("manifest"), manifest).expect("a writable directory");
        let filter = Filter::from_query_string("q=raises&country=france").expect("a valid filter");
        Index::open(self.directory.path())?
            .snapshot()
            .facets(&filter, TODAY)
    }
}

#[test]
fn each_changed_byte_is_named_or_not_needed() {
    let counted = Counted::build();
    let manifest = fs::read(counted.directory.path().join("manifest")).expect("a readable file");
    let expected = counted
        .facets_by(&counted.bytes, &manifest)
        .expect("a whole index");
    let mut errors = 0;
    for byte in counted.counts.clone() {
        let mut damaged = counted.bytes.clone();
        damaged[byte] ^= 0x10;
        match counted.facets_by(&damaged, &manifest) {
            Ok(facets) => assert_eq!(facets, expected, "byte {byte}"),
            Err(error) => {
                assert!(is_damage(&error), "byte {byte}: {error}");
                assert_eq!(error.path(), Some(&*counted.segment), "{error}");
                errors += 1;
            }
        }
        let index = Index::open(counted.directory.path());
        if let Ok(index) = index {
            assert!(index.snapshot().check().is_err(), "byte {byte}");
            assert!(index.snapshot().verify().is_err(), "byte {byte}");
        }
    }
    assert!(errors > 0, "facets under a word need its counts");
}

#[test]
fn forged_counts_cost_an_error_at_most() {
    let counted = Counted::build();
    for seed in 0..FORGED_FILES {
        let mut random = Random::new(seed);
        let mut forged = counted.bytes.clone();
        for _ in 0..=random.below(3) {
            let byte = counted.counts.start + random.below(counted.counts.len());
            forged[byte] = random.number() as u8;
        }
        repair(&mut forged);
        if let Err(error) = counted.facets(&forged) {
            assert!(is_damage(&error), "seed {seed}: {error}");
        }
    }
}
