//! Where the keys of a dictionary stand, by their hashes.
//!
//! A binary search in a dictionary of a hundred thousand keys meets seventeen of them, each far from
//! the one before; a bucket has one or two. Within a bucket places ascend, and so do their keys: a
//! corpus made so that all keys have one hash falls back to a binary search.

use std::ops::Range;

use super::dictionary::Strings;
use crate::{Error, Result};

/// How many keys a bucket has on average, at least, and half of what it has at most. With one the
/// table takes a third more memory and a look-up as long (`benches/queries`, 20 companies).
const KEYS_PER_BUCKET: usize = 2;

/// In a bucket of so many keys each is compared: most differ in length, which is seen at once.
const SCANNED_KEYS_MAX: usize = 8;

/// A view of the buckets of a dictionary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buckets<'a> {
    /// Where each bucket starts among the places, and the end of the last; a power of two and one.
    pub(super) starts: &'a [u32],
    /// Places of keys, bucket by bucket.
    pub(super) places: &'a [u32],
}

impl<'a> Buckets<'a> {
    /// The places of a key: empty where it is absent, more than one where it stands repeatedly.
    /// Cost: about 30 nanoseconds.
    pub(super) fn find(&self, keys: &Strings<'_>, key: &[u8]) -> Range<usize> {
        let places = self.bucket(bucket_of(key, self.count()));
        let is_key = |&place: &usize| place < keys.len() && keys.bytes(place) == key;
        let behind = match places.len() <= SCANNED_KEYS_MAX {
            true => 0,
            false => places.partition_point(|&place| keys.bytes(place as usize) < key),
        };
        let mut candidates = places[behind..].iter().take(SCANNED_KEYS_MAX);
        let Some(&first) = candidates.find(|&&place| is_key(&(place as usize))) else {
            return 0..0;
        };
        let first = first as usize;
        // Keys are sorted, so that equal ones stand next to each other.
        first..first + (first..).take_while(is_key).count()
    }

    /// Checks that every key is in its bucket once.
    pub(super) fn validate(&self, keys: &Strings<'_>) -> Result<()> {
        let count = self.count();
        let is_table = count.is_power_of_two()
            && self.starts.is_sorted()
            && self.starts[0] == 0
            && self.starts[count] as usize == self.places.len()
            && self.places.len() == keys.len();
        let holds = is_table && (0..count).all(|bucket| self.has_its_keys(keys, bucket));
        match holds {
            true => Ok(()),
            false => Err(Error::corrupt("a key is not in the bucket of its hash")),
        }
    }

    fn has_its_keys(&self, keys: &Strings<'_>, bucket: usize) -> bool {
        let places = self.bucket(bucket);
        let is_of_bucket = |&place: &u32| {
            let place = place as usize;
            place < keys.len() && bucket_of(keys.bytes(place), self.count()) == bucket
        };
        places.is_sorted_by(|a, b| a < b) && places.iter().all(is_of_bucket)
    }

    fn count(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    fn bucket(&self, bucket: usize) -> &'a [u32] {
        &self.places[self.starts[bucket] as usize..self.starts[bucket + 1] as usize]
    }
}

/// The bucket of a key. Part of the format.
fn bucket_of(key: &[u8], count: usize) -> usize {
    (hash(key) >> 32) as usize & (count - 1)
}

/// Mixes a key eight bytes at a time, as FxHash does: turn, add, multiply. A look-up takes as long
/// as all else of it with a checksum of CRC-32C instead (`benches/queries`, 20 companies). Nothing
/// rests on keys being spread: those of one bucket are searched.
fn hash(key: &[u8]) -> u64 {
    /// Half of its bits are set, with no pattern: the golden ratio's.
    const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(26) ^ word).wrapping_mul(MULTIPLIER);
    let (words, rest) = key.as_chunks();
    let words = words.iter().map(|&word| u64::from_le_bytes(word));
    mix(words.fold(key.len() as u64, mix), last_word(key, rest))
}

/// The bytes behind the last whole word; those of the word before are added where there are some,
/// since reading eight bytes takes less than reading a few.
fn last_word(key: &[u8], rest: &[u8]) -> u64 {
    match (key.last_chunk(), rest) {
        (_, []) => 0,
        (Some(&last), _) => u64::from_le_bytes(last),
        (None, rest) => rest
            .iter()
            .fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

/// The sections of buckets.
#[derive(Debug)]
pub(super) struct BucketSections {
    pub(super) starts: Vec<u32>,
    pub(super) places: Vec<u32>,
}

impl BucketSections {
    /// Sorts the places of keys by bucket.
    pub(super) fn of(keys: &Strings<'_>) -> BucketSections {
        let count = (keys.len() / KEYS_PER_BUCKET).next_power_of_two();
        let buckets = (0..keys.len()).map(|place| bucket_of(keys.bytes(place), count));
        let buckets: Vec<usize> = buckets.collect();
        let mut starts = vec![0_u32; count + 1];
        for &bucket in &buckets {
            starts[bucket + 1] += 1;
        }
        for bucket in 0..count {
            starts[bucket + 1] += starts[bucket];
        }
        let mut next = starts.clone();
        let mut places = vec![0; keys.len()];
        for (place, &bucket) in buckets.iter().enumerate() {
            places[next[bucket] as usize] = place as u32;
            next[bucket] += 1;
        }
        BucketSections { starts, places }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::dictionary::StringSections;
    use super::*;

    fn strings(keys: &[String]) -> StringSections {
        let mut sections = StringSections::default();
        keys.iter()
            .for_each(|key| sections.push(key.as_bytes()).unwrap());
        sections
    }

    proptest! {
        #[test]
        fn buckets_find_what_a_search_finds(
            mut keys in prop::collection::vec("[a-c]{0,4}|a{0,9}b{0,9}", 0..60),
            probe in "[a-d]{0,4}|a{0,9}b{0,9}",
        ) {
            keys.sort();
            let sections = strings(&keys);
            let keys = Strings::new(&sections.ends, &sections.bytes);
            let BucketSections { starts, places } = BucketSections::of(&keys);
            let buckets = Buckets { starts: &starts, places: &places };
            buckets.validate(&keys).unwrap();
            let is_probe = |&place: &usize| keys.bytes(place) == probe.as_bytes();
            let expected: Vec<usize> = (0..keys.len()).filter(is_probe).collect();
            prop_assert_eq!(buckets.find(&keys, probe.as_bytes()).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn validation_finds_what_is_broken() {
        let words: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
        let sections = strings(&words);
        let keys = Strings::new(&sections.ends, &sections.bytes);
        type Change = fn(&mut BucketSections);
        let changes: [Change; 7] = [
            |sections| sections.places.swap(0, 19),
            |sections| sections.places[3] = 20,
            |sections| sections.places[4] = sections.places[5],
            |sections| sections.starts[1] = u32::MAX,
            |sections| sections.starts[0] = 1,
            |sections| sections.starts.truncate(3),
            |sections| sections.starts.clear(),
        ];
        for change in changes {
            let mut sections = BucketSections::of(&keys);
            change(&mut sections);
            let BucketSections { starts, places } = &sections;
            assert!(Buckets { starts, places }.validate(&keys).is_err());
        }
    }
}
