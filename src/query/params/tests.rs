//! White-box tests of `query/params.rs`.

use proptest::prelude::*;

use super::*;

#[test]
fn two_pluses_after_a_word_of_one_letter_stand_for_themselves() {
    let table = [
        ("C++", "C++"),
        ("c++", "c++"),
        ("\"C++\"", "\"C++\""),
        ("-C++", "-C++"),
        ("senior+C++", "senior C++"),
        ("C+++robotics", "C++ robotics"),
        ("C++%20robotics", "C++ robotics"),
        ("%43++", "C++"),
        ("C++,Java", "C++,Java"),
        ("R%26D++", "R&D++"),
        ("é++", "é++"),
        ("e%CC%81++", "e\u{301}++"),
        ("C++++", "C++  "),
        ("C+%2B", "C +"),
        ("C%2B%2B", "C++"),
        ("C+", "C "),
        ("C+-intern", "C -intern"),
        ("series+a+round", "series a round"),
        ("a++b", "a  b"),
        ("a++%62", "a  b"),
        ("a++1", "a  1"),
        ("series++a", "series  a"),
        ("series++", "series  "),
        ("e%CC%81b++", "e\u{301}b  "),
        ("1++", "1  "),
        ("++", "  "),
        ("501+", "501 "),
    ];
    for (text, expected) in table {
        assert_eq!(decode(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn many_signs_are_decoded_in_one_pass() {
    let text = "a++.".repeat(QUERY_STRING_BYTES_MAX / 4);
    assert_eq!(decode(&text).as_deref(), Ok(text.as_str()));
}

proptest! {
    /// A text that is percent-encoded throughout means itself.
    #[test]
    fn encoded_signs_are_never_read_as_spaces(text in "[Ce1+ \"é,%&]{0,12}") {
        let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let decoded = decode(&encoded);
        prop_assert_eq!(decoded.as_deref(), Ok(text.as_str()));
    }

    /// The signs that stand for themselves are spaces otherwise: the text has the same length and letters.
    #[test]
    fn only_pairs_of_pluses_are_kept(text in "[Ce1+ \"é,]{0,12}") {
        let spaced = text.replace('+', " ");
        let decoded = decode(&text).expect("nothing to decode fails").into_owned();
        prop_assert_eq!(decoded.replace('+', " "), spaced);
        for part in decoded.split(|sign| sign != '+').filter(|part| !part.is_empty()) {
            prop_assert_eq!(part, "++");
        }
    }
}
