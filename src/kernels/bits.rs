//! Operations on the bitset of a block.
//!
//! The loops are plain. `multiversion` compiles each for several generations of vector instructions and
//! selects one at run time.

use std::ops::Range;

use multiversion::multiversion;

use crate::kernels::block::BlockBits;

/// Words of the smallest row window of a page.
const CHUNK_WORDS: usize = 64;

/// Empty words that are skipped together: as many as a mask word has bits. With eight, pages of few matches
/// take up to a tenth longer (`benches/queries`, two or three terms).
const PASSED_WORDS: usize = 64;

/// Whether a row is set.
pub(crate) fn test(bits: &BlockBits, offset: u16) -> bool {
    bits[usize::from(offset / 64)] >> (offset % 64) & 1 == 1
}

/// Whether a row is set in some words of a bitset, given the index of the first; false outside of them.
#[inline]
pub(crate) fn test_within(first_word: usize, words: &[u64], offset: u16) -> bool {
    let word = usize::from(offset / 64).wrapping_sub(first_word);
    words
        .get(word)
        .is_some_and(|word| word >> (offset % 64) & 1 == 1)
}

/// Sets a row.
pub(crate) fn set(bits: &mut BlockBits, offset: u16) {
    bits[usize::from(offset / 64)] |= 1 << (offset % 64);
}

/// Clears a row.
pub(crate) fn clear(bits: &mut BlockBits, offset: u16) {
    bits[usize::from(offset / 64)] &= !(1 << (offset % 64));
}

/// The rows set in these words of a block, ascending.
pub(crate) fn ones(first_word: usize, words: &[u64]) -> impl Iterator<Item = u16> + '_ {
    let indices = first_word..;
    indices.zip(words).flat_map(|(index, &word)| WordOnes {
        word,
        // A block has 1,024 words, so the offset of a word's first row fits into a `u16`.
        base: index as u16 * 64,
    })
}

/// Appends the rows set in these words of a block, ascending.
///
/// Cost: half of that of iterating over [`ones`], and less if few are set (`benches/queries`, stage +
/// currency + amounts + term).
pub(crate) fn list(first_word: usize, words: &[u64], offsets: &mut Vec<u16>) {
    let listed = offsets.len();
    let count = count(words) as usize;
    // Each word may write up to 64 slots, so the last one needs spare slots, which are cut off
    // again.
    offsets.resize(listed + count + SPARE_SLOTS, 0);
    list_offsets(first_word, words, &mut offsets[listed..]);
    offsets.truncate(listed + count);
}

/// Fills the slots: one per set row, plus the spare ones.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt"
))]
fn list_offsets(first_word: usize, words: &[u64], slots: &mut [u16]) {
    // For few empty words, listing their zero rows is faster than finding the others.
    let is_dense = slots.len() - SPARE_SLOTS >= words.len();
    let mut count = 0;
    let first_words = (first_word..).step_by(PASSED_WORDS);
    for (first_word, words) in first_words.zip(words.chunks(PASSED_WORDS)) {
        // Invariant: the first `count` slots have the rows of all words so far.
        let mut list = |index: usize| {
            let first = (first_word + index) as u32 * 64;
            // Never `None`: there is a slot for each set row, plus the spare ones.
            let slots = slots.get_mut(count..);
            if let Some(slots) = slots.and_then(|slots| slots.first_chunk_mut()) {
                count += list_word::<false, u16>(words[index], slots, |bit| (first + bit) as u16);
            }
        };
        if is_dense {
            (0..words.len()).for_each(list);
            continue;
        }
        let mut set_words = words_with_rows(words);
        while set_words != 0 {
            list(take_bit::<false>(&mut set_words) as usize);
        }
    }
}

/// Lists the bits set in a word. Returns their number.
#[inline(always)]
fn list_word<const DESCENDS: bool, T>(
    mut word: u64,
    slots: &mut [T; SPARE_SLOTS],
    of_bit: impl Fn(u32) -> T,
) -> usize {
    let set = word.count_ones() as usize;
    // With fewer rows, surplus slots get arbitrary values, which are overwritten or cut off.
    for slot in &mut slots[..UNASKED_ROWS] {
        *slot = of_bit(take_bit::<DESCENDS>(&mut word));
    }
    for slot in slots.iter_mut().take(set).skip(UNASKED_ROWS) {
        *slot = of_bit(take_bit::<DESCENDS>(&mut word));
    }
    set
}

/// The bits of one word, lowest first.
struct WordOnes {
    word: u64,
    base: u16,
}

impl Iterator for WordOnes {
    type Item = u16;

    fn next(&mut self) -> Option<u16> {
        if self.word == 0 {
            return None;
        }
        let offset = self.base + self.word.trailing_zeros() as u16;
        self.word &= self.word - 1;
        Some(offset)
    }
}

/// Slots after the requested rows, for the surplus of the last word.
pub(crate) const SPARE_SLOTS: usize = 64;

/// Rows of a word that are listed unconditionally: most words of the sets that pages list have fewer, and
/// a branch on their number would be mispredicted (`benches/queries`, frequent term).
const UNASKED_ROWS: usize = 4;

/// Lists the first rows set in these words of a block, between two offsets, as row numbers; `base` is that of
/// the first word's first row. Stops when all slots but the spare ones are full. Returns the number listed,
/// which may be larger.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt"
))]
pub(crate) fn first_rows(words: &[u64], offsets: Range<u32>, base: u32, rows: &mut [u32]) -> usize {
    list_rows::<false>(words, offsets, base, rows)
}

/// Lists the last rows, descending; as [`first_rows`].
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+bmi1+bmi2+lzcnt+popcnt",
    "x86_64+avx2+bmi1+bmi2+lzcnt+popcnt"
))]
pub(crate) fn last_rows(words: &[u64], offsets: Range<u32>, base: u32, rows: &mut [u32]) -> usize {
    list_rows::<true>(words, offsets, base, rows)
}

