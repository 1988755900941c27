//! White-box tests of `encoding/frame_of_reference.rs`.

use proptest::prelude::*;

use super::*;

impl FrameOfReferenceSections {
    pub(crate) fn view(&self, len: usize) -> FrameOfReference<'_> {
        FrameOfReference {
            frames: &self.frames,
            exceptions: &self.exceptions,
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
        let sections = FrameOfReferenceSections::of(numbers.iter().copied());
        let frames = sections.view(numbers.len());
        frames.validate().unwrap();
        prop_assert_eq!(frames.len, numbers.len());
        let spans: Vec<_> = (0..numbers.len()).map(|index| frames.span(index)).collect();
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
        let sections = FrameOfReferenceSections::of(numbers.iter().copied());
        let frames = sections.view(numbers.len());
        let [start, end] = bounds.map(|bound| bound.index(numbers.len() + 1));
        let mut indices: Vec<u32> = (start as u32..end as u32).step_by(step).collect();
        if descends {
            indices.reverse();
        }
        let mut read = Vec::new();
        frames.read(&indices, &mut read, |index, number| (index, number));
        let expected: Vec<(u32, u64)> =
            indices.iter().map(|&index| (index, numbers[index as usize])).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn ascending_numbers_are_searched_as_a_list_is(
        mut numbers in numbers(),
        probe in any::<prop::sample::Index>(),
        offset in 0..3_u64,
    ) {
        numbers.sort_unstable();
        let sections = FrameOfReferenceSections::of(numbers.iter().copied());
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
        index in any::<prop::sample::Index>(),
        bit in 0..8_u32,
        is_block_missing in any::<bool>(),
    ) {
        let mut sections = FrameOfReferenceSections::of(numbers.iter().copied());
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut sections.frames);
        if !bytes.is_empty() {
            bytes[index.index(bytes.len())] ^= 1 << bit;
        }
        if is_block_missing {
            sections.exceptions.pop();
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
        |index| 7 + 3 * index,
        |index| index * index,
        |index| 5 + index / 1_000,
        |index| index + (index / 50_000) * (1 << 61),
    ];
    for growth in growths {
        let numbers: Vec<u64> = (0..count as u64).map(growth).collect();
        let sections = FrameOfReferenceSections::of(numbers.iter().copied());
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
fn deltas_over_two_bytes_take_an_exception_block() {
    let blocks = |numbers: &[u64]| {
        FrameOfReferenceSections::of(numbers.iter().copied())
            .exceptions
            .len()
    };
    assert_eq!(blocks(&[]), 0);
    assert_eq!(blocks(&[7, 7 + 0xFFFF]), 0);
    assert_eq!(blocks(&[7 + 0x1_0000, 7]), 1);
    assert_eq!(blocks(&[u64::MAX, 0]), 1);
    let far_apart = |count| (0..count).map(|number| number << 16).collect::<Vec<u64>>();
    assert_eq!(blocks(&far_apart(64)), 1);
    assert_eq!(blocks(&far_apart(65)), 1);
    assert_eq!(blocks(&far_apart(66)), 2);
}

#[test]
fn validation_finds_what_is_broken() {
    let numbers = || (0..200).map(|number| u64::MAX - 500_000 + 2_000 * number);
    type Change = fn(&mut FrameOfReferenceSections);
    let changes: [Change; 9] = [
        |sections| sections.frames.truncate(3),
        |sections| sections.frames.push(Frame::zeroed()),
        |sections| sections.exceptions.truncate(2),
        |sections| sections.exceptions.push(ExceptionBlock::zeroed()),
        |sections| sections.frames[1].exception = 0,
        |sections| sections.frames[1].exception = u64::MAX,
        |sections| sections.frames[3].exception = 4,
        |sections| sections.frames[3].base = u64::MAX,
        |sections| sections.frames.swap(1, 2),
    ];
    let whole = FrameOfReferenceSections::of(numbers());
    assert!(whole.view(200).validate().is_ok());
    assert!(whole.view(300).validate().is_err());
    for change in changes {
        let mut sections = FrameOfReferenceSections::of(numbers());
        change(&mut sections);
        assert!(sections.view(200).validate().is_err());
    }
}
