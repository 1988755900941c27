//! Columns: one small code a row, for range edges and for counting facet values. Facets of few
//! values have shorter ones ([`halves`](super::halves)).
//!
//! A column stores codes, not values: 0 means none, `n` means the value at place `n - 1` of the
//! field's sorted values. Codes therefore compare as their values do, and take one, two or four
//! bytes, whichever the number of distinct values allows.

use std::ops::RangeInclusive;

use multiversion::multiversion;

use super::row::Row;
use crate::{Error, Result};

/// The code of a row without a value.
pub(crate) const NO_CODE: u32 = 0;

/// A view of a column.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column<'a> {
    /// At most 255 values.
    One(&'a [u8]),
    /// At most 65,535 values.
    Two(&'a [u16]),
    /// More.
    Four(&'a [u32]),
}

impl<'a> Column<'a> {
    /// A view of a column of `rows` rows; its width follows from the number of bytes.
    pub(crate) fn new(bytes: &'a [u8], rows: u32) -> Result<Column<'a>> {
        let rows = rows as usize;
        let view = match bytes.len() {
            length if length == rows => Some(Column::One(bytes)),
            length if length == 2 * rows => bytemuck::try_cast_slice(bytes).ok().map(Column::Two),
            length if length == 4 * rows => bytemuck::try_cast_slice(bytes).ok().map(Column::Four),
            _ => None,
        };
        view.ok_or_else(|| Error::corrupt("the length of a column does not match the rows"))
    }

    /// The code of a row.
    pub(crate) fn get(&self, row: Row) -> u32 {
        match self {
            Column::One(codes) => u32::from(codes[row.index()]),
            Column::Two(codes) => u32::from(codes[row.index()]),
            Column::Four(codes) => codes[row.index()],
        }
    }

    /// Clears those rows, as bits from a first row on, whose codes are in none of the ranges.
    ///
    /// Cost: about 6 microseconds for a block of two-byte codes, however many rows are set.
    pub(crate) fn keep_in_ranges(
        &self,
        first: Row,
        ranges: &[RangeInclusive<u32>],
        words: &mut [u64],
    ) {
        match self {
            Column::One(codes) => keep_bytes(codes_of(codes, first, words), ranges, words),
            Column::Two(codes) => keep_shorts(codes_of(codes, first, words), ranges, words),
            Column::Four(codes) => keep_words(codes_of(codes, first, words), ranges, words),
        }
    }

    /// Keeps those offsets of a block whose codes are in one of the ranges.
    ///
    /// Cost: about a nanosecond an offset, whether it is kept or not.
    pub(crate) fn retain_in_ranges(
        &self,
        block: u32,
        ranges: &[RangeInclusive<u32>],
        offsets: &mut Vec<u16>,
    ) {
        let first = Row::of(block, 0).index();
        match self {
            Column::One(codes) => retain(&codes[first..], ranges, offsets),
            Column::Two(codes) => retain(&codes[first..], ranges, offsets),
            Column::Four(codes) => retain(&codes[first..], ranges, offsets),
        }
    }

    /// Checks that no code exceeds the number of values.
    pub(crate) fn validate(&self, values: usize) -> Result<()> {
        let greatest = match self {
            Column::One(codes) => codes.iter().max().map(|&code| u32::from(code)),
            Column::Two(codes) => codes.iter().max().map(|&code| u32::from(code)),
            Column::Four(codes) => codes.iter().max().copied(),
        };
        match greatest.unwrap_or(NO_CODE) as usize <= values {
            true => Ok(()),
            false => Err(Error::corrupt("a column has a code without a value")),
        }
    }
}

/// The codes of a column, as bytes in the width that `values` distinct values need.
pub(crate) fn encode(codes: &[u32], values: usize) -> Vec<u8> {
    match values {
        0..=0xFF => codes.iter().map(|&code| code as u8).collect(),
        0x100..=0xFFFF => codes
            .iter()
            .flat_map(|&code| (code as u16).to_le_bytes())
            .collect(),
        _ => codes.iter().flat_map(|&code| code.to_le_bytes()).collect(),
    }
}

/// The codes of the rows that some words stand for, as far as there are rows.
fn codes_of<'a, T>(codes: &'a [T], first: Row, words: &[u64]) -> &'a [T] {
    let start = first.index().min(codes.len());
    &codes[start..codes.len().min(start + 64 * words.len())]
}

/// A code in the width of its column.
trait Code: Copy + Ord {
    /// The code of a number, or the greatest there is.
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
fn keep_bytes(codes: &[u8], ranges: &[RangeInclusive<u32>], bits: &mut [u64]) {
    keep(codes, ranges, bits);
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn keep_shorts(codes: &[u16], ranges: &[RangeInclusive<u32>], bits: &mut [u64]) {
    keep(codes, ranges, bits);
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2"))]
fn keep_words(codes: &[u32], ranges: &[RangeInclusive<u32>], bits: &mut [u64]) {
    keep(codes, ranges, bits);
}

/// Inlined into each of the above, which compile it for their vector instructions.
#[inline(always)]
fn keep<T: Code>(codes: &[T], ranges: &[RangeInclusive<u32>], bits: &mut [u64]) {
    let (words, rest) = codes.as_chunks::<64>();
    for (word, codes) in bits.iter_mut().zip(words) {
        if *word != 0 {
            *word &= inside(codes, ranges);
        }
    }
    // Rows behind the last are never set.
    if let Some(word) = bits.get_mut(words.len()) {
        let mut last = [T::saturating(0); 64];
        last[..rest.len()].copy_from_slice(rest);
        *word &= inside(&last, ranges);
    }
}

/// Keeps the offsets whose codes are in one of the ranges; of most filters there is one.
fn retain<T: Code>(codes: &[T], ranges: &[RangeInclusive<u32>], offsets: &mut Vec<u16>) {
    let code = |offset: u16| codes[usize::from(offset)];
    match ranges {
        [only] => {
            let bounds = bounds(only);
            retain_where(offsets, |offset| is_between(code(offset), bounds));
        }
        _ => retain_where(offsets, |offset| {
            let is_inside = |range| is_between(code(offset), bounds(range));
            ranges
                .iter()
                .fold(false, |any, range| any | is_inside(range))
        }),
    }
}

/// The ends of a range in the width of a column.
fn bounds<T: Code>(range: &RangeInclusive<u32>) -> (T, T) {
    (T::saturating(*range.start()), T::saturating(*range.end()))
}

/// Without a branch.
#[inline(always)]
fn is_between<T: Code>(code: T, (start, end): (T, T)) -> bool {
    (start <= code) & (code <= end)
}

/// Keeps the offsets or rows of a list that pass a cheap test; without a branch, since it cannot be
/// predicted.
#[inline]
pub(crate) fn retain_where<T: Copy>(list: &mut Vec<T>, keep: impl Fn(T) -> bool) {
    let mut kept = 0;
    for place in 0..list.len() {
        let value = list[place];
        list[kept] = value;
        kept += usize::from(keep(value));
    }
    list.truncate(kept);
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

/// A bit for each byte of 0 or 1. The multiplication gathers the lowest bits of eight bytes in the
/// topmost byte: no two partial products meet, so nothing carries.
#[inline(always)]
fn packed(flags: &[u8; 64]) -> u64 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let (eights, _) = flags.as_chunks::<8>();
    let bytes = eights.iter().map(|eight| u64::from_le_bytes(*eight));
    bytes.enumerate().fold(0, |word, (place, bytes)| {
        word | (bytes.wrapping_mul(GATHER) >> 56) << (8 * place)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::segment::{BLOCK_ROWS, BLOCK_WORDS, bits};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_block_keeps_the_rows_in_ranges(
            rows in 1_u32..150_000,
            values in prop::sample::select(vec![200_usize, 3_000, 70_000]),
            mut bounds in prop::collection::vec(0_u32..70_001, 2..=6),
            seed in any::<u32>(),
        ) {
            let code = |row: u32| row.wrapping_mul(seed | 1) % (values as u32 + 1);
            let codes: Vec<u32> = (0..rows).map(code).collect();
            let encoded = encode(&codes, values);
            let mut aligned = vec![0_u32; rows as usize];
            let bytes = &mut bytemuck::cast_slice_mut(&mut aligned)[..encoded.len()];
            bytes.copy_from_slice(&encoded);
            let column = Column::new(bytes, rows).unwrap();
            bounds.sort_unstable();
            let ranges: Vec<RangeInclusive<u32>> = bounds
                .chunks_exact(2)
                .map(|pair| pair[0]..=pair[1])
                .collect();
            let block = (rows - 1) / BLOCK_ROWS;
            let in_block = rows - block * BLOCK_ROWS;
            let mut kept = [0; BLOCK_WORDS];
            (0..in_block).filter(|row| row % 3 != 0).for_each(|row| bits::set(&mut kept, row as u16));
            let mut listed: Vec<u16> = (0..in_block).filter(|row| row % 3 != 0).map(|row| row as u16).collect();
            column.retain_in_ranges(block, &ranges, &mut listed);
            column.keep_in_ranges(Row::of(block, 0), &ranges, &mut kept);
            prop_assert_eq!(&listed, &bits::ones(0, &kept).collect::<Vec<_>>());
            for offset in 0..in_block {
                let code = codes[(block * BLOCK_ROWS + offset) as usize];
                let expected = offset % 3 != 0 && ranges.iter().any(|range| range.contains(&code));
                prop_assert_eq!(bits::test(&kept, offset as u16), expected, "{}", offset);
            }
        }
    }
}
