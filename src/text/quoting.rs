//! Makes input safe to repeat in messages.

/// The maximum number of characters of an input that a message repeats.
pub const QUOTED_CHARS_MAX: usize = 64;

/// Input that is safe to repeat in a message: at most [`QUOTED_CHARS_MAX`] characters, `\u{2026}` if more follow, and
/// without control characters, which could steer a terminal.
///
/// ```
/// use signaldex::text::shortened;
///
/// assert_eq!(shortened("Germany"), "Germany");
/// assert_eq!(shortened(&"e".repeat(65)), "e".repeat(64) + "\u{2026}");
/// ```
pub fn shortened(input: &str) -> String {
    let visible = |letter: char| {
        if letter.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            letter
        }
    };
    let mut letters = input.chars();
    let first = letters.by_ref().take(QUOTED_CHARS_MAX);
    let mut shown: String = first.map(visible).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

/// As [`shortened`], in quotes.
///
/// ```
/// assert_eq!(signaldex::text::quoted("Germany"), "\"Germany\"");
/// ```
pub fn quoted(input: &str) -> String {
    format!("\"{}\"", shortened(input))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn input_has_at_most_64_characters_and_says_where_it_was_cut() {
        assert_eq!(shortened(&"é".repeat(64)), "é".repeat(64));
        assert_eq!(shortened(&"é".repeat(65)), format!("{}…", "é".repeat(64)));
    }

    #[test]
    fn input_cannot_steer_a_terminal() {
        assert_eq!(shortened("a\u{1b}[2Jb\u{9b}"), "a\u{fffd}[2Jb\u{fffd}");
    }
}
