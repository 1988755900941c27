//! Folds Latin text with a table, which covers nearly all non-ASCII titles.
//!
//! The table has letters, signs and punctuation whose folding does not depend on their neighbours; a test compares
//! all of Unicode with the slow path. Such texts are folded in one pass, without decomposition, and have only ASCII
//! letters afterwards.

use std::borrow::Cow;

use super::folding::is_dropped;

/// Applies steps 1 to 4 of the [analysis](super); `None` if a character is not in the table.
pub(super) fn folded(text: &str) -> Option<String> {
    let mut output = String::with_capacity(text.len());
    let mut rest = text;
    // Invariant: everything before `rest` is folded.
    while let Some(letter) = rest.chars().next() {
        if letter.is_ascii() {
            let end = rest.bytes().position(|byte| !byte.is_ascii());
            let (ascii, after) = rest.split_at(end.unwrap_or(rest.len()));
            let start = output.len();
            output.push_str(&with_apostrophes(ascii));
            output[start..].make_ascii_lowercase();
            rest = after;
        } else {
            output.push_str(folded_letter(letter)?);
            rest = &rest[letter.len_utf8()..];
        }
    }
    Some(output)
}

/// ASCII text with apostrophes where it has grave accents. Only letter case is left to be folded in it.
pub(super) fn with_apostrophes(ascii: &str) -> Cow<'_, str> {
    if ascii.contains('`') {
        Cow::Owned(ascii.replace('`', "'"))
    } else {
        Cow::Borrowed(ascii)
    }
}

fn folded_letter(letter: char) -> Option<&'static str> {
    let folded = match letter {
        '\u{A0}'..='\u{17F}' => LETTERS[letter as usize - 0xA0],
        '\u{2010}'..='\u{2026}' => PUNCTUATION[letter as usize - 0x2010],
        'Ș' | 'ș' => "s",
        'Ț' | 'ț' => "t",
        'ʻ' | 'ʼ' => "'",
        '€' => "€",
        '→' => "→",
        '−' => "−",
        _ => "",
    };
    (!folded.is_empty() || is_dropped(letter)).then_some(folded)
}

/// From U+00A0 to U+017F; empty if the slow path is needed or the character is dropped.
#[rustfmt::skip]
const LETTERS: [&str; 224] = [
    " ", "¡", "¢", "£", "¤", "¥", "¦", "§", "", "", "a", "«", "¬", "", "", "", // A0
    "°", "±", "2", "3", "'", "", "¶", "", "", "1", "o", "»", "", "", "", "¿", // B0
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i", // C0
    "d", "n", "o", "o", "o", "o", "o", "", "o", "u", "u", "u", "u", "y", "th", "ss", // D0
    "a", "a", "a", "a", "a", "a", "ae", "c", "e", "e", "e", "e", "i", "i", "i", "i", // E0
    "d", "n", "o", "o", "o", "o", "o", "", "o", "u", "u", "u", "u", "y", "th", "y", // F0
    "a", "a", "a", "a", "a", "a", "c", "c", "c", "c", "c", "c", "c", "c", "d", "d", // 100
    "d", "d", "e", "e", "e", "e", "e", "e", "e", "e", "e", "e", "g", "g", "g", "g", // 110
    "g", "g", "g", "g", "h", "h", "h", "h", "i", "i", "i", "i", "i", "i", "i", "i", // 120
    "i", "i", "ij", "ij", "j", "j", "k", "k", "q", "l", "l", "l", "l", "l", "l", "", // 130
    "", "l", "l", "n", "n", "n", "n", "n", "n", "", "n", "n", "o", "o", "o", "o", // 140
    "o", "o", "oe", "oe", "r", "r", "r", "r", "r", "r", "s", "s", "s", "s", "s", "s", // 150
    "s", "s", "t", "t", "t", "t", "t", "t", "u", "u", "u", "u", "u", "u", "u", "u", // 160
    "u", "u", "u", "u", "w", "w", "y", "y", "y", "z", "z", "z", "z", "z", "z", "s", // 170
];

/// From U+2010 to U+2026; empty if the slow path is needed.
#[rustfmt::skip]
const PUNCTUATION: [&str; 23] = [
    "‐", "‐", "‒", "–", "—", "―", "‖", "", "'", "'", "‚", "'", "“", "”", "„", "‟",
    "†", "‡", "•", "‣", ".", "..", "...",
];
