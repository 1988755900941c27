//! Replicas: racing publishers, damaged stores, what is fetched and removed, and the program.

mod damaged;
mod faults;
mod fetching;
mod fixture;
mod positions;
#[cfg(feature = "cli")]
mod program;
mod pruning;
mod racing;
mod served;
#[cfg(feature = "cli")]
mod year;
