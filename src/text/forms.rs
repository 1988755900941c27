//! Turns words into their forms: rules 6 to 9 of the [analysis](super), and the alternates.

use std::ops::Range;

use super::folding::is_latin;
use super::words::{Word, is_letter_or_digit, is_mark, unicode_words};

/// A form of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Form<'t> {
    pub(crate) text: &'t str,
    /// Whether it is an alternate of the last form that is none.
    pub(crate) is_alternate: bool,
    /// The word in the folded text, with what is left out of the form.
    pub(crate) range: Range<usize>,
}

/// Calls `sink` with the forms of the words of a folded (or ASCII) text, the primary one of a word first.
pub(super) fn visit(
    text: &str,
    words: impl Iterator<Item = Word>,
    buffer: &mut String,
    sink: &mut impl FnMut(Form<'_>),
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
            sink(primary(written, word.start..taken));
            continue;
        }
        buffer.clear();
        buffer.push_str(written);
        buffer.make_ascii_lowercase();
        if word.is_plain {
            sink(primary(buffer, word.start..taken));
        } else {
            taken += visit_joined(buffer, word.start, &text[word.end..], sink);
        }
    }
}

fn primary(text: &str, range: Range<usize>) -> Form<'_> {
    Form {
        text,
        is_alternate: false,
        range,
    }
}

/// Visits the forms of a word that has one letter, or is joined by dots, colons or apostrophes. `rest` is the text
/// after it. Returns how much of that belongs to the word.
fn visit_joined(word: &str, start: usize, rest: &str, sink: &mut impl FnMut(Form<'_>)) -> usize {
    if is_acronym(without_possessive(word)) {
        return visit_acronym(word, start, rest, sink);
    }
    let mut piece_start = 0;
    for (index, _) in word.match_indices(['.', ':']) {
        // Invariant: the pieces before `piece_start` have been visited.
        if joins_letters(word, index) {
            visit_piece(word, start, piece_start..index, "", sink);
            piece_start = index + 1;
        }
    }
    visit_piece(word, start, piece_start..word.len(), rest, sink)
}

/// Whether the dot or colon at an index of a word has a letter before it. Word boundaries join letters, or digits.
fn joins_letters(word: &str, index: usize) -> bool {
    let before = word[..index].trim_end_matches(is_mark).chars().next_back();
    !before.is_some_and(char::is_numeric)
}

/// Visits the forms of a word without dots between letters: the `piece` of a word that starts at `start`. `rest` is
/// the text after it. Returns how much of that belongs to the word.
fn visit_piece(
    word: &str,
    start: usize,
    piece: Range<usize>,
    rest: &str,
    sink: &mut impl FnMut(Form<'_>),
) -> usize {
    let range = start + piece.start..start + piece.end;
    // Marks on the dot before it go with the dot.
    let word = word[piece].trim_start_matches(is_mark);
    if !word.contains(is_letter_or_digit) {
        return 0;
    }
    if is_signed_letter(word) {
        let sign = sign_of(rest);
        if !sign.is_empty() {
            let length = sign.len() + possessive_length(&rest[sign.len()..]);
            let signed = [word, sign].concat();
            sink(primary(&signed, range.start..range.end + length));
            return length;
        }
    }
    if !word.contains('\'') {
        sink(primary(word, range));
        return 0;
    }
    let owned = without_possessive(word);
    sink(primary(&without(owned, "'"), range.clone()));
    if owned.len() < word.len() {
        sink(alternate(&without(word, "'"), range.clone()));
    }
    if let Some(rest) = behind_elision(owned) {
        sink(alternate(&without(rest, "'"), range));
    }
    0
}

/// Visits the forms of an acronym. Returns how much of the text after it belongs to it.
fn visit_acronym(word: &str, start: usize, rest: &str, sink: &mut impl FnMut(Form<'_>)) -> usize {
    let owned = without_possessive(word);
    let (dot, possessive) = match rest.strip_prefix('.') {
        Some(rest) => (1, &rest[..possessive_length(rest)]),
        None => (0, ""),
    };
    let taken = dot + possessive.len();
    let range = start..start + word.len() + taken;
    sink(primary(&without(owned, "."), range.clone()));
    if owned.len() < word.len() || !possessive.is_empty() {
        let whole = [word, &possessive.to_ascii_lowercase()].concat();
        sink(alternate(&without(&whole, ".'"), range));
    }
    taken
}

fn alternate(text: &str, range: Range<usize>) -> Form<'_> {
    Form {
        text,
        is_alternate: true,
        range,
    }
}

/// A word without its possessive endings, as long as something is left.
fn without_possessive(mut word: &str) -> &str {
    // Each turn drops one ending.
    while let Some(stem) = word.strip_suffix('s')
        && let Some(stem) = stem.trim_end_matches(is_mark).strip_suffix('\'')
        && !stem.is_empty()
    {
        word = stem;
    }
    word
}

/// A word without some of its characters and the marks on them.
fn without(word: &str, dropped: &str) -> String {
    let mut is_behind_dropped = false;
    let keeps = |&letter: &char| {
        is_behind_dropped = dropped.contains(letter) || is_behind_dropped && is_mark(letter);
        !is_behind_dropped
    };
    word.chars().filter(keeps).collect()
}

/// Whether a word is single letters with dots between them.
fn is_acronym(word: &str) -> bool {
    let is_letter = |part: &str| is_single_letter(part.trim_start_matches(is_mark));
    word.contains('.') && word.split('.').all(is_letter)
}

fn is_single_letter(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_alphabetic) && letters.all(is_mark)
}

/// Whether a word is one Latin, Greek or Cyrillic letter, which takes signs.
fn is_signed_letter(word: &str) -> bool {
    let has_case = |letter: char| {
        is_latin(letter)
            || matches!(letter,
                '\u{370}'..='\u{52F}' | '\u{1C80}'..='\u{1C8F}' | '\u{1F00}'..='\u{1FFF}'
                | '\u{A640}'..='\u{A69F}' | '\u{1E030}'..='\u{1E08F}')
    };
    is_single_letter(word) && word.starts_with(has_case)
}

/// The `+`, `++` or `#` that belongs to the single letter before it.
fn sign_of(rest: &str) -> &'static str {
    let signs = ["++", "+", "#"];
    let sign = signs.into_iter().find(|sign| rest.starts_with(sign));
    sign.unwrap_or_default()
}

