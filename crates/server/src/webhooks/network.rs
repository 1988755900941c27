//! Ranges of addresses, as CIDR writes them.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use super::address::inner;

/// A range of addresses in CIDR notation, such as `10.1.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    start: IpAddr,
    /// The number of leading bits that all its addresses share.
    bits: u8,
}

/// Why a text is not a range of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseRangeError {
    /// It does not have the form ADDRESS/BITS.
    Form,
    /// It has more bits than an address.
    Bits,
    /// Its address has bits after the leading ones.
    Start,
}

impl AddressRange {
    pub(super) fn new(start: IpAddr, bits: u8) -> AddressRange {
        AddressRange { start, bits }
    }

    /// Whether an address is in the range. An IPv6 address with an IPv4 address inside is what that is.
    ///
    /// ```
    /// use signaldex_server::webhooks::AddressRange;
    ///
    /// let range: AddressRange = "10.1.0.0/16".parse()?;
    /// assert!(range.contains([10, 1, 255, 255].into()) && !range.contains([10, 2, 0, 0].into()));
    /// assert!(range.contains("::ffff:10.1.0.1".parse()?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains(&self, address: IpAddr) -> bool {
        let (start, address) = (self.start, inner(address));
        let same_kind = start.is_ipv4() == address.is_ipv4();
        same_kind && leading(start, self.bits) == leading(address, self.bits)
    }
}

/// The leading bits of an address, all others cleared.
fn leading(address: IpAddr, bits: u8) -> u128 {
    let (value, width) = match address {
        IpAddr::V4(address) => (u128::from(address.to_bits()), 32),
        IpAddr::V6(address) => (address.to_bits(), 128),
    };
    let cleared = width - u32::from(bits).min(width);
    let shifted = value.checked_shr(cleared).unwrap_or(0);
    shifted.checked_shl(cleared).unwrap_or(0)
}

impl FromStr for AddressRange {
    type Err = ParseRangeError;

    /// Reads ADDRESS/BITS, or an address alone.
    fn from_str(text: &str) -> Result<AddressRange, ParseRangeError> {
        let (start, bits) = match text.split_once('/') {
            Some((start, bits)) => (start, Some(bits)),
            None => (text, None),
        };
        let start: IpAddr = start.parse().map_err(|_| ParseRangeError::Form)?;
        let width = if start.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(width), |bits| bits.parse::<u8>());
        let bits = bits.map_err(|_| ParseRangeError::Form)?;
        if bits > width {
            return Err(ParseRangeError::Bits);
        }
        if leading(start, bits) != leading(start, width) {
            return Err(ParseRangeError::Start);
        }
        Ok(AddressRange { start, bits })
    }
}

impl fmt::Display for AddressRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.start, self.bits)
    }
}

impl fmt::Display for ParseRangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseRangeError::Form => "a range such as 10.1.0.0/16 or fd00::/8 is needed",
            ParseRangeError::Bits => {
                "the number after / is at most 32 for IPv4 and 128 for IPv6"
            }
            ParseRangeError::Start => {
                "the address has bits after those of the range; write the first address, such as 10.1.0.0/16"
            }
        })
    }
}

impl std::error::Error for ParseRangeError {}
