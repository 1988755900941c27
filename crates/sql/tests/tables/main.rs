//! Tests of the tables: what the index does for a statement changes no answer.

mod agreement;
mod awkward_pairs;
mod document;
mod fixture;
mod meaning;
mod output;
mod plans;
mod refusals;

#[path = "../statements/mod.rs"]
mod statements;

#[path = "../../../../tests/engine/awkward.rs"]
mod awkward;
#[path = "../../../../tests/engine/oracle.rs"]
#[allow(dead_code)]
mod oracle;
#[path = "../../../../src/fixtures/random.rs"]
#[allow(dead_code)]
mod random;
#[path = "../../../../tests/engine/search_tables.rs"]
#[allow(dead_code)]
mod search_tables;
