//! Rules of single values, at their bounds and past them, as whole errors.

use time::macros::utc_datetime;

use super::*;
use crate::json::{parse_company, parse_signal};

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
fn ids_are_exact_to_nineteen_digits_in_either_form() {
    for number in [
        1,
        9,
        1 << 53,
        (1 << 53) + 1,
        i64::MAX as u64 + 1,
        SignalId::MAX.get(),
    ] {
        for written in [number.to_string(), format!("\"{number}\"")] {
            let line = signal_with(&format!("\"id\": {written}"));
            let id = parse_signal(line.as_bytes()).map(|signal| signal.id.get());
            assert_eq!(id, Ok(number), "{line}");
        }
    }
}

#[test]
fn ids_of_another_form_are_refused_as_written() {
    let written = [
        "0",
        "-1",
        "1.0",
        "1e3",
        "10000000000000000000",
        "\"0\"",
        "\"007\"",
        "\" 1\"",
        "\"+1\"",
        "\"1.0\"",
        "\"١\"",
        "\"10000000000000000000\"",
        "true",
        "[1]",
        "{}",
    ];
    for written in written {
        assert_eq!(
            signal_error(&signal_with(&format!("\"id\": {written}"))),
            format!(
                "id: {written} is not a whole number of 1 to 19 digits without a leading zero, \
                 as a number or a string"
            )
        );
    }
}

