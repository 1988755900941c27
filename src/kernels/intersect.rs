//! SIMD intersection of two sorted lists of offsets: eight of one against eight or sixteen of the other.
//!
//! Comparing all of eight with all of the others needs no data-dependent branch (Schlegel, Willhalm and
//! Lehner, "Fast Sorted-Set Intersection using SIMD Instructions", 2011). With AVX2 or AVX-512 this takes
//! about thirty instructions, and a few more to pack the kept offsets. For other processors the loops are
//! plain and vectorised by the compiler.

use multiversion::multiversion;
use multiversion::target::match_target;

use super::gallop;
use super::left_pack;
use super::retain::retain_where;
use super::search;

/// Offsets of the list decided per round.
pub(crate) const LANES: usize = 8;

/// Ratio of lengths from which looking up each offset in the array is faster than comparing both lists
/// (`benches/queries`, conjunction without a hit).
const LOOK_UP_RATIO: usize = 8;

/// The state of a comparison when one list has too few offsets left.
#[derive(Debug)]
struct Compared {
    /// The first undecided offset of the list.
    index: usize,
    /// The index in the array: nothing before it is in the rest of the list.
    at: usize,
    /// The number of kept offsets, which are at the start of the list.
    kept: usize,
    /// A mask of the next offsets of the list that have already been found, lowest first.
    found: u8,
}

/// Keeps the offsets of the list that occur in an array, or those that do not.
pub(crate) fn retain(list: &mut Vec<u16>, array: &[u16], wanted: bool) {
    if array.len() / LOOK_UP_RATIO <= list.len() {
        retain_in_lanes(list, array, wanted);
    } else {
        retain_where(list, |offset| search::contains(array, offset) == wanted);
    }
}

/// Compares eight with eight while both have that many, and the last few one by one.
fn retain_in_lanes(list: &mut Vec<u16>, array: &[u16], wanted: bool) {
    let Compared {
        mut index,
        at,
        mut kept,
        found,
    } = compare(list, array, wanted);
    // Lanes found before the array ran short stay found.
    for lane in 0..LANES.min(list.len() - index) {
        let offset = list[index + lane];
        let is_found = found >> lane & 1 == 1 || array[at..].binary_search(&offset).is_ok();
        list[kept] = offset;
        kept += usize::from(is_found == wanted);
    }
    index += LANES.min(list.len() - index);
    gallop::retain_from(list, kept, index, &array[at..], |&offset| offset, wanted);
}

/// Keeps the offsets of a list that occur in an array, or those that do not, eight at a time.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vbmi2+popcnt",
    "x86_64+avx2+popcnt"
))]
fn compare(list: &mut [u16], array: &[u16], wanted: bool) -> Compared {
    /// Offsets of the array compared per round. A vector round mostly waits for the start of the next one, so
    /// comparing twice as many of the longer list saves a quarter (`benches/queries`, conjunction without a
    /// hit).
    const OTHERS: usize = match_target! {
        "x86_64+avx512f+avx512bw+avx512vl+avx512vbmi2+popcnt" => 2 * LANES,
        "x86_64+avx2+popcnt" => 2 * LANES,
        _ => LANES,
    };
    let dropped = if wanted { 0 } else { u8::MAX };
    let (mut index, mut at, mut kept, mut found) = (0, 0, 0, 0);
    // Everything before `kept` is decided; every round advances in at least one of the two.
    while let (Some(offsets), Some(others)) = (
        list[index..].first_chunk::<LANES>(),
        array[at..].first_chunk::<OTHERS>(),
    ) {
        let (last, other_last) = (offsets[LANES - 1], others[OTHERS - 1]);
        let is_decided = last <= other_last;
        // Others up to `last` cannot equal an offset after these eight.
        at += OTHERS * usize::from(other_last <= last);
        let offsets = *offsets;
        found |= match_target! {
            "x86_64+avx512f+avx512bw+avx512vl+avx512vbmi2+popcnt" => avx512::common(offsets, *others),
            "x86_64+avx2+popcnt" => avx2::common(offsets, *others),
            _ => common(offsets, *others),
        };
        // Which list advances is unpredictable; that nothing is kept is mostly predictable.
        let keep = if is_decided { found ^ dropped } else { 0 };
        found = if is_decided { 0 } else { found };
        if keep != 0 {
            kept = match_target! {
                "x86_64+avx512f+avx512bw+avx512vl+avx512vbmi2+popcnt" => left_pack::avx512(list, kept, offsets, keep),
                "x86_64+avx2+popcnt" => left_pack::avx2(list, kept, offsets, keep),
                _ => left_pack::plain(list, kept, offsets, keep),
            };
        }
        index += LANES * usize::from(is_decided);
    }
    Compared {
        index,
        at,
        kept,
        found,
    }
}

