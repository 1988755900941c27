//! Frame-of-reference (FOR) encoding: numbers as deltas to the minimum of their frame.
//!
//! Ids, the ends of token streams and other ascending numbers take eight bytes, but the delta to a neighbour fits
//! into two. So 64 of them form a frame, which stores its minimum as the base, and a two-byte delta per number
//! (Goldstein, Ramakrishnan and Shaft, Compressing relations and indexes, ICDE 1998). Deltas are not bit-packed,
//! so that reading a number needs one access to its frame. A frame with a larger delta stores its numbers
//! unencoded in an exception block.
//!
//! ```text
//! frame            8   base: the minimum of its numbers
//!                  8   0, or the number of its exception block, counted from 1
//!                128   deltas; 0 with an exception block
//! exception block 512  numbers
//! ```

use std::hint::cold_path;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::bit_packing;
use crate::{Error, Result};

/// Numbers per frame. The overhead of 16 bytes is a quarter of a byte per number; and 64 ids, about 500 apart,
/// span less than the 65,536 that a delta can express.
pub(crate) const FRAME_NUMBERS: usize = 64;

/// Consecutive numbers. Part of the format.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Frame {
    base: u64,
    /// The number of its exception block plus one; 0 without.
    exception: u64,
    deltas: [u16; FRAME_NUMBERS],
}

/// The numbers of a frame whose deltas exceed two bytes. Part of the format.
pub(crate) type ExceptionBlock = [u64; FRAME_NUMBERS];

/// A view of numbers in frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameOfReference<'a> {
    pub(crate) frames: &'a [Frame],
    pub(crate) exceptions: &'a [ExceptionBlock],
    pub(crate) len: usize,
}

