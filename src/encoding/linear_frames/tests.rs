//! White-box tests of `encoding/linear_frames.rs`.

use proptest::prelude::*;

use super::*;

/// Runs of numbers that grow by up to a step, and numbers of any size between them.
fn numbers() -> impl Strategy<Value = Vec<u64>> {
    let step = (0..40_u32).prop_map(|bits| 1_u64 << bits);
    let growing = (
        any::<u64>(),
        step,
        prop::collection::vec(any::<u64>(), 1..100),
    )
        .prop_map(|(first, step, random)| {
            let grow = |number: &mut u64, random: u64| {
                *number = number.saturating_add(random % step);
                Some(*number)
            };
            let numbers = random.into_iter().scan(first, grow);
            numbers.collect::<Vec<u64>>()
        });
    let run = prop_oneof![4 => growing, 1 => any::<u64>().prop_map(|number| vec![number])];
    prop::collection::vec(run, 0..8).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn linear_frames_are_a_list(numbers in numbers()) {
        let section = encode(numbers.iter().copied());
        let frames = LinearFrames::new(&section, numbers.len()).unwrap();
        frames.validate().unwrap();
        let read: Vec<u64> = (0..numbers.len()).map(|index| frames.get(index)).collect();
        prop_assert_eq!(&read, &numbers);
        let spans: Vec<_> = (0..numbers.len()).map(|index| frames.span(index)).collect();
        let starts = std::iter::once(&0).chain(&numbers);
        prop_assert_eq!(spans, starts.copied().zip(numbers.iter().copied()).collect::<Vec<_>>());
        prop_assert_eq!(frames.iter().collect::<Vec<_>>(), numbers);
    }

    #[test]
    fn numbers_that_grow_evenly_take_few_bits(
        first in 0..1_u64 << 60,
        step in 0..1_u64 << 16,
        jitter in prop::collection::vec(0..16_u64, 1..200),
    ) {
        let numbers = (0..).zip(&jitter).map(|(index, jitter)| first + index * step + jitter);
        let section = encode(numbers);
        for frame in LinearFrames::new(&section, jitter.len()).unwrap().frames {
            prop_assert!(frame.bits() <= 6, "{}", frame.bits());
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
        let mut section = encode(numbers.iter().copied());
        let frame_count = numbers.len().div_ceil(FRAME_NUMBERS);
        let frames = bytemuck::cast_slice_mut(&mut section[..frame_count * FRAME_WORDS]);
        let damaged: &mut LinearFrame = &mut frames[frame.index(frame_count)];
        match kind {
            0 => damaged.base = damage.0,
            1 => damaged.first_word = damage.1,
            2 => damaged.bits_and_slope = damage.2,
            _ => section.truncate(damage.1 as usize % (section.len() + 1)),
        }
        let frames = LinearFrames::new(&section, numbers.len());
        if let Some(frames) = frames && frames.validate().is_ok() {
            (0..numbers.len()).for_each(|index| _ = (frames.get(index), frames.span(index)));
            prop_assert_eq!(frames.iter().count(), numbers.len());
        }
    }
}
