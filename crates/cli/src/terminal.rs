//! Standard output as a terminal: whether it is one, how wide it is, and how many columns a text takes.

use std::io::{self, IsTerminal};
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Columns of a table that goes to no terminal.
const WIDTH_DEFAULT: usize = 120;

/// Columns that every table has, however narrow the terminal is.
const WIDTH_MIN: usize = 40;

const BOLD: &str = "\x1b[1m";
const PLAIN: &str = "\x1b[0m";

pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The columns of the terminal, as `COLUMNS` or the terminal says.
pub(crate) fn width() -> usize {
    let given = std::env::var("COLUMNS").ok();
    let given = given.and_then(|columns| columns.parse().ok());
    let measured = || {
        let size = is_terminal().then(terminal_size::terminal_size).flatten();
        size.map(|(terminal_size::Width(columns), _)| usize::from(columns))
    };
    let width = given.or_else(measured).unwrap_or(WIDTH_DEFAULT);
    width.max(WIDTH_MIN)
}

/// Whether words may be emphasised: on a terminal without `NO_COLOR`.
pub(crate) fn may_emphasise() -> bool {
    is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The columns that a text takes: two for wide characters, none for combining ones.
pub(crate) fn columns_of(text: &str) -> usize {
    text.graphemes(true).map(UnicodeWidthStr::width).sum()
}

/// A text for a terminal: without what moves the cursor or turns the direction of writing.
pub(crate) fn clean(text: &str) -> String {
    let turns = |letter: char| matches!(letter, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let shown = text.chars().filter(|&letter| !turns(letter));
    let is_break = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    shown
        .map(|letter| if is_break(letter) { ' ' } else { letter })
        .collect()
}

/// The longest start of a text that fits into a number of columns.
pub(crate) fn start_of(text: &str, columns: usize) -> &str {
    let (mut end, mut used) = (0, 0);
    for (start, letter) in text.grapheme_indices(true) {
        used += letter.width();
        if used > columns {
            break;
        }
        end = start + letter.len();
    }
    &text[..end]
}

/// A text cut to a number of columns; what is cut ends with an ellipsis.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        text.to_owned()
    } else {
        format!("{}…", start_of(text, columns.saturating_sub(1)))
    }
}

/// A text in lines of at most a number of columns, broken at spaces where there are some.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<&str> {
    let (mut rest, mut lines) = (text.trim_end(), Vec::new());
    while columns_of(rest) > columns {
        let mut line = start_of(rest, columns);
        if line.is_empty() {
            // A cluster of many characters may be wider than any line: it is broken, so that this ends.
            let end = rest.char_indices().nth(columns.div_ceil(2).max(1));
            line = &rest[..end.map_or(rest.len(), |(end, _)| end)];
        }
        // A word that fits into no line is broken where the line ends.
        if !rest[line.len()..].starts_with(' ')
            && let Some(space) = line.rfind(' ').filter(|&space| space > 0)
        {
            line = &line[..space];
        }
        lines.push(line.trim_end());
        rest = rest[line.len()..].trim_start();
    }
    lines.push(rest);
    lines
}

/// A text with some of its parts in bold.
pub(crate) fn emphasised(text: &str, parts: &[Range<usize>]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut end = 0;
    for part in parts {
        let part = part.start.min(text.len())..part.end.min(text.len());
        if part.is_empty() {
            continue;
        }
        shown.push_str(&text[end..part.start]);
        shown.push_str(&format!("{BOLD}{}{PLAIN}", &text[part.clone()]));
        end = part.end;
    }
    shown.push_str(&text[end..]);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters_are_counted_as_terminals_do() {
        for (text, columns) in [
            ("abc", 3),
            ("日本語", 6),
            ("한국어", 6),
            ("e\u{301}té", 3),
            ("か\u{3099}", 2),
            ("", 0),
        ] {
            assert_eq!(columns_of(text), columns, "{text}");
        }
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("e\u{301}te\u{301}", 2), "e\u{301}…");
    }

    #[test]
    fn lines_break_at_spaces_and_within_words_that_are_too_long() {
        assert_eq!(wrapped("one two three", 8), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrapped("日本語のテスト", 5), ["日本", "語の", "テス", "ト"]);
        assert_eq!(wrapped("", 4), [""]);
        // One cluster, as Unicode has it.
        let jamo = "ᄀ".repeat(50);
        assert_eq!(wrapped(&jamo, 16).concat(), jamo);
    }

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_direction() {
        assert_eq!(clean("a\x1b[2J\u{202e}b\u{9b}\nc\u{2028}d"), "a [2Jb  c d");
    }
}
