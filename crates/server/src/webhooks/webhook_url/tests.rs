//! Addresses that are not public in every spelling that the URL standard reads, and what else is refused.

use super::{InvalidWebhook, WebhookRules, WebhookUrl};
use crate::webhooks::{AddressRange, ParseRangeError};

/// Spellings of addresses inside of a network.
const SPELLINGS: [&str; 48] = [
    "https://127.0.0.1/",
    "https://127.0.0.1./",
    "https://127.1/",
    "https://127.0.1/",
    "https://2130706433/",
    "https://0x7f.1/",
    "https://0x7f000001/",
    "https://0X7F.0x0.0x0.0x1/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://0/",
    "https://0.0.0.0:443/",
    "https://127%2e0%2e0%2e1/",
    "https://%31%32%37.1/",
    "https://１２７.０.０.１/",
    "https://127。0。0。1/",
    "https://1２7.1/",
    "HTTPS://127.0.0.1/",
    "https:127.0.0.1/",
    "https:\\\\127.0.0.1\\a",
    "https:////127.0.0.1/",
    " https://127.0.0.1/ ",
    "https://127.0.\t0.1/",
    "ht\ntps://127.0.0.1/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[0000::0001]/",
    "https://[::]/",
    "https://[::127.0.0.1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::FFFF:7f00:1]/",
    "https://[0:0:0:0:0:ffff:10.0.0.1]/",
    "https://[64:ff9b::127.0.0.1]/",
    "https://[64:ff9b::a9fe:a9fe]/",
    "https://[64:ff9b:1::a00:1]/",
    "https://[2002:7f00:1::]/",
    "https://10.0.0.1/",
    "https://0xa.1/",
    "https://167772161/",
    "https://192.168.257/",
    "https://172.16.0.1:8443/",
    "https://169.254.169.254/latest/meta-data/",
    "https://2852039166/",
    "https://0xA9FEA9FE/",
    "https://0251.0376.0251.0376/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://100.100.100.200/",
];

fn parse(text: &str) -> Result<WebhookUrl, InvalidWebhook> {
    WebhookUrl::parse(text, &WebhookRules::default())
}

#[test]
fn no_spelling_of_an_address_inside_passes() {
    for text in SPELLINGS {
        let refused = parse(text);
        assert!(
            matches!(refused, Err(InvalidWebhook::Address(_))),
            "{text}: {refused:?}"
        );
    }
}

#[test]
fn what_is_permitted_keeps_its_port_and_query() {
    for (text, expected) in [
        ("https://hooks.example/a?b=c", "https://hooks.example/a?b=c"),
        ("https://Hooks.Example:8443", "https://hooks.example:8443/"),
        ("https://8.8.8.8/", "https://8.8.8.8/"),
        ("https://0x08080808/", "https://8.8.8.8/"),
        ("https://[2606:4700::1111]/", "https://[2606:4700::1111]/"),
        // Judged when it has been resolved.
        ("https://localhost/", "https://localhost/"),
    ] {
        let url = parse(text).expect(text);
        assert_eq!(url.as_str(), expected);
        assert_eq!(parse(url.as_str()), Ok(url));
    }
}

#[test]
fn each_fault_is_named_with_what_is_allowed() {
    let long = format!("https://hooks.example/{}", "a".repeat(2_000));
    for (text, part) in [
        ("http://hooks.example/", "only where it is permitted"),
        ("ftp://hooks.example/", "https://"),
        ("file:///etc/passwd", "https://"),
        ("hooks.example", "such as https://"),
        ("https://", "such as https://"),
        ("https://1.2.3.256/", "such as https://"),
        ("https://a@hooks.example/", "a user or a password"),
        ("https://:b@hooks.example/", "a user or a password"),
        ("https://hooks.example/#a", "a fragment"),
        (&long, "has 2022 bytes; use at most 2000"),
        ("https://10.0.0.1/", "10.0.0.1 is not public"),
    ] {
        let message = parse(text).expect_err(text).to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
    // Longer in the form that is kept.
    let umlauts = format!("https://hooks.example/{}", "ü".repeat(900));
    assert!(matches!(
        parse(&umlauts),
        Err(InvalidWebhook::TooLong(5_422))
    ));
}

#[test]
fn rules_permit_ranges_and_http() {
    let range = |text: &str| text.parse::<AddressRange>();
    let mut rules = WebhookRules::default();
    rules.allowed.push(range("127.0.0.0/8").expect("a range"));
    rules.http = true;
    for text in ["http://127.1/", "https://[::ffff:127.0.0.1]/"] {
        assert!(WebhookUrl::parse(text, &rules).is_ok(), "{text}");
    }
    for text in ["http://10.0.0.1/", "https://[::1]/", "gopher://127.0.0.1/"] {
        assert!(WebhookUrl::parse(text, &rules).is_err(), "{text}");
    }
    assert_eq!(
        range("10.0.0.1").map(|range| range.to_string()),
        Ok("10.0.0.1/32".into())
    );
    assert_eq!(
        range("::/0").map(|range| range.contains([8, 8, 8, 8].into())),
        Ok(false)
    );
    assert_eq!(
        range("0.0.0.0/0").map(|range| range.contains([8, 8, 8, 8].into())),
        Ok(true)
    );
    for (text, error) in [
        ("10.0.0.0/33", ParseRangeError::Bits),
        ("10.0.0.1/8", ParseRangeError::Start),
        ("10.0.0.0/a", ParseRangeError::Form),
        ("10.0.0/8", ParseRangeError::Form),
        ("localhost", ParseRangeError::Form),
    ] {
        assert_eq!(range(text), Err(error), "{text}");
    }
}
