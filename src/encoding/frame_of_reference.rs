//! Frame-of-reference (FOR) encoding: numbers as deltas to the minimum of their frame.
//!
//! Such numbers ascend, or nearly so, and take eight bytes where their neighbours differ by less
//! than two bytes hold. So every 64 of them are a frame, which names its least number once, and of
//! each number the difference is kept, in two bytes. This is "frame of reference" (Goldstein,
//! Ramakrishnan and Shaft, Compressing relations and indexes, ICDE 1998). Differences are not packed
//! to the bit, so that any number is read with one look at its frame. A frame with a greater
//! difference is wide: its numbers are kept as they are.
//!
//! ```text
//! a frame         8   the least of its numbers
//!                 8   0, or of a wide frame which wide one it is, counted from 1
//!               128   the differences; 0 in a wide one
//! a wide frame  512   the numbers
//! ```

use std::hint::cold_path;
use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::{Error, Result};

/// Numbers of a frame. What it costs beside the differences, 16 bytes, is a quarter of a byte a
/// number at 64; and 64 records, of some 600 bytes each, still lie within the 65,536 bytes that two
/// bytes tell apart, where 128 would not.
const FRAME_NUMBERS: usize = 64;

/// Numbers next to each other. Part of the format.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Frame {
    least: u64,
    /// The number of its wide frame plus one, 0 where it is not wide.
    wide: u64,
    differences: [u16; FRAME_NUMBERS],
}

/// The numbers of a frame that differ by more than two bytes hold. Part of the format.
pub(crate) type WideFrame = [u64; FRAME_NUMBERS];

/// A view of numbers in frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'a> {
    pub(crate) frames: &'a [Frame],
    pub(crate) wide: &'a [WideFrame],
    pub(crate) len: usize,
}

