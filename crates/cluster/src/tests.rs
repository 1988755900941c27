//! White-box tests of the whole crate.

mod instructions;
mod simulation;
