//! Words and quoted phrases, as people type them.

use super::Phrase;
use super::written::WORD_QUOTE;

/// What `q` asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Keywords {
    /// Each has to occur.
    pub(super) all: Vec<Phrase>,
    /// None may occur.
    pub(super) none: Vec<Phrase>,
}

/// Reads `q`: words, `"quoted phrases"`, `-excluded` words and `-"excluded phrases"`. Words
/// without anything searchable are skipped.
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

/// Reads `all`, `any` or `exclude`: words and quoted phrases. A `-` means nothing here.
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
mod tests {
    use super::*;

    fn shown(phrases: &[Phrase]) -> Vec<String> {
        phrases
            .iter()
            .map(|phrase| phrase.terms().join(" "))
            .collect()
    }

    #[test]
    fn keywords_are_words_phrases_and_exclusions() {
        for (text, all, none) in [
            ("series a", vec!["series", "a"], vec![]),
            ("\"series a\" round", vec!["series a", "round"], vec![]),
            (
                "-intern -\"head of\" sales",
                vec!["sales"],
                vec!["intern", "head of"],
            ),
            ("\"open quote", vec!["open quote"], vec![]),
            ("AI-powered x-ray", vec!["ai powered", "x ray"], vec![]),
            ("-AI-powered", vec![], vec!["ai powered"]),
            ("5\"disk say\"hello", vec!["5 disk", "say hello"], vec![]),
            ("- -- … \"\" -\"\"", vec![], vec![]),
            ("\"a\"b", vec!["a", "b"], vec![]),
            ("--x", vec![], vec!["x"]),
            ("\u{A0}C++\u{3000}R&D", vec!["c++", "r d"], vec![]),
        ] {
            let keywords = keywords(text);
            assert_eq!(shown(&keywords.all), all, "{text}");
            assert_eq!(shown(&keywords.none), none, "{text}");
        }
    }

    #[test]
    fn a_minus_means_nothing_outside_keywords() {
        assert_eq!(shown(&phrases("-a -\"b c\" d")), ["a", "b c", "d"]);
        assert_eq!(shown(&words("R&D \"Labs\" Inc.")), ["r d", "labs", "inc"]);
    }
}
