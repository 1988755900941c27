//! White-box tests of the whole crate.

mod simulation;