impl FrameOfReference<'_> {
    /// The number at an index, which must be in bounds.
    ///
    /// Cost: reads the frame and the delta, rarely an exception block.
    #[inline]
    pub(crate) fn get(self, index: usize) -> u64 {
        debug_assert!(index < self.len, "{index} of {}", self.len);
        let frame = &self.frames[index / FRAME_NUMBERS];
        match frame.exception {
            0 => frame.number(index % FRAME_NUMBERS),
            _ => self.exception_number(frame, index),
        }
    }

    /// Maps the numbers at ascending or descending indices and appends the results.
    ///
    /// Cost: less than [`get`](Self::get) per index; adjacent indices are the cheapest.
    #[inline]
    pub(crate) fn read<T>(
        self,
        indices: &[u32],
        into: &mut Vec<T>,
        to: impl Fn(u32, u64) -> T + Copy,
    ) {
        let (Some(&first), Some(&last)) = (indices.first(), indices.last()) else {
            return;
        };
        // As many ascending or descending indices as their ends are apart, plus one, are adjacent.
        if first.abs_diff(last) as usize + 1 == indices.len() {
            return self.read_neighbours(first, last, into, to);
        }
        assert!((first.max(last) as usize) < self.len, "indices of numbers");
        // The loop has no calls or panics, because either would keep its variables in memory and make a
        // page up to a tenth slower (`benches/queries`, frequent term). Missing numbers, which validation
        // excludes, would be 0.
        into.extend(indices.iter().map(move |&index| {
            let in_frame = index as usize % FRAME_NUMBERS;
            let number = match self.frames.get(index as usize / FRAME_NUMBERS) {
                Some(frame) if frame.exception == 0 => frame.number(in_frame),
                frame => {
                    cold_path();
                    let block =
                        frame.and_then(|frame| self.exceptions.get(frame.exception as usize - 1));
                    block.map_or(0, |block| block[in_frame])
                }
            };
            to(index, number)
        }));
    }

    /// Maps the numbers between two indices, upwards or downwards, and appends the results.
    fn read_neighbours<T>(
        self,
        first: u32,
        last: u32,
        into: &mut Vec<T>,
        to: impl Fn(u32, u64) -> T + Copy,
    ) {
        const NUMBERS: u32 = FRAME_NUMBERS as u32;
        let mut index = first;
        // Each iteration reads the numbers of one frame.
        loop {
            let frame = index / NUMBERS * NUMBERS;
            // The last index of this frame on the way to `last`, in either direction.
            let end = last.clamp(frame, frame + (NUMBERS - 1));
            let indices = index.min(end)..index.max(end) + 1;
            self.read_of_frame(indices, last < first, into, to);
            if end == last {
                return;
            }
            index = if last < first { end - 1 } else { end + 1 };
        }
    }

    /// Maps numbers of one frame and appends the results.
    fn read_of_frame<T>(
        self,
        indices: Range<u32>,
        descends: bool,
        into: &mut Vec<T>,
        to: impl Fn(u32, u64) -> T + Copy,
    ) {
        let frame = &self.frames[indices.start as usize / FRAME_NUMBERS];
        let start = indices.start as usize % FRAME_NUMBERS;
        let in_frame = start..start + indices.len();
        match frame.exception.checked_sub(1) {
            None => {
                let numbers = frame.deltas[in_frame].iter();
                let numbers = numbers.map(|&delta| frame.base + u64::from(delta));
                extend(into, indices.zip(numbers), descends, to);
            }
            Some(block) => {
                let numbers = self.exceptions[block as usize][in_frame].iter().copied();
                extend(into, indices.zip(numbers), descends, to);
            }
        }
    }

    /// The number before an index (0 before the first) and the one at it: a span, if the numbers are ends.
    ///
    /// Cost: for most indices little more than [`get`](Self::get).
    #[inline]
    pub(crate) fn span(self, index: usize) -> (u64, u64) {
        let frame = &self.frames[index / FRAME_NUMBERS];
        match index % FRAME_NUMBERS {
            index if index > 0 && frame.exception == 0 => {
                (frame.number(index - 1), frame.number(index))
            }
            _ => self.span_of_two_frames(index),
        }
    }

    /// Not inlined, so that [`span`](Self::span) stays short.
    #[inline(never)]
    fn span_of_two_frames(self, index: usize) -> (u64, u64) {
        let before = index.checked_sub(1);
        (before.map_or(0, |before| self.get(before)), self.get(index))
    }

    /// The numbers in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> {
        (0..self.len).map(move |index| self.get(index))
    }

    /// The last number.
    pub(crate) fn last(self) -> Option<u64> {
        self.len.checked_sub(1).map(|index| self.get(index))
    }

    /// The number of ascending numbers below a bound.
    ///
    /// Cost: an interpolation search among the frames, and a binary search in one.
    pub(crate) fn count_below(self, bound: u64) -> usize {
        let frames = self.frames_below(bound);
        // The boundary is in the last frame that starts below the bound, or directly after that
        // frame.
        let mut low = frames.saturating_sub(1) * FRAME_NUMBERS;
        let mut size = self.len.min(frames * FRAME_NUMBERS) - low;
        // Everything before `low` is below the bound, everything from `low + size` on is not. The choice of
        // the half is unpredictable, so it is computed without a branch.
        while size > 0 {
            let half = size / 2;
            let is_below = usize::from(self.get(low + half) < bound);
            low += is_below * (half + 1);
            size = half - is_below * (1 - size % 2);
        }
        low
    }

    /// The number of frames that start below a bound.
    fn frames_below(self, bound: u64) -> usize {
        let is_below = |frame: &Frame| frame.base < bound;
        // The first frames of all runs are few and cached.
        let runs = self.frames.chunks(FRAMES_OF_RUN);
        let (mut low, mut high) = (0, runs.len());
        // Invariant: runs before `low` start below the bound, runs from `high` on do not.
        while low < high {
            let middle = low + (high - low) / 2;
            if is_below(&self.frames[middle * FRAMES_OF_RUN]) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        let Some(first) = low.checked_sub(1).map(|run| run * FRAMES_OF_RUN) else {
            return 0;
        };
        let run = &self.frames[first..self.frames.len().min(first + FRAMES_OF_RUN)];
        let (from, end) = around(run, guess(run, bound), is_below);
        first + from + run[from..end].partition_point(is_below)
    }

    /// Checks everything except the order, so that no access can fail.
    pub(crate) fn validate(self) -> Result<()> {
        let mut blocks = 0;
        let is_whole = |frame: &Frame| {
            blocks += u64::from(frame.exception > 0);
            // Exception blocks are in the order of their frames, so each has the next number.
            (frame.exception == 0 || frame.exception == blocks) && frame.fits()
        };
        let holds = self.frames.len() == self.len.div_ceil(FRAME_NUMBERS)
            && self.frames.iter().all(is_whole)
            && blocks == self.exceptions.len() as u64;
        if holds {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the frames of numbers are out of order or out of bounds",
            ))
        }
    }

    /// A number of an exception block. Not inlined, so that the common path stays short.
    #[inline(never)]
    fn exception_number(self, frame: &Frame, index: usize) -> u64 {
        self.exceptions[frame.exception as usize - 1][index % FRAME_NUMBERS]
    }
}

