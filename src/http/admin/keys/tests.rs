//! Keys as forms and as a table.

use time::UtcDateTime;

use super::fields;
use super::table::Table;
use crate::http::admin::form::Form;
use crate::http::keys::{KeyRecord, NewKey};
use crate::http::metering::Month;
use crate::http::state::UsageLine;

fn noon() -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(1_795_000_000).expect("an instant")
}

fn read(text: &str) -> Result<NewKey, Vec<&'static str>> {
    fields::read(&Form::parse(text.as_bytes()), noon(), None)
        .map_err(|errors| errors.iter().map(|error| error.field).collect())
}

#[test]
fn a_whole_form_makes_a_key() {
    let text = "name=+Shop+&scope=signals%3Aread&expires=2999-01-01&rate=5&burst=10\
                &quota_signals=100&quota_activities=&quota_companies=0";
    let new = read(text).expect("a key");
    assert_eq!((new.name.as_str(), new.rate, new.burst), ("Shop", 5, 10));
    assert_eq!(new.scopes.to_string(), "signals:read");
    assert_eq!(new.quotas.signals, Some(100));
    assert_eq!(
        (new.quotas.activities, new.quotas.companies),
        (None, Some(0))
    );
    assert!(new.expires_at.is_some());
}

#[test]
fn every_error_is_named_at_once() {
    let all = ["name", "scope", "expires", "rate", "burst", "quota_signals"];
    let text = "scope=all&expires=soon&rate=0&burst=-1&quota_signals=many";
    assert_eq!(read(text).expect_err("errors"), all);
    let past = "name=a&scope=signals:read&rate=1&burst=1&expires=2001-01-01";
    assert_eq!(read(past).expect_err("errors"), ["expires"]);
}

#[test]
fn an_end_that_has_passed_may_stay() {
    let form = "name=a&scope=signals:read&rate=1&burst=1&expires=2001-01-01";
    let end = UtcDateTime::from_unix_timestamp(978_350_400).expect("an instant");
    let read = fields::read(&Form::parse(form.as_bytes()), noon(), Some(end));
    assert_eq!(read.ok().and_then(|new| new.expires_at), Some(end));
}

fn keys() -> Vec<KeyRecord> {
    let key = |number: i64, name: &str, revoked: bool| KeyRecord {
        number,
        id: format!("key_{number}"),
        hint: Some(format!("sdx_aaa{number}…bbbb")),
        settings: NewKey {
            rate: 100 - u32::try_from(number).expect("a number"),
            ..NewKey::named(name)
        },
        created_at: noon(),
        revoked_at: revoked.then(noon),
    };
    vec![
        key(1, "beta", false),
        key(2, "Alpha", true),
        key(3, "gamma <i>", false),
    ]
}

fn names(query: &str) -> Vec<String> {
    let usage = [(1, 5), (3, 50)].map(|(number, units)| UsageLine {
        key_id: format!("key_{number}"),
        name: String::new(),
        month: Month::of(noon()),
        counts: [units, 0, 0, 0],
    });
    let table = Table::of(&keys(), &usage, &Form::parse(query.as_bytes()), noon());
    table.rows.into_iter().map(|row| row.name).collect()
}

#[test]
fn keys_are_sorted_and_filtered_by_the_query_string() {
    assert_eq!(
        names(""),
        ["gamma <i>", "beta", "Alpha"],
        "active ones first"
    );
    assert_eq!(names("sort=name"), ["Alpha", "beta", "gamma <i>"]);
    assert_eq!(
        names("sort=name&order=desc"),
        ["gamma <i>", "beta", "Alpha"]
    );
    assert_eq!(names("sort=rate"), ["gamma <i>", "Alpha", "beta"]);
    assert_eq!(names("sort=signals&order=desc")[..2], ["gamma <i>", "beta"]);
    assert_eq!(names("status=revoked"), ["Alpha"]);
    assert_eq!(names("find=GAMMA"), ["gamma <i>"]);
    assert_eq!(names("find=key_1"), ["beta"]);
    assert_eq!(names("find=sdx_aaa2"), ["Alpha"]);
    assert!(names("find=nobody").is_empty());
    assert_eq!(names("sort=nothing").len(), 3);
}
