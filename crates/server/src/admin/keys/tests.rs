//! Keys as forms.

use time::UtcDateTime;

use super::fields;
use crate::admin::form::FormData;
use crate::keys::NewKey;

fn noon() -> UtcDateTime {
    UtcDateTime::from_unix_timestamp(1_795_000_000).expect("an instant")
}

fn read(text: &str) -> Result<NewKey, Vec<&'static str>> {
    fields::read(&FormData::parse(text.as_bytes()), noon(), None)
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
    let read = fields::read(&FormData::parse(form.as_bytes()), noon(), Some(end));
    assert_eq!(read.ok().and_then(|new| new.expires_at), Some(end));
}
