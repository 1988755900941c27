//! Which addresses are public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::AddressRange;

/// What is not public of IPv4: this network, private, shared and loopback addresses, links, protocols, documentation,
/// relays, benchmarks, groups, and what is reserved.
const REFUSED_V4: [([u8; 4], u8); 15] = [
    ([0, 0, 0, 0], 8),
    ([10, 0, 0, 0], 8),
    ([100, 64, 0, 0], 10),
    ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16),
    ([172, 16, 0, 0], 12),
    ([192, 0, 0, 0], 24),
    ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24),
    ([192, 168, 0, 0], 16),
    ([198, 18, 0, 0], 15),
    ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24),
    ([224, 0, 0, 0], 4),
    ([240, 0, 0, 0], 4),
];

/// What is not public of IPv6, by its first four groups: unspecified, loopback and IPv4-compatible addresses, local
/// translation, what is discarded, protocols, documentation, 6to4, unique local, link-local and site-local addresses, groups.
const REFUSED_V6: [([u16; 4], u8); 10] = [
    ([0, 0, 0, 0], 96),
    ([0x64, 0xff9b, 1, 0], 48),
    ([0x100, 0, 0, 0], 64),
    ([0x2001, 0, 0, 0], 23),
    ([0x2001, 0xdb8, 0, 0], 32),
    ([0x2002, 0, 0, 0], 16),
    ([0xfc00, 0, 0, 0], 7),
    ([0xfe80, 0, 0, 0], 10),
    ([0xfec0, 0, 0, 0], 10),
    ([0xff00, 0, 0, 0], 8),
];

/// Whether an address is public: it is in none of the ranges for private, local, special or reserved use. An IPv6 address with
/// an IPv4 address inside, `::ffff:0:0/96` or `64:ff9b::/96`, is what that is.
///
/// This is the definition; it compares with each range.
///
/// ```
/// use signaldex_server::webhooks::is_public;
///
/// let judged = |text: &str| text.parse().map(is_public);
/// assert_eq!(judged("93.184.215.14"), Ok(true));
/// assert_eq!(judged("::ffff:169.254.169.254"), Ok(false));
/// ```
pub fn is_public(address: IpAddr) -> bool {
    let address = inner(address);
    refused().all(|range| !range.contains(address))
}

/// The IPv4 address inside of one of IPv6, if there is one.
pub(super) fn inner(address: IpAddr) -> IpAddr {
    let IpAddr::V6(outer) = address else {
        return address;
    };
    let [.., high, low] = outer.segments();
    match outer.segments()[..6] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => {
            let bits = u32::from(high) << 16 | u32::from(low);
            Ipv4Addr::from_bits(bits).into()
        }
        _ => address,
    }
}

/// Every range that is not public.
pub(super) fn refused() -> impl Iterator<Item = AddressRange> {
    let v4 = REFUSED_V4.into_iter();
    let v4 = v4.map(|(start, bits)| AddressRange::new(Ipv4Addr::from(start).into(), bits));
    let v6 = REFUSED_V6.into_iter();
    let v6 = v6.map(|([a, b, c, d], bits)| {
        let start = Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0);
        AddressRange::new(start.into(), bits)
    });
    v4.chain(v6)
}

#[cfg(test)]
mod tests;
