//! Where a change comes from.

use super::*;

fn headers(addresses: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for address in addresses {
        headers.append("x-forwarded-for", address.parse().expect("a header"));
    }
    headers
}

#[test]
fn a_proxy_is_named_beside_the_address_that_it_forwards() {
    let peer = Some(PeerAddress([10, 0, 0, 1].into()));
    let from = |peer, addresses: &[&str]| origin(peer, &headers(addresses));
    assert_eq!(from(peer, &[]).as_deref(), Some("10.0.0.1"));
    let forwarded = from(peer, &["192.0.2.1, 192.0.2.2", "192.0.2.3, 2001:db8::4"]);
    assert_eq!(forwarded.as_deref(), Some("2001:db8::4 via 10.0.0.1"));
    for invented in ["<script>", "", ",", "192.0.2.1 via x"] {
        assert_eq!(
            from(peer, &[invented]).as_deref(),
            Some("10.0.0.1"),
            "{invented}"
        );
    }
    assert_eq!(from(None, &["192.0.2.1"]).as_deref(), Some("192.0.2.1"));
    assert_eq!(from(None, &[]), None);
}

#[test]
fn a_user_is_found_by_number() {
    let line = "ada:x:1000:1000:Ada:/home/ada:/bin/sh";
    assert_eq!(user_of_line(line, "1000"), Some("ada"));
    assert_eq!(user_of_line(line, "100"), None);
    assert_eq!(user_of_line("", "1000"), None);
    assert_eq!(shown("a\u{1b}[31mb"), "a[31mb");
    assert_eq!(shown(&"a".repeat(1000)).len(), NAME_CHARACTERS_MAX);
    assert!(Actor::of_process().name.starts_with("cli:"));
}
