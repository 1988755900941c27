//! Numbers kept as differences to the least of their frame: ids by row, places in other sections.
//!
//! Such numbers ascend, or nearly so, and take eight bytes where their neighbours differ by less
//! than two bytes hold. So every 64 of them are a frame, which names its least number once, and of
//! each number the difference is kept. This is "frame of reference" (Goldstein, Ramakrishnan and
//! Shaft, Compressing relations and indexes, ICDE 1998). Differences are not packed to the bit: two
//! bytes of each are in the frame, so that any number is read with one look at one place, and what
//! few frames need more have it in planes, of 16 bits of each difference.
//!
//! ```text
//! a frame     8   the least of its numbers
//!             4   its first plane
//!             4   how many planes it has: 0 to 3
//!           128   the lowest 16 bits of each difference
//! a plane   128   the next 16 bits of each difference of a frame
//! ```
//!
//! Numbers need not ascend, though searching does; those far apart take eight bytes as before, and
//! a quarter of one for the frame.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};

use crate::{Error, Result};

/// Numbers of a frame. What it costs beside the differences, 16 bytes, is a quarter of a byte a
/// number at 64; and 64 records, of some 600 bytes each, still lie within the 65,536 bytes that two
/// bytes tell apart, where 128 would not.
const FRAME_NUMBERS: usize = 64;

/// Planes of a frame whose differences need all of a `u64`.
const PLANES_MAX: u32 = u64::BITS / u16::BITS - 1;

/// Numbers next to each other. Part of the format.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Frame {
    least: u64,
    first_plane: u32,
    planes: u32,
    lowest: Plane,
}

/// Sixteen bits of each difference of a frame. Part of the format.
pub(crate) type Plane = [u16; FRAME_NUMBERS];

/// A view of numbers in frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frames<'a> {
    frames: &'a [Frame],
    planes: &'a [Plane],
    len: usize,
}

