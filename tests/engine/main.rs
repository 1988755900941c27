//! The engine as a host sees it, compared with the plain meaning of its queries.

mod aggregates;
mod agreement;
mod alerts;
mod awkward;
mod columns;
mod comments;
mod company_names;
mod counts;
mod cycles;
mod explain;
mod format;
mod golden;
mod golden_file;
mod house;
mod imports;
mod layers;
mod library;
mod metamorphic;
mod names;
mod oracle;
mod parallel;
mod parsing;
mod questions;
#[path = "../../src/fixtures/random.rs"]
mod random;
mod real_corpus;
mod saved;
mod search_tables;
mod searches;
mod source_code;
mod stored;
