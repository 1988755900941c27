//! White-box tests of `admin/search/cards.rs`.

use super::*;

#[test]
fn only_addresses_of_the_web_become_links() {
    for url in ["https://a.example", "HTTP://a.example"] {
        assert!(is_web(url), "{url}");
    }
    for url in [
        "javascript:alert(1)",
        "data:text/html,x",
        "//a.example",
        "",
        "https:",
    ] {
        assert!(!is_web(url), "{url}");
    }
}
