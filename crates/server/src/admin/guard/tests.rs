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

#[tokio::test]
async fn a_form_that_is_too_long_is_refused_with_what_is_allowed() {
    let read = |bytes: usize| {
        let body = axum::body::Body::from(vec![b'a'; bytes]);
        FormData::read(body, FORM_BYTES_MAX)
    };
    assert!(read(FORM_BYTES_MAX).await.is_ok());
    let unread = read(FORM_BYTES_MAX + 1).await.map_err(unread);
    let (status, reason) = unread.expect_err("it is too long");
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(
        reason.contains("at most 16 filters and 16 exceptions, of 8,000 bytes each"),
        "{reason}"
    );
}
