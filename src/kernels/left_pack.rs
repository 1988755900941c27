//! In-place left-packing of eight `u16` lanes by a keep mask.
//!
//! Each variant takes the offsets, the keep mask (lowest first) and the number kept so far, and returns the
//! new number. Slots after the kept offsets are overwritten.

use super::intersect::LANES;

/// One by one.
#[inline(always)]
pub(crate) fn plain(list: &mut [u16], mut kept: usize, offsets: [u16; LANES], keep: u8) -> usize {
    for (lane, offset) in offsets.into_iter().enumerate() {
        // `kept` never exceeds the index of the offset, so no unread offset is overwritten.
        list[kept] = offset;
        kept += usize::from(keep >> lane & 1);
    }
    kept
}

#[cfg(target_arch = "x86_64")]
pub(crate) use vectors::{avx2, avx512};

#[cfg(target_arch = "x86_64")]
mod vectors {
    use std::arch::x86_64::{_mm_maskz_compress_epi16, _mm_shuffle_epi8};

    use super::LANES;

    /// Offsets that AVX2 packs together.
    const HALF: usize = LANES / 2;

    /// A shuffle per keep mask of four offsets: 128 bytes, where masks of eight would take 4,096.
    const CHOICES: [[u8; 2 * HALF]; 1 << HALF] = choices();

    const fn choices() -> [[u8; 2 * HALF]; 1 << HALF] {
        let mut choices = [[0; 2 * HALF]; 1 << HALF];
        let mut keep = 0;
        while keep < choices.len() {
            let (mut lane, mut kept) = (0, 0);
            while lane < HALF {
                if keep >> lane & 1 == 1 {
                    choices[keep][2 * kept] = 2 * lane as u8;
                    choices[keep][2 * kept + 1] = 2 * lane as u8 + 1;
                    kept += 1;
                }
                lane += 1;
            }
            keep += 1;
        }
        choices
    }

    /// All eight together.
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl,avx512vbmi2,popcnt")]
    pub(crate) fn avx512(list: &mut [u16], kept: usize, offsets: [u16; LANES], keep: u8) -> usize {
        let packed: [u16; LANES] =
            bytemuck::cast(_mm_maskz_compress_epi16(keep, bytemuck::cast(offsets)));
        // All eight slots are at or before those of the offsets read last, so no unread offset is
        // overwritten.
        list[kept..kept + LANES].copy_from_slice(&packed);
        kept + keep.count_ones() as usize
    }

    /// Four at a time.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    pub(crate) fn avx2(list: &mut [u16], kept: usize, offsets: [u16; LANES], keep: u8) -> usize {
        /// The upper four follow the bytes of the lower four.
        const UPPER: u64 = u64::from_le_bytes([2 * HALF as u8; 8]);
        let (lower, upper) = (keep & 0xF, keep >> HALF);
        let bytes = |choice: u8| u64::from_le_bytes(CHOICES[usize::from(choice)]);
        // The bytes of a choice are at most 7, so adding 8 to each does not carry.
        let bytes = [bytes(lower), bytes(upper) + UPPER];
        let packed = _mm_shuffle_epi8(bytemuck::cast(offsets), bytemuck::cast(bytes));
        let [first, second]: [[u16; HALF]; 2] = bytemuck::cast(packed);
        let middle = kept + lower.count_ones() as usize;
        list[kept..kept + HALF].copy_from_slice(&first);
        // Overwrites the surplus of the lower four.
        list[middle..middle + HALF].copy_from_slice(&second);
        middle + upper.count_ones() as usize
    }
}

#[cfg(test)]
mod tests;
