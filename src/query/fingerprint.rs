//! Fingerprints of filters and queries.

use std::fmt::{self, Write};

use smallvec::SmallVec;
use twox_hash::XxHash3_128;

use crate::text::ANALYSIS_VERSION;

/// The seed of the hashes, which distinguishes them from those of other programs and versions. Filters hold analysed
/// text, so another version of the analysis has another seed.
const SEED: u64 = u64::from_le_bytes(*b"sdxqry 1").wrapping_add(ANALYSIS_VERSION as u64 - 1);

/// How many bytes the fingerprints of a filter have in common, whatever the key.
const SHARED_BYTES: usize = 8;

/// A 128-bit hash (XXH3) of what `Display` writes. Equal filters have equal fingerprints in every process, on
/// every platform, in every release.
///
/// It is not resistant to forgery. Cursors, entity tags and idempotency records do not need that: a client
/// that makes two queries collide only misleads itself.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 16]);

impl Fingerprint {
    /// The sixteen bytes.
    ///
    /// ```
    /// use signaldex::Filter;
    ///
    /// let fingerprint = Filter::from_query_string("q=robots")?.fingerprint();
    /// let key: [u8; 16] = *fingerprint.as_bytes(); // of a cache
    /// assert_ne!(key, *Filter::default().fingerprint().as_bytes());
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The fingerprint of the text that a function writes.
    pub(super) fn of(write: impl FnOnce(&mut HashedText) -> fmt::Result) -> Fingerprint {
        let mut text = HashedText::default();
        write(&mut text).expect("memory can be written to");
        Fingerprint(XxHash3_128::oneshot_with_seed(SEED, &text.0).to_le_bytes())
    }

    /// The fingerprint of this filter within that of a key, if it has one. It begins as this one does, so that a cursor of
    /// another key can be told from one of other filters.
    #[inline]
    pub(super) fn within(self, key: Option<Fingerprint>) -> Fingerprint {
        key.map_or(self, |key| self.within_key(key))
    }

    #[cold]
    fn within_key(self, key: Fingerprint) -> Fingerprint {
        let mut within = Fingerprint::of(|text| write!(text, "{key} {self}"));
        within.0[..SHARED_BYTES].copy_from_slice(&self.0[..SHARED_BYTES]);
        within
    }

    /// Whether both are of one filter, within whatever keys.
    pub(super) fn is_of_filter_of(self, other: Fingerprint) -> bool {
        self.0[..SHARED_BYTES] == other.0[..SHARED_BYTES]
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Fingerprint {
        Fingerprint(bytes)
    }
}

/// A text that is hashed. Most need no allocation.
#[derive(Default)]
pub(super) struct HashedText(SmallVec<[u8; 128]>);

impl fmt::Write for HashedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
