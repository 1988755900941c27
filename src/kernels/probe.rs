//! Probes a bitset with a sorted list of offsets, sixteen at a time if they are close together.
//!
//! Looking up one offset takes ten instructions. AVX-512 selects bytes from 256, the bits of 2,048 rows, for
//! sixteen offsets together in a third of the time. AVX2 looks up eight and packs the kept ones, with a
//! quarter fewer instructions than one by one. Sparse offsets, and all offsets on other processors, are
//! looked up one by one.

use std::ops::Range;

use multiversion::multiversion;
use multiversion::target::match_target;

#[cfg(target_arch = "x86_64")]
use super::{intersect, left_pack};
use crate::kernels::bits;
use crate::kernels::block::BlockBits;

/// Offsets looked up together.
#[cfg(target_arch = "x86_64")]
const LANES: usize = 16;

/// Words in which they are looked up.
#[cfg(target_arch = "x86_64")]
const WORDS: usize = 32;

/// With more rows per offset on average, sixteen offsets mostly exceed those words, and looking up one by one is
/// as fast (`benches/queries`, country + size).
#[cfg(target_arch = "x86_64")]
const ROWS_PER_OFFSET_MAX: usize = 128;

/// Keeps the offsets of the list that are set, or those that are not.
pub(crate) fn retain(list: &mut Vec<u16>, set: &BlockBits, wanted: bool) {
    let kept = retain_offsets(list, set, wanted);
    list.truncate(kept);
}

/// The number of offsets that are set. Testing bits in bytes takes five instructions, in words eight.
#[multiversion(targets("x86_64+avx2+bmi1+bmi2+popcnt"))]
pub(crate) fn count(offsets: &[u16], set: &BlockBits) -> u32 {
    let bytes: &[u8] = bytemuck::cast_slice(set);
    let is_set = |&offset: &u16| u32::from(bytes[usize::from(offset / 8)] >> (offset % 8) & 1);
    offsets.iter().map(is_set).sum()
}

/// Moves the offsets of a list that are set, or those that are not, to its start. Returns their number.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512vl+avx512vbmi+avx512vbmi2+bmi1+bmi2+popcnt",
    "x86_64+avx2+bmi1+bmi2+popcnt"
))]
fn retain_offsets(list: &mut [u16], set: &BlockBits, wanted: bool) -> usize {
    let (index, kept) = match_target! {
        "x86_64+avx512f+avx512bw+avx512vl+avx512vbmi+avx512vbmi2+bmi1+bmi2+popcnt" => {
            let (mut index, mut kept) = (0, 0);
            let dropped = if wanted { 0 } else { u16::MAX };
            // Offsets ascend, so their spread is the difference of the last and the first.
            let is_dense = match *list {
                // Offsets of a damaged permutation may not ascend.
                [first, .., last] => {
                    usize::from(last.abs_diff(first)) < list.len() * ROWS_PER_OFFSET_MAX
                }
                _ => false,
            };
            while is_dense && let Some(&offsets) = list[index..].first_chunk::<LANES>() {
                // Starts earlier at the end of the block, so that there are always enough words.
                let first = usize::from(offsets[0] / 64).min(set.len() - WORDS);
                let Some(words) = set[first..].first_chunk::<WORDS>() else { break };
                // `first` is at most 992, so the offset of its first row fits into a `u16`.
                let (reached, found) = vectors::look_up(offsets, words, first as u16 * 64);
                if reached == u16::MAX {
                    let keep = found ^ dropped;
                    list[kept..kept + LANES].copy_from_slice(&vectors::packed(offsets, keep));
                    kept += keep.count_ones() as usize;
                    index += LANES;
                    continue;
                }
                // Some lie after these words. Half of the offsets are looked up one by one, so that
                // the loop advances.
                kept = retain_each(list, index..index + LANES / 2, kept, set, wanted);
                index += LANES / 2;
            }
            (index, kept)
        }
        "x86_64+avx2+bmi1+bmi2+popcnt" => {
            let (mut index, mut kept) = (0, 0);
            let dropped = if wanted { 0 } else { u8::MAX };
            while let Some(&offsets) = list[index..].first_chunk() {
                let keep = vectors::set_of(offsets, set) ^ dropped;
                if keep != 0 {
                    kept = left_pack::avx2(list, kept, offsets, keep);
                }
                index += offsets.len();
            }
            (index, kept)
        }
        _ => (0, 0),
    };
    retain_each(list, index..list.len(), kept, set, wanted)
}

