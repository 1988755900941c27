//! White-box tests of `json/rename.rs`.

use super::*;

fn rewritten(names: &[(&str, &str)], line: &str) -> String {
    let mut renames = Renames::default();
    for (theirs, ours) in names {
        renames.add(theirs, ours).expect("a field");
    }
    let mut output = Vec::new();
    renames.rewrite(line.as_bytes(), &mut output);
    String::from_utf8(output).expect("text")
}

#[test]
fn names_are_replaced_at_either_depth() {
    let names = [
        ("headline", "title"),
        ("stage", "funding.stage"),
        ("round.size", "funding.amount"),
        ("funding.code", "funding.currency"),
    ];
    let table = [
        (r#"{"headline":"a","id":1}"#, r#"{"title":"a","id":1}"#),
        (
            r#"{"stage":"Seed","funding":{"code":"EUR","amount":1.10},"id":1}"#,
            r#"{"id":1,"funding":{"stage":"Seed","currency":"EUR","amount":1.10}}"#,
        ),
        (
            r#"{"round":{"size":5,"lead":"x"}}"#,
            r#"{"funding":{"amount":5},"round":{"lead":"x"}}"#,
        ),
        (
            r#"{"headline":"a","title":"b"}"#,
            r#"{"title":"a","title":"b"}"#,
        ),
        (r#"{"funding":null}"#, r#"{"funding":null}"#),
        ("not json", "not json"),
        ("[1]", "[1]"),
        ("{}", "{}"),
    ];
    for (line, expected) in table {
        assert_eq!(rewritten(&names, line), expected, "{line}");
    }
}

#[test]
fn names_of_no_field_are_refused_with_the_nearest() {
    let mut renames = Renames::default();
    let error = renames.add("headline", "titel").expect_err("no field");
    assert_eq!(
        error.to_string(),
        "\"titel\" is not a field of records; did you mean headline=title?"
    );
}
