//! Linear frames: ascending numbers as bit-packed residuals of a linear prediction.
//!
//! The offsets of records and the ends of labels grow almost linearly. 64 of them form a frame, which stores a line
//! below all of them, and the bit-packed residual of each number: 5 to 11 bits, where a delta to the frame's minimum
//! takes two bytes (tantivy's `BlockwiseLinear` columns are similar). Reading a number takes one access to its frame
//! and one to its words. These are more instructions than in a frame of reference, so the ends of token streams, of
//! which a phrase reads two per row, are not stored this way: phrases would take up to 39 % more instructions to save
//! 1.4 bytes per row.
//!
//! ```text
//! frame   8   base: the value of the line at the first number
//!         4   the index of its first word
//!         1   bits per residual, which is also the number of words: 0 to 64
//!         3   slope: the growth of the line from one number to the next, in 256ths
//! word    8   after all frames: residuals, the first in the lowest bits; two words of zeros after the last frame's
//! ```

use bytemuck::{Pod, Zeroable};

use super::bit_packing::{self, mask};
use super::frame_of_reference::FRAME_NUMBERS;
use crate::{Error, Result};

/// Consecutive numbers. Part of the format.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct LinearFrame {
    base: u64,
    first_word: u32,
    /// The bits per residual in the lowest byte, the slope in the others.
    bits_and_slope: u32,
}

/// The largest slope; steeper lines are stored with this slope and larger residuals.
const SLOPE_MAX: u64 = (1 << 24) - 1;

/// Fractional bits of a slope.
const SLOPE_FRACTION_BITS: u32 = 8;

/// Words of a frame in the section.
const FRAME_WORDS: usize = size_of::<LinearFrame>() / size_of::<u64>();

/// Padding words at the end, so that two words can be read at every number.
const SPARE_WORDS: usize = 2;

/// Residuals of up to this many bits are read two at a time.
const HALF_WORD_BITS: u32 = 32;

/// A view of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinearFrames<'a> {
    frames: &'a [LinearFrame],
    words: &'a [u64],
    len: usize,
}

impl LinearFrame {
    fn bits(&self) -> u32 {
        self.bits_and_slope & 0xFF
    }

    /// The value of the line at a number of the frame.
    #[inline(always)]
    fn line(&self, in_frame: usize) -> u64 {
        let slope = u64::from(self.bits_and_slope >> 8);
        let above = (slope * in_frame as u64) >> SLOPE_FRACTION_BITS;
        self.base.wrapping_add(above)
    }

    /// The number of a residual in these words.
    #[inline(always)]
    fn number(&self, words: &[u64], in_frame: usize) -> u64 {
        let residual = self.residuals_from(words, in_frame) & mask(self.bits());
        self.line(in_frame).wrapping_add(residual)
    }

    /// A number and the next of the frame, if residuals have at most [`HALF_WORD_BITS`].
    #[inline(always)]
    fn pair(&self, words: &[u64], in_frame: usize) -> (u64, u64) {
        let bits = self.bits();
        let mask = (1 << bits) - 1;
        let residuals = self.residuals_from(words, in_frame);
        let first = self.line(in_frame).wrapping_add(residuals & mask);
        let next = residuals >> bits & mask;
        (first, self.line(in_frame + 1).wrapping_add(next))
    }

    /// 64 bits of residuals, from that of a number on.
    #[inline(always)]
    fn residuals_from(&self, words: &[u64], in_frame: usize) -> u64 {
        let first = in_frame * self.bits() as usize;
        // Validated frames lie within the words, and the spare words keep `word + 1` in bounds.
        let word = self.first_word as usize + first / 64;
        let shift = first as u32 % 64;
        // Shift by one first, because a shift by 64 is not possible.
        let low = words[word] >> shift;
        let high = words[word + 1] << 1 << (63 - shift);
        low | high
    }
}

