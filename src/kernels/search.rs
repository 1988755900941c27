//! Looks up one offset in a sorted array.

/// Distance around the predicted position that is searched first: twice the typical deviation of evenly
/// distributed offsets among 1,024 (`benches/queries`, conjunction without a hit).
const NEAR_OFFSETS: usize = 32;

/// Whether a sorted array contains an offset. Most arrays are evenly distributed, so the offset is near the
/// position predicted by its value, and comparing all offsets near it takes a third of a binary search.
#[inline]
pub(crate) fn contains(offsets: &[u16], offset: u16) -> bool {
    // Below the length, because an offset is below 2¹⁶.
    let expected = (usize::from(offset) * offsets.len()) >> u16::BITS;
    let end = offsets.len().min(expected + NEAR_OFFSETS);
    let near = &offsets[expected.saturating_sub(NEAR_OFFSETS)..end];
    match near {
        [first, .., last] if (*first..=*last).contains(&offset) => near
            .iter()
            .fold(false, |found, &other| found | (other == offset)),
        // The prediction was too far off, so all offsets are searched.
        _ => is_found(offsets, offset),
    }
}

/// Not inlined, so that the common path stays short.
#[inline(never)]
fn is_found(offsets: &[u16], offset: u16) -> bool {
    offsets.binary_search(&offset).is_ok()
}

#[cfg(test)]
mod tests;
