//! Writes the seeds that are made of records anew: `cargo run --bin seeds`, in this folder.

use std::fs;
use std::path::Path;

use fuzz_support::manifest_file::{IS_WRITTEN, Input};
use fuzz_support::scratch::Scratch;
use fuzz_support::segment_file::Parts;
use signaldex::{Company, Index, IndexBuilder, Signal, SignalId};
use signaldex_synthetic::Corpus;

/// Signals of the seed with ordinary records.
const SMALL_SIGNALS: u64 = 12;

/// More signals than a block's posting lists, so that it becomes a bitset.
const BITSET_SIGNALS: u64 = 1030;

/// Signals of the seed with value counts.
const COUNTED_SIGNALS: u64 = 120;

fn main() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let small = Corpus::new(SMALL_SIGNALS, 11).expect("a size within bounds");
    let segment = |name: &str, companies: Vec<Company<'_>>, signals: Vec<Signal<'_>>| {
        let scratch = Scratch::new("seeds");
        build(&scratch, &companies, &signals);
        let file = scratch.path("segment-00000000000000000001");
        fs::copy(file, corpus.join("segment").join(name)).expect("a writable folder");
        fs::remove_dir_all(scratch.path("")).expect("a writable folder");
    };
    segment(
        "small",
        small.companies().collect(),
        small.signals().collect(),
    );
    let small_file = corpus.join("segment").join("small");
    let mut parts = Parts::of(&fs::read(small_file).expect("a file")).expect("a whole file");
    parts.compress().expect("whole records");
    fs::write(corpus.join("segment").join("compressed"), parts.assemble())
        .expect("a writable folder");
    segment("empty", Vec::new(), Vec::new());
    segment("companies", small.companies().collect(), Vec::new());
    let plain = (1..=BITSET_SIGNALS).map(|id| {
        let id = SignalId::new(id).expect("an id");
        let mut signal = Signal::new(id, "a", "b");
        signal.slug = "".into();
        signal
    });
    segment("bitset", vec![Company::new("a", "a")], plain.collect());
    segment("counts", counted_companies(), counted_signals());
    write_manifest(&corpus.join("manifest"));
}

/// Two companies with a country.
fn counted_companies() -> Vec<Company<'static>> {
    let countries = [("a", "France"), ("b", "Japan")];
    let company = |(slug, country): (&'static str, &'static str)| {
        let mut company = Company::new(slug, slug);
        company.country = Some(country.into());
        company
    };
    countries.into_iter().map(company).collect()
}

/// Enough signals for each value of a facet that words have value counts.
fn counted_signals() -> Vec<Signal<'static>> {
    let signals = (1..=COUNTED_SIGNALS).map(|id| {
        let slug = if id % 3 == 0 { "b" } else { "a" };
        let mut signal = Signal::new(SignalId::new(id).expect("an id"), slug, "b c");
        signal.slug = "".into();
        signal.category = (id % 2 == 0).then(|| "d".into());
        signal
    });
    signals.collect()
}

fn build(scratch: &Scratch, companies: &[Company<'_>], signals: &[Signal<'_>]) -> Index {
    let mut builder = IndexBuilder::in_directory(scratch.path("")).expect("an empty folder");
    for company in companies {
        builder.add_company(company).expect("a writable folder");
    }
    for signal in signals {
        builder.add_signal(signal).expect("a writable folder");
    }
    builder.finish().expect("a writable folder")
}

/// The manifest and the deletions of an index of two segments.
fn write_manifest(folder: &Path) {
    let scratch = Scratch::new("seeds");
    fuzz_support::two_segments(&scratch);
    let read = |name: &str| fs::read(scratch.path(name)).expect("a readable file");
    let input = Input {
        flags: IS_WRITTEN,
        body: read("manifest")[16..].to_vec(),
        deleted: read("deleted-00000000000000000003"),
    };
    fs::write(folder.join("two-segments"), input.bytes()).expect("a writable folder");
    let input = Input { flags: 0, ..input };
    fs::write(folder.join("two-segments-read"), input.bytes()).expect("a writable folder");
    fs::remove_dir_all(scratch.path("")).expect("a writable folder");
}
