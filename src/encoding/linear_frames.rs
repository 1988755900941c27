//! Linear frames: ascending numbers as bit-packed residuals of a linear prediction.
//!
//! Record offsets grow almost linearly. 64 of them form a frame, which stores a line below all of them, and the
//! bit-packed residual of each number: 8 to 11 bits, where a delta to the frame's minimum takes two bytes
//! (tantivy's `BlockwiseLinear` columns are similar). Reading a number takes one access to its frame and one to its
//! words. These are more instructions than in a frame of reference, so the ends of token streams, of which a phrase
//! reads two per row, are not stored this way: phrases would take up to 39 % more instructions to save 1.4 bytes per
//! row.
//!
//! ```text
//! frame   8   base: the value of the line at the first number
//!         4   the index of its first word
//!         1   bits per residual, which is also the number of words: 0 to 64
//!         3   slope: the growth of the line from one number to the next, in 256ths
//! word    8   residuals, the first in the lowest bits; two words of zeros after the last frame's
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

/// Padding words at the end, so that two words can be read at every number.
const SPARE_WORDS: usize = 2;

/// A view of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinearFrames<'a> {
    pub(crate) frames: &'a [LinearFrame],
    pub(crate) words: &'a [u64],
    pub(crate) len: usize,
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
        let bits = self.bits();
        let first = in_frame * bits as usize;
        let word = self.first_word as usize + first / 64;
        let shift = first as u32 % 64;
        // Shift by one first, because a shift by 64 is not possible.
        let low = words[word] >> shift;
        let high = words[word + 1] << 1 << (63 - shift);
        self.line(in_frame).wrapping_add((low | high) & mask(bits))
    }
}

impl<'a> LinearFrames<'a> {
    /// The number at an index, which must be in bounds.
    ///
    /// Cost: reads the frame and two words.
    #[inline]
    pub(crate) fn get(self, index: usize) -> u64 {
        debug_assert!(index < self.len, "{index} of {}", self.len);
        let frame = &self.frames[index / FRAME_NUMBERS];
        frame.number(self.words, index % FRAME_NUMBERS)
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
        let holds = self.frames.len() == self.len.div_ceil(FRAME_NUMBERS)
            && self.words.len() == words + SPARE_WORDS;
        if holds {
            Ok(())
        } else {
            Err(Error::corrupt("linear frames have another number of words"))
        }
    }
}

/// The sections of numbers.
#[derive(Debug, Default)]
pub(crate) struct LinearFrameSections {
    pub(crate) frames: Vec<LinearFrame>,
    pub(crate) words: Vec<u64>,
}

impl LinearFrameSections {
    /// Encodes mostly ascending numbers.
    pub(crate) fn of(numbers: impl IntoIterator<Item = u64>) -> LinearFrameSections {
        let mut sections = LinearFrameSections::default();
        bit_packing::for_each_frame(numbers, |frame| sections.push_frame(frame));
        sections.words.extend([0; SPARE_WORDS]);
        sections
    }

    fn push_frame(&mut self, numbers: &[u64]) {
        let mut frame = LinearFrame {
            base: 0,
            first_word: self.words.len() as u32,
            bits_and_slope: (slope_of(numbers) as u32) << 8,
        };
        let line = |index: usize| frame.line(index);
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
        frame.base = lowest as u64;
        frame.bits_and_slope = slope | bits;
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
    let slope = rise / (numbers.len() as u128 - 1).max(1);
    slope.min(SLOPE_MAX.into()) as u64
}

#[cfg(test)]
mod tests;