impl<'a> Frames<'a> {
    /// A view of `len` numbers, of sections that have been or will be validated.
    pub(super) fn new(frames: &'a [Frame], planes: &'a [Plane], len: usize) -> Frames<'a> {
        Frames {
            frames,
            planes,
            len,
        }
    }

    /// The number at a place, which has to be that of one of the numbers.
    ///
    /// Cost: reads the frame and, of few, planes.
    #[inline]
    pub(crate) fn get(self, place: usize) -> u64 {
        debug_assert!(place < self.len, "{place} of {}", self.len);
        let frame = &self.frames[place / FRAME_NUMBERS];
        let place = place % FRAME_NUMBERS;
        let difference = match frame.planes {
            0 => u64::from(frame.lowest[place]),
            _ => self.difference(frame, place),
        };
        frame.least + difference
    }

    /// Appends what is made of the numbers at some places, which ascend or descend.
    ///
    /// Cost: less than that of [`get`](Self::get) for each where the places are next to each other.
    #[inline]
    pub(crate) fn read<T>(self, places: &[u32], into: &mut Vec<T>, to: impl Fn(u32, u64) -> T) {
        let (Some(&first), Some(&last)) = (places.first(), places.last()) else {
            return;
        };
        if first.abs_diff(last) as usize + 1 == places.len() {
            return self.read_neighbours(first, last, into, &to);
        }
        // As `get`, but with two ends: where both kinds meet again, a page takes up to a tenth longer
        // (`benches/queries`, frequent term).
        into.extend(places.iter().map(move |&place| {
            let frame = &self.frames[place as usize / FRAME_NUMBERS];
            let in_frame = place as usize % FRAME_NUMBERS;
            if frame.planes > 0 {
                return to(place, frame.least + self.difference(frame, in_frame));
            }
            to(place, frame.least + u64::from(frame.lowest[in_frame]))
        }));
    }

    /// Appends what is made of the numbers from a place to another, upwards or downwards.
    fn read_neighbours<T>(
        self,
        first: u32,
        last: u32,
        into: &mut Vec<T>,
        to: &impl Fn(u32, u64) -> T,
    ) {
        let numbers = FRAME_NUMBERS as u32;
        let (low, high, descends) = (first.min(last), first.max(last), last < first);
        let frames = low / numbers..=high / numbers;
        for step in 0..=frames.end() - frames.start() {
            let number = match descends {
                true => frames.end() - step,
                false => frames.start() + step,
            };
            let start = number * numbers;
            let places = low.max(start)..(high + 1).min(start.saturating_add(numbers));
            let frame = &self.frames[number as usize];
            match self.planes_of(frame) {
                [] => frame.read([], places, descends, into, to),
                [one] => frame.read([one], places, descends, into, to),
                [one, two] => frame.read([one, two], places, descends, into, to),
                [one, two, three, ..] => frame.read([one, two, three], places, descends, into, to),
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
            place if place > 0 && frame.planes == 0 => {
                let number = |place: usize| frame.least + u64::from(frame.lowest[place]);
                (number(place - 1), number(place))
            }
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
            match is_below(&self.frames[middle * FRAMES_OF_RUN]) {
                true => low = middle + 1,
                false => high = middle,
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
    pub(super) fn validate(self) -> Result<()> {
        let mut planes = 0;
        let is_whole = |frame: &Frame| {
            let is_next = frame.first_plane as usize == planes && frame.planes <= PLANES_MAX;
            planes += frame.planes as usize;
            is_next && planes <= self.planes.len() && self.fits(frame)
        };
        let holds = self.frames.len() == self.len.div_ceil(FRAME_NUMBERS)
            && self.frames.iter().all(is_whole)
            && planes == self.planes.len();
        match holds {
            true => Ok(()),
            false => Err(Error::corrupt(
                "the frames of numbers are out of order or out of bounds",
            )),
        }
    }

    /// Whether no number of a frame exceeds a `u64`, those behind the last of all included.
    fn fits(self, frame: &Frame) -> bool {
        // With less than 64 bits each, neither the least number nor a difference reaches half way.
        let is_low = frame.planes < PLANES_MAX && frame.least.leading_zeros() > 0;
        let fits = |place: usize| {
            let difference = frame.difference(self.planes_of(frame).iter(), place);
            frame.least.checked_add(difference).is_some()
        };
        is_low || (0..FRAME_NUMBERS).all(fits)
    }

    /// What a number of a frame with planes exceeds its least by. Apart, so that reading others is short.
    #[inline(never)]
    fn difference(self, frame: &Frame, place: usize) -> u64 {
        frame.difference(self.planes_of(frame).iter(), place)
    }

    fn planes_of(self, frame: &Frame) -> &'a [Plane] {
        let first = frame.first_plane as usize;
        &self.planes[first..first + frame.planes as usize]
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

impl Frame {
    /// Appends what is made of the numbers at neighbouring places of the frame, which has these planes.
    #[inline(always)]
    fn read<T, const PLANES: usize>(
        &self,
        planes: [&Plane; PLANES],
        places: Range<u32>,
        descends: bool,
        into: &mut Vec<T>,
        to: &impl Fn(u32, u64) -> T,
    ) {
        let least = self.least;
        let read = |place: u32| {
            let in_frame = place as usize % FRAME_NUMBERS;
            let add = |bits: u64, plane: &&Plane| bits << u16::BITS | u64::from(plane[in_frame]);
            let higher = planes.iter().rev().fold(0, add);
            let difference = higher << u16::BITS | u64::from(self.lowest[in_frame]);
            to(place, least + difference)
        };
        match descends {
            true => into.extend(places.rev().map(read)),
            false => into.extend(places.map(read)),
        }
    }

    /// What the number at a place of the frame, which has these planes, exceeds the least by.
    #[inline(always)]
    fn difference<'p>(
        &self,
        planes: impl DoubleEndedIterator<Item = &'p Plane>,
        place: usize,
    ) -> u64 {
        let add = |bits: u64, plane: &Plane| bits << u16::BITS | u64::from(plane[place]);
        add(planes.rev().fold(0, add), &self.lowest)
    }
}

/// The sections that numbers are written to.
#[derive(Debug, Default)]
pub(super) struct FrameSections {
    pub(super) frames: Vec<Frame>,
    pub(super) planes: Vec<Plane>,
}

impl FrameSections {
    /// Cuts numbers into frames.
    pub(super) fn of(numbers: impl IntoIterator<Item = u64>) -> FrameSections {
        let mut sections = FrameSections::default();
        let mut numbers = numbers.into_iter();
        let mut frame = Vec::with_capacity(FRAME_NUMBERS);
        loop {
            frame.clear();
            frame.extend(numbers.by_ref().take(FRAME_NUMBERS));
            let (Some(&least), Some(&greatest)) = (frame.iter().min(), frame.iter().max()) else {
                return sections;
            };
            sections.push(&frame, least, greatest);
        }
    }

    fn push(&mut self, numbers: &[u64], least: u64, greatest: u64) {
        let bits = u64::BITS - (greatest - least).leading_zeros();
        let planes = bits.div_ceil(u16::BITS).saturating_sub(1);
        let plane = |number: u32| {
            let mut shorts = [0; FRAME_NUMBERS];
            for (short, kept) in shorts.iter_mut().zip(numbers) {
                *short = ((kept - least) >> (number * u16::BITS)) as u16;
            }
            shorts
        };
        self.frames.push(Frame {
            least,
            first_plane: self.planes.len() as u32,
            planes,
            lowest: plane(0),
        });
        self.planes.extend((1..=planes).map(plane));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    impl FrameSections {
        pub(crate) fn view(&self, len: usize) -> Frames<'_> {
            Frames::new(&self.frames, &self.planes, len)
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
            let near = match numbers.is_empty() {
                true => 0,
                false => numbers[probe.index(numbers.len())],
            };
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
            missing_planes in 0..2_usize,
        ) {
            let mut sections = FrameSections::of(numbers.iter().copied());
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut sections.frames);
            if !bytes.is_empty() {
                bytes[place.index(bytes.len())] ^= 1 << bit;
            }
            let planes = sections.planes.len().saturating_sub(missing_planes);
            let frames = Frames::new(&sections.frames, &sections.planes[..planes], numbers.len());
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
    fn a_frame_takes_the_planes_that_it_needs() {
        let planes = |numbers: &[u64]| FrameSections::of(numbers.iter().copied()).planes.len();
        assert_eq!(planes(&[]), 0);
        assert_eq!(planes(&[7, 7 + 0xFFFF]), 0);
        assert_eq!(planes(&[7 + 0x1_0000, 7]), 1);
        assert_eq!(planes(&[0, u64::from(u32::MAX) + 1]), 2);
        assert_eq!(planes(&[u64::MAX, 0]), 3);
        let far_apart = |count| (0..count).map(|number| number << 32).collect::<Vec<u64>>();
        assert_eq!(planes(&far_apart(64)), 2);
        assert_eq!(planes(&far_apart(65)), 2);
        assert_eq!(planes(&far_apart(66)), 4);
    }

    #[test]
    fn validation_finds_what_is_broken() {
        let numbers = || (0..200).map(|number| u64::MAX - 500_000 + 2_000 * number);
        type Change = fn(&mut FrameSections);
        let changes: [Change; 9] = [
            |sections| sections.frames.truncate(3),
            |sections| sections.frames.push(Frame::zeroed()),
            |sections| sections.planes.truncate(2),
            |sections| sections.planes.push(Plane::zeroed()),
            |sections| sections.frames[1].first_plane = 0,
            |sections| sections.frames[1].first_plane = u32::MAX,
            |sections| sections.frames[3].planes = u32::MAX,
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
