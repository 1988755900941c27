//! Replicas: racing publishers, damaged stores, what is fetched and removed.

mod damaged;
mod faults;
mod fetching;
mod fixture;
mod positions;
mod pruning;
mod racing;
