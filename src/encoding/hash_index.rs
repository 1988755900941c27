//! A hash index with fingerprints over the keys of a dictionary.
//!
//! A binary search in a dictionary of a hundred thousand keys compares seventeen of them, each with a cache miss;
//! a bucket has one or two. Besides the index, an entry has as many bits of its key's hash as fit, so that other
//! keys are seldom compared. Keys ascend within a bucket, so an adversarial corpus with equal hashes falls back
//! to a binary search.

use smallvec::SmallVec;

use crate::encoding::dictionary::Strings;
use crate::{Error, Result};

/// Minimum average number of keys per bucket; the maximum average is twice as much. With one, the table takes a
/// third more memory, and look-ups take as long (`benches/queries`, 20 companies).
const KEYS_PER_BUCKET: usize = 2;

/// Buckets of up to this many keys are scanned: most keys differ in length, which is compared first.
const SCANNED_KEYS_MAX: usize = 8;

/// Interleaved look-ups. 20 are not faster (`benches/queries`, 20 companies).
const LOOKUPS: usize = 10;

/// A view of the hash index of a dictionary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HashIndex<'a> {
    /// The start of each bucket in the entries, and the end of the last; a power of two, plus one.
    pub(crate) starts: &'a [u32],
    /// The entries of all buckets: the key's index in the low bits, its fingerprint in the high bits.
    pub(crate) entries: &'a [u32],
}

impl<'a> HashIndex<'a> {
    /// The index of a key; the first one if it occurs repeatedly. Cost: about 20 nanoseconds.
    pub(crate) fn find(&self, keys: &Strings<'_>, key: &[u8]) -> Option<usize> {
        self.look_up(keys, key).indices(keys).next()
    }

    /// Calls `visit` with all indices of each of several keys; faster than one by one.
    ///
    /// A look-up is a chain of dependent cache misses. The first steps of several look-ups are made before the last
    /// step of the first, so that their cache misses overlap.
    pub(crate) fn find_each<'k>(
        &self,
        keys: &Strings<'_>,
        mut wanted: impl Iterator<Item = &'k [u8]>,
        mut visit: impl FnMut(usize),
    ) {
        let mut started: SmallVec<[Lookup<'_>; LOOKUPS]> = SmallVec::new();
        loop {
            let next = wanted.by_ref().take(LOOKUPS);
            started.extend(next.map(|key| self.look_up(keys, key)));
            // A prefetch: the values are read again from the cache below.
            for lookup in &started {
                std::hint::black_box(keys.end(lookup.first_index()));
            }
            let found = started.iter().flat_map(|lookup| lookup.indices(keys));
            found.for_each(&mut visit);
            // A group that is not full is the last one.
            if started.len() < LOOKUPS {
                return;
            }
            started.clear();
        }
    }

    /// Starts to look up a key.
    #[inline(always)]
    fn look_up<'k>(&self, keys: &Strings<'_>, key: &'k [u8]) -> Lookup<'k>
    where
        'a: 'k,
    {
        let hash = hash(key);
        Lookup {
            key,
            hash,
            // The number of buckets is a power of two, so the mask selects one of them.
            entries: self.bucket(hash as usize & (self.count() - 1)),
            mask: index_mask(keys.len()),
        }
    }

    /// Checks that every hash has a bucket. Then look-ups cannot fail, and compare keys before returning them.
    pub(crate) fn validate_shape(&self) -> Result<()> {
        if self.count().is_power_of_two() {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the buckets of a dictionary are no power of two",
            ))
        }
    }

    /// Checks that every key is in its bucket exactly once.
    pub(crate) fn validate(&self, keys: &Strings<'_>) -> Result<()> {
        self.validate_shape()?;
        let count = self.count();
        let is_table = self.starts.is_sorted()
            && self.starts[0] == 0
            && self.starts[count] as usize == self.entries.len()
            && self.entries.len() == keys.len();
        let holds = is_table && (0..count).all(|bucket| self.has_its_keys(keys, bucket));
        if holds {
            Ok(())
        } else {
            Err(Error::corrupt("a key is not in the bucket of its hash"))
        }
    }

    fn has_its_keys(&self, keys: &Strings<'_>, bucket: usize) -> bool {
        let mask = index_mask(keys.len());
        let mut before = None;
        // Invariant: `before` is the previous key with its index. Keys ascend within a bucket,
        // equal ones by index.
        self.bucket(bucket).iter().all(|&entry| {
            let index = (entry & mask) as usize;
            index < keys.len() && {
                let key = keys.bytes(index);
                let hash = hash(key);
                let is_of_bucket =
                    hash as usize & (self.count() - 1) == bucket && (entry ^ hash) & !mask == 0;
                is_of_bucket && before.replace((key, index)) < Some((key, index))
            }
        })
    }

    fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// The entries of a bucket; empty if its bounds are invalid.
    fn bucket(&self, bucket: usize) -> &'a [u32] {
        let (start, end) = (self.starts[bucket], self.starts[bucket + 1]);
        let entries = self.entries.get(start as usize..end as usize);
        entries.unwrap_or_default()
    }
}

/// A look-up: a key and its bucket.
struct Lookup<'k> {
    key: &'k [u8],
    hash: u32,
    entries: &'k [u32],
    /// The index bits of an entry.
    mask: u32,
}

