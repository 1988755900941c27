//! What is an origin, and what is none.

use super::AllowedOrigin;

#[test]
fn an_origin_is_scheme_host_and_port_as_browsers_write_them() {
    for text in [
        "*",
        "https://app.example",
        "http://localhost:3000",
        "http://[::1]:8080",
        "chrome-extension://abcdef",
    ] {
        let origin: AllowedOrigin = text.parse().expect(text);
        assert_eq!(origin.to_string(), text);
    }
    for text in [
        "",
        "null",
        "app.example",
        "https://",
        "https://app.example/",
        "https://app.example/path",
        "https://App.example",
        "HTTPS://app.example",
        "https://app.example:443",
        "http://app.example:80",
        "https://user@app.example",
        "https://app.example?x",
        "https://app.example\n",
        "https://*.example, https://b",
    ] {
        assert!(text.parse::<AllowedOrigin>().is_err(), "{text:?}");
    }
}
