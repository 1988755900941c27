//! Filters bitsets and lists of offsets by ranges of column codes.

use std::ops::RangeInclusive;

use multiversion::multiversion;

use super::retain::retain_where;

/// A code in the width of its column.
pub(crate) trait Code: Copy + Ord {
    /// Converts a number to a code, saturating.
    fn saturating(number: u32) -> Self;
}

impl Code for u8 {
    fn saturating(number: u32) -> u8 {
        u8::try_from(number).unwrap_or(u8::MAX)
    }
}

impl Code for u16 {
    fn saturating(number: u32) -> u16 {
        u16::try_from(number).unwrap_or(u16::MAX)
    }
}

impl Code for u32 {
    fn saturating(number: u32) -> u32 {
        number
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn keep_bytes(codes: &[u8], ranges: &[RangeInclusive<u32>], bits: &mut [u64]) {
    keep(codes, ranges, bits);
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn keep_shorts(codes: &[u16], ranges: &[RangeInclusive<u32>], bits: &mut [u64]) {
    keep(codes, ranges, bits);
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
pub(crate) fn keep_words(codes: &[u32], ranges: &[RangeInclusive<u32>], bits: &mut [u64]) {
    keep(codes, ranges, bits);
}

/// Inlined into the functions above, which are compiled for several vector instruction sets.
#[inline(always)]
fn keep<T: Code>(codes: &[T], ranges: &[RangeInclusive<u32>], bits: &mut [u64]) {
    let (words, rest) = codes.as_chunks::<64>();
    for (word, codes) in bits.iter_mut().zip(words) {
        // Words without rows stay empty, so their codes are not read.
        if *word != 0 {
            *word &= inside(codes, ranges);
        }
    }
    // Rows after the last are never set.
    if let Some(word) = bits.get_mut(words.len()) {
        let mut last = [T::saturating(0); 64];
        last[..rest.len()].copy_from_slice(rest);
        *word &= inside(&last, ranges);
    }
}

/// Keeps the offsets whose codes are in one of the ranges, usually a single one.
pub(crate) fn retain<T: Code>(codes: &[T], ranges: &[RangeInclusive<u32>], offsets: &mut Vec<u16>) {
    let code = |offset: u16| codes[usize::from(offset)];
    match ranges {
        [only] => {
            let bounds = bounds(only);
            retain_where(offsets, |offset| is_between(code(offset), bounds));
        }
        _ => retain_where(offsets, |offset| {
            let is_inside = |range| is_between(code(offset), bounds(range));
            // Not `any`, which branches after every range.
            ranges
                .iter()
                .fold(false, |any, range| any | is_inside(range))
        }),
    }
}

/// The bounds of a range in the width of a column.
fn bounds<T: Code>(range: &RangeInclusive<u32>) -> (T, T) {
    (T::saturating(*range.start()), T::saturating(*range.end()))
}

/// Branchless.
#[inline(always)]
fn is_between<T: Code>(code: T, (start, end): (T, T)) -> bool {
    (start <= code) & (code <= end)
}

/// The rows of a word whose codes are in one of the ranges.
#[inline(always)]
fn inside<T: Code>(codes: &[T; 64], ranges: &[RangeInclusive<u32>]) -> u64 {
    let mut is_inside = [0_u8; 64];
    for range in ranges {
        let bounds = bounds(range);
        for (is_inside, &code) in is_inside.iter_mut().zip(codes) {
            *is_inside |= u8::from(is_between(code, bounds));
        }
    }
    packed(&is_inside)
}

/// Packs bytes of 0 or 1 into bits. The multiplication gathers the lowest bits of eight bytes in the top byte;
/// no partial products overlap, so nothing carries.
#[inline(always)]
fn packed(flags: &[u8; 64]) -> u64 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, _) = flags.as_chunks::<8>();
    let bytes = eights.iter().map(|eight| u64::from_le_bytes(*eight));
    bytes.enumerate().fold(0, |word, (index, bytes)| {
        word | (bytes.wrapping_mul(GATHER) >> 56) << (8 * index)
    })
}
