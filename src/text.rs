//! The one analysis of text: titles, company names and text filters all go through it.

use std::borrow::Cow;

/// The version of the analysis; stored in every segment.
pub const ANALYSIS_VERSION: u16 = 1;

/// The terms of a text, in order.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    analyze(text, |term| terms.push(term.to_owned()));
    terms
}

/// Calls `sink` with each term of `text`, in order.
pub fn analyze(text: &str, mut sink: impl FnMut(&str)) {
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        sink(&word.to_lowercase());
    }
}

/// `text` trimmed and single-spaced.
pub fn tidy(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The key by which values such as countries and company names compare equal.
pub fn fold_value(text: &str) -> Cow<'_, str> {
    Cow::Owned(tidy(text).to_lowercase())
}
