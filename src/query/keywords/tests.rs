//! White-box tests of `query/keywords.rs`.

use super::*;

fn shown(phrases: &[Phrase]) -> Vec<String> {
    phrases.iter().map(|phrase| phrase.joined(" ")).collect()
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
        (
            "“series a” „series b“ ‟c d\"",
            vec!["series a", "series b", "c d"],
            vec![],
        ),
        (
            "«série a» »série b« «c d",
            vec!["serie a", "serie b", "c d"],
            vec![],
        ),
        (
            "«a \"b» c\" “d «e” f»",
            vec!["a b", "c", "d e", "f"],
            vec![],
        ),
        (
            "–“artificial intelligence” −robots ‐a ‑b ‒c ﹣d －e",
            vec![],
            vec!["artificial intelligence", "robots", "a", "b", "c", "d", "e"],
        ),
        ("— a—b —\"c d\"", vec!["a b", "c", "d"], vec![]),
        ("- a -- \"b c\"", vec!["a", "b c"], vec![]),
    ] {
        let keywords = keywords(text).expect("no star");
        assert_eq!(shown(&keywords.all), all, "{text}");
        assert_eq!(shown(&keywords.none), none, "{text}");
    }
}

#[test]
fn a_minus_means_nothing_outside_keywords() {
    let shown_phrases = |text| shown(&phrases(text).expect("no star"));
    assert_eq!(shown_phrases("-a -\"b c\" d"), ["a", "b c", "d"]);
    assert_eq!(shown_phrases("–a −“b c” «d e»"), ["a", "b c", "d e"]);
    assert_eq!(shown(&words("R&D \"Labs\" Inc.")), ["r d", "labs", "inc"]);
}
