//! What is wrong with a line: the field, the fault and what is allowed.

use std::fmt;

/// The most characters of a record that a message shows.
const ECHO_CHARS_MAX: usize = 64;

/// Why a line is not a record.
///
/// Its `Display` reads `funding.amount: -1 is not a finite number of at least 0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordFault {
    field: Option<&'static str>,
    reason: String,
}

impl RecordFault {
    /// The field as a path, such as `funding.amount`; `None` where the whole line is at fault.
    pub fn field(&self) -> Option<&'static str> {
        self.field
    }

    /// What is wrong, and what is allowed. Shows at most 64 characters of the line.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    pub(super) fn of_field(field: &'static str, reason: impl Into<String>) -> RecordFault {
        RecordFault {
            field: Some(field),
            reason: reason.into(),
        }
    }

    pub(super) fn of_line(reason: impl Into<String>) -> RecordFault {
        RecordFault {
            field: None,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for RecordFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for RecordFault {}

/// The beginning of a text, fit for a terminal: control characters are replaced.
pub(super) fn echo(text: &str) -> String {
    let visible = |c: char| {
        if c.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    let mut chars = text.chars();
    let mut shown: String = chars.by_ref().take(ECHO_CHARS_MAX).map(visible).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_holds_64_characters_and_says_where_it_was_cut() {
        assert_eq!(echo(&"é".repeat(64)), "é".repeat(64));
        assert_eq!(echo(&"é".repeat(65)), format!("{}…", "é".repeat(64)));
    }

    #[test]
    fn an_echo_cannot_steer_a_terminal() {
        assert_eq!(echo("a\u{1b}[2Jb\u{9b}"), "a\u{fffd}[2Jb\u{fffd}");
    }
}
