//! Bit-packed numbers, stored as deltas below the maximum of their frame.
//!
//! For numbers with mostly equal neighbours, such as the commits of rows: 64 numbers form a frame, which stores
//! their maximum and bit-packed deltas. A frame of equal numbers takes no bits; if all numbers are equal, as after a
//! build, there is a single frame. The maximum shows without reading the numbers whether any exceeds a bound, so that
//! frames can be skipped (Lemire and Boytsov, Decoding billions of integers per second through vectorization, 2015, for
//! packed frames).
//!
//! ```text
//! frame   8   maximum
//!         4   the index of its first word
//!         4   bits per delta, which is also the number of words: 0 to 64
//! word    8   deltas, the first in the lowest bits
//! ```

use bytemuck::{Pod, Zeroable};

use super::bit_packing::{self, mask};
use super::frame_of_reference::FRAME_NUMBERS;
use crate::{Error, Result};

/// Consecutive numbers. Part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct PackedFrame {
    maximum: u64,
    first_word: u32,
    bits: u32,
}

/// A view of packed numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackedNumbers<'a> {
    /// One for each 64 numbers, or one for all if they are equal.
    pub(crate) frames: &'a [PackedFrame],
    pub(crate) words: &'a [u64],
    pub(crate) len: usize,
}

/// The sections of packed numbers.
#[derive(Debug, Default)]
pub(crate) struct PackedNumberSections {
    pub(crate) frames: Vec<PackedFrame>,
    pub(crate) words: Vec<u64>,
}

impl PackedFrame {
    /// The largest number of the frame.
    pub(crate) fn maximum(&self) -> u64 {
        self.maximum
    }

    /// Whether all numbers of the frame are equal.
    pub(crate) fn is_uniform(&self) -> bool {
        self.bits == 0
    }
}

impl<'a> PackedNumbers<'a> {
    /// The frame of 64 numbers.
    #[inline]
    fn frame(self, index: usize) -> &'a PackedFrame {
        match self.frames {
            [of_all] => of_all,
            frames => &frames[index],
        }
    }

    /// The frame of each 64 numbers in order.
    pub(crate) fn frames(self) -> impl Iterator<Item = &'a PackedFrame> {
        (0..self.len.div_ceil(FRAME_NUMBERS)).map(move |index| self.frame(index))
    }

    /// The number at an index, which must be in bounds.
    ///
    /// Cost: reads the frame and, unless its numbers are equal, one or two words.
    #[inline]
    pub(crate) fn get(self, index: usize) -> u64 {
        debug_assert!(index < self.len, "{index} of {}", self.len);
        let frame = self.frame(index / FRAME_NUMBERS);
        if frame.is_uniform() {
            return frame.maximum;
        }
        let first = index % FRAME_NUMBERS * frame.bits as usize;
        let words = &self.words[frame.first_word as usize..];
        let (word, shift) = (first / 64, first % 64);
        let mut distance = words[word] >> shift;
        // The next word is read only if it is needed: after the last frame there is none.
        if shift + frame.bits as usize > 64 {
            distance |= words[word + 1] << (64 - shift);
        }
        // Validated frames have no distance above their maximum.
        frame.maximum.wrapping_sub(distance & mask(frame.bits))
    }

    /// Visits the numbers of a frame with their indices. Cost: a nanosecond each.
    #[inline]
    pub(crate) fn visit_frame(self, index: usize, mut visit: impl FnMut(usize, u64)) {
        let frame = self.frame(index);
        let first = index * FRAME_NUMBERS;
        let (bits, mask) = (frame.bits as usize, mask(frame.bits));
        let words = &self.words[frame.first_word as usize..];
        // After the last word, zeros are read, which no distance uses.
        let word = |at: usize| u128::from(words.get(at).copied().unwrap_or(0));
        for number in 0..FRAME_NUMBERS.min(self.len - first) {
            let start = number * bits;
            // Reads two words unconditionally, because a delta may span both.
            let both = word(start / 64) | word(start / 64 + 1) << 64;
            let distance = (both >> (start % 64)) as u64 & mask;
            visit(first + number, frame.maximum.wrapping_sub(distance));
        }
    }

    /// The largest number. Cost: visits each frame.
    pub(crate) fn maximum(self) -> Option<u64> {
        self.frames.iter().map(PackedFrame::maximum).max()
    }

    /// Checks that every delta is within the words of its frame, and no number is negative.
    pub(crate) fn validate(self) -> Result<()> {
        let frames = self.frames.iter();
        let words = bit_packing::word_count(frames.map(|frame| (frame.first_word, frame.bits)))
            .ok_or_else(|| Error::corrupt("a packed frame has no place for its bits"))?;
        if words != self.words.len() {
            return Err(Error::corrupt("packed frames have another number of words"));
        }
        let is_of_all = self.frames.len() == 1 && self.frames[0].is_uniform();
        if self.frames.len() != self.len.div_ceil(FRAME_NUMBERS) && !is_of_all {
            return Err(Error::corrupt(
                "packed numbers have another number of frames",
            ));
        }
        let in_range = |index: usize| self.get(index) <= self.frames[index / FRAME_NUMBERS].maximum;
        // A frame for all numbers is uniform, so the others are one per 64 numbers, as `in_range`
        // assumes.
        let packed = (0..self.frames.len()).filter(|&frame| !self.frames[frame].is_uniform());
        let indices = packed.flat_map(|frame| {
            let first = frame * FRAME_NUMBERS;
            first..self.len.min(first + FRAME_NUMBERS)
        });
        if indices.into_iter().all(in_range) {
            Ok(())
        } else {
            Err(Error::corrupt("a packed number is below zero"))
        }
    }
}

impl PackedNumberSections {
    /// Packs numbers.
    pub(crate) fn of(numbers: impl IntoIterator<Item = u64>) -> PackedNumberSections {
        let mut sections = PackedNumberSections::default();
        bit_packing::for_each_frame(numbers, |frame| sections.push_frame(frame));
        if let [first, others @ ..] = &sections.frames[..]
            && first.is_uniform()
            && others.iter().all(|frame| frame == first)
        {
            sections.frames.truncate(1);
        }
        sections
    }

    fn push_frame(&mut self, numbers: &[u64]) {
        let maximum = numbers.iter().copied().max().unwrap_or(0);
        let minimum = numbers.iter().copied().min().unwrap_or(0);
        let bits = 64 - (maximum - minimum).leading_zeros();
        self.frames.push(PackedFrame {
            maximum,
            first_word: self.words.len() as u32,
            bits,
        });
        let deltas = numbers.iter().map(|number| maximum - number);
        bit_packing::push(&mut self.words, bits, deltas);
    }
}

#[cfg(test)]
mod tests;