impl Frames<'_> {
    /// The number at a place, which has to be that of one of the numbers.
    ///
    /// Cost: reads the frame and the difference, or of few the wide frame.
    #[inline]
    pub(crate) fn get(self, place: usize) -> u64 {
        debug_assert!(place < self.len, "{place} of {}", self.len);
        let frame = &self.frames[place / FRAME_NUMBERS];
        match frame.wide {
            0 => frame.number(place % FRAME_NUMBERS),
            _ => self.wide_number(frame, place),
        }
    }

    /// Appends what is made of the numbers at some places, which ascend or descend.
    ///
    /// Cost: less than that of [`get`](Self::get) for each, least where the places are next to each other.
    #[inline]
    pub(crate) fn read<T>(
        self,
        places: &[u32],
        into: &mut Vec<T>,
        to: impl Fn(u32, u64) -> T + Copy,
    ) {
        let (Some(&first), Some(&last)) = (places.first(), places.last()) else {
            return;
        };
        if first.abs_diff(last) as usize + 1 == places.len() {
            return self.read_neighbours(first, last, into, to);
        }
        assert!((first.max(last) as usize) < self.len, "places of numbers");
        // A loop without calls and panics, since with either its variables are kept in memory, and a
        // page takes up to a tenth longer (`benches/queries`, frequent term). What is not there, which
        // validation excludes, would be 0.
        into.extend(places.iter().map(move |&place| {
            let in_frame = place as usize % FRAME_NUMBERS;
            let number = match self.frames.get(place as usize / FRAME_NUMBERS) {
                Some(frame) if frame.wide == 0 => frame.number(in_frame),
                frame => {
                    cold_path();
                    let wide = frame.and_then(|frame| self.wide.get(frame.wide as usize - 1));
                    wide.map_or(0, |wide| wide[in_frame])
                }
            };
            to(place, number)
        }));
    }

    /// Appends what is made of the numbers from a place to another, upwards or downwards.
    fn read_neighbours<T>(
        self,
        first: u32,
        last: u32,
        into: &mut Vec<T>,
        to: impl Fn(u32, u64) -> T + Copy,
    ) {
        const NUMBERS: u32 = FRAME_NUMBERS as u32;
        let mut place = first;
        // Every round reads those of a frame.
        loop {
            let frame = place / NUMBERS * NUMBERS;
            let end = last.clamp(frame, frame + (NUMBERS - 1));
            let places = place.min(end)..place.max(end) + 1;
            self.read_of_frame(places, last < first, into, to);
            if end == last {
                return;
            }
            place = if last < first { end - 1 } else { end + 1 };
        }
    }

    /// Appends what is made of the numbers at some places of a frame.
    fn read_of_frame<T>(
        self,
        places: Range<u32>,
        descends: bool,
        into: &mut Vec<T>,
        to: impl Fn(u32, u64) -> T + Copy,
    ) {
        let frame = &self.frames[places.start as usize / FRAME_NUMBERS];
        let start = places.start as usize % FRAME_NUMBERS;
        let in_frame = start..start + places.len();
        match frame.wide.checked_sub(1) {
            None => {
                let numbers = frame.differences[in_frame].iter();
                let numbers = numbers.map(|&difference| frame.least + u64::from(difference));
                extend(into, places.zip(numbers), descends, to);
            }
            Some(wide) => {
                let numbers = self.wide[wide as usize][in_frame].iter().copied();
                extend(into, places.zip(numbers), descends, to);
            }
        }
    }

    /// The number before a place, 0 before the first, and the one at it: a span, where the numbers
    /// are ends.
    ///
    /// Cost: for most places little more than [`get`](Self::get).
    #[inline]
    pub(crate) fn span(self, place: usize) -> (u64, u64) {
        let frame = &self.frames[place / FRAME_NUMBERS];
        match place % FRAME_NUMBERS {
            place if place > 0 && frame.wide == 0 => (frame.number(place - 1), frame.number(place)),
            _ => self.span_of_two_frames(place),
        }
    }

    /// Apart, so that [`span`](Self::span) is short.
    #[inline(never)]
    fn span_of_two_frames(self, place: usize) -> (u64, u64) {
        let before = place.checked_sub(1);
        (before.map_or(0, |before| self.get(before)), self.get(place))
    }

    /// The numbers in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = u64> {
        (0..self.len).map(move |place| self.get(place))
    }

    /// The last number.
    pub(crate) fn last(self) -> Option<u64> {
        self.len.checked_sub(1).map(|place| self.get(place))
    }

    /// How many numbers are below a bound, where numbers ascend.
    ///
    /// Cost: a guess among the frames and a few steps from there, and a binary search of one.
    pub(crate) fn count_below(self, bound: u64) -> usize {
        let frames = self.frames_below(bound);
        let mut low = frames.saturating_sub(1) * FRAME_NUMBERS;
        let mut size = self.len.min(frames * FRAME_NUMBERS) - low;
        // Everything below `low` is below the bound, everything from `low + size` on is not. Which
        // half goes on cannot be predicted, so that it is calculated.
        while size > 0 {
            let half = size / 2;
            let is_below = usize::from(self.get(low + half) < bound);
            low += is_below * (half + 1);
            size = half - is_below * (1 - size % 2);
        }
        low
    }

    /// How many frames start below a bound.
    fn frames_below(self, bound: u64) -> usize {
        let is_below = |frame: &Frame| frame.least < bound;
        // The first of each run are few, and in the caches.
        let runs = self.frames.chunks(FRAMES_OF_RUN);
        let (mut low, mut high) = (0, runs.len());
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
        let (from, behind) = around(run, guess(run, bound), is_below);
        first + from + run[from..behind].partition_point(is_below)
    }

    /// Checks everything but the order, so that no view can fail.
    pub(crate) fn validate(self) -> Result<()> {
        let mut wide = 0;
        let is_whole = |frame: &Frame| {
            wide += u64::from(frame.wide > 0);
            (frame.wide == 0 || frame.wide == wide) && frame.fits()
        };
        let holds = self.frames.len() == self.len.div_ceil(FRAME_NUMBERS)
            && self.frames.iter().all(is_whole)
            && wide == self.wide.len() as u64;
        if holds {
            Ok(())
        } else {
            Err(Error::corrupt(
                "the frames of numbers are out of order or out of bounds",
            ))
        }
    }

    /// A number of a wide frame. Apart, so that reading those of others is short.
    #[inline(never)]
    fn wide_number(self, frame: &Frame, place: usize) -> u64 {
        self.wide[frame.wide as usize - 1][place % FRAME_NUMBERS]
    }
}

impl Frame {
    /// A number of a frame that is not wide.
    #[inline(always)]
    fn number(&self, in_frame: usize) -> u64 {
        self.least + u64::from(self.differences[in_frame])
    }

    /// Whether no number exceeds a `u64`.
    fn fits(&self) -> bool {
        let fits = |&difference: &u16| self.least.checked_add(u64::from(difference)).is_some();
        fits(&u16::MAX) || self.differences.iter().all(fits)
    }
}

/// Appends what is made of numbers and their places, in their order or the other way round.
#[inline(always)]
fn extend<T>(
    into: &mut Vec<T>,
    numbers: impl DoubleEndedIterator<Item = (u32, u64)>,
    descends: bool,
    to: impl Fn(u32, u64) -> T,
) {
    let read = |(place, number)| to(place, number);
    if descends {
        into.extend(numbers.rev().map(read))
    } else {
        into.extend(numbers.map(read))
    }
}

/// Frames that a bound is guessed among: those of a block of rows.
const FRAMES_OF_RUN: usize = 1024;

