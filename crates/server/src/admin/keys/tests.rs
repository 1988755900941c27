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
    let present = NewKey {
        expires_at: Some(end),
        ..NewKey::named("a")
    };
    let read = fields::read(&FormData::parse(form.as_bytes()), noon(), Some(&present));
    assert_eq!(read.ok().and_then(|new| new.expires_at), Some(end));
}

#[test]
fn filters_stand_one_a_line_and_every_fault_is_told() {
    let form = |filters: &str, exceptions: &str| {
        let form = [
            ("name", "a"),
            ("scope", "signals:read"),
            ("rate", "1"),
            ("burst", "1"),
            ("filters", filters),
            ("exceptions", exceptions),
        ];
        let owned = form.map(|(name, value)| (name.to_owned(), value.to_owned()));
        fields::read(&FormData::of(owned), noon(), None)
    };
    let new = form("country=Japan\r\n\r\n days=7 ", "q=layoffs").ok();
    let filter = new.and_then(|new| new.filter).expect("a filter");
    assert_eq!((filter.filters().len(), filter.exceptions().len()), (2, 1));
    let errors = form("contry=Japan\nlimit=5", "days=8").expect_err("faults");
    let fields = fields::KeyFields::typed(&FormData::default(), errors);
    let told = fields.texts.error("filters");
    assert!(
        told.contains("filter 1: ") && told.contains("\nfilter 2: "),
        "{told}"
    );
    assert!(
        fields
            .texts
            .error("exceptions")
            .starts_with("exception 1: days is ")
    );
    let none = form("", " ").ok().expect("a key without a filter");
    assert_eq!(none.filter, None);
}
