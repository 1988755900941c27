//! White-box tests of `admin/sign_in.rs`.

use super::*;

#[test]
fn nobody_is_led_to_another_site() {
    for path in ["/", "/search?q=series+a&limit=5"] {
        assert_eq!(own_path(path), path);
    }
    for path in [
        "",
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/a\r\nb",
    ] {
        assert_eq!(own_path(path), START, "{path}");
    }
}

#[test]
fn a_cookie_is_secure_where_the_way_to_the_browser_is() {
    let mut headers = HeaderMap::new();
    let plain = set_cookie("abc", Duration::from_secs(60), &headers);
    assert_eq!(
        plain,
        "signaldex_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Strict"
    );
    headers.insert("x-forwarded-proto", "https".parse().expect("a header"));
    assert!(set_cookie("abc", Duration::from_secs(60), &headers).ends_with("; Secure"));
}
