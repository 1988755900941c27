//! White-box tests of `text.rs`.

use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

#[test]
fn terms_of_awkward_texts() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("!?… – ()", &[]),
        ("Series A", &["series", "a"]),
        ("Café CAFÉ cafe\u{301}", &["cafe", "cafe", "cafe"]),
        ("AI-powered", &["ai", "powered"]),
        ("R&D", &["r", "d"]),
        ("Acme's Acme’s ACME'S", &["acme", "acme", "acme"]),
        ("U.S. U.S u.s.a.", &["us", "us", "usa"]),
        ("U.S.-based", &["us", "based"]),
        ("U.S.'s U.S.A.’s U.S's", &["us", "usa", "us"]),
        ("U.S.'s's U.S.'sx U.S.'s한", &["us", "us", "sx", "us", "한"]),
        ("e.g. this", &["eg", "this"]),
        ("É.U. и.о.", &["eu", "ио"]),
        ("1.a 3.5a U.", &["1", "a", "3.5a", "u"]),
        ("C++ C# F# C+ C+++", &["c++", "c#", "f#", "c+", "c++"]),
        ("C++'s C#’s", &["c++", "c#"]),
        (
            "C++'s's C++'sx C++'s.com",
            &["c++", "c++", "sx", "c++", "s", "com"],
        ),
        ("C#/.NET", &["c#", "net"]),
        ("É+ α# и++ あ+ 한+", &["e+", "α#", "и++", "あ", "한"]),
        ("AB+ 9+ a +b A's+", &["ab", "9", "a", "b", "a"]),
        ("node.c++ c:d#", &["node", "c++", "c", "d#"]),
        (
            "don't O'Reilly O’Reilly O`Reilly",
            &["dont", "oreilly", "oreilly", "oreilly"],
        ),
        (
            "a´b aʻb aʼb a＇b a‛b a｀b",
            &["ab", "ab", "ab", "ab", "ab", "ab"],
        ),
        ("AT&T's", &["at", "t"]),
        ("node.js 3.5 1,000,000", &["node", "js", "3.5", "1,000,000"]),
        (
            "NASDAQ:ACME cars.com.au 10:30",
            &["nasdaq", "acme", "cars", "com", "au", "10", "30"],
        ),
        ("web3.0 1'000'000", &["web3.0", "1000000"]),
        ("McDonald's.com", &["mcdonald", "com"]),
        ("$4,000,000.", &["4,000,000"]),
        ("snake_case _ __x", &["snake_case", "__x"]),
        ("Straße STRASSE", &["strasse", "strasse"]),
        ("ﬁnance", &["finance"]),
        ("Ｆｕｌｌ", &["full"]),
        ("İstanbul Diyarbakır", &["istanbul", "diyarbakir"]),
        ("ΟΔΟΣ οδός", &["οδοσ", "οδόσ"]),
        ("Москва й", &["москва", "й"]),
        ("Ёлка", &["ёлка"]),
        ("ガス カ\u{3099}ス", &["ガス", "ガス"]),
        ("東京", &["東", "京"]),
        ("한국 투자", &["한", "국", "투", "자"]),
        (
            "\u{1112}\u{1161}\u{11AB} \u{1112}\u{119E}\u{302E}x",
            &["한", "\u{1112}", "\u{119E}\u{302E}", "x"],
        ),
        ("AI시대 5G망", &["ai", "시", "대", "5g", "망"]),
        ("👍 launch 🚀", &["launch"]),
        ("\u{301}abc", &["abc"]),
        ("eb \u{65C} bs", &["eb", "bs"]),
        ("“\u{65C} -\u{65C}", &[]),
        (
            "x\u{200D}y soft\u{AD}ware zero\u{200B}width \u{FEFF}bom",
            &["xy", "software", "zerowidth", "bom"],
        ),
        (
            "GearMod™-Shaft Acme® Acme℠ ©2026",
            &["gearmod", "shaft", "acme", "acme", "2026"],
        ),
        ("e\u{34F}\u{301}x e™\u{301}x", &["ex", "ex"]),
        ("Ø ł đ Æther Þór", &["o", "l", "d", "aether", "thor"]),
        ("Łódź Ǿ Ỻ ↄ\u{301}", &["lodz", "o", "ll", "c"]),
        ("x's's", &["x"]),
        ("rock'n'roll's", &["rocknroll"]),
        ("o'\u{301}reilly a'\u{306}и", &["oreilly", "aи"]),
        (
            "acme'\u{301}s и.\u{306}о и.\u{306}ооо",
            &["acme", "ио", "и", "ооо"],
        ),
        ("и\u{306} й\u{301}+", &["й", "й\u{301}+"]),
        ("l'🏽ab ab.🏽cd", &["lab", "ab", "cd"]),
        ("o'\u{FFF9}r \u{FFF9}r", &["or", "r"]),
        ("א'ב ש\"ס", &["אב", "ש\"ס"]),
        ("col·lecció", &["col·leccio"]),
        ("½ a½ x℆", &["1⁄2", "a1⁄2", "xc", "u"]),
        ("x\u{1FFD}y x\u{1FEF}y", &["xy", "xy"]),
        ("'s 's's", &["s", "s"]),
        ("1990's", &["1990", "s"]),
        ("𝐁𝐨𝐥𝐝 ⓐ", &["bold", "a"]),
        ("a˂.˃b", &["a˂", "˃b"]),
    ];
    for &(text, expected) in cases {
        assert_eq!(terms(text), expected, "{text:?}");
    }
}