/// A mask of the offsets that are among the others, lowest first.
#[inline(always)]
fn common(offsets: [u16; LANES], others: [u16; LANES]) -> u8 {
    let mut found = [false; LANES];
    for other in others {
        for lane in 0..LANES {
            found[lane] |= offsets[lane] == other;
        }
    }
    let lanes = found.iter().enumerate();
    lanes.fold(0, |found, (lane, &is_found)| {
        found | u8::from(is_found) << lane
    })
}

/// 512-bit vectors.
#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm512_broadcast_i32x4, _mm512_broadcast_i64x4, _mm512_cmpeq_epi16_mask,
        _mm512_permutexvar_epi16, _mm512_set_epi64,
    };

    use super::LANES;

    /// As [`common`](super::common): compares eight offsets, repeated four times, with four of the others,
    /// each repeated eight times.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl")]
    pub(crate) fn common(offsets: [u16; LANES], others: [u16; 2 * LANES]) -> u8 {
        let offsets = _mm512_broadcast_i32x4(bytemuck::cast(offsets));
        let others = _mm512_broadcast_i64x4(bytemuck::cast(others));
        // Written out because closures do not inherit the target features of their function.
        let found = equal(offsets, others, [0, 1, 2, 3])
            | equal(offsets, others, [4, 5, 6, 7])
            | equal(offsets, others, [8, 9, 10, 11])
            | equal(offsets, others, [12, 13, 14, 15]);
        // Each byte of the mask has one copy of the eight lanes; the copies are combined.
        let found = found | found >> 16;
        (found | found >> 8) as u8
    }

    /// The lanes that are equal: the first eight to the other at the first index, and so on.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    fn equal(offsets: __m512i, others: __m512i, [a, b, c, d]: [i64; 4]) -> u32 {
        const LANES_OF_WORD: i64 = 0x0001_0001_0001_0001;
        let (a, b) = (a * LANES_OF_WORD, b * LANES_OF_WORD);
        let (c, d) = (c * LANES_OF_WORD, d * LANES_OF_WORD);
        let indices = _mm512_set_epi64(d, d, c, c, b, b, a, a);
        _mm512_cmpeq_epi16_mask(offsets, _mm512_permutexvar_epi16(indices, others))
    }
}

/// 256-bit vectors.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm_movemask_epi8, _mm_or_si128, _mm_packs_epi16, _mm256_alignr_epi8,
        _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_cmpeq_epi16,
        _mm256_extracti128_si256, _mm256_or_si256 as either,
    };

    use super::LANES;

    /// As [`common`](super::common): compares the offsets, repeated twice, with all rotations of each eight of
    /// the others.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(crate) fn common(offsets: [u16; LANES], others: [u16; 2 * LANES]) -> u8 {
        let offsets = _mm256_broadcastsi128_si256(bytemuck::cast(offsets));
        let others: __m256i = bytemuck::cast(others);
        let found = either(
            either(
                either(equal::<0>(offsets, others), equal::<2>(offsets, others)),
                either(equal::<4>(offsets, others), equal::<6>(offsets, others)),
            ),
            either(
                either(equal::<8>(offsets, others), equal::<10>(offsets, others)),
                either(equal::<12>(offsets, others), equal::<14>(offsets, others)),
            ),
        );
        // The halves have compared the same offsets with different others, so a match in either
        // counts.
        let upper = _mm256_extracti128_si256::<1>(found);
        let found = _mm_or_si128(_mm256_castsi256_si128(found), upper);
        // Packing makes a byte of 0 or -1 of each lane. The cast drops the second copy of the
        // lanes.
        _mm_movemask_epi8(_mm_packs_epi16(found, found)) as u8
    }

    /// The lanes that equal the others, each 128-bit half of which is rotated by `BYTES`.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal<const BYTES: i32>(offsets: __m256i, others: __m256i) -> __m256i {
        _mm256_cmpeq_epi16(offsets, _mm256_alignr_epi8::<BYTES>(others, others))
    }
}

#[cfg(test)]
mod tests;
