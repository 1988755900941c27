//! Tests of the tables: what the index does for a statement changes no answer.

mod agreement;
mod document;
mod fixture;
mod meaning;
mod output;
mod plans;
mod refusals;