impl Frame {
    /// A number of a frame without an exception block.
    #[inline(always)]
    fn number(&self, in_frame: usize) -> u64 {
        self.base + u64::from(self.deltas[in_frame])
    }

    /// Whether all numbers fit into a `u64`.
    fn fits(&self) -> bool {
        let fits = |&delta: &u16| self.base.checked_add(u64::from(delta)).is_some();
        fits(&u16::MAX) || self.deltas.iter().all(fits)
    }
}

/// Maps numbers with their indices, forwards or backwards, and appends the results.
#[inline(always)]
fn extend<T>(
    into: &mut Vec<T>,
    numbers: impl DoubleEndedIterator<Item = (u32, u64)>,
    descends: bool,
    to: impl Fn(u32, u64) -> T,
) {
    let read = |(index, number)| to(index, number);
    if descends {
        into.extend(numbers.rev().map(read))
    } else {
        into.extend(numbers.map(read))
    }
}

/// Frames per interpolation search: those of a block of rows.
const FRAMES_OF_RUN: usize = 1024;

/// The approximate index at which the frames of a run reach a bound above its first, assuming even growth
/// ("interpolation search", Perl, Itai and Avni, 1978).
fn guess(run: &[Frame], bound: u64) -> usize {
    let (first, last) = (run[0].base, run[run.len() - 1].base);
    // The run starts below the bound, so the difference is positive. All frames may have one base.
    let share = (bound - first) as f64 / (last.saturating_sub(first) as f64 + 1.0);
    ((share * run.len() as f64) as usize).min(run.len() - 1)
}

/// A part of the run that the frames below a bound end in, found from a guess by doubling steps.
fn around(run: &[Frame], guess: usize, is_below: impl Fn(&Frame) -> bool) -> (usize, usize) {
    let mut step = 1;
    if is_below(&run[guess]) {
        let mut from = guess + 1;
        // Invariant: everything before `from` is below the bound.
        while let Some(frame) = run.get(guess + step)
            && is_below(frame)
        {
            from = guess + step + 1;
            step *= 2;
        }
        return (from, run.len().min(guess + step));
    }
    let mut end = guess;
    // Invariant: nothing from `end` on is below the bound.
    while let Some(index) = guess.checked_sub(step)
        && !is_below(&run[index])
    {
        end = index;
        step *= 2;
    }
    (guess.saturating_sub(step), end)
}

/// The sections of numbers.
#[derive(Debug, Default)]
pub(crate) struct FrameOfReferenceSections {
    pub(crate) frames: Vec<Frame>,
    pub(crate) exceptions: Vec<ExceptionBlock>,
}

impl FrameOfReferenceSections {
    /// Encodes numbers in frames.
    pub(crate) fn of(numbers: impl IntoIterator<Item = u64>) -> FrameOfReferenceSections {
        let mut sections = FrameOfReferenceSections::default();
        bit_packing::for_each_frame(numbers, |frame| {
            let base = frame.iter().copied().min().unwrap_or(0);
            let max = frame.iter().copied().max().unwrap_or(0);
            if max - base <= u64::from(u16::MAX) {
                sections.push(frame, base);
            } else {
                sections.push_exception(frame, base);
            }
        });
        sections
    }

    fn push(&mut self, numbers: &[u64], base: u64) {
        let mut deltas = [0; FRAME_NUMBERS];
        for (delta, number) in deltas.iter_mut().zip(numbers) {
            // The caller has checked that the largest delta fits into 16 bits.
            *delta = (number - base) as u16;
        }
        self.frames.push(Frame {
            base,
            exception: 0,
            deltas,
        });
    }

    fn push_exception(&mut self, numbers: &[u64], base: u64) {
        let mut block = [0; FRAME_NUMBERS];
        block[..numbers.len()].copy_from_slice(numbers);
        self.exceptions.push(block);
        self.frames.push(Frame {
            base,
            exception: self.exceptions.len() as u64,
            deltas: [0; FRAME_NUMBERS],
        });
    }
}

#[cfg(test)]
mod tests;
