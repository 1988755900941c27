//! The text analysis that titles, company names and text filters share.
//!
//! A text becomes terms in these steps:
//!
//! 1. compatibility composition (NFKC): ligatures, full-width letters and the like become plain;
//! 2. full case folding ("Straße" and "STRASSE" meet at "strasse");
//! 3. the marks U+0300 to U+036F after Latin letters are removed ("café" becomes "cafe";
//!    Japanese and Cyrillic keep theirs), and the rest is composed again (NFC);
//! 4. the text is split at Unicode word boundaries ([UAX #29]); a word has at least one letter or
//!    digit, and a space that carries a vowel sign is not part of it;
//! 5. a possessive ending (`'s` or `’s`) is dropped, and so are the dots of an acronym of single
//!    letters ("u.s." becomes "us");
//! 6. a word of a single letter takes a `+`, `++` or `#` right after it ("c++", "f#").
//!
//! There is no stemming and there are no stop words. Analysing a term returns the same term, so queries
//! and titles always agree.
//!
//! ```
//! use signaldex::text::terms;
//!
//! assert_eq!(terms("Café Zürich's C++ team, U.S.-based"), ["cafe", "zurich", "c++", "team", "us", "based"]);
//! assert_eq!(terms("AI-powered R&D"), ["ai", "powered", "r", "d"]);
//! ```
//!
//! [UAX #29]: https://www.unicode.org/reports/tr29/

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

mod latin;
mod nearest;
mod quoting;
mod words;

pub(crate) use nearest::did_you_mean;
pub use nearest::nearest_name;
pub use quoting::{QUOTED_CHARS_MAX, quoted, shortened};

use words::{LatinWords, Word};

/// The version of the analysis, stored in every segment: terms of another version would not be found.
pub const ANALYSIS_VERSION: u16 = 1;

/// The terms of a text, in order.
///
/// ```
/// use signaldex::text::terms;
///
/// assert_eq!(terms("Acme raises €12M (Series A)"), ["acme", "raises", "12m", "series", "a"]);
/// assert_eq!(terms("STRASSE"), terms("Straße"));
/// ```
///
/// Cost: one allocation a term; [`analyze`] has none.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    analyze(text, |term| terms.push(term.to_owned()));
    terms
}

/// Calls `sink` with each term of `text`, in order.
///
/// ```
/// let mut longest = 0;
/// signaldex::text::analyze("Acme hires engineers", |term| longest = longest.max(term.len()));
/// assert_eq!(longest, "engineers".len());
/// ```
///
/// Cost: for ASCII text one pass; a word with other Latin letters takes two, and a word in another script
/// is normalised first, at some fifty times the cost.
pub fn analyze(text: &str, mut sink: impl FnMut(&str)) {
    let mut buffer = String::new();
    if text.is_ascii() {
        emit(text, LatinWords::new(text), &mut buffer, &mut sink);
        return;
    }
    // No term spans a space, so the fastest path is chosen for each word.
    for part in text.split(' ').filter(|part| !part.is_empty()) {
        if part.is_ascii() {
            emit(part, LatinWords::new(part), &mut buffer, &mut sink);
        } else if let Some(part) = latin::folded(part) {
            emit(&part, LatinWords::new(&part), &mut buffer, &mut sink);
        } else {
            let part = normalized(part);
            emit(&part, unicode_words(&part), &mut buffer, &mut sink);
        }
    }
}

/// The words of normalised text.
fn unicode_words(text: &str) -> impl Iterator<Item = Word> {
    text.unicode_word_indices().map(|(start, word)| Word {
        start,
        end: start + word.len(),
        is_plain: false,
    })
}

/// Trims `text` and replaces each run of white space by one space.
///
/// ```
/// use signaldex::text::tidy;
///
/// assert_eq!(tidy("  Acme \t GmbH\n"), "Acme GmbH");
/// assert!(matches!(tidy("Acme GmbH"), std::borrow::Cow::Borrowed(_)), "nothing to change");
/// ```
pub fn tidy(text: &str) -> Cow<'_, str> {
    if is_tidy(text) {
        return Cow::Borrowed(text);
    }
    let mut words = text.split_whitespace();
    let mut tidied = String::with_capacity(text.len());
    tidied.extend(words.next());
    for word in words {
        tidied.push(' ');
        tidied.push_str(word);
    }
    Cow::Owned(tidied)
}

/// Whether the only white space of a text is single spaces inside it. One pass: a search for two spaces takes
/// longer than all else that is done with a short text.
fn is_tidy(text: &str) -> bool {
    let mut follows_word = text.is_empty();
    // Of each character: whether it is part of a word, or a space right after one.
    let fits = text.chars().all(|c| {
        let is_space = c == ' ';
        let fits = if is_space {
            follows_word
        } else {
            !c.is_whitespace()
        };
        follows_word = !is_space;
        fits
    });
    fits && follows_word
}

/// The key by which countries, industries, funding stages and whole company names compare equal:
/// folded as titles are (NFKC, full case folding, no marks on Latin letters), with ASCII
/// apostrophes, trimmed and single-spaced.
///
/// ```
/// use signaldex::text::fold_value;
///
/// assert_eq!(fold_value("  UNITED   states "), "united states");
/// assert_eq!(fold_value("Côte d’Ivoire"), "cote d'ivoire");
/// ```
pub fn fold_value(text: &str) -> Cow<'_, str> {
    if is_lower_case_word(text) {
        return Cow::Borrowed(text);
    }
    if !text.is_ascii() {
        let folded = latin::folded(text).unwrap_or_else(|| normalized(text));
        let folded = folded.replace(TYPOGRAPHIC_APOSTROPHES, "'");
        return Cow::Owned(tidy(&folded).into_owned());
    }
    let tidied = tidy(text);
    if tidied.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(tidied.to_ascii_lowercase())
    } else {
        tidied
    }
}

