//! Looking up one offset in a sorted array of offsets.

/// How far from where it is expected an offset is looked for first: twice as far as an even offset
/// among 1,024 mostly is (`benches/queries`, conjunction without a hit).
const NEAR_OFFSETS: usize = 32;

/// Whether an offset is among ascending ones. Most lie evenly in their block: then it is near the position
/// that its value predicts, and comparing all that are near takes a third of a binary search.
#[inline]
pub(crate) fn contains(offsets: &[u16], offset: u16) -> bool {
    let expected = (usize::from(offset) * offsets.len()) >> u16::BITS;
    let end = offsets.len().min(expected + NEAR_OFFSETS);
    let near = &offsets[expected.saturating_sub(NEAR_OFFSETS)..end];
    match near {
        [first, .., last] if (*first..=*last).contains(&offset) => near
            .iter()
            .fold(false, |found, &other| found | (other == offset)),
        _ => is_found(offsets, offset),
    }
}

/// Apart, so that looking near is short.
#[inline(never)]
fn is_found(offsets: &[u16], offset: u16) -> bool {
    offsets.binary_search(&offset).is_ok()
}

#[cfg(test)]
mod tests;
