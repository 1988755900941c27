//! Replicas as the program and its service serve them.

mod program;
mod served;
mod year;

#[path = "../../../../tests/replicas/fixture.rs"]
#[allow(dead_code)]
mod fixture;