/// Whether a text is one ASCII word without upper-case letters, as slugs and most values are.
fn is_lower_case_word(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase())
}

/// The characters that word processors and some keyboards produce for an apostrophe: the quotation
/// marks U+2018 and U+2019, and the modifier letter U+02BC.
const TYPOGRAPHIC_APOSTROPHES: [char; 3] = ['\u{2018}', '\u{2019}', '\u{2BC}'];

/// Turns the words of normalised (or ASCII) text into terms.
fn emit(
    text: &str,
    words: impl Iterator<Item = Word>,
    buffer: &mut String,
    sink: &mut impl FnMut(&str),
) {
    let mut taken = 0;
    for word in words {
        // Skip an ending that the previous word has already taken.
        if word.start < taken {
            continue;
        }
        let written = &text[word.start..word.end];
        taken = word.end;
        if word.is_plain && !written.bytes().any(|byte| byte.is_ascii_uppercase()) {
            sink(written);
            continue;
        }
        buffer.clear();
        // Unicode makes one word of a space and a mark on it, but people type the mark after other words.
        buffer.push_str(written.trim_start());
        buffer.make_ascii_lowercase();
        if !word.is_plain {
            taken += finish_term(buffer, &text[word.end..]);
        }
        sink(buffer);
    }
}

/// Steps 5 and 6 of the analysis. Returns how much of the text after the word belongs to the term.
fn finish_term(term: &mut String, rest: &str) -> usize {
    drop_possessive(term);
    let mut followed = 0;
    if drop_acronym_dots(term) {
        followed = usize::from(rest.starts_with('.'));
    } else if is_single_letter(term) {
        let sign = operator(rest);
        term.push_str(sign);
        followed = sign.len();
    }
    followed + possessive_length(&rest[followed..], followed)
}

/// Drops a final `'s` or `’s`, unless nothing else would be left.
fn drop_possessive(term: &mut String) {
    while let Some(length) = ["'s", "\u{2019}s"]
        .iter()
        .filter(|ending| term.ends_with(**ending))
        .map(|ending| term.len() - ending.len())
        .find(|&length| length > 0)
    {
        term.truncate(length);
    }
}

/// Drops the dots of an acronym of single letters. Returns whether the term was one.
fn drop_acronym_dots(term: &mut String) -> bool {
    let is_acronym = term.contains('.') && term.split('.').all(is_single_letter);
    if is_acronym {
        term.retain(|letter| letter != '.');
    }
    is_acronym
}

fn is_single_letter(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(char::is_alphabetic) && letters.next().is_none()
}

/// The `+`, `++` or `#` that belongs to the single letter before it.
fn operator(rest: &str) -> &'static str {
    ["++", "+", "#"]
        .into_iter()
        .find(|sign| rest.starts_with(sign))
        .unwrap_or_default()
}

/// The length of a possessive ending after a sign or a dot ("C++'s", "U.S.'s"), which word boundaries
/// separate from its word.
fn possessive_length(rest: &str, followed: usize) -> usize {
    if followed == 0 {
        return 0;
    }
    let ending = ["'s", "'S", "\u{2019}s", "\u{2019}S"]
        .into_iter()
        .find(|ending| {
            let next = rest
                .strip_prefix(ending)
                .and_then(|tail| tail.chars().next());
            rest.starts_with(ending) && !next.is_some_and(|c| c.is_alphanumeric() || c == '_')
        });
    ending.map_or(0, str::len)
}

/// Steps 1 to 3 of the analysis, repeated until nothing changes: for a handful of characters, folding
/// yields text that NFKC changes again.
fn normalized(text: &str) -> String {
    let mut text = without_latin_marks(&folded(text));
    for _ in 0..FOLDING_ROUNDS_MAX {
        let next = without_latin_marks(&folded(&text));
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// Upper bound of rounds; two suffice for all of Unicode 16.
const FOLDING_ROUNDS_MAX: usize = 4;

/// NFKC and full case folding.
fn folded(text: &str) -> String {
    let composed: String = text.nfkc().collect();
    let folded = caseless::default_case_fold_str(&composed);
    folded.nfkc().collect()
}

fn without_latin_marks(text: &str) -> String {
    let mut is_behind_latin = false;
    let kept = text.nfd().filter(|&letter| {
        if matches!(letter, '\u{300}'..='\u{36F}') {
            return !is_behind_latin;
        }
        if !is_combining_mark(letter) {
            is_behind_latin = is_latin(letter);
        }
        true
    });
    let kept: String = kept.collect();
    kept.nfc().collect()
}

/// Whether a character is a letter of the Latin script (Unicode's Scripts.txt, without what NFKC
/// replaces).
fn is_latin(letter: char) -> bool {
    matches!(letter,
        'a'..='z' | 'A'..='Z' | '\u{AA}' | '\u{BA}' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}'
        | '\u{F8}'..='\u{2B8}' | '\u{1D00}'..='\u{1D25}' | '\u{1D6B}'..='\u{1D77}'
        | '\u{1D79}'..='\u{1DBE}' | '\u{1E00}'..='\u{1EFF}' | '\u{2C60}'..='\u{2C7F}'
        | '\u{A722}'..='\u{A787}' | '\u{A78B}'..='\u{A7FF}' | '\u{AB30}'..='\u{AB64}')
}

#[cfg(test)]
mod tests;
