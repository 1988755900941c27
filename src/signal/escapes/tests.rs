//! White-box tests of `escapes.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn a_text_is_plain_where_serde_adds_only_quotes(text in any::<String>(), length in 0..40usize) {
        for text in [text.clone(), format!("{}{text}", "x".repeat(length))] {
            let written = serde_json::to_string(&text).expect("a text can be written");
            prop_assert_eq!(is_plain(text.as_bytes()), written == format!("\"{text}\""));
        }
    }
}

#[test]
fn each_character_below_128_is_plain_or_not_as_serde_has_it() {
    for byte in 0..128u8 {
        let text = format!("{}{}", "x".repeat(33), char::from(byte));
        let written = serde_json::to_string(&text).expect("a text can be written");
        assert_eq!(
            is_plain(text.as_bytes()),
            written == format!("\"{text}\""),
            "{byte}"
        );
    }
}

proptest! {
    #[test]
    fn escapes_are_those_of_serde_and_can_be_taken_away(text in any::<String>(), low in "[\0-\x1F\"\\\\u]{0,9}") {
        for text in [text.clone(), format!("{low}{text}"), format!("{text}{low}")] {
            let mut escaped = Vec::new();
            push_escaped(&mut escaped, &text);
            let escaped = String::from_utf8(escaped).expect("UTF-8");
            let written = serde_json::to_string(&text).expect("a text can be written");
            prop_assert_eq!(format!("\"{escaped}\""), written);
            prop_assert_eq!(unescaped(&escaped), Some(text));
        }
    }

    #[test]
    fn any_escapes_are_a_text_or_none(escapes in "[\\\\u0-9nbé\"+]{0,12}") {
        let _ = unescaped(&escapes);
    }
}

#[test]
fn escapes_that_are_never_written_are_none() {
    for text in ["\\", "\\x", "\\u00", "\\u00g0", "\\u0100", "a\\é"] {
        assert_eq!(unescaped(text), None, "{text}");
    }
}
