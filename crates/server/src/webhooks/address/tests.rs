//! Each range to its ends, and what is public beside it.

use std::net::IpAddr;

use super::{is_public, refused};

fn judged(text: &str) -> bool {
    is_public(text.parse().expect(text))
}

/// The first and the last address of each range, as the standards list them.
const REFUSED: [(&str, &str); 25] = [
    ("0.0.0.0", "0.255.255.255"),
    ("10.0.0.0", "10.255.255.255"),
    ("100.64.0.0", "100.127.255.255"),
    ("127.0.0.0", "127.255.255.255"),
    ("169.254.0.0", "169.254.255.255"),
    ("172.16.0.0", "172.31.255.255"),
    ("192.0.0.0", "192.0.0.255"),
    ("192.0.2.0", "192.0.2.255"),
    ("192.88.99.0", "192.88.99.255"),
    ("192.168.0.0", "192.168.255.255"),
    ("198.18.0.0", "198.19.255.255"),
    ("198.51.100.0", "198.51.100.255"),
    ("203.0.113.0", "203.0.113.255"),
    ("224.0.0.0", "239.255.255.255"),
    ("240.0.0.0", "255.255.255.255"),
    ("::", "::ffff:ffff"),
    ("64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"),
    ("100::", "100::ffff:ffff:ffff:ffff"),
    ("2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ("ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
];

#[test]
fn each_range_is_refused_to_its_ends() {
    assert_eq!(refused().count(), REFUSED.len());
    for (first, last) in REFUSED {
        assert!(!judged(first) && !judged(last), "{first} to {last}");
        if first.contains('.') {
            for start in ["::ffff:", "64:ff9b::"] {
                assert!(!judged(&format!("{start}{first}")), "{start}{first}");
                assert!(!judged(&format!("{start}{last}")), "{start}{last}");
            }
        }
    }
}

/// The addresses right before and after each range, unless they are of another one.
#[test]
fn what_is_beside_a_range_is_public() {
    let number = |text: &str| match text.parse().expect(text) {
        IpAddr::V4(address) => (32, u128::from(address.to_bits())),
        IpAddr::V6(address) => (128, address.to_bits()),
    };
    let written = |width: u32, bits: u128| match u32::try_from(bits) {
        Ok(bits) if width == 32 => IpAddr::V4(bits.into()),
        _ => IpAddr::V6(bits.into()),
    };
    let ranges = REFUSED.map(|(first, last)| (number(first), number(last).1));
    let is_refused = |width: u32, bits: u128| {
        let mut ranges = ranges.iter();
        ranges.any(|&((own, first), last)| own == width && (first..=last).contains(&bits))
    };
    let mut public = 0;
    for ((width, first), last) in ranges {
        let max = if width == 32 {
            u128::from(u32::MAX)
        } else {
            u128::MAX
        };
        let beside = [
            first.checked_sub(1),
            last.checked_add(1).filter(|&next| next <= max),
        ];
        for bits in beside.into_iter().flatten() {
            let address = written(width, bits);
            // An address inside of another is judged as that.
            if super::inner(address) == address {
                assert_eq!(is_public(address), !is_refused(width, bits), "{address}");
                public += usize::from(is_public(address));
            }
        }
    }
    assert!(public > 30, "{public}");
    for text in [
        "8.8.8.8",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",
        "2606:4700::1111",
    ] {
        assert!(judged(text), "{text}");
    }
}
