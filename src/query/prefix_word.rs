//! Prefix words: `robot*` means each word that begins so.
//!
//! A star makes a prefix word if it stands directly after the last letter or digit of a typed word outside of quotes, and
//! what is before it is one word with enough letters. Such a star that makes none is an error, which says what to
//! write instead. Every other star is punctuation.

use unicode_normalization::char::is_combining_mark;

use super::Phrase;
use super::error::ErrorCode;
use super::limits::PREFIX_CHARS_MIN;
use super::values::ValueError;
use crate::text::{quoted, shortened, terms};

/// The star and its full-width form.
const STARS: [char; 2] = ['*', '\u{FF0A}'];

/// A place where a star makes no prefix word.
#[derive(Clone, Copy, Debug)]
pub(super) enum WithoutPrefixes {
    Quotes,
    Exact,
    Company,
}

/// What a typed word outside of quotes looks for; `None` if it has no searchable character.
///
/// # Errors
/// It has a star that makes no prefix word.
pub(super) fn phrase_of_word(word: &str) -> Result<Option<Phrase>, ValueError> {
    match before_star(word) {
        None => Ok(Phrase::new(word)),
        Some(before) => prefix(before).map(Some),
    }
}

/// The prefix word of an analysed word, if it makes one.
pub(crate) fn prefix_of(word: &str) -> Option<Phrase> {
    let typed = phrase_of_word(&format!("{word}*")).ok().flatten();
    typed.filter(|phrase| phrase.is_prefix() && phrase.terms().eq([word]))
}

/// # Errors
/// A word of a text has a star that would make a prefix word elsewhere.
pub(super) fn refuse_stars(text: &str, place: WithoutPrefixes) -> Result<(), ValueError> {
    if !may_have_star(text) {
        return Ok(());
    }
    let Some(before) = text.split_whitespace().find_map(before_star) else {
        return Ok(());
    };
    let without = shortened(before);
    // Only a valid prefix word is worth proposing.
    let elsewhere = prefix(before).ok().map(|prefix| prefix.joined(" "));
    let elsewhere = elsewhere.as_deref().map(shortened);
    let advice = match (place, elsewhere) {
        (WithoutPrefixes::Quotes, Some(prefix)) => format!(
            "a star has no meaning within quotes; write {prefix} outside of them, or {without} without the star"
        ),
        (WithoutPrefixes::Quotes, None) => {
            format!("a star has no meaning within quotes; write {without} without it")
        }
        (WithoutPrefixes::Exact, Some(prefix)) => format!(
            "exact takes whole words only; give {prefix} in q, or write {without} without the star"
        ),
        (WithoutPrefixes::Exact, None) => {
            format!("exact takes whole words only; write {without} without the star")
        }
        (WithoutPrefixes::Company, _) => {
            format!("company takes whole words only; write {without} without the star")
        }
    };
    Err(refused(before, &advice))
}

/// Whether a text may have a star. Few have one, so a pass over the bytes comes before the search for it: the
/// full-width star begins with the byte EF.
pub(super) fn may_have_star(text: &str) -> bool {
    text.bytes().any(|byte| matches!(byte, b'*' | 0xEF))
}

/// The part of a typed word before the star that is directly after its last letter or digit, marks on it included.
fn before_star(word: &str) -> Option<&str> {
    if !may_have_star(word) {
        return None;
    }
    let (start, last) = word.char_indices().rfind(|(_, c)| c.is_alphanumeric())?;
    let after = &word[start + last.len_utf8()..];
    let rest = after.trim_start_matches(is_combining_mark);
    let before = &word[..word.len() - rest.len()];
    rest.starts_with(STARS).then_some(before)
}

/// The prefix word of a text before a star.
fn prefix(before: &str) -> Result<Phrase, ValueError> {
    let words = terms(before);
    // A letter or digit stands before the star, but it may be folded to a space, as some signs of Arabic are.
    let Some(last) = words.last() else {
        return Err(refused(
            before,
            "no searchable word is before the star; write one",
        ));
    };
    let without = shortened(before);
    if is_word_by_itself(last) {
        let advice = format!(
            "each of these characters is a word; write {without} without the star, which finds it within longer words, too"
        );
        return Err(refused(before, &advice));
    }
    let has_enough = letters(last) >= PREFIX_CHARS_MIN;
    match words.as_slice() {
        [beginning] if has_enough => Ok(Phrase::prefix(beginning)),
        [_] => {
            let advice = format!(
                "a star needs at least {PREFIX_CHARS_MIN} letters or digits before it; write more of the word, or {without} without the star"
            );
            Err(refused(before, &advice))
        }
        words => {
            let advice = format!("a star belongs to one word, and this is {}", words.len());
            let apart = format!("{}*", words.join(" "));
            let instead = if has_enough {
                format!("{} as words of their own", shortened(&apart))
            } else {
                format!("{without} without the star")
            };
            Err(refused(before, &format!("{advice}; write {instead}")))
        }
    }
}

/// The letters and digits of a word.
fn letters(word: &str) -> usize {
    word.chars().filter(|c| c.is_alphanumeric()).count()
}

/// Whether a word is a character of a script without spaces, each of which is a word.
fn is_word_by_itself(word: &str) -> bool {
    letters(word) == 1 && !word.is_ascii() && terms(&word.repeat(2)).len() == 2
}

fn refused(before: &str, advice: &str) -> ValueError {
    let word = quoted(&format!("{before}*"));
    (
        ErrorCode::UnsearchableText,
        format!("has the word {word}: {advice}"),
    )
}

#[cfg(test)]
mod tests;
