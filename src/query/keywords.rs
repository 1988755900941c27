//! Parses words and quoted phrases.

use super::Phrase;
use super::prefix_word::{WithoutPrefixes, may_have_star, phrase_of_word, refuse_stars};
use super::values::ValueError;
use super::writing::WORD_QUOTE;
use crate::text::is_left_out_of_names;

/// The parsed value of `q`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Keywords {
    /// Each must occur.
    pub(super) all: Vec<Phrase>,
    /// None may occur.
    pub(super) none: Vec<Phrase>,
}

/// The groups of quotes. Each of a group opens a phrase, and each of the same group closes it.
const QUOTES: [&[char]; 2] = [
    &['"', '\u{201C}', '\u{201D}', '\u{201E}', '\u{201F}'],
    &['\u{AB}', '\u{BB}'],
];

/// Whether a character excludes the word or quote directly after it: the hyphen, and what phones and word processors
/// write for it.
fn is_minus(letter: char) -> bool {
    matches!(
        letter,
        '-' | '\u{2010}'..='\u{2013}' | '\u{2212}' | '\u{FE63}' | '\u{FF0D}'
    )
}

/// Parses `q`: words, prefix words, `"quoted phrases"`, and each of them excluded by a minus, with any of the
/// [`QUOTES`] and of the [minus signs](is_minus). Words without searchable characters are skipped.
///
/// # Errors
/// A word has a star that makes no prefix word.
pub(super) fn keywords(text: &str) -> Result<Keywords, ValueError> {
    let mut keywords = Keywords::default();
    let has_stars = may_have_star(text);
    for piece in Pieces(text) {
        let (excluded, phrase) = match piece {
            Piece::Quoted(text) => (false, quoted_phrase(text, has_stars)?),
            Piece::Word(word) => match word.strip_prefix(is_minus) {
                Some(word) => (true, word_phrase(word, has_stars)?),
                None => (false, word_phrase(word, has_stars)?),
            },
            Piece::ExcludedQuoted(text) => (true, quoted_phrase(text, has_stars)?),
        };
        let list = if excluded {
            &mut keywords.none
        } else {
            &mut keywords.all
        };
        list.extend(phrase);
    }
    Ok(keywords)
}

/// Parses `all`, `any` or `exclude`: words, prefix words and quoted phrases. A minus has no meaning here.
///
/// # Errors
/// A word has a star that makes no prefix word.
pub(super) fn phrases(text: &str) -> Result<Vec<Phrase>, ValueError> {
    let has_stars = may_have_star(text);
    let phrase = |piece| match piece {
        Piece::Word(word) => word_phrase(word, has_stars).transpose(),
        Piece::Quoted(text) | Piece::ExcludedQuoted(text) => {
            quoted_phrase(text, has_stars).transpose()
        }
    };
    Pieces(text).filter_map(phrase).collect()
}

/// What a word looks for. Most texts have no star, and their words are not searched for one.
fn word_phrase(word: &str, has_stars: bool) -> Result<Option<Phrase>, ValueError> {
    if has_stars {
        phrase_of_word(word)
    } else {
        Ok(Phrase::new(word))
    }
}

fn quoted_phrase(text: &str, has_stars: bool) -> Result<Option<Phrase>, ValueError> {
    if has_stars {
        refuse_stars(text, WithoutPrefixes::Quotes)?;
    }
    Ok(Phrase::new(text))
}

/// The words between white space outside of quotes, as typed, without the minus that excludes.
pub(super) fn typed_words(text: &str) -> impl Iterator<Item = &str> {
    Pieces(text).filter_map(|piece| match piece {
        Piece::Word(word) => Some(word.strip_prefix(is_minus).unwrap_or(word)),
        Piece::Quoted(_) | Piece::ExcludedQuoted(_) => None,
    })
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

/// The words of a company's name without `and`, unless nothing else is left: "Barnes and Noble" finds "Barnes & Noble".
pub(super) fn without_and(words: Vec<Phrase>) -> Vec<Phrase> {
    let others = words.iter();
    let others = others.filter_map(|word| word.retained(|term| !is_left_out_of_names(term)));
    let others: Vec<Phrase> = others.collect();
    if others.is_empty() { words } else { others }
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
        if let Some(quoted) = self.take_quoted(text) {
            return Some(Piece::Quoted(quoted));
        }
        let excluded = text.strip_prefix(is_minus);
        if let Some(quoted) = excluded.and_then(|text| self.take_quoted(text)) {
            return Some(Piece::ExcludedQuoted(quoted));
        }
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        self.0 = &text[end..];
        Some(Piece::Word(&text[..end]))
    }
}

/// What is before and after the first quote of a group. A pass over the bytes comes before the search for characters.
fn split_at_quote<'a>(text: &'a str, quotes: &[char]) -> Option<(&'a str, &'a str)> {
    let is_candidate = |byte: u8| byte == b'"' || !byte.is_ascii();
    let from = text.bytes().position(is_candidate)?;
    let (quoted, rest) = text[from..].split_once(quotes)?;
    Some((&text[..from + quoted.len()], rest))
}

impl<'a> Pieces<'a> {
    /// Takes what is between quotes at the start of a text; a quote left open closes at the end.
    fn take_quoted(&mut self, text: &'a str) -> Option<&'a str> {
        let first = text.chars().next()?;
        if first.is_ascii() && first != '"' {
            return None;
        }
        let quotes = QUOTES.iter().find(|quotes| quotes.contains(&first))?;
        let text = &text[first.len_utf8()..];
        let (quoted, rest) = split_at_quote(text, quotes).unwrap_or((text, ""));
        self.0 = rest;
        Some(quoted)
    }
}

#[cfg(test)]
mod tests;