impl<'a> LinearFrames<'a> {
    /// A view of the section of `len` numbers; `None` if it is too short for their frames.
    pub(crate) fn new(section: &'a [u64], len: usize) -> Option<LinearFrames<'a>> {
        let (frames, words) =
            section.split_at_checked(len.div_ceil(FRAME_NUMBERS) * FRAME_WORDS)?;
        Some(LinearFrames {
            frames: bytemuck::cast_slice(frames),
            words,
            len,
        })
    }

    /// The number of numbers.
    pub(crate) fn len(self) -> usize {
        self.len
    }

    /// The number at an index, which must be in bounds.
    ///
    /// Cost: reads the frame and two words.
    #[inline]
    pub(crate) fn get(self, index: usize) -> u64 {
        debug_assert!(index < self.len, "{index} of {}", self.len);
        let frame = &self.frames[index / FRAME_NUMBERS];
        frame.number(self.words, index % FRAME_NUMBERS)
    }

    /// The number before an index (0 before the first) and the one at it: a span, if the numbers are ends.
    ///
    /// Cost: for most indices as [`get`](Self::get), plus a few instructions.
    #[inline]
    pub(crate) fn span(self, index: usize) -> (u64, u64) {
        debug_assert!(index < self.len, "{index} of {}", self.len);
        let frame = &self.frames[index / FRAME_NUMBERS];
        match (index % FRAME_NUMBERS).checked_sub(1) {
            Some(before) if frame.bits() <= HALF_WORD_BITS => frame.pair(self.words, before),
            _ => self.span_of_any_frames(index),
        }
    }

    /// Not inlined, so that [`span`](Self::span) stays short.
    #[inline(never)]
    fn span_of_any_frames(self, index: usize) -> (u64, u64) {
        let before = index.checked_sub(1);
        (before.map_or(0, |before| self.get(before)), self.get(index))
    }

    /// The numbers in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> + use<'a> {
        let in_frames = self.frames.iter().flat_map(move |frame| {
            (0..FRAME_NUMBERS).map(move |in_frame| frame.number(self.words, in_frame))
        });
        in_frames.take(self.len)
    }

    /// Checks that the bits of every number are within the words, so that no access can fail. The caller checks the
    /// numbers themselves.
    pub(crate) fn validate(self) -> Result<()> {
        let frames = self.frames.iter();
        let words = bit_packing::word_count(frames.map(|frame| (frame.first_word, frame.bits())))
            .ok_or_else(|| Error::corrupt("a linear frame has no words for its bits"))?;
        if self.words.len() == words + SPARE_WORDS {
            Ok(())
        } else {
            Err(Error::corrupt("linear frames have another number of words"))
        }
    }
}

/// Encodes mostly ascending numbers: their frames, then the words.
pub(crate) fn encode(numbers: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut encoded = Encoded::default();
    bit_packing::for_each_frame(numbers, |frame| encoded.push_frame(frame));
    encoded.words.extend([0; SPARE_WORDS]);
    let mut section: Vec<u64> = bytemuck::cast_slice(&encoded.frames).to_vec();
    section.append(&mut encoded.words);
    section
}

/// The two parts of a section.
#[derive(Default)]
struct Encoded {
    frames: Vec<LinearFrame>,
    words: Vec<u64>,
}

impl Encoded {
    fn push_frame(&mut self, numbers: &[u64]) {
        let mut frame = LinearFrame {
            base: 0,
            first_word: self.words.len() as u32,
            bits_and_slope: (slope_of(numbers) as u32) << 8,
        };
        let line = |index: usize| frame.line(index);
        // In 128 bits, because the difference of two `u64`s may be negative.
        let heights = numbers.iter().enumerate();
        let heights: Vec<i128> = heights
            .map(|(index, &number)| i128::from(number) - i128::from(line(index)))
            .collect();
        let lowest = heights.iter().copied().min().unwrap_or(0);
        let highest = heights.iter().copied().max().unwrap_or(0);
        let bits = 128 - (highest - lowest).leading_zeros();
        // Numbers that use all 64 bits are stored unencoded.
        let (bits, lowest, slope) = match bits {
            65.. => (64, 0, 0),
            _ => (bits, lowest, frame.bits_and_slope),
        };
        // A negative base wraps, and `line` wraps back.
        frame.base = lowest as u64;
        frame.bits_and_slope = slope | bits;
        // No residual exceeds the difference of the highest and the lowest, so each fits into
        // `bits`.
        let residuals = numbers.iter().enumerate();
        let residuals = residuals.map(|(index, number)| number.wrapping_sub(frame.line(index)));
        bit_packing::push(&mut self.words, bits, residuals);
        self.frames.push(frame);
    }
}

/// The slope of the line from the first number to the last, in 256ths.
fn slope_of(numbers: &[u64]) -> u64 {
    let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
    let rise = u128::from(last.saturating_sub(first)) << SLOPE_FRACTION_BITS;
    // A single number has no rise, so any divisor but 0 is right.
    let slope = rise / (numbers.len() as u128 - 1).max(1);
    slope.min(SLOPE_MAX.into()) as u64
}

#[cfg(test)]
mod tests;
