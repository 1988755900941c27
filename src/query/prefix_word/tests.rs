//! White-box tests of `query/prefix_word.rs`.

use super::*;
use crate::text::words;

/// What a word looks for, or the message about its star.
fn shown(word: &str) -> String {
    match phrase_of_word(word) {
        Ok(phrase) => phrase.map_or_else(String::new, |phrase| phrase.joined(" ")),
        Err((code, message)) => {
            assert_eq!(code, ErrorCode::UnsearchableText);
            message
        }
    }
}

#[test]
fn a_star_behind_the_last_letter_makes_a_prefix_word() {
    for (word, expected) in [
        ("robot*", "robot*"),
        ("ROBOT\u{FF0A}", "robot*"),
        ("(robotic*),", "robotic*"),
        ("robot**", "robot*"),
        ("nürnb*", "nurnb*"),
        ("cafe\u{301}*", "cafe*"),
        ("1,000*", "1,000*"),
        ("ﬃ*", "ffi*"),
        ("*robot", "robot"),
        ("M*Modal", "m modal"),
        ("ro*bot", "ro bot"),
        ("C++*", "c++"),
        ("U.S.*", "us"),
        ("*", ""),
        ("***", ""),
    ] {
        assert_eq!(shown(word), expected, "{word}");
        let is_prefix =
            phrase_of_word(word).is_ok_and(|phrase| phrase.is_some_and(|one| one.is_prefix()));
        assert_eq!(is_prefix, expected.ends_with('*'), "{word}");
    }
}

#[test]
fn a_refused_star_names_its_word_and_what_to_write_instead() {
    for (word, expected) in [
        (
            "ro*",
            "has the word \"ro*\": a star needs at least 3 letters or digits before it; write more of the word, or ro without the star",
        ),
        (
            "AI-power*",
            "has the word \"AI-power*\": a star belongs to one word, and this is 2; write ai power* as words of their own",
        ),
        (
            "anti-ro*",
            "has the word \"anti-ro*\": a star belongs to one word, and this is 2; write anti-ro without the star",
        ),
        (
            "金融*",
            "has the word \"金融*\": each of these characters is a word; write 金融 without the star, which finds it within longer words, too",
        ),
        (
            "京*",
            "has the word \"京*\": each of these characters is a word; write 京 without the star, which finds it within longer words, too",
        ),
        (
            "é*",
            "has the word \"é*\": a star needs at least 3 letters or digits before it; write more of the word, or é without the star",
        ),
    ] {
        assert_eq!(shown(word), expected, "{word}");
    }
}

#[test]
fn stars_are_refused_where_only_whole_words_are_taken() {
    use WithoutPrefixes::{Company, Exact, Quotes};
    let refused = |text, place| refuse_stars(text, place).err().map(|(_, message)| message);
    for (text, place, expected) in [
        (
            "maker robot*",
            Quotes,
            "has the word \"robot*\": a star has no meaning within quotes; write robot* outside of them, or robot without the star",
        ),
        (
            "ro* b",
            Quotes,
            "has the word \"ro*\": a star has no meaning within quotes; write ro without it",
        ),
        (
            "robot maker*",
            Exact,
            "has the word \"maker*\": exact takes whole words only; give maker* in q, or write maker without the star",
        ),
        (
            "a*",
            Exact,
            "has the word \"a*\": exact takes whole words only; write a without the star",
        ),
        (
            "lab*",
            Company,
            "has the word \"lab*\": company takes whole words only; write lab without the star",
        ),
    ] {
        assert_eq!(refused(text, place).as_deref(), Some(expected), "{text}");
    }
    for text in ["", "robot maker", "M*Modal", "*robot", "C++*", "* robots"] {
        assert_eq!(refused(text, Quotes), None, "{text}");
    }
}

#[test]
fn a_prefix_word_finds_each_word_that_begins_so() {
    let phrase = phrase_of_word("Robot*")
        .ok()
        .flatten()
        .expect("a prefix word");
    for (title, occurs) in [
        ("Robots for all", true),
        ("A robot", true),
        ("ROBOTICS", true),
        ("Microrobots", false),
        ("Rob OT", false),
        ("", false),
    ] {
        assert_eq!(phrase.occurs_in(&words(title)), occurs, "{title}");
    }
}
