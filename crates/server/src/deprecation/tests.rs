//! White-box tests of `deprecation.rs`.

use time::macros::date;

use super::*;

#[test]
fn the_headers_are_those_of_the_standards() {
    let deprecation = Deprecation::new(date!(2027 - 01 - 31), date!(2028 - 02 - 01));
    let mut headers = HeaderMap::new();
    let deprecation = deprecation.expect("a year and a day");
    deprecation.mark("/data", "/api/v1/signals", &mut headers);
    assert_eq!(headers["deprecation"], "@1801353600");
    assert_eq!(headers["sunset"], "Tue, 01 Feb 2028 00:00:00 GMT");
    assert_eq!(
        headers["link"],
        "</data/docs#versions>; rel=\"deprecation sunset\"; type=\"text/html\""
    );
    let mut others = HeaderMap::new();
    for path in ["/docs", "/healthz", "/api/v2/signals", "/api/v1"] {
        deprecation.mark("", path, &mut others);
    }
    assert!(others.is_empty());
}

#[test]
fn a_version_lives_for_a_year() {
    let earliest = |since, sunset| {
        let refused = Deprecation::new(since, sunset).expect_err("too early");
        refused.earliest
    };
    let since = date!(2027 - 01 - 31);
    for sunset in [since, date!(2026 - 01 - 01), date!(2028 - 01 - 30)] {
        assert_eq!(earliest(since, sunset), date!(2028 - 01 - 31));
    }
    assert!(Deprecation::new(since, date!(2028 - 01 - 31)).is_ok());
    let leap = date!(2028 - 02 - 29);
    assert_eq!(earliest(leap, leap), date!(2029 - 03 - 01));
    assert!(Deprecation::new(Date::MAX, Date::MAX).is_ok());
}
