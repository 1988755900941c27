//! SHA-256 digests: names of published objects, and checksums of files in a manifest.

use std::fmt;

use sha2::Sha256;

/// A SHA-256 digest: 64 lower-case hexadecimal digits as text, 32 bytes in a binary file.
///
/// ```
/// use signaldex::Digest;
///
/// let digest = Digest::of(b"a file");
/// assert_eq!(Digest::parse(&digest.to_string()), Some(digest));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Hashes bytes in memory.
    ///
    /// ```
    /// use signaldex::Digest;
    ///
    /// assert_eq!(Digest::of(b"a file"), Digest::of(b"a file"));
    /// assert!(Digest::of(b"").to_string().starts_with("e3b0c44298fc1c14"));
    /// ```
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(<Sha256 as sha2::Digest>::digest(bytes).into())
    }

    /// The 32 bytes of the digest.
    ///
    /// ```
    /// let digest = signaldex::Digest::of(b"");
    /// assert_eq!(digest.bytes()[..4], [0xe3, 0xb0, 0xc4, 0x42]);
    /// ```
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Finishes a hash that was fed incrementally.
    pub(crate) fn finish(hash: Sha256) -> Digest {
        Digest(sha2::Digest::finalize(hash).into())
    }

    /// Reads what [`Display`](fmt::Display) writes, and nothing else.
    ///
    /// ```
    /// use signaldex::Digest;
    ///
    /// let text = Digest::of(b"a file").to_string();
    /// assert_eq!(Digest::parse(&text), Some(Digest::of(b"a file")));
    /// assert_eq!(Digest::parse(&text.to_uppercase()), None);
    /// ```
    pub fn parse(text: &str) -> Option<Digest> {
        let mut bytes = [0; 32];
        if text.len() != 2 * bytes.len() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            *byte = 16 * nibble(pair[0])? + nibble(pair[1])?;
        }
        Some(Digest(bytes))
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Digest {
        Digest(bytes)
    }
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

serde_as_digits!(Digest, "a checksum is 64 lower-case hexadecimal digits");

#[cfg(test)]
mod tests;
