//! The analysis of text, as titles and filters go through it.

use pyo3::prelude::*;
use signaldex::text;

/// The terms of a text, the primary forms of its words, in order: as titles and filters are analysed.
#[pyfunction]
pub(crate) fn terms(text: &str) -> Vec<String> {
    text::terms(text)
}

/// The words of a text, in order: of each the primary form, then its alternates.
#[pyfunction]
pub(crate) fn words(text: &str) -> Vec<Vec<String>> {
    text::words(text)
}

/// The key by which countries, industries, funding stages and whole company names compare equal.
#[pyfunction]
pub(crate) fn fold_value(text: &str) -> String {
    text::fold_value(text).into_owned()
}

/// A text trimmed, with single spaces for all white space within it.
#[pyfunction]
pub(crate) fn tidy(text: &str) -> String {
    text::tidy(text).into_owned()
}