/// The length of the possessive endings after a sign or the last dot of an acronym ("C++'s", "U.S.'s"), which word
/// boundaries separate from their word.
fn possessive_length(rest: &str) -> usize {
    let Some(after) = rest.strip_prefix('\'') else {
        return 0;
    };
    let after = after.trim_start_matches(is_mark);
    let is_ending = |word: &Word| {
        let ending = after[..word.end].to_ascii_lowercase();
        word.start == 0 && without_possessive(&ending) == "s"
    };
    let ending = unicode_words(after).next().filter(is_ending);
    ending.map_or(0, |word| rest.len() - after.len() + word.end)
}

/// What follows an article or a preposition that has lost its vowel, if it is at least two letters or digits.
fn behind_elision(word: &str) -> Option<&str> {
    let (before, after) = word.split_once('\'')?;
    let after = after.trim_start_matches(is_mark);
    let mut letters = after.chars().filter(|&letter| is_letter_or_digit(letter));
    (ELISIONS.contains(&before) && letters.nth(1).is_some()).then_some(after)
}

/// What stands before the apostrophe of an elision, in French and Italian.
#[rustfmt::skip]
const ELISIONS: [&str; 28] = [
    "c", "d", "j", "l", "m", "n", "qu", "s", "t", "v", "jusqu", "lorsqu", "puisqu", "quoiqu",
    "agl", "all", "coll", "dagl", "dall", "degl", "dell", "gl", "negl", "nell", "pell", "sugl", "sull", "un",
];
