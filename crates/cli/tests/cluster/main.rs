//! A cluster of real processes on loopback, compared with one index of everything.

mod agreement;
mod awkward_pairs;
mod dashboard;
mod failures;
mod feed;
mod fixture;
mod generations;
mod hints;
mod key_filters;
mod load;
mod membership;
mod plans;
mod restart;
mod searches;
mod silence;
mod tls;
mod updates;
mod usage;
mod worker;

#[path = "../../../../tests/engine/awkward.rs"]
mod awkward;
#[path = "../../../server/tests/service/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "../../../../tests/engine/oracle.rs"]
#[allow(dead_code)]
mod oracle;
#[path = "../../../../tests/engine/questions.rs"]
#[allow(dead_code)]
mod questions;
#[path = "../../../../src/fixtures/random.rs"]
#[allow(dead_code)]
mod random;
#[path = "../../../../tests/engine/search_tables.rs"]
#[allow(dead_code)]
mod search_tables;
