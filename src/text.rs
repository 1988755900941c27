//! The text analysis that titles, company names and text filters share.
//!
//! Folding, repeated until nothing changes:
//!
//! 1. the signs ™ ® ℠ © ℗ and all of Unicode's Default_Ignorable_Code_Point (soft hyphens, zero-width characters and
//!    the like) are dropped;
//! 2. curly and other apostrophes become `'`;
//! 3. compatibility composition (NFKC) and full case folding: ligatures, full-width letters and the like become plain,
//!    and "Straße" and "STRASSE" meet at "strasse";
//! 4. the marks U+0300 to U+036F after Latin letters are removed ("café" becomes "cafe"; Japanese and Cyrillic keep
//!    theirs), the Latin letters that are left become plain ("Łódź" becomes "lodz", "Ørsted" becomes "orsted"), and the
//!    rest is composed again (NFC).
//!
//! Words are those of [UAX #29] that have a letter or digit, with these rules:
//!
//! 5. each character of Hangul with its marks is a word of its own, as one of Han is;
//! 6. the dots of an acronym of single letters are dropped ("u.s." becomes "us"); in other words, a dot or colon
//!    between letters ends a word ("cars.com" becomes "cars" and "com");
//! 7. possessive endings (`'s`) are dropped;
//! 8. a single Latin, Greek or Cyrillic letter takes a `+`, `++` or `#` right after it ("c++", "f#");
//! 9. other apostrophes are dropped ("o'reilly" becomes "oreilly"). The marks on a dot or apostrophe go with it.
//!
//! This is the primary form of a word. It may have alternates, by which the word alone is found as well: the word with
//! its apostrophes left out, where a possessive was dropped ("mcdonald's": mcdonald, alternate mcdonalds); what follows
//! a French or Italian elision ("l'oreal": loreal, alternate oreal).
//!
//! There is no stemming and there are no stop words. Analysing a form returns the same form, so queries and titles
//! always agree.
//!
//! ```
//! use signaldex::text::{terms, words};
//!
//! assert_eq!(terms("Café Zürich's C++ team, U.S.-based"), ["cafe", "zurich", "c++", "team", "us", "based"]);
//! assert_eq!(terms("AI-powered R&D"), ["ai", "powered", "r", "d"]);
//! assert_eq!(words("L’Oréal"), [["loreal", "oreal"]]);
//! ```
//!
//! [UAX #29]: https://www.unicode.org/reports/tr29/

use std::borrow::Cow;

mod folding;
mod forms;
mod latin;
mod letters;
mod name;
mod nearest;
mod origins;
mod quoting;
mod words;

pub(crate) use forms::Form;
pub use name::{CompanyName, is_company_name};
pub(crate) use name::{is_left_out_of_names, name_words, visit_name_forms};
pub use nearest::nearest_name;
pub(crate) use nearest::{KnownNames, did_you_mean};
pub(crate) use origins::ranges_of_words;
pub use quoting::{QUOTED_CHARS_MAX, quoted, shortened};

use folding::folded;
use words::{LatinWords, unicode_words};

/// The version of the analysis, stored in every segment: terms of another version would not be found.
pub const ANALYSIS_VERSION: u16 = 1;

/// The terms of a text: the primary forms of its words, in order.
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

/// The words of a text, in order: of each the primary form, then its alternates. A word alone is found by each of them,
/// a phrase by primary forms next to each other.
///
/// ```
/// use signaldex::text::words;
///
/// assert_eq!(words("McDonald's hires"), [vec!["mcdonald", "mcdonalds"], vec!["hires"]]);
/// ```
///
/// Cost: two allocations a word.
pub fn words(text: &str) -> Vec<Vec<String>> {
    words_of(|sink| visit_forms(text, sink))
}

/// The words of the forms that `visit` gives, each with its forms.
fn words_of(visit: impl FnOnce(&mut dyn FnMut(Form<'_>))) -> Vec<Vec<String>> {
    let mut words: Vec<Vec<String>> = Vec::new();
    visit(&mut |form| match words.last_mut() {
        Some(word) if form.is_alternate => word.push(form.text.to_owned()),
        _ => words.push(vec![form.text.to_owned()]),
    });
    words
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
/// is folded first, at some fifty times the cost.
pub fn analyze(text: &str, mut sink: impl FnMut(&str)) {
    visit_forms(text, |form| {
        if !form.is_alternate {
            sink(form.text);
        }
    });
}

/// Calls `sink` with each form of each word of `text`, in order, the primary one of a word first.
pub(crate) fn visit_forms(text: &str, mut sink: impl FnMut(Form<'_>)) {
    let mut buffer = String::new();
    if text.is_ascii() {
        visit_forms_of(&latin::with_apostrophes(text), true, &mut buffer, &mut sink);
        return;
    }
    // No word spans a space, so the fastest path is chosen for each part.
    for part in text.split(' ').filter(|part| !part.is_empty()) {
        let (part, is_latin) = folded_part(part);
        visit_forms_of(&part, is_latin, &mut buffer, &mut sink);
    }
}

/// A part of a text, folded but for the letter case of ASCII, and whether all its letters are ASCII.
fn folded_part(part: &str) -> (Cow<'_, str>, bool) {
    if part.is_ascii() {
        (latin::with_apostrophes(part), true)
    } else if let Some(part) = latin::folded(part) {
        (Cow::Owned(part), true)
    } else {
        (Cow::Owned(folded(part)), false)
    }
}

/// Visits the forms of a folded text.
fn visit_forms_of(
    text: &str,
    is_latin: bool,
    buffer: &mut String,
    sink: &mut impl FnMut(Form<'_>),
) {
    if is_latin {
        forms::visit(text, LatinWords::new(text), buffer, sink);
    } else {
        forms::visit(text, unicode_words(text), buffer, sink);
    }
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
/// folded as titles are (steps 1 to 4 of the [analysis](self)), trimmed and single-spaced.
///
/// ```
/// use signaldex::text::fold_value;
///
/// assert_eq!(fold_value("  UNITED   states "), "united states");
/// assert_eq!(fold_value("Côte d’Ivoire"), "cote d'ivoire");
/// ```
pub fn fold_value(text: &str) -> Cow<'_, str> {
    if is_folded_word(text) {
        return Cow::Borrowed(text);
    }
    if !text.is_ascii() {
        let folded = latin::folded(text).unwrap_or_else(|| folded(text));
        return Cow::Owned(tidy(&folded).into_owned());
    }
    let tidied = tidy(text);
    if tidied.bytes().all(is_folded) {
        tidied
    } else {
        Cow::Owned(latin::with_apostrophes(&tidied).to_ascii_lowercase())
    }
}

/// Whether a text is one ASCII word that is folded, as slugs and most values are.
fn is_folded_word(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_graphic() && is_folded(byte))
}

/// Whether folding leaves an ASCII character as it is.
fn is_folded(byte: u8) -> bool {
    !byte.is_ascii_uppercase() && byte != b'`'
}

#[cfg(test)]
mod tests;