#[inline(always)]
fn list_rows<const DESCENDS: bool>(
    words: &[u64],
    offsets: Range<u32>,
    base: u32,
    rows: &mut [u32],
) -> usize {
    let mut index = (offsets.start / 64) as usize;
    let mut end = words.len().min(offsets.end.div_ceil(64) as usize);
    let mut count = 0;
    // Each iteration consumes some words.
    while index < end {
        let length = PASSED_WORDS.min(end - index);
        let from = if DESCENDS { end - length } else { index };
        let mut set_words = words_with_rows(&words[from..from + length]);
        // Invariant: `set_words` marks the words of this group that have not been listed.
        while set_words != 0 {
            let index = from + take_bit::<DESCENDS>(&mut set_words) as usize;
            let first = index as u32 * 64;
            // Only the first and the last word can have rows outside of the offsets.
            let word = between(words[index], first, &offsets);
            let slots = rows.get_mut(count..);
            // Fewer slots are left than spare ones, so every requested row has been listed.
            let Some(slots) = slots.and_then(|slots| slots.first_chunk_mut()) else {
                return count;
            };
            count += list_word::<DESCENDS, u32>(word, slots, |bit| base + first + bit);
        }
        if DESCENDS {
            end = from
        } else {
            index = from + length
        }
    }
    count
}

/// A mask of the non-empty ones of up to 64 words, the first in the lowest bit, computed without branches.
#[inline(always)]
fn words_with_rows(words: &[u64]) -> u64 {
    let words = words.iter().enumerate();
    words.fold(0, |with_rows, (index, &word)| {
        with_rows | u64::from(word != 0) << index
    })
}

/// Clears the last or first set bit of a word and returns its index; for an empty word, any index below 64.
#[inline(always)]
fn take_bit<const LAST: bool>(word: &mut u64) -> u32 {
    let index = if LAST {
        word.leading_zeros() ^ 63
    } else {
        word.trailing_zeros()
    } % 64;
    *word &= !(1 << index);
    index
}

/// The bits of the word at an offset that lie between two offsets.
#[inline(always)]
fn between(mut word: u64, first: u32, offsets: &Range<u32>) -> u64 {
    if offsets.start > first {
        // The first word is that of `start`, so the shift is below 64.
        word &= u64::MAX << (offsets.start - first);
    }
    if offsets.end < first + 64 {
        // The word starts before `end`, so the shift is below 64.
        word &= u64::MAX >> (first + 64 - offsets.end);
    }
    word
}

/// The number of rows that are set.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+popcnt+bmi1+bmi2",
    "x86_64+popcnt"
))]
pub(crate) fn count(bits: &[u64]) -> u32 {
    let ones = |words: &[u64]| words.iter().map(|word| word.count_ones()).sum::<u32>();
    let (chunks, rest) = bits.as_chunks::<CHUNK_WORDS>();
    chunks.iter().map(|words| ones(words)).sum::<u32>() + ones(rest)
}

/// Keeps the rows that are in both.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn intersect(bits: &mut [u64], other: &[u64]) {
    for_each_word(bits, other, |word, other| *word &= other);
}

/// Overwrites a set with the intersection of two others.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn load_both(bits: &mut [u64], first: &[u64], second: &[u64]) {
    for (word, (first, second)) in bits.iter_mut().zip(first.iter().zip(second)) {
        *word = first & second;
    }
}

/// Adds the rows of the other.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn unite(bits: &mut [u64], other: &[u64]) {
    for_each_word(bits, other, |word, other| *word |= other);
}

/// Overwrites a set with the union of several sets, or intersects it with that union, writing each word
/// once. The sets are at least as long.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn unite_all(bits: &mut [u64], sets: &[&[u64]], keeps: bool) {
    let united = |words: &mut [u64], any: &[u64]| {
        for (word, any) in words.iter_mut().zip(any) {
            *word = if keeps { *word & any } else { *any };
        }
    };
    let (chunks, rest) = bits.as_chunks_mut::<CHUNK_WORDS>();
    for (number, words) in chunks.iter_mut().enumerate() {
        let mut any = [0; CHUNK_WORDS];
        for set in sets {
            let (chunks, _) = set.as_chunks::<CHUNK_WORDS>();
            // The sets are at least as long as `bits`, so they have this chunk.
            for (any, word) in any.iter_mut().zip(&chunks[number]) {
                *any |= word;
            }
        }
        united(words, &any);
    }
    let first = chunks.len() * CHUNK_WORDS;
    for (index, word) in (first..).zip(rest) {
        let any = sets.iter().fold(0, |any, set| any | set[index]);
        united(std::slice::from_mut(word), &[any]);
    }
}

/// Removes the rows of the other.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn subtract(bits: &mut [u64], other: &[u64]) {
    for_each_word(bits, other, |word, other| *word &= !other);
}

/// Combines every word with that of the other set, in chunks of fixed length, which saves a tenth of a
/// count of dense sets (`benches/queries`, any of 3 to 6 terms).
#[inline(always)]
fn for_each_word(bits: &mut [u64], other: &[u64], change: impl Fn(&mut u64, u64)) {
    let (chunks, rest) = bits.as_chunks_mut::<CHUNK_WORDS>();
    let (other_chunks, other_rest) = other.as_chunks::<CHUNK_WORDS>();
    for (words, others) in chunks.iter_mut().zip(other_chunks) {
        for (word, &other) in words.iter_mut().zip(others) {
            change(word, other);
        }
    }
    for (word, &other) in rest.iter_mut().zip(other_rest) {
        change(word, other);
    }
}
