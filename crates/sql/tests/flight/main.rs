//! Tests of the listener: clients of Arrow Flight SQL get the rows of `Database`, and nothing without the token.

mod access;
mod asking;
mod bounds;
mod fixture;