/// About where the frames of a run reach a bound that is above its first, if their numbers grow
/// evenly ("interpolation search", Perl, Itai and Avni, 1978).
fn guess(run: &[Frame], bound: u64) -> usize {
    let (first, last) = (run[0].least, run[run.len() - 1].least);
    let share = (bound - first) as f64 / (last.saturating_sub(first) as f64 + 1.0);
    ((share * run.len() as f64) as usize).min(run.len() - 1)
}

/// A part of the run that the frames below a bound end in, found from a guess by doubling steps.
fn around(run: &[Frame], guess: usize, is_below: impl Fn(&Frame) -> bool) -> (usize, usize) {
    let mut step = 1;
    if is_below(&run[guess]) {
        let mut from = guess + 1;
        // Everything before `from` is below.
        while let Some(frame) = run.get(guess + step)
            && is_below(frame)
        {
            from = guess + step + 1;
            step *= 2;
        }
        return (from, run.len().min(guess + step));
    }
    let mut behind = guess;
    // Nothing from `behind` on is below.
    while let Some(place) = guess.checked_sub(step)
        && !is_below(&run[place])
    {
        behind = place;
        step *= 2;
    }
    (guess.saturating_sub(step), behind)
}

/// The sections that numbers are written to.
#[derive(Debug, Default)]
pub(crate) struct FrameSections {
    pub(crate) frames: Vec<Frame>,
    pub(crate) wide: Vec<WideFrame>,
}

impl FrameSections {
    /// Cuts numbers into frames.
    pub(crate) fn of(numbers: impl IntoIterator<Item = u64>) -> FrameSections {
        let mut sections = FrameSections::default();
        let mut numbers = numbers.into_iter();
        let mut frame = Vec::with_capacity(FRAME_NUMBERS);
        loop {
            frame.clear();
            frame.extend(numbers.by_ref().take(FRAME_NUMBERS));
            let (Some(&least), Some(&greatest)) = (frame.iter().min(), frame.iter().max()) else {
                return sections;
            };
            if greatest - least <= u64::from(u16::MAX) {
                sections.push(&frame, least)
            } else {
                sections.push_wide(&frame, least)
            }
        }
    }

    fn push(&mut self, numbers: &[u64], least: u64) {
        let mut differences = [0; FRAME_NUMBERS];
        for (difference, number) in differences.iter_mut().zip(numbers) {
            *difference = (number - least) as u16;
        }
        self.frames.push(Frame {
            least,
            wide: 0,
            differences,
        });
    }

    fn push_wide(&mut self, numbers: &[u64], least: u64) {
        let mut wide = [0; FRAME_NUMBERS];
        wide[..numbers.len()].copy_from_slice(numbers);
        self.wide.push(wide);
        self.frames.push(Frame {
            least,
            wide: self.wide.len() as u64,
            differences: [0; FRAME_NUMBERS],
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl FrameSections {
        pub(crate) fn view(&self, len: usize) -> Frames<'_> {
            Frames {
                frames: &self.frames,
                wide: &self.wide,
                len,
            }
        }
    }

    /// Numbers in any order: close together, equal, and apart by any power of two.
    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        let gap = prop_oneof![
            8 => 0..3_u64,
            4 => 0..2_000_u64,
            1 => (0..64_u32).prop_map(|bit| 1 << bit),
        ];
        let start = prop_oneof![Just(0), any::<u64>()];
        (start, prop::collection::vec(gap, 0..300)).prop_map(|(start, gaps)| {
            let next = |number: &mut u64, gap| {
                *number = number.wrapping_add(gap);
                Some(*number)
            };
            gaps.into_iter().scan(start, next).collect()
        })
    }

    proptest! {
        #[test]
        fn frames_are_a_list(numbers in numbers()) {
            let sections = FrameSections::of(numbers.iter().copied());
            let frames = sections.view(numbers.len());
            frames.validate().unwrap();
            prop_assert_eq!(frames.len, numbers.len());
            let spans: Vec<_> = (0..numbers.len()).map(|place| frames.span(place)).collect();
            let before = std::iter::once(0).chain(numbers.iter().copied());
            prop_assert_eq!(spans, before.zip(numbers.iter().copied()).collect::<Vec<_>>());
            prop_assert_eq!(frames.last(), numbers.last().copied());
            prop_assert_eq!(frames.iter().collect::<Vec<_>>(), numbers);
        }

        #[test]
        fn some_numbers_are_read_as_each_is(
            numbers in numbers(),
            bounds in any::<[prop::sample::Index; 2]>(),
            step in 1_usize..4,
            descends in any::<bool>(),
        ) {
            let sections = FrameSections::of(numbers.iter().copied());
            let frames = sections.view(numbers.len());
            let [start, end] = bounds.map(|bound| bound.index(numbers.len() + 1));
            let mut places: Vec<u32> = (start as u32..end as u32).step_by(step).collect();
            if descends {
                places.reverse();
            }
            let mut read = Vec::new();
            frames.read(&places, &mut read, |place, number| (place, number));
            let expected: Vec<(u32, u64)> =
                places.iter().map(|&place| (place, numbers[place as usize])).collect();
            prop_assert_eq!(read, expected);
        }

        #[test]
        fn ascending_numbers_are_searched_as_a_list_is(
            mut numbers in numbers(),
            probe in any::<prop::sample::Index>(),
            offset in 0..3_u64,
        ) {
            numbers.sort_unstable();
            let sections = FrameSections::of(numbers.iter().copied());
            let frames = sections.view(numbers.len());
            let near = if numbers.is_empty() { 0 } else { numbers[probe.index(numbers.len())] };
            let probe = near.wrapping_add(offset).wrapping_sub(1);
            prop_assert_eq!(
                frames.count_below(probe),
                numbers.partition_point(|&number| number < probe)
            );
        }

        #[test]
        fn damaged_frames_are_refused_or_read(
            numbers in numbers(),
            place in any::<prop::sample::Index>(),
            bit in 0..8_u32,
            is_wide_missing in any::<bool>(),
        ) {
            let mut sections = FrameSections::of(numbers.iter().copied());
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut sections.frames);
            if !bytes.is_empty() {
                bytes[place.index(bytes.len())] ^= 1 << bit;
            }
            if is_wide_missing {
                sections.wide.pop();
            }
            let frames = sections.view(numbers.len());
            if frames.validate().is_ok() {
                prop_assert_eq!(frames.iter().count(), numbers.len());
            }
        }
    }

