//! A cluster of real processes on loopback, compared with one index of everything.

mod agreement;
mod dashboard;
mod failures;
mod fixture;
mod generations;
mod load;
mod plans;
mod restart;
mod silence;
mod tls;
mod updates;
mod usage;
mod worker;

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
