//! White-box tests of `encoding/packed_numbers.rs`.

use proptest::prelude::*;

use super::*;

impl PackedNumberSections {
    fn view(&self, len: usize) -> PackedNumbers<'_> {
        PackedNumbers {
            frames: &self.frames,
            words: &self.words,
            len,
        }
    }
}

/// Runs of equal numbers, of any size.
fn numbers() -> impl Strategy<Value = Vec<u64>> {
    let number = prop_oneof![
        4 => Just(7_u64),
        4 => 0..40_u64,
        2 => (0..64_u32).prop_map(|bit| 1 << bit),
        1 => any::<u64>(),
    ];
    let run = (number, 1..100_usize).prop_map(|(number, length)| vec![number; length]);
    prop::collection::vec(run, 0..12).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn packed_numbers_are_a_list(numbers in numbers()) {
        let sections = PackedNumberSections::of(numbers.iter().copied());
        let packed = sections.view(numbers.len());
        packed.validate().unwrap();
        prop_assert_eq!(packed.maximum(), numbers.iter().copied().max());
        let read: Vec<u64> = (0..numbers.len()).map(|index| packed.get(index)).collect();
        prop_assert_eq!(&read, &numbers);
        let mut visited = Vec::new();
        for frame in 0..packed.frames().count() {
            packed.visit_frame(frame, |index, number| visited.push((index, number)));
        }
        prop_assert!(visited.into_iter().eq(numbers.iter().copied().enumerate()));
        for (frame, numbers) in packed.frames().zip(numbers.chunks(FRAME_NUMBERS)) {
            prop_assert_eq!(Some(frame.maximum()), numbers.iter().copied().max());
            prop_assert_eq!(frame.is_uniform(), numbers.iter().all(|&n| n == numbers[0]));
        }
    }

    #[test]
    fn damaged_frames_are_refused_or_read_safely(
        numbers in numbers(),
        frame in any::<prop::sample::Index>(),
        damage in any::<(u64, u32, u32)>(),
        kind in 0..4,
    ) {
        prop_assume!(!numbers.is_empty());
        let mut sections = PackedNumberSections::of(numbers.iter().copied());
        let frame = frame.index(sections.frames.len());
        let damaged = &mut sections.frames[frame];
        match kind {
            0 => damaged.maximum = damage.0,
            1 => damaged.first_word = damage.1,
            2 => damaged.bits = damage.2 % 130,
            _ => drop(sections.words.pop()),
        }
        let packed = sections.view(numbers.len());
        if packed.validate().is_ok() {
            let maximum = packed.maximum().unwrap_or(0);
            for index in 0..numbers.len() {
                prop_assert!(packed.get(index) <= maximum);
            }
        }
    }
}

#[test]
fn equal_numbers_take_one_frame_and_others_a_quarter_of_a_byte() {
    let equal = PackedNumberSections::of(std::iter::repeat_n(1 << 40, 6_400));
    assert_eq!(equal.frames.len(), 1);
    assert!(equal.words.is_empty());
    let runs = [1, 2]
        .into_iter()
        .flat_map(|number| std::iter::repeat_n(number, 3_200));
    let runs = PackedNumberSections::of(runs);
    assert_eq!(size_of_val(&*runs.frames), 1_600);
    assert!(runs.words.is_empty());
    let missing = PackedNumbers {
        frames: &runs.frames[1..],
        ..runs.view(6_400)
    };
    assert!(missing.validate().is_err());
}
