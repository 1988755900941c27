//! Rules of whole records, as tables of whole errors and as properties of any bytes.

use std::borrow::Cow;

use proptest::prelude::*;
use time::macros::{date, utc_datetime};

use super::*;

/// A line with the required fields, where `members` come first.
fn signal_with(members: &str) -> String {
    format!(r#"{{{members}, "slug": "s", "title": "t", "companySlug": "c"}}"#)
}

fn signal_error(line: &str) -> String {
    parse_signal(line.as_bytes()).expect_err(line).to_string()
}

fn company_error(line: &str) -> String {
    parse_company(line.as_bytes()).expect_err(line).to_string()
}

#[test]
fn a_signal_with_every_field_is_read() {
    let line = br#"{"id":"12","slug":"s","title":"t","evidence":"e","category":"funding",
        "date":"2026-02-28","publishedAt":"2026-02-28T01:30:00.5+02:00",
        "updatedAt":"2026-03-01T00:00:00Z","companySlug":"c","activityUrl":"a","authorName":"n",
        "authorTitle":"p","authorUrl":"u",
        "funding":{"stage":"Seed","amount":1.5e6,"currency":"USD"},
        "hiring":{"hiringType":"h","jobFunction":"j","seniority":"s","employmentType":"e",
        "workArrangement":"w"}}"#;
    let expected = Signal {
        slug: "s".into(),
        evidence: Some("e".into()),
        category: Some("funding".into()),
        date: Some(date!(2026 - 02 - 28)),
        published_at: Some(utc_datetime!(2026-02-27 23:30:00.5)),
        updated_at: Some(utc_datetime!(2026-03-01 00:00)),
        activity_url: Some("a".into()),
        author_name: Some("n".into()),
        author_title: Some("p".into()),
        author_url: Some("u".into()),
        funding: Some(Funding {
            stage: Some("Seed".into()),
            amount: Some(1_500_000.0),
            currency: Currency::new("USD"),
        }),
        hiring: Some(Hiring {
            hiring_type: Some("h".into()),
            job_function: Some("j".into()),
            seniority: Some("s".into()),
            employment_type: Some("e".into()),
            work_arrangement: Some("w".into()),
        }),
        ..Signal::new(SignalId::new(12).expect("12 is an id"), "c", "t")
    };
    assert_eq!(parse_signal(line), Ok(expected));
}

#[test]
fn a_company_with_every_field_is_read() {
    let line = br#"{"slug":"c","name":"n","about":"a","tagline":"t","logoUrl":"l","country":"o",
        "city":"i","employees":5,"industry":"d","foundedYear":1999,"linkedinUrl":"k",
        "updatedAt":"2026-03-01T00:00:00Z","signalCount":"never read","latestSignalDate":[]}"#;
    let expected = Company {
        about: Some("a".into()),
        tagline: Some("t".into()),
        logo_url: Some("l".into()),
        country: Some("o".into()),
        city: Some("i".into()),
        employees: Some(5),
        industry: Some("d".into()),
        founded_year: Some(1999),
        linkedin_url: Some("k".into()),
        updated_at: Some(utc_datetime!(2026-03-01 00:00)),
        ..Company::new("c", "n")
    };
    assert_eq!(parse_company(line), Ok(expected));
}

