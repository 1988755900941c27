//! What is written is read back as it was.

use std::borrow::Cow;

use proptest::prelude::*;
use time::{Date, Time, UtcDateTime};

use super::*;
use crate::json::{parse_company, parse_signal};
use crate::signal::{Currency, Funding, Hiring, SignalId};

/// A text of any characters. An empty one is none.
fn text() -> impl Strategy<Value = Cow<'static, str>> {
    prop_oneof![
        any::<String>(),
        "[ -~]{0,40}",
        Just("\u{0}\u{1f}\"\\/\u{2028}\u{10ffff}".into())
    ]
    .prop_map(|text| {
        if text.is_empty() {
            "x".into()
        } else {
            Cow::Owned(text)
        }
    })
}

fn some_text() -> impl Strategy<Value = Option<Cow<'static, str>>> {
    prop::option::of(text())
}

fn day() -> impl Strategy<Value = Date> {
    let days = |year, ordinal| {
        Date::from_ordinal_date(year, ordinal)
            .expect("it is a day")
            .to_julian_day()
    };
    (days(0, 1)..=days(9999, 365))
        .prop_map(|day| Date::from_julian_day(day).expect("the range holds only days"))
}

fn instant() -> impl Strategy<Value = UtcDateTime> {
    let nanosecond = prop_oneof![
        Just(0),
        0..1_000_000_000u32,
        (0..1_000u32).prop_map(|ms| ms * 1_000_000)
    ];
    (day(), 0..24u8, 0..60u8, 0..60u8, nanosecond).prop_map(|(day, hour, minute, second, nano)| {
        let time = Time::from_hms_nano(hour, minute, second, nano).expect("the parts are in range");
        UtcDateTime::new(day, time)
    })
}

fn id() -> impl Strategy<Value = SignalId> {
    let number = prop_oneof![
        1..=SignalId::MAX.get(),
        1..100u64,
        (1u64 << 53) - 2..(1 << 53) + 3,
        Just(SignalId::MAX.get()),
    ];
    number.prop_map(|number| SignalId::new(number).expect("the ranges hold only ids"))
}

fn amount() -> impl Strategy<Value = f64> {
    let whole = any::<u64>().prop_map(|number| number as f64);
    let any_bits = any::<u64>().prop_map(|bits| f64::from_bits(bits & (u64::MAX >> 1)));
    prop_oneof![
        whole,
        any_bits.prop_filter("amounts are finite", |amount| amount.is_finite()),
        0.0..1e7
    ]
}

fn funding() -> impl Strategy<Value = Funding<'static>> {
    let currency = "[A-Z]{3}".prop_map(|code| Currency::new(&code).expect("it is a currency"));
    (
        some_text(),
        prop::option::of(amount()),
        prop::option::of(currency),
    )
        .prop_map(|(stage, amount, currency)| Funding {
            stage,
            amount,
            currency,
        })
}

fn hiring() -> impl Strategy<Value = Hiring<'static>> {
    (
        some_text(),
        some_text(),
        some_text(),
        some_text(),
        some_text(),
    )
        .prop_map(
            |(hiring_type, job_function, seniority, employment_type, work_arrangement)| Hiring {
                hiring_type,
                job_function,
                seniority,
                employment_type,
                work_arrangement,
            },
        )
}

pub(in crate::json) fn signal() -> impl Strategy<Value = Signal<'static>> {
    let texts = (text(), text(), text());
    let shown = (
        some_text(),
        some_text(),
        some_text(),
        some_text(),
        some_text(),
        some_text(),
    );
    let times = (
        prop::option::of(day()),
        prop::option::of(instant()),
        prop::option::of(instant()),
    );
    let objects = (prop::option::of(funding()), prop::option::of(hiring()));
    (id(), texts, shown, times, objects).prop_map(|(id, texts, shown, times, objects)| Signal {
        id,
        slug: texts.0,
        title: texts.1,
        company_slug: texts.2,
        evidence: shown.0,
        category: shown.1,
        activity_url: shown.2,
        author_name: shown.3,
        author_title: shown.4,
        author_url: shown.5,
        date: times.0,
        published_at: times.1,
        updated_at: times.2,
        funding: objects.0,
        hiring: objects.1,
    })
}

pub(in crate::json) fn company() -> impl Strategy<Value = Company<'static>> {
    let texts = (
        some_text(),
        some_text(),
        some_text(),
        some_text(),
        some_text(),
        some_text(),
        some_text(),
    );
    let numbers = (
        prop::option::of(0..=i64::MAX),
        any::<Option<i64>>(),
        prop::option::of(instant()),
    );
    (text(), text(), texts, numbers).prop_map(|(slug, name, texts, numbers)| Company {
        slug,
        name,
        about: texts.0,
        tagline: texts.1,
        logo_url: texts.2,
        country: texts.3,
        city: texts.4,
        industry: texts.5,
        linkedin_url: texts.6,
        employees: numbers.0,
        founded_year: numbers.1,
        updated_at: numbers.2,
    })
}

#[test]
fn a_written_signal_has_every_field_in_one_line() {
    let id = SignalId::new(1 << 53).expect("it is an id");
    let mut line = Vec::new();
    write_signal(&mut line, &Signal::new(id, "c", "a\nb"));
    let expected = r#"{"id":"9007199254740992","slug":"9007199254740992","title":"a\nb","evidence":null,"category":null,"date":null,"publishedAt":null,"updatedAt":null,"companySlug":"c","activityUrl":null,"authorName":null,"authorTitle":null,"authorUrl":null,"funding":null,"hiring":null}"#;
    assert_eq!(
        String::from_utf8(line).expect("JSON is UTF-8"),
        format!("{expected}\n")
    );
}

#[test]
fn a_written_company_has_every_field_in_one_line() {
    let mut line = Vec::new();
    write_company(
        &mut line,
        &Company {
            employees: Some(7),
            ..Company::new("c", "n")
        },
    );
    let expected = r#"{"slug":"c","name":"n","about":null,"tagline":null,"logoUrl":null,"country":null,"city":null,"employees":7,"industry":null,"foundedYear":null,"linkedinUrl":null,"updatedAt":null}"#;
    assert_eq!(
        String::from_utf8(line).expect("JSON is UTF-8"),
        format!("{expected}\n")
    );
}

proptest! {
    #[test]
    fn signals_are_read_back_as_written(signals in prop::collection::vec(signal(), 1..4)) {
        let mut lines = Vec::new();
        signals.iter().for_each(|signal| write_signal(&mut lines, signal));
        let written: Vec<&[u8]> = lines.split_inclusive(|&byte| byte == b'\n').collect();
        prop_assert_eq!(written.len(), signals.len());
        for (line, signal) in written.iter().zip(&signals) {
            prop_assert_eq!(&parse_signal(line)?, signal);
        }
    }

    #[test]
    fn companies_are_read_back_as_written(company in company()) {
        let mut line = Vec::new();
        write_company(&mut line, &company);
        prop_assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
        prop_assert_eq!(parse_company(&line)?, company);
    }
}
