//! The escape of texts that a spreadsheet would evaluate as a formula: an apostrophe before them, in CSV alone.
//!
//! Writing adds it and loading takes it away, so that a text returns as it was.

/// The first characters of texts that some spreadsheet evaluates as a formula, and the escape itself. Imports drop a
/// leading NUL, and East Asian versions read the full-width signs as the ASCII ones.
const ESCAPED_STARTS: [char; 12] = [
    '=', '+', '-', '@', '\'', '\t', '\r', '\0', '＝', '＋', '－', '＠',
];

/// Whether a text gets an apostrophe before it.
pub(crate) fn needs_escape(text: &str) -> bool {
    text.starts_with(ESCAPED_STARTS)
}

/// The text of a cell: without the apostrophe, if it is an escape.
pub(super) fn without_escape(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if needs_escape(text) => text,
        _ => cell,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn escaped(text: &str) -> String {
        let apostrophe = if needs_escape(text) { "'" } else { "" };
        format!("{apostrophe}{text}")
    }

    proptest! {
        #[test]
        fn every_text_returns(text in "['=+@\\-\t\ra＝]{0,4}") {
            let cell = escaped(&text);
            prop_assert_eq!(without_escape(&cell), text);
        }
    }

    #[test]
    fn an_apostrophe_before_other_text_stays() {
        for cell in ["'", "'a", "'1", "a'=", ""] {
            assert_eq!(without_escape(cell), cell);
        }
        assert_eq!(without_escape("'=1+1"), "=1+1");
        assert_eq!(without_escape("''"), "'");
    }
}
