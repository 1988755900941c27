//! White-box tests of `admin/guard.rs`.

use super::*;

#[test]
fn forms_of_other_origins_are_told() {
    let cases = [
        (None, true),
        (Some("http://127.0.0.1:9464"), true),
        (Some("https://127.0.0.1:9464"), true),
        (Some("http://127.0.0.1:9465"), false),
        (Some("http://evil.example"), false),
        (Some("null"), false),
    ];
    for (origin, expected) in cases {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "127.0.0.1:9464".parse().expect("a header"));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().expect("a header"));
        }
        assert_eq!(is_same_origin(&headers), expected, "{origin:?}");
    }
}

#[test]
fn the_cookie_is_found_among_others() {
    let mut headers = HeaderMap::new();
    assert_eq!(cookie(&headers), None);
    headers.append(
        COOKIE,
        "a=b; signaldex_session=xyz; c=d".parse().expect("a header"),
    );
    assert_eq!(cookie(&headers), Some("xyz"));
}
