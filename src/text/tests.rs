//! White-box tests of `text.rs`.

use proptest::prelude::*;

use super::*;

#[test]
fn terms_of_awkward_texts() {
    let cases: [(&str, &[&str]); 37] = [
        ("", &[]),
        ("!?… – ()", &[]),
        ("Series A", &["series", "a"]),
        ("Café CAFÉ cafe\u{301}", &["cafe", "cafe", "cafe"]),
        ("AI-powered", &["ai", "powered"]),
        ("R&D", &["r", "d"]),
        ("Acme's Acme’s ACME'S", &["acme", "acme", "acme"]),
        ("U.S. U.S u.s.a.", &["us", "us", "usa"]),
        ("U.S.-based", &["us", "based"]),
        ("U.S.'s U.S.A.’s", &["us", "usa"]),
        ("e.g. this", &["eg", "this"]),
        ("C++ C# F# C+ C+++", &["c++", "c#", "f#", "c+", "c++"]),
        ("C++'s C#’s", &["c++", "c#"]),
        ("C#/.NET", &["c#", "net"]),
        ("AB+ 9+ a +b", &["ab", "9", "a", "b"]),
        ("don't", &["don't"]),
        ("AT&T's", &["at", "t"]),
        ("node.js 3.5 1,000,000", &["node.js", "3.5", "1,000,000"]),
        ("$4,000,000.", &["4,000,000"]),
        ("snake_case _ __x", &["snake_case", "__x"]),
        ("Straße STRASSE", &["strasse", "strasse"]),
        ("ﬁnance", &["finance"]),
        ("Ｆｕｌｌ", &["full"]),
        ("İstanbul", &["istanbul"]),
        ("ΟΔΟΣ οδός", &["οδοσ", "οδόσ"]),
        ("Москва й", &["москва", "й"]),
        ("Ёлка", &["ёлка"]),
        ("ガス", &["ガス"]),
        ("東京", &["東", "京"]),
        ("한국 투자", &["한국", "투자"]),
        ("👍 launch 🚀", &["launch"]),
        ("\u{301}abc", &["abc"]),
        ("eb \u{65C} bs", &["eb", "\u{65C}", "bs"]),
        ("x\u{200D}y", &["x\u{200D}y"]),
        ("Ø ł đ", &["ø", "ł", "đ"]),
        ("x's's", &["x"]),
        ("rock'n'roll's", &["rock'n'roll"]),
    ];
    for (text, expected) in cases {
        assert_eq!(terms(text), expected, "{text:?}");
    }
}

#[test]
fn the_key_of_a_key_is_that_key() {
    for letter in '\0'..=char::MAX {
        let key = fold_value(letter.encode_utf8(&mut [0; 4])).into_owned();
        assert_eq!(fold_value(&key), key, "{letter:?}");
    }
}

#[test]
fn values_compare_without_case_and_spacing() {
    for (value, key) in [
        ("Germany", "germany"),
        (" germany\t", "germany"),
        ("United  States", "united states"),
        ("United\u{A0}States", "united states"),
        ("Österreich", "osterreich"),
        ("O\u{308}sterreich", "osterreich"),
        ("Côte d’Ivoire", "cote d'ivoire"),
        ("L‘Oréal", "l'oreal"),
        ("Йод", "йод"),
        ("STRASSE", "strasse"),
        ("", ""),
    ] {
        assert_eq!(fold_value(value), key, "{value:?}");
    }
    assert!(matches!(fold_value("united states"), Cow::Borrowed(_)));
    assert!(matches!(tidy("United States"), Cow::Borrowed(_)));
    assert_eq!(tidy(" a \u{3000} b\n"), "a b");
}