/// Looks up the offsets at these indices one by one. Takes the number kept before and returns the new one.
#[inline(always)]
fn retain_each(
    list: &mut [u16],
    indices: Range<usize>,
    mut kept: usize,
    set: &BlockBits,
    wanted: bool,
) -> usize {
    for index in indices {
        let offset = list[index];
        list[kept] = offset;
        kept += usize::from(bits::test(set, offset) == wanted);
    }
    kept
}

/// Vector variants.
#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm_mask_blend_epi8, _mm_movepi8_mask, _mm_set_epi64x, _mm_shuffle_epi8,
        _mm_test_epi8_mask, _mm256_and_si256, _mm256_cmplt_epu16_mask, _mm256_cvtepi16_epi8,
        _mm256_maskz_compress_epi16, _mm256_set1_epi16, _mm256_srli_epi16, _mm256_sub_epi16,
        _mm512_castsi128_si512, _mm512_castsi512_si128, _mm512_permutex2var_epi8,
    };

    use super::{BlockBits, LANES, WORDS, intersect};

    /// A mask of the set ones of eight offsets, lowest first. Offsets are shifted out of two words, because the
    /// compiler would otherwise extract each from a vector.
    #[inline(always)]
    pub(crate) fn set_of(offsets: [u16; intersect::LANES], set: &BlockBits) -> u8 {
        let halves: [u64; 2] = bytemuck::cast(offsets);
        let mut found = 0;
        // From the last lane to the first, so that lane `n` ends up in bit `n`.
        for half in halves.into_iter().rev() {
            for lane in (0..intersect::LANES / 2).rev() {
                let offset = half >> (u16::BITS as usize * lane);
                // The modulus drops the bits of later lanes, and spares a check of bounds.
                let is_set = set[offset as usize / 64 % set.len()] >> (offset % 64) & 1;
                found = found << 1 | is_set;
            }
        }
        found as u8
    }

    /// Masks of the offsets that lie in these words, given the offset of their first row, and of those that are
    /// set.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi")]
    pub(crate) fn look_up(offsets: [u16; LANES], words: &[u64; WORDS], first: u16) -> (u16, u16) {
        /// The bit of each index in a byte, twice.
        const BITS: i64 = 0x8040_2010_0804_0201_u64.cast_signed();
        const ROWS: i16 = 64 * WORDS as i16;
        let tables: [[u64; 8]; 4] = bytemuck::cast(*words);
        let [a, b, c, d] = tables;
        // Written out because closures do not inherit the target features of their function.
        let (a, b): (__m512i, __m512i) = (bytemuck::cast(a), bytemuck::cast(b));
        let (c, d): (__m512i, __m512i) = (bytemuck::cast(c), bytemuck::cast(d));
        let offsets: __m256i = bytemuck::cast(offsets);
        // Offsets before `first` wrap to at least `ROWS`, so they count as not reached.
        let inside = _mm256_sub_epi16(offsets, _mm256_set1_epi16(first.cast_signed()));
        let reached = _mm256_cmplt_epu16_mask(inside, _mm256_set1_epi16(ROWS));
        let bytes = _mm256_cvtepi16_epi8(_mm256_srli_epi16::<3>(inside));
        let indices = _mm256_cvtepi16_epi8(_mm256_and_si256(inside, _mm256_set1_epi16(7)));
        let wanted = _mm_shuffle_epi8(_mm_set_epi64x(BITS, BITS), indices);
        // The top bit of a byte's index selects the second pair of tables.
        let is_upper = _mm_movepi8_mask(bytes);
        let bytes = _mm512_castsi128_si512(bytes);
        let lower = _mm512_castsi512_si128(_mm512_permutex2var_epi8(a, bytes, b));
        let upper = _mm512_castsi512_si128(_mm512_permutex2var_epi8(c, bytes, d));
        let found = _mm_test_epi8_mask(_mm_mask_blend_epi8(is_upper, lower, upper), wanted);
        (reached, found)
    }

    /// The kept offsets, followed by arbitrary ones.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512vbmi2")]
    pub(crate) fn packed(offsets: [u16; LANES], keep: u16) -> [u16; LANES] {
        bytemuck::cast(_mm256_maskz_compress_epi16(keep, bytemuck::cast(offsets)))
    }
}

#[cfg(test)]
mod tests;
