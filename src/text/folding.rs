//! Folds text of any script: the first half of the [analysis](super), and the definition that the table of
//! [Latin letters](super::latin) is compared with.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::letters::plain_letters;

/// Steps 1 to 4 of the analysis, repeated until nothing changes: for a handful of characters, folding yields text
/// that NFKC changes again.
pub(super) fn folded(text: &str) -> String {
    let mut text = fold_once(text);
    for _ in 0..ROUNDS_MAX {
        let next = fold_once(&text);
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// Upper bound of rounds; two suffice for all of Unicode.
const ROUNDS_MAX: usize = 4;

fn fold_once(text: &str) -> String {
    let kept = text.chars().filter(|&c| !is_dropped(c)).map(apostrophe);
    let composed: String = kept.nfkc().collect();
    let lower_case = caseless::default_case_fold_str(&composed);
    let composed: String = lower_case.nfkc().map(apostrophe).collect();
    without_latin_marks(&composed)
}

/// Step 1: whether a character is a sign of trade marks and rights, or has no shape of its own
/// (Default_Ignorable_Code_Point).
pub(super) fn is_dropped(letter: char) -> bool {
    matches!(letter, '©' | '®' | '℗' | '℠' | '™') || is_ignorable(letter)
}

#[rustfmt::skip]
fn is_ignorable(letter: char) -> bool {
    matches!(letter,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFF8}' | '\u{1BCA0}'..='\u{1BCA3}' | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{E0FFF}')
}

/// Step 2: what people and word processors write for an apostrophe becomes one. U+1FFD is another code of U+00B4.
fn apostrophe(letter: char) -> char {
    match letter {
        '`' | '´' | '\u{1FFD}' | '‘' | '’' | '‛' | 'ʻ' | 'ʼ' | '＇' => '\'',
        _ => letter,
    }
}

/// Step 4: drops the marks of Latin letters, and makes the letters plain.
fn without_latin_marks(text: &str) -> String {
    let mut is_behind_latin = false;
    let mut kept = String::with_capacity(text.len());
    for letter in text.nfd() {
        if matches!(letter, '\u{300}'..='\u{36F}') {
            if !is_behind_latin {
                kept.push(letter);
            }
            continue;
        }
        if !is_combining_mark(letter) {
            is_behind_latin = is_latin(letter);
        }
        match plain_letters(letter) {
            Some(plain) => kept.push_str(plain),
            None => kept.push(letter),
        }
    }
    kept.nfc().collect()
}

/// Whether a character is a letter of the Latin script (Unicode's Scripts.txt, without what NFKC replaces).
#[rustfmt::skip]
pub(super) fn is_latin(letter: char) -> bool {
    matches!(letter,
        'a'..='z' | 'A'..='Z' | '\u{AA}' | '\u{BA}' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}'
        | '\u{F8}'..='\u{2B8}' | '\u{1D00}'..='\u{1D25}' | '\u{1D2C}'..='\u{1D5C}' | '\u{1D6B}'..='\u{1D77}'
        | '\u{1D79}'..='\u{1DBE}' | '\u{1E00}'..='\u{1EFF}' | '\u{214E}' | '\u{2180}'..='\u{2188}'
        | '\u{2C60}'..='\u{2C7F}' | '\u{A722}'..='\u{A787}' | '\u{A78B}'..='\u{A7FF}'
        | '\u{AB30}'..='\u{AB5A}' | '\u{AB5C}'..='\u{AB64}' | '\u{AB66}'..='\u{AB68}' | '\u{10780}'..='\u{107BF}'
        | '\u{1DF00}'..='\u{1DFFF}')
}
