//! Parses words and quoted phrases.

use super::Phrase;

/// Groups terms of a company's name that cannot be written as one word.
pub(super) const WORD_QUOTE: char = '\u{FF02}';

/// The parsed value of `q`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Keywords {
    /// Each must occur.
    pub(super) all: Vec<Phrase>,
    /// None may occur.
    pub(super) none: Vec<Phrase>,
}

/// Parses `q`: words, `"quoted phrases"`, `-excluded` words and `-"excluded phrases"`. Words without
/// searchable characters are skipped.
pub(super) fn keywords(text: &str) -> Keywords {
    let mut keywords = Keywords::default();
    for piece in Pieces(text) {
        let (excluded, text) = match piece {
            Piece::Quoted(text) => (false, text),
            Piece::Word(word) => match word.strip_prefix('-') {
                Some(word) => (true, word),
                None => (false, word),
            },
            Piece::ExcludedQuoted(text) => (true, text),
        };
        let list = if excluded {
            &mut keywords.none
        } else {
            &mut keywords.all
        };
        list.extend(Phrase::new(text));
    }
    keywords
}

/// Parses `all`, `any` or `exclude`: words and quoted phrases. `-` has no meaning here.
pub(super) fn phrases(text: &str) -> Vec<Phrase> {
    let phrase = |piece| match piece {
        Piece::Word(text) | Piece::Quoted(text) | Piece::ExcludedQuoted(text) => Phrase::new(text),
    };
    Pieces(text).filter_map(phrase).collect()
}

/// Reads `company`: words, each the phrase of its terms.
pub(super) fn words(text: &str) -> Vec<Phrase> {
    text.split_whitespace().filter_map(Phrase::new).collect()
}

/// Reads `company` as [`written`](super::written) has it.
pub(super) fn written_words(text: &str) -> Vec<Phrase> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    // Each turn takes a word or a quoted text, and the white space after it.
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix(WORD_QUOTE) {
            Some(quoted) => quoted.split_once(WORD_QUOTE).unwrap_or((quoted, "")),
            None => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.extend(Phrase::new(word));
        rest = after.trim_start();
    }
    words
}

/// A text between white space, quotes kept together.
enum Piece<'a> {
    Word(&'a str),
    Quoted(&'a str),
    ExcludedQuoted(&'a str),
}

struct Pieces<'a>(&'a str);

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        let text = self.0.trim_start();
        if text.is_empty() {
            return None;
        }
        if let Some(quoted) = text.strip_prefix('"') {
            return Some(Piece::Quoted(self.take_quoted(quoted)));
        }
        if let Some(quoted) = text.strip_prefix("-\"") {
            return Some(Piece::ExcludedQuoted(self.take_quoted(quoted)));
        }
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        self.0 = &text[end..];
        Some(Piece::Word(&text[..end]))
    }
}

impl<'a> Pieces<'a> {
    /// Takes up to the closing quote; a quote left open closes at the end.
    fn take_quoted(&mut self, text: &'a str) -> &'a str {
        let (quoted, rest) = text.split_once('"').unwrap_or((text, ""));
        self.0 = rest;
        quoted
    }
}

#[cfg(test)]
mod tests;