#[test]
fn words_have_alternates_behind_possessives_and_elisions() {
    let cases: &[(&str, &[&[&str]])] = &[
        ("Acme’s robots", &[&["acme", "acmes"], &["robots"]]),
        ("x's's", &[&["x", "xss"]]),
        ("Rock'n'roll's", &[&["rocknroll", "rocknrolls"]]),
        ("U.S.'s U.S's", &[&["us", "uss"], &["us", "uss"]]),
        ("C++'s A's", &[&["c++"], &["a", "as"]]),
        ("McDonald's.com", &[&["mcdonald", "mcdonalds"], &["com"]]),
        ("l’IA L'ORÉAL", &[&["lia", "ia"], &["loreal", "oreal"]]),
        ("l'oréal's", &[&["loreal", "loreals", "oreal"]]),
        (
            "jusqu'à qu'il l'x",
            &[&["jusqua"], &["quil", "il"], &["lx"]],
        ),
        (
            "dell'azienda un'altra",
            &[&["dellazienda", "azienda"], &["unaltra", "altra"]],
        ),
        ("o'reilly rock'n'roll", &[&["oreilly"], &["rocknroll"]]),
        ("d'l'abc", &[&["dlabc", "labc"]]),
        ("l's d's", &[&["l", "ls"], &["d", "ds"]]),
        ("don't", &[&["dont"]]),
        ("c'est.l'eau", &[&["cest", "est"], &["leau", "eau"]]),
        ("l'\u{301}ab l'अि", &[&["lab", "ab"], &["lअि"]]),
        ("l'a1 m'as-tu", &[&["la1", "a1"], &["mas", "as"], &["tu"]]),
    ];
    for &(text, expected) in cases {
        assert_eq!(words(text), expected, "{text:?}");
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
        ("D`Ieteren®", "d'ieteren"),
        ("d`x", "d'x"),
        ("a \u{AD} Łódź", "a lodz"),
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
        prop::sample::select(PIECES).prop_map(String::from),
    ];
    prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat())
}

#[rustfmt::skip]
const PIECES: &[&str] = &[
    "'s", "’s", "'", "`", "´", "ʼ", ".", ":", ",", ";", "U.S.", "C++", "#", "+", "é", "e\u{301}", "\u{301}", "\u{306}",
    "ß", "ŉ", "İ", "ı", "ﬁ", "Ａ", "\u{345}", "\u{65C}", "ᾳ", "Σ", "_", "1", "a", "s", "l'", "d’", "dell'", "qu'", " ",
    "-", "\u{200D}", "\u{AD}", "\u{200B}", "™", "®", "י", "\"", "한", "\u{1112}", "\u{1161}", "\u{11AB}", "\u{302E}", "ｶ",
    "ﾞ", "京", "и", "ø", "ł", "Æ", "ↄ", "½", "℆", "¨", "🏽", "\u{FFF9}", "·", "\u{2024}", "*",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn tidy_joins_the_words_of_a_text_by_single_spaces(text in "[a \t\u{3000}ß]{0,8}") {
        let words: Vec<&str> = text.split_whitespace().collect();
        prop_assert_eq!(tidy(&text), words.join(" "));
    }

    #[test]
    fn analysing_a_form_gives_the_form(text in awkward()) {
        for form in words(&text).into_iter().flatten() {
            prop_assert_eq!(words(&form), [vec![form]]);
        }
    }

    #[test]
    fn the_first_forms_are_the_terms(text in awkward()) {
        let primary: Vec<String> = words(&text).into_iter().map(|mut forms| forms.remove(0)).collect();
        prop_assert_eq!(primary, terms(&text));
    }

    #[test]
    fn words_between_spaces_have_the_same_forms_alone(text in awkward()) {
        let alone: Vec<_> = text.split_whitespace().flat_map(words).collect();
        prop_assert_eq!(alone, words(&text));
    }

    #[test]
    fn folding_is_done_after_once(text in awkward()) {
        let once = folded(&text);
        prop_assert_eq!(folded(&once), once.as_str());
        prop_assert_eq!(words(&once), words(&text));
    }

    #[test]
    fn a_word_is_found_where_it_was_written(text in awkward()) {
        let ranges = ranges_of_words(&text, |_| true);
        prop_assert!(ranges.iter().all(|range| range.start < range.end && !text[range.clone()].is_empty()));
        prop_assert!(ranges.is_sorted_by(|one, next| one.end <= next.start));
        prop_assert_eq!(ranges.is_empty(), words(&text).is_empty());
        for word in terms(&text) {
            let found = ranges_of_words(&text, |form| form == word);
            prop_assert!(found.iter().any(|range| terms(&text[range.clone()]).contains(&word)), "{}", word);
        }
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
    fn letter_case_and_composition_do_not_matter(text in awkward()) {
        let decomposed: String = text.nfd().collect();
        prop_assert_eq!(words(&decomposed), words(&text));
        let composed: String = text.nfc().collect();
        prop_assert_eq!(words(&composed), words(&text));
        prop_assert_eq!(fold_value(&decomposed), fold_value(&text));
    }

    #[test]
    fn upper_case_does_not_matter(text in "[a-zéßłøıŉ αά и.'’+# -]{0,16}") {
        prop_assert_eq!(words(&text.to_uppercase()), words(&text));
        prop_assert_eq!(words(&text.to_lowercase()), words(&text));
    }
}

/// The words of a text that is folded and cut into words as a whole, without the fast paths.
fn words_slowly(text: &str) -> Vec<Vec<String>> {
    let text = folded(text);
    let mut words: Vec<Vec<String>> = Vec::new();
    let mut add = |form: Form<'_>| match words.last_mut() {
        Some(word) if form.is_alternate => word.push(form.text.to_owned()),
        _ => words.push(vec![form.text.to_owned()]),
    };
    visit_forms_of(&text, false, &mut String::new(), &mut add);
    words
}