#[test]
fn amounts_are_finite_and_not_negative() {
    let amounts = [
        ("0", 0.0),
        ("-0", 0.0),
        ("4000000", 4e6),
        ("0.1", 0.1),
        ("1.7976931348623157e308", f64::MAX),
        ("5e-324", 5e-324),
        ("9007199254740993", 9_007_199_254_740_992.0),
        ("\"1500000.50\"", 1_500_000.5),
        ("\"0\"", 0.0),
        ("\"0.1\"", 0.1),
        ("\"90071992547409920\"", 9.007_199_254_740_992e16),
        ("6.0221407599999985e+23", 6.022_140_759_999_998_5e23),
    ];
    for (written, expected) in amounts {
        let line = signal_with(&format!(r#""id": 1, "funding": {{"amount": {written}}}"#));
        let signal = parse_signal(line.as_bytes()).expect(written);
        let amount = signal
            .funding
            .and_then(|funding| funding.amount)
            .expect(written);
        assert_eq!(amount.to_bits(), expected.to_bits(), "{written}");
    }
    for written in [
        "-1",
        "-5e-324",
        "1e309",
        "-1e309",
        "\" 5\"",
        "\"-5\"",
        "\"05\"",
        "\"5.\"",
        "\"1,0000.5\"",
        "\"0.1234567890123456789\"",
        "true",
        "[]",
    ] {
        assert_eq!(
            signal_error(&signal_with(&format!(
                r#""id": 1, "funding": {{"amount": {written}}}"#
            ))),
            format!("funding.amount: {written} is not a finite number of at least 0")
        );
    }
}

#[test]
fn days_are_of_the_calendar() {
    for text in ["0000-01-01", "9999-12-31", "2024-02-29", "2000-02-29"] {
        let line = signal_with(&format!(r#""id": 1, "date": "{text}""#));
        let day = parse_signal(line.as_bytes()).expect(text).date.expect(text);
        assert_eq!(day.to_string(), text);
    }
    let refused = [
        "2026-2-28",
        "2026-02-29",
        "1900-02-29",
        "2026-13-01",
        "2026-00-01",
        "2026-01-00",
        "2026-04-31",
        "10000-01-01",
        "-001-01-01",
        "+026-01-01",
        "2026/01/01",
        "2026-01-01 ",
        "２026-01-01",
    ];
    for text in refused {
        let error = signal_error(&signal_with(&format!(r#""id": 1, "date": "{text}""#)));
        let expected = format!("date: \"{text}\" is not a day of the calendar as \"YYYY-MM-DD\"");
        // An option may follow that reads it.
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn instants_become_utc_and_stay_within_four_digits_of_year() {
    let instants = [
        ("2026-06-30T12:00:00Z", utc_datetime!(2026-06-30 12:00)),
        ("2026-06-30t12:00:00z", utc_datetime!(2026-06-30 12:00)),
        ("2026-06-30T12:00:00+14:00", utc_datetime!(2026-06-29 22:00)),
        (
            "2026-06-30T12:00:00.123456789-01:30",
            utc_datetime!(2026-06-30 13:30:00.123456789),
        ),
        ("0000-01-01T00:00:00Z", utc_datetime!(0000-01-01 00:00)),
        ("9999-12-31T23:59:59Z", utc_datetime!(9999-12-31 23:59:59)),
    ];
    for (text, expected) in instants {
        let line = signal_with(&format!(r#""id": 1, "updatedAt": "{text}""#));
        assert_eq!(
            parse_signal(line.as_bytes()).expect(text).updated_at,
            Some(expected),
            "{text}"
        );
    }
    let refused = [
        "2026-06-30T24:00:00Z",
        "2026-02-30T12:00:00Z",
        "2026-06-30_12:00:00Z",
        "2026-06-30T12:00:00+0100",
        "0000-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "10000-01-01T00:00:00Z",
        "2026-06-30T12:00:00Z ",
    ];
    for text in refused {
        let error = signal_error(&signal_with(&format!(r#""id": 1, "updatedAt": "{text}""#)));
        let expected = format!(
            "updatedAt: \"{text}\" is not an instant of RFC 3339 in the years 0000 to 9999, \
             such as \"2026-06-30T12:00:00Z\""
        );
        // An option may follow that reads it.
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[test]
fn currencies_are_three_letters() {
    for text in ["US", "USDX", "U\\u00c4D"] {
        let error = signal_error(&signal_with(&format!(
            r#""id": 1, "funding": {{"currency": "{text}"}}"#
        )));
        let shown = text.replace("\\u00c4", "Ä");
        assert_eq!(
            error,
            format!(
                "funding.currency: \"{shown}\" is not a currency of three letters, such as \"USD\""
            )
        );
    }
}

#[test]
fn whole_numbers_may_be_decimal_strings() {
    for (written, expected) in [("5", 5), ("5.0", 5), ("-5", -5), ("0", 0), ("5.00", 5)] {
        let line = format!(r#"{{"slug":"c","name":"n","foundedYear":"{written}"}}"#);
        let year = parse_company(line.as_bytes()).map(|company| company.founded_year);
        assert_eq!(year, Ok(Some(expected)), "{written}");
    }
}

#[test]
fn a_day_is_its_first_instant() {
    let line = signal_with(r#""id": 1, "updatedAt": "2026-06-30""#);
    let signal = parse_signal(line.as_bytes()).expect("a day is an instant");
    assert_eq!(signal.updated_at, Some(utc_datetime!(2026-06-30 0:00)));
}

#[test]
fn there_are_no_negative_employees() {
    let company = |number| format!(r#"{{"slug":"c","name":"n","employees":{number}}}"#);
    assert_eq!(
        company_error(&company(-1)),
        "employees: -1 is not a whole number from 0 to 9223372036854775807, without point or \
         exponent"
    );
    for number in [0, i64::MAX] {
        let read = parse_company(company(number).as_bytes()).map(|company| company.employees);
        assert_eq!(read, Ok(Some(number)));
    }
}

#[test]
fn whole_numbers_fit_64_bits() {
    for number in [i64::MIN, -1, 0, i64::MAX] {
        let line = format!(r#"{{"slug":"c","name":"n","foundedYear":{number}}}"#);
        assert_eq!(
            parse_company(line.as_bytes()).map(|c| c.founded_year),
            Ok(Some(number))
        );
    }
    for written in [
        "9223372036854775808",
        "-9223372036854775809",
        "1.0",
        "1e3",
        "\"5.1\"",
        "\"05\"",
        "\"+5\"",
        "\"5.\"",
        "\"9223372036854775808\"",
        "false",
    ] {
        assert_eq!(
            company_error(&format!(
                r#"{{"slug":"c","name":"n","foundedYear":{written}}}"#
            )),
            format!(
                "foundedYear: {written} is not a whole number from -9223372036854775808 to \
                 9223372036854775807, without point or exponent"
            )
        );
    }
}

#[test]
fn a_text_has_at_most_a_mebibyte() {
    let line = |bytes: usize| {
        signal_with(&format!(
            "\"id\": 1, \"evidence\": \"{}\"",
            "x".repeat(bytes)
        ))
    };
    assert!(parse_signal(line(FIELD_BYTES_MAX).as_bytes()).is_ok());
    assert_eq!(
        signal_error(&line(FIELD_BYTES_MAX + 1)),
        format!(
            "evidence: \"{}…\" has 1048577 bytes; a text has at most 1048576",
            "x".repeat(64)
        )
    );
}