    #[test]
    fn bounds_are_found_however_unevenly_numbers_grow() {
        let count = 3 * FRAMES_OF_RUN * FRAME_NUMBERS + 5;
        let growths: [fn(u64) -> u64; 4] = [
            |place| 7 + 3 * place,
            |place| place * place,
            |place| 5 + place / 1_000,
            |place| place + (place / 50_000) * (1 << 61),
        ];
        for growth in growths {
            let numbers: Vec<u64> = (0..count as u64).map(growth).collect();
            let sections = FrameSections::of(numbers.iter().copied());
            let frames = sections.view(numbers.len());
            for &number in numbers.iter().step_by(997) {
                for bound in [number.saturating_sub(1), number, number + 1] {
                    let expected = numbers.partition_point(|&number| number < bound);
                    assert_eq!(frames.count_below(bound), expected, "{bound}");
                }
            }
            for bound in [0, 1, u64::MAX] {
                let expected = numbers.partition_point(|&number| number < bound);
                assert_eq!(frames.count_below(bound), expected, "{bound}");
            }
        }
    }

    #[test]
    fn frames_are_wide_where_two_bytes_do_not_do() {
        let wide = |numbers: &[u64]| FrameSections::of(numbers.iter().copied()).wide.len();
        assert_eq!(wide(&[]), 0);
        assert_eq!(wide(&[7, 7 + 0xFFFF]), 0);
        assert_eq!(wide(&[7 + 0x1_0000, 7]), 1);
        assert_eq!(wide(&[u64::MAX, 0]), 1);
        let far_apart = |count| (0..count).map(|number| number << 16).collect::<Vec<u64>>();
        assert_eq!(wide(&far_apart(64)), 1);
        assert_eq!(wide(&far_apart(65)), 1);
        assert_eq!(wide(&far_apart(66)), 2);
    }

    #[test]
    fn validation_finds_what_is_broken() {
        let numbers = || (0..200).map(|number| u64::MAX - 500_000 + 2_000 * number);
        type Change = fn(&mut FrameSections);
        let changes: [Change; 9] = [
            |sections| sections.frames.truncate(3),
            |sections| sections.frames.push(Frame::zeroed()),
            |sections| sections.wide.truncate(2),
            |sections| sections.wide.push(WideFrame::zeroed()),
            |sections| sections.frames[1].wide = 0,
            |sections| sections.frames[1].wide = u64::MAX,
            |sections| sections.frames[3].wide = 4,
            |sections| sections.frames[3].least = u64::MAX,
            |sections| sections.frames.swap(1, 2),
        ];
        let whole = FrameSections::of(numbers());
        assert!(whole.view(200).validate().is_ok());
        assert!(whole.view(300).validate().is_err());
        for change in changes {
            let mut sections = FrameSections::of(numbers());
            change(&mut sections);
            assert!(sections.view(200).validate().is_err());
        }
    }
}