#[test]
fn the_table_of_latin_letters_agrees_with_all_of_unicode() {
    for letter in '\0'..=char::MAX {
        let alone = letter.to_string();
        let Some(fast) = latin::folded(&alone) else {
            continue;
        };
        assert_eq!(fast, folded(&alone), "{letter:?}");
        for text in [
            alone,
            format!("a{letter}B 1{letter}2 {letter}'s l'{letter}b"),
        ] {
            assert_eq!(words(&text), words_slowly(&text), "{text:?}");
        }
    }
}

#[test]
fn neighbours_of_latin_letters_do_not_matter() {
    let ascii = "aB1_.':,; -+#`".chars();
    let is_in_table = |letter: &char| latin::folded(&letter.to_string()).is_some();
    let latin: Vec<char> = ('\u{80}'..='\u{FFFF}').filter(is_in_table).collect();
    assert!(latin.len() > 200);
    for &first in &latin {
        for second in ascii.clone().chain(latin.iter().copied()) {
            let text =
                format!("{first}{second}b{second}{first}s a{first}{second}1{first}{second}2");
            assert_eq!(words(&text), words_slowly(&text), "{text:?}");
        }
    }
}

#[test]
fn words_have_the_forms_that_they_have_in_the_whole_text() {
    let random = &mut crate::fixtures::Random::new(11);
    for _ in 0..100_000 {
        let pieces = (0..random.below(10)).map(|_| *random.pick(PIECES));
        let text = pieces.collect::<String>();
        assert_eq!(words(&text), words_slowly(&text), "{text:?}");
    }
}

/// What the tables of Unicode say of characters, beside what is written here.
mod unicode {
    use icu_properties::props::{DefaultIgnorableCodePoint, Script, WordBreak};
    use icu_properties::{CodePointMapData, CodePointSetData};

    use super::*;

    /// All characters but those that are younger than the tables of the standard library.
    fn characters() -> impl Iterator<Item = char> {
        use icu_properties::props::GeneralCategory;
        let category = CodePointMapData::<GeneralCategory>::new();
        ('\0'..=char::MAX)
            .filter(move |&letter| category.get(letter) != GeneralCategory::Unassigned)
    }

    #[test]
    fn ignorable_characters_are_dropped() {
        let ignorable = CodePointSetData::new::<DefaultIgnorableCodePoint>();
        for letter in '\0'..=char::MAX {
            let is_sign = "©®℗℠™".contains(letter);
            assert_eq!(
                folding::is_dropped(letter),
                ignorable.contains(letter) || is_sign,
                "{letter:?}"
            );
        }
    }

    #[test]
    fn marks_are_what_word_boundaries_ignore() {
        let breaks = CodePointMapData::<WordBreak>::new();
        for letter in characters().filter(|&letter| folded(&letter.to_string()).starts_with(letter))
        {
            let is_ignored = matches!(
                breaks.get(letter),
                WordBreak::Extend | WordBreak::Format | WordBreak::ZWJ
            );
            assert_eq!(words::is_mark(letter), is_ignored, "{letter:?}");
        }
    }

    #[test]
    fn latin_letters_lose_their_marks() {
        let scripts = CodePointMapData::<Script>::new();
        for letter in characters().filter(|letter| letter.is_alphabetic()) {
            let marked = folded(&format!("{letter}\u{304}"));
            let keeps_marks = marked.nfd().any(|mark| mark == '\u{304}');
            let is_folded = folded(&letter.to_string()).starts_with(letter);
            if is_folded && scripts.get(letter) == Script::Latin {
                assert!(!keeps_marks, "{letter:?}");
            } else if is_folded {
                assert!(!folding::is_latin(letter), "{letter:?}");
            }
        }
    }
}