impl Lookup<'_> {
    /// The first index in the bucket, which is usually that of the key.
    fn first_index(&self) -> usize {
        self.entries.first().map_or(0, |&entry| self.index(entry))
    }

    /// The indices of the key, ascending.
    #[inline(always)]
    fn indices(&self, keys: &Strings<'_>) -> impl Iterator<Item = usize> {
        let entries = if self.entries.len() > SCANNED_KEYS_MAX {
            self.search(keys)
        } else {
            self.entries
        };
        let found = entries.iter().filter(|&&entry| self.is_key(keys, entry));
        found.map(|&entry| self.index(entry))
    }

    /// The entries with the key, in a large bucket.
    #[inline(never)]
    fn search(&self, keys: &Strings<'_>) -> &[u32] {
        let key_of = |&entry: &u32| keys.bytes(self.index(entry));
        let start = self
            .entries
            .partition_point(|entry| key_of(entry) < self.key);
        let tail = &self.entries[start..];
        &tail[..tail.partition_point(|entry| key_of(entry) == self.key)]
    }

    #[inline(always)]
    fn is_key(&self, keys: &Strings<'_>, entry: u32) -> bool {
        let has_hash = (entry ^ self.hash) & !self.mask == 0;
        has_hash && keys.find(self.index(entry)) == Some(self.key)
    }

    #[inline(always)]
    fn index(&self, entry: u32) -> usize {
        (entry & self.mask) as usize
    }
}

/// The index bits of an entry, for `keys` keys. Part of the format.
fn index_mask(keys: usize) -> u32 {
    match keys.saturating_sub(1) as u32 {
        0 => 0,
        last => u32::MAX >> last.leading_zeros(),
    }
}

/// Hashes a key eight bytes at a time, as FxHash does: rotate, add, multiply. With CRC-32C instead, look-ups take
/// twice as long (`benches/queries`, 20 companies). Correctness does not depend on the distribution, because
/// buckets are searched. The upper half is better mixed. Part of the format.
fn hash(key: &[u8]) -> u32 {
    /// The golden ratio: half of its bits are set, without a pattern.
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(26) ^ word).wrapping_mul(MULTIPLIER);
    let (mut hash, mut rest) = (key.len() as u64, key);
    while let Some((&word, tail)) = rest.split_first_chunk() {
        hash = mix(hash, u64::from_le_bytes(word));
        rest = tail;
    }
    (mix(hash, last_word(key, rest)) >> 32) as u32
}

/// The last partial word. It overlaps the previous word if there is one, because reading eight bytes is faster
/// than reading fewer; likewise, reading four bytes twice.
fn last_word(key: &[u8], rest: &[u8]) -> u64 {
    match (key.last_chunk(), key.first_chunk(), key.last_chunk()) {
        _ if rest.is_empty() => 0,
        // At least eight bytes: the last eight, some of which have been hashed before.
        (Some(&last), ..) => u64::from_le_bytes(last),
        // Four to seven bytes, which `rest` has in full: the first four and the last four, which
        // may overlap.
        (None, Some(&first), Some(&last)) => {
            let first = u64::from(u32::from_be_bytes(first));
            first << (8 * (rest.len() - 4)) | u64::from(u32::from_be_bytes(last))
        }
        _ => rest
            .iter()
            .fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// The sections of a hash index.
#[derive(Debug)]
pub(crate) struct HashIndexSections {
    pub(crate) starts: Vec<u32>,
    pub(crate) entries: Vec<u32>,
}

impl HashIndexSections {
    /// Sorts the indices of keys by bucket.
    pub(crate) fn of(keys: &Strings<'_>) -> HashIndexSections {
        HashIndexSections::in_buckets(keys, (keys.len() / KEYS_PER_BUCKET).next_power_of_two())
    }

    /// Sorts the indices of keys into `count` buckets, a power of two.
    fn in_buckets(keys: &Strings<'_>, count: usize) -> HashIndexSections {
        let hashes: Vec<u32> = (0..keys.len())
            .map(|index| hash(keys.bytes(index)))
            .collect();
        let bucket = |hash: u32| hash as usize & (count - 1);
        let mut starts = vec![0_u32; count + 1];
        // A counting sort: at first, `starts[n + 1]` is the number of keys in bucket `n`.
        for &hash in &hashes {
            starts[bucket(hash) + 1] += 1;
        }
        // Invariant: all starts up to that of this bucket are final.
        for bucket in 0..count {
            starts[bucket + 1] += starts[bucket];
        }
        let mut next = starts.clone();
        let mut entries = vec![0; keys.len()];
        let mask = index_mask(keys.len());
        // Invariant: `next` is where the next entry of each bucket belongs.
        for (index, &hash) in hashes.iter().enumerate() {
            let next = &mut next[bucket(hash)];
            entries[*next as usize] = hash & !mask | index as u32;
            *next += 1;
        }
        for bounds in starts.windows(2) {
            let bucket = &mut entries[bounds[0] as usize..bounds[1] as usize];
            // Stable, so equal keys stay in the order of their indices.
            bucket.sort_by_key(|&entry| keys.bytes((entry & mask) as usize));
        }
        HashIndexSections { starts, entries }
    }
}

#[cfg(test)]
mod tests;