/// Text with more of what is awkward than chance would give.
fn awkward() -> impl Strategy<Value = String> {
    let pieces = prop_oneof![
        any::<char>().prop_map(String::from),
        prop::sample::select(vec![
            "'s", "’s", ".", "U.S.", "C++", "#", "+", "é", "e\u{301}", "\u{301}", "ß", "ŉ", "İ",
            "ﬁ", "Ａ", "\u{345}", "\u{65C}", "ᾳ", "Σ", "_", ":", ",", ";", "1", "a", " ", "-",
            "\u{200D}", "י", "\"",
        ])
        .prop_map(String::from),
    ];
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn tidy_joins_the_words_of_a_text_by_single_spaces(text in "[a \t\u{3000}ß]{0,8}") {
        let words: Vec<&str> = text.split_whitespace().collect();
        prop_assert_eq!(tidy(&text), words.join(" "));
    }

    #[test]
    fn analysing_a_term_gives_the_term(text in awkward()) {
        for term in terms(&text) {
            prop_assert_eq!(terms(&term), vec![term]);
        }
    }

    #[test]
    fn words_between_spaces_have_the_same_terms_alone(text in awkward()) {
        let alone: Vec<String> = text.split_whitespace().flat_map(terms).collect();
        prop_assert_eq!(alone, terms(&text));
    }

    #[test]
    fn ascii_words_are_unicode_words(text in "[ -~\t\n]{0,24}|[a-c1-2.,:;'_+# S]{0,16}") {
        let words: Vec<_> = LatinWords::new(&text)
            .map(|word| &text[word.start..word.end])
            .collect();
        prop_assert_eq!(words, text.unicode_words().collect::<Vec<_>>());
    }

    #[test]
    fn keys_of_values_are_stable(text in awkward()) {
        let key = fold_value(&text).into_owned();
        prop_assert_eq!(fold_value(&key), key.as_str());
        let tidied = tidy(&text);
        prop_assert_eq!(tidy(&tidied), tidied.as_ref());
    }

    #[test]
    fn letter_case_and_composition_do_not_matter(text in "[a-zé ß.'+#-]{0,16}") {
        let decomposed: String = text.nfd().collect();
        prop_assert_eq!(terms(&decomposed), terms(&text));
        prop_assert_eq!(terms(&text.to_uppercase()), terms(&text));
    }
}

/// The terms of a text that is normalised and cut into words as a whole.
fn terms_slowly(text: &str) -> Vec<String> {
    let text = normalized(text);
    let mut terms = Vec::new();
    let words = unicode_words(&text);
    emit(&text, words, &mut String::new(), &mut |term: &str| {
        terms.push(term.to_owned());
    });
    terms
}

#[test]
fn the_table_of_latin_letters_agrees_with_all_of_unicode() {
    for letter in '\0'..=char::MAX {
        let alone = letter.to_string();
        let Some(folded) = latin::folded(&alone) else {
            continue;
        };
        assert_eq!(folded, normalized(&alone), "{letter:?}");
        for text in [alone, format!("a{letter}B 1{letter}2 {letter}'s")] {
            assert_eq!(terms(&text), terms_slowly(&text), "{text:?}");
        }
    }
}

#[test]
fn neighbours_of_latin_letters_do_not_matter() {
    let ascii = "aB1_.':,; -+#".chars();
    let is_in_table = |letter: &char| latin::folded(&letter.to_string()).is_some();
    let latin: Vec<char> = ('\u{80}'..='\u{FFFF}').filter(is_in_table).collect();
    assert!(latin.len() > 200);
    for &first in &latin {
        for second in ascii.clone().chain(latin.iter().copied()) {
            let text =
                format!("{first}{second}b{second}{first}s a{first}{second}1{first}{second}2");
            assert_eq!(terms(&text), terms_slowly(&text), "{text:?}");
        }
    }
}

#[test]
fn words_have_the_terms_that_they_have_in_the_whole_text() {
    const LETTERS: [char; 36] = [
        'a', 'B', 's', '1', '_', '.', '\'', ':', ',', ';', ' ', ' ', '-', '+', '#', 'é', 'ß', 'İ',
        'æ', '’', '‘', '…', '™', '×', '·', '´', '\u{301}', '\u{65C}', '\u{200D}', '\u{AD}',
        '\u{93E}', 'Я', '京', 'ガ', '가', '👍',
    ];
    let random = &mut crate::fixtures::Random::new(11);
    for _ in 0..100_000 {
        let text: String = (0..random.below(10))
            .map(|_| *random.pick(&LETTERS))
            .collect();
        assert_eq!(terms(&text), terms_slowly(&text), "{text:?}");
    }
}
