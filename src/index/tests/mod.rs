//! Tests of an index over time: histories against a naive model, crashes, and errors of the disk.

mod build_progress;
mod companies;
mod copies;
mod crashes;
mod disk;
mod errors;
mod files;
mod histories;
mod identity;
mod merges;
mod model;
mod narrowed;
mod narrowed_copies;
mod orders;
mod overwritten;
mod random_index;
mod readers;
