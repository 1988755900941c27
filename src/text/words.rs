//! Splits folded text into words: [UAX #29](https://www.unicode.org/reports/tr29/), and each character of Hangul by
//! itself.

use std::ops::Range;

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

/// The bounds of a word in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Whether it is longer than a letter, and has only letters, digits and underscores.
    pub(super) is_plain: bool,
}

/// The words of folded text.
pub(super) fn unicode_words(text: &str) -> impl Iterator<Item = Word> {
    parts(text).flat_map(|part| {
        let start = part.start;
        let words = text[part].split_word_bound_indices();
        let words = words.filter(|(_, word)| word.contains(is_letter_or_digit));
        words.map(move |(index, word)| Word {
            start: start + index,
            end: start + index + word.len(),
            is_plain: false,
        })
    })
}

/// Each character of Hangul with its marks, and the text between them.
fn parts(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        let first = rest.chars().next()?;
        let length = if is_hangul(first) {
            let marks = &rest[first.len_utf8()..];
            rest.len() - marks.trim_start_matches(is_mark).len()
        } else {
            rest.find(is_hangul).unwrap_or(rest.len())
        };
        start += length;
        Some(start - length..start)
    })
}

fn is_hangul(letter: char) -> bool {
    matches!(letter,
        '\u{1100}'..='\u{11FF}' | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}')
}

/// Whether word boundaries treat a character as part of the one before it. Folded text has no others of these.
pub(super) fn is_mark(letter: char) -> bool {
    // Most characters are below the first mark.
    letter >= '\u{300}'
        && (is_combining_mark(letter)
            || matches!(letter,
            '\u{1F3FB}'..='\u{1F3FF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{13430}'..='\u{1343F}'))
}

/// Unicode counts marks of some scripts as letters, but they have no meaning alone.
pub(super) fn is_letter_or_digit(letter: char) -> bool {
    letter.is_alphanumeric() && !is_mark(letter)
}

/// The words of a text that is ASCII or was folded with the [table of Latin letters](super::latin).
pub(super) struct LatinWords<'a> {
    text: &'a [u8],
    index: usize,
}

/// The class of a byte for word boundaries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Underscore,
    /// A dot or an apostrophe: joins letters, and joins digits.
    Joiner,
    /// A colon: joins letters.
    LetterJoiner,
    /// A comma or a semicolon: joins digits.
    DigitJoiner,
    /// Joins nothing, as the bytes of signs that are not ASCII.
    Other,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    // Invariant: the classes of bytes below `byte` are set.
    while byte < classes.len() {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'_' => Class::Underscore,
            b'.' | b'\'' => Class::Joiner,
            b':' => Class::LetterJoiner,
            b',' | b';' => Class::DigitJoiner,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

impl<'a> LatinWords<'a> {
    pub(super) fn new(text: &'a str) -> LatinWords<'a> {
        LatinWords {
            text: text.as_bytes(),
            index: 0,
        }
    }

    /// The start of the next run of word bytes, at `index` or after it.
    fn start_of_word(&self, mut index: usize) -> Option<usize> {
        // Invariant: there is no word between the given index and this one.
        loop {
            match self.class(index)? {
                Class::Letter | Class::Digit | Class::Underscore => return Some(index),
                _ => index += 1,
            }
        }
    }

    /// The end of a candidate word, whether it has a letter or digit, and whether it has joiners.
    fn end_of_word(&self, start: usize) -> (usize, bool, bool) {
        let (mut end, mut is_word, mut is_joined) = (start, false, false);
        // Invariant: everything between `start` and `end` belongs to the word.
        while let Some(class) = self.class(end) {
            match class {
                Class::Letter | Class::Digit => is_word = true,
                Class::Underscore => {}
                _ if self.joins(end, class) => is_joined = true,
                _ => break,
            }
            end += 1;
        }
        (end, is_word, is_joined)
    }

    /// Whether a character joins its neighbours.
    fn joins(&self, index: usize, class: Class) -> bool {
        if class == Class::Other {
            return false;
        }
        let before = CLASSES[usize::from(self.text[index - 1])];
        let joins = match before {
            Class::Letter => class != Class::DigitJoiner,
            Class::Digit => class != Class::LetterJoiner,
            _ => false,
        };
        joins && self.class(index + 1) == Some(before)
    }

    fn class(&self, index: usize) -> Option<Class> {
        let byte = self.text.get(index)?;
        Some(CLASSES[usize::from(*byte)])
    }
}

impl Iterator for LatinWords<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        // Each iteration advances by at least one byte.
        loop {
            let start = self.start_of_word(self.index)?;
            let (end, is_word, is_joined) = self.end_of_word(start);
            self.index = end;
            if is_word {
                let is_plain = !is_joined && end - start > 1;
                return Some(Word {
                    start,
                    end,
                    is_plain,
                });
            }
        }
    }
}
