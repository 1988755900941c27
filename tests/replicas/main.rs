//! Replicas: racing publishers, damaged stores, what is fetched and removed, and the program.

mod faults;
mod fetching;
mod fixture;
#[cfg(feature = "cli")]
mod program;
mod racing;
mod served;
