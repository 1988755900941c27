//! Numbers of 128 bits: 32 hexadecimal digits as text, 16 bytes in a binary file.

use std::fmt;

/// A number of 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct HexNumber(u128);

/// Hexadecimal digits of the text.
const DIGITS: usize = 32;

impl HexNumber {
    pub(super) fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    pub(super) const fn from_bytes(bytes: [u8; 16]) -> HexNumber {
        HexNumber(u128::from_le_bytes(bytes))
    }

    /// Parses exactly the output of [`Display`](fmt::Display).
    pub(super) fn parse(text: &str) -> Option<HexNumber> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_whole = text.len() == DIGITS && text.bytes().all(is_digit);
        is_whole
            .then(|| u128::from_str_radix(text, 16).ok().map(HexNumber))
            .flatten()
    }
}

impl fmt::Display for HexNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:0DIGITS$x}", self.0)
    }
}

serde_as_digits!(HexNumber, "32 lower-case hexadecimal digits are needed");

#[cfg(test)]
mod tests;
