//! Titles with highlighted matches.

use signaldex::Filter;

/// A part of a title.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TitlePiece {
    pub(super) text: String,
    pub(super) is_match: bool,
}

/// Splits a title where matches of a filter start and end.
pub(super) fn pieces(title: &str, filter: &Filter) -> Vec<TitlePiece> {
    let mut pieces = Vec::new();
    let mut add = |text: &str, is_match| {
        if !text.is_empty() {
            let text = text.to_owned();
            pieces.push(TitlePiece { text, is_match });
        }
    };
    let mut end = 0;
    for word in filter.matched_words(title) {
        add(&title[end..word.start], false);
        add(&title[word.clone()], true);
        end = word.end;
    }
    add(&title[end..], false);
    pieces
}
