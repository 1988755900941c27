//! Bit-packed frames: what the encodings of frames of numbers share.

use super::frame_of_reference::FRAME_NUMBERS;

/// Spare words while deltas are packed: a delta is written to two words, even if it fits into one.
const SPARE_WORDS: usize = 2;

/// Calls `encode` with the numbers of each frame; the last frame may have fewer.
pub(super) fn for_each_frame(
    numbers: impl IntoIterator<Item = u64>,
    mut encode: impl FnMut(&[u64]),
) {
    let mut numbers = numbers.into_iter();
    let mut frame = Vec::with_capacity(FRAME_NUMBERS);
    loop {
        frame.clear();
        frame.extend(numbers.by_ref().take(FRAME_NUMBERS));
        if frame.is_empty() {
            return;
        }
        encode(&frame);
    }
}

/// Appends `bits` words with the deltas of a frame, the first in the lowest bits. Each delta fits into `bits` bits.
pub(super) fn push(words: &mut Vec<u64>, bits: u32, deltas: impl Iterator<Item = u64>) {
    let start = words.len();
    let end = start + bits as usize;
    words.resize(end + SPARE_WORDS, 0);
    for (index, delta) in deltas.enumerate() {
        let first = index * bits as usize;
        // At most 64 bits shifted by at most 63, which fit into 128.
        let both = u128::from(delta) << (first % 64);
        let word = start + first / 64;
        words[word] |= both as u64;
        // The spare words keep `word + 1` in bounds.
        words[word + 1] |= (both >> 64) as u64;
    }
    words.truncate(end);
}

/// The number of words of frames, given the first word and the bits per delta of each. `None` if their words do not
/// follow each other, or a delta has more than 64 bits.
pub(super) fn word_count(frames: impl Iterator<Item = (u32, u32)>) -> Option<usize> {
    let mut words = 0_usize;
    for (first_word, bits) in frames {
        if bits > 64 || first_word as usize != words {
            return None;
        }
        words += bits as usize;
    }
    Some(words)
}

/// A mask of this many bits.
pub(super) fn mask(bits: u32) -> u64 {
    // A shift by 64 is not possible: all 64 bits are kept.
    !u64::MAX.checked_shl(bits).unwrap_or(0)
}