#[test]
fn an_absent_field_a_null_and_an_empty_string_are_the_same() {
    let absent = signal_with(r#""id": 1"#);
    let null = signal_with(
        r#""id": 1, "evidence": null, "date": null, "publishedAt": null, "funding": null,
           "hiring": null, "companyName": 5, "unknown": {"a": [1e999, {}]}"#,
    );
    let empty = signal_with(
        r#""id": 1, "evidence": "", "category": "", "date": "", "publishedAt": "",
           "activityUrl": "", "authorName": """#,
    );
    for written in [null, empty] {
        assert_eq!(
            parse_signal(absent.as_bytes()),
            parse_signal(written.as_bytes())
        );
    }
    let members =
        signal_with(r#""id": 1, "funding": {"stage": null, "amount": null, "currency": null}"#);
    let empty = signal_with(r#""id": 1, "funding": {}"#);
    let funding = parse_signal(empty.as_bytes()).map(|signal| signal.funding);
    assert_eq!(funding, Ok(Some(Funding::default())));
    assert_eq!(
        parse_signal(members.as_bytes()),
        parse_signal(empty.as_bytes())
    );
}

#[test]
fn text_is_borrowed_unless_it_holds_escapes() {
    let line =
        r#"{"id":1,"slug":"café","title":"a\u0062c","companySlug":"c","evidence":"\ud83d\ude00"}"#;
    let signal = parse_signal(line.as_bytes()).expect("the line is valid");
    assert!(matches!(signal.slug, Cow::Borrowed("café")));
    assert!(matches!(&signal.title, Cow::Owned(title) if title == "abc"));
    assert_eq!(signal.evidence.as_deref(), Some("😀"));
}

#[test]
fn a_name_written_with_escapes_is_the_same_name() {
    let line = r#"{"\u0069d":3,"slug":"s","title":"t","companySlug":"c"}"#;
    assert_eq!(
        parse_signal(line.as_bytes()).map(|signal| signal.id.get()),
        Ok(3)
    );
}

#[test]
fn required_fields_are_there() {
    let rest = [
        ("id", "1"),
        ("slug", "\"s\""),
        ("title", "\"t\""),
        ("companySlug", "\"c\""),
    ];
    for (missing, _) in rest {
        let kept = rest.iter().filter(|(name, _)| *name != missing);
        let members: Vec<String> = kept
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        let expected = match missing {
            "id" => SignalId::EXPECTED,
            _ => "a string",
        };
        let expected = format!("{missing}: is missing, null or empty; it must be {expected}");
        assert_eq!(
            signal_error(&format!("{{{}}}", members.join(","))),
            expected
        );
        for absent in ["null", "\"\""] {
            let line = format!("{{{},\"{missing}\":{absent}}}", members.join(","));
            assert_eq!(signal_error(&line), expected);
        }
    }
    let table = [
        (
            r#"{"name":"n"}"#,
            "slug: is missing, null or empty; it must be a string",
        ),
        (
            r#"{"slug":"c"}"#,
            "name: is missing, null or empty; it must be a string",
        ),
        (
            r#"{"slug":"","name":"n"}"#,
            "slug: is missing, null or empty; it must be a string",
        ),
    ];
    for (line, expected) in table {
        assert_eq!(company_error(line), expected);
    }
    let with_slug = |chars| format!(r#"{{"slug":"{}","name":"n"}}"#, "é".repeat(chars));
    assert!(parse_company(with_slug(180).as_bytes()).is_ok());
    assert_eq!(
        company_error(&with_slug(181)),
        "slug: has 181 characters; a slug of a company has at most 180"
    );
}

#[test]
fn lines_of_another_form_are_refused_with_the_place() {
    let table = [
        (
            "",
            "column 0: malformed JSON: EOF while parsing a value; a record is one line, which jq -c . makes of several",
        ),
        ("null", "the line must be a JSON object"),
        ("5", "the line must be a JSON object"),
        ("[{}]", "the line must be a JSON object"),
        ("\"{}\"", "the line must be a JSON object"),
        (
            "{\"id\":1",
            "column 7: malformed JSON: EOF while parsing an object; a record is one line, which jq -c . makes of several",
        ),
        ("{\"id\":1,}", "column 9: malformed JSON: trailing comma"),
        ("{id:1}", "column 2: malformed JSON: key must be a string"),
        (
            "{\"id\":01}",
            "id: column 8: malformed JSON: invalid number",
        ),
        (
            "{\"id\":nul}",
            "id: column 10: malformed JSON: expected ident",
        ),
        (
            "{\"title\":NaN}",
            "title: column 10: malformed JSON: expected value",
        ),
        (
            "{\"title\":\"a\tb\"}",
            "title: column 12: malformed JSON: control character (\\u0000-\\u001F) found while \
             parsing a string",
        ),
        (
            "{\"funding\":{\"amount\":1",
            "funding: column 22: malformed JSON: EOF while parsing an object; a record is one line, which jq -c . makes of several",
        ),
        ("{\"title\":5}", "title: 5 is not a string"),
        (
            "{\"title\":[[[[\"a\"]]]]}",
            "title: [[[[\"a\"]]]] is not a string",
        ),
        ("{\"funding\":[]}", "funding: [] is not an object"),
        (
            "{\"funding\":{\"stage\":{}}}",
            "funding.stage: {} is not a string",
        ),
        (
            "{\"hiring\":\"senior\"}",
            "hiring: \"senior\" is not an object",
        ),
        (
            "{\"title\":\"a\",\"title\":\"a\"}",
            "title: is given twice; a field is given once",
        ),
        (
            "{\"date\":null,\"date\":null}",
            "date: is given twice; a field is given once",
        ),
        (
            "{\"hiring\":{\"seniority\":\"a\",\"seniority\":\"b\"}}",
            "hiring.seniority: is given twice; a field is given once",
        ),
    ];
    for (line, expected) in table {
        assert_eq!(signal_error(line), expected, "{line}");
    }
    let trailing = format!("{} {{}}", signal_with("\"id\": 1"));
    let column = trailing.len() - 1;
    assert_eq!(
        signal_error(&trailing),
        format!("column {column}: malformed JSON: trailing characters")
    );
}

#[test]
fn a_line_is_utf8_everywhere() {
    let mut line = signal_with("\"id\": 1, \"unknown\": \"?\"").into_bytes();
    let position = line
        .iter()
        .position(|&byte| byte == b'?')
        .expect("it was written");
    line[position] = 0xFF;
    let error = parse_signal(&line).expect_err("it is not UTF-8");
    assert_eq!(
        error.to_string(),
        format!("column {}: not UTF-8", position + 1)
    );
    let surrogate = signal_error(r#"{"title":"\ud800"}"#);
    assert_eq!(surrogate, r#"title: "\ud800" is not a string"#);
}

#[test]
fn deep_nesting_costs_no_stack() {
    let levels = 1_000_000;
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    let unknown = signal_with(&format!("\"id\": 1, \"unknown\": {open}{close}"));
    assert!(parse_signal(unknown.as_bytes()).is_ok());
    assert_eq!(
        signal_error(&format!("{{\"title\": {open}{close}}}")),
        format!("title: {}… is not a string", "[".repeat(64))
    );
    assert_eq!(signal_error(&open), "the line must be a JSON object");
    let unclosed = signal_error(&format!("{{\"unknown\": {}", "{\"a\":".repeat(levels)));
    assert!(
        unclosed.starts_with("column 5000012: malformed JSON: EOF"),
        "{unclosed}"
    );
    let id = signal_error(&format!("{{\"id\": {open}{close}}}"));
    assert!(
        id.starts_with(&format!("id: {}… is not", "[".repeat(64))),
        "{id}"
    );
}

/// Lines that are nearly right, so that errors are met at every position.
fn nearly_a_record() -> impl Strategy<Value = Vec<u8>> {
    let whole = r#"{"id":"12","slug":"s\n","title":"é","evidence":null,"date":"2026-02-28","updatedAt":"2026-02-28T01:30:00.5+02:00","companySlug":"c","funding":{"stage":"Seed","amount":1.5e6,"currency":"USD"},"hiring":{"seniority":"s"},"name":"n","employees":5}"#;
    let edit = (any::<prop::sample::Index>(), any::<u8>(), any::<bool>());
    prop::collection::vec(edit, 1..4).prop_map(move |edits| {
        let mut line = whole.as_bytes().to_vec();
        for (index, byte, insert) in edits {
            let position = index.index(line.len());
            if insert {
                line.insert(position, byte);
            } else {
                line[position] = byte;
            }
        }
        line
    })
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_a_short_error(
        line in prop_oneof![prop::collection::vec(any::<u8>(), 0..200), nearly_a_record()]
    ) {
        for error in [parse_signal(&line).err(), parse_company(&line).err()].into_iter().flatten() {
            prop_assert!(!error.reason().is_empty());
            prop_assert!(error.to_string().chars().count() < 300);
        }
    }

    #[test]
    fn what_serde_takes_for_no_json_is_no_record(line in nearly_a_record()) {
        if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_err() {
            prop_assert!(parse_signal(&line).is_err());
            prop_assert!(parse_company(&line).is_err());
        }
    }
}
