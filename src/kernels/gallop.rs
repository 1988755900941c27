//! Galloping search: doubling steps from where the last search ended.

use std::ops::Range;

/// Those of some ascending rows or offsets that are between two; most often all are, and nothing is to be
/// searched.
pub(crate) fn between<'v, T: Copy + Into<u32>>(values: &'v [T], bounds: &Range<u32>) -> &'v [T] {
    let from = match values.first() {
        Some(&first) if first.into() < bounds.start => {
            &values[values.partition_point(|&value| value.into() < bounds.start)..]
        }
        _ => values,
    };
    match from.last() {
        Some(&last) if last.into() >= bounds.end => {
            &from[..from.partition_point(|&value| value.into() < bounds.end)]
        }
        _ => from,
    }
}

/// Keeps the offsets of the list that stand among others, which are sorted by offset, or those that do
/// not.
pub(crate) fn retain<T>(
    list: &mut Vec<u16>,
    others: &[T],
    offset_of: impl Fn(&T) -> u16,
    wanted: bool,
) {
    retain_from(list, 0, 0, others, offset_of, wanted);
}

/// Walks the list from an index on, with `kept` offsets decided, and leaps in the other, which is
/// sorted by offset as well.
pub(crate) fn retain_from<T>(
    list: &mut Vec<u16>,
    mut kept: usize,
    mut index: usize,
    other: &[T],
    offset_of: impl Fn(&T) -> u16,
    wanted: bool,
) {
    let mut rest = other;
    // What lies in front of `kept` is decided; `rest` holds nothing below the next offset.
    while index < list.len() {
        let offset = list[index];
        let skipped = gallop(rest, |value| offset_of(value) < offset);
        rest = &rest[skipped..];
        let Some(next) = rest.first() else { break };
        list[kept] = offset;
        kept += usize::from((offset_of(next) == offset) == wanted);
        index += 1;
    }
    // No offset from `index` on stands in the other.
    if wanted {
        list.truncate(kept);
    } else {
        list.drain(kept..index);
    }
}

/// How many values at the start fulfil `before`: doubling steps, then a binary search, so that
/// the cost grows with the logarithm of the distance (Bentley and Yao, 1976).
fn gallop<T>(values: &[T], before: impl Fn(&T) -> bool) -> usize {
    let mut bound = 1;
    while bound <= values.len() && before(&values[bound - 1]) {
        bound *= 2;
    }
    let start = bound / 2;
    let end = (bound - 1).min(values.len());
    start + values[start..end].partition_point(before)
}
