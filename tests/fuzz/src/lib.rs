//! What the fuzz targets share: files with right checksums, bounded memory, questions to ask.
//!
//! Nothing here knows libFuzzer, so all of it can be tested like any other code.

pub mod allocation;
pub mod examination;
pub mod history;
pub mod manifest_file;
pub mod random;
pub mod record_mutation;
pub mod scratch;
pub mod segment_file;
#[cfg(test)]
mod segment_file_tests;
pub mod segment_mutation;
pub mod segment_records;
#[cfg(test)]
mod segment_records_tests;

use signaldex::{Index, IndexBuilder};
use signaldex_synthetic::Corpus;

/// Signals of the index that queries and cursors are tried on.
const TINY_SIGNALS: u64 = 24;

/// Signals of the index that manifests are about: enough that a few later ones are not merged with
/// them.
const UNMERGED_SIGNALS: u64 = 1500;

/// An index in memory with a few signals of every kind.
pub fn tiny_index() -> Index {
    let corpus = Corpus::new(TINY_SIGNALS, 5).expect("a size within bounds");
    let builder = IndexBuilder::in_memory();
    filled(builder, corpus)
}

/// Builds an index of two segments, in files 1 and 2; what is deleted of the first stands in
/// file 3. The first is so much larger that they are not merged.
pub fn two_segments(scratch: &scratch::Scratch) -> Index {
    let corpus = Corpus::new(UNMERGED_SIGNALS, 3).expect("a size within bounds");
    let builder = IndexBuilder::in_directory(scratch.path("")).expect("an empty folder");
    let index = filled(builder, corpus);
    let mut writer = index.writer().expect("a free lock");
    for signal in corpus.signals().step_by(40) {
        writer.upsert_signal(&signal).expect("a known company");
    }
    writer.commit().expect("a folder that can be written to");
    drop(writer);
    index
}

fn filled(mut builder: IndexBuilder, corpus: Corpus) -> Index {
    for company in corpus.companies() {
        builder
            .add_company(&company)
            .expect("an output that takes it");
    }
    for signal in corpus.signals() {
        builder
            .add_signal(&signal)
            .expect("an output that takes it");
    }
    builder.finish().expect("what was built is valid")
}

/// The name of the file of a segment.
pub fn name_of_segment(number: u64) -> String {
    format!("segment-{number:020}")
}

/// The name of a file of deletions.
pub fn name_of_deleted(number: u64) -> String {
    format!("deleted-{number:020}")
}
