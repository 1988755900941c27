//! The active filters of a query string, each with the URL that removes it.

use super::query_text::QueryText;
use signaldex::query::Parameter;

/// An active filter with the URL that removes it.
pub(super) struct Chip {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) without: String,
}

/// One chip per filter of a query string.
pub(super) fn chips(text: &QueryText) -> Vec<Chip> {
    let is_filter = |name: &str| Parameter::of_name(name).is_none_or(Parameter::is_filter);
    let chip = |(name, value): &(String, String)| Chip {
        name: name.clone(),
        value: value.clone(),
        without: text.without(name).without("cursor").link(),
    };
    let pairs = text.pairs().iter();
    pairs
        .filter(|(name, _)| is_filter(name))
        .map(chip)
        .collect()
}
