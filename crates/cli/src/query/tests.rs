//! Words and pairs of a command line, as query strings.

use super::*;

fn text_of(terms: &[&str]) -> String {
    let arguments = ["signaldex", "search", "DIR"].iter().chain(terms);
    let arguments = mark_excluded(arguments.map(|&argument| argument.into()));
    let terms = arguments[3..].iter();
    let terms = terms.map(|term| term.to_str().expect("text").to_owned());
    let arguments = QueryArguments {
        directory: PathBuf::new(),
        terms: terms.collect(),
        as_of: None,
    };
    arguments.query_string()
}

#[test]
fn words_become_q_and_pairs_stand() {
    let table: [(&[&str], &str); 12] = [
        (&["robotics", "-intern"], "q=robotics+-intern"),
        (&["C++", "AT&T"], "q=C%2B%2B+AT%26T"),
        (
            &["country=Germany", "robotics"],
            "q=robotics&country=Germany",
        ),
        (&["q=a&country=b"], "q=a&country=b"),
        (&["\"series a\"", "limit=3"], "q=\"series+a\"&limit=3"),
        (&["-a=b"], "q=-a%3Db"),
        (&["100%", "Straße"], "q=100%25+Stra%C3%9Fe"),
        (&[""], ""),
        (&["q=robot", "arm", "-intern"], "q=robot+arm+-intern"),
        (
            &["arm", "country=b&q=robot&days=9"],
            "country=b&q=robot+arm&days=9",
        ),
        (&["qs=a", "b"], "q=b&qs=a"),
        (&["days=9&q", "b"], "q=b&days=9&q"),
    ];
    for (terms, expected) in table {
        assert_eq!(text_of(terms), expected);
    }
    assert_eq!(text_of(&[]), "");
}
