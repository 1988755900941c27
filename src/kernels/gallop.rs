//! Galloping search: doubling steps from where the last search ended.

use std::ops::Range;

/// The ascending rows or offsets that lie between two bounds. Usually all do, without a search.
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

/// Keeps the offsets of the list that occur among others, which are sorted by offset, or those that do not.
pub(crate) fn retain<T>(
    list: &mut Vec<u16>,
    others: &[T],
    offset_of: impl Fn(&T) -> u16,
    wanted: bool,
) {
    retain_from(list, 0, 0, others, offset_of, wanted);
}

/// Continues at an index of the list, with `kept` offsets kept so far, and gallops in the other list, which is
/// sorted by offset, too.
pub(crate) fn retain_from<T>(
    list: &mut Vec<u16>,
    mut kept: usize,
    mut index: usize,
    other: &[T],
    offset_of: impl Fn(&T) -> u16,
    wanted: bool,
) {
    let mut rest = other;
    // Everything before `kept` is decided; `rest` has no offset below the next one.
    while index < list.len() {
        let offset = list[index];
        let skipped = gallop(rest, |value| offset_of(value) < offset);
        rest = &rest[skipped..];
        let Some(next) = rest.first() else { break };
        list[kept] = offset;
        kept += usize::from((offset_of(next) == offset) == wanted);
        index += 1;
    }
    // No offset from `index` on occurs in the other list.
    if wanted {
        list.truncate(kept);
    } else {
        list.drain(kept..index);
    }
}

/// The number of values at the start that satisfy `before`. Doubling steps and then a binary search: the cost
/// grows with the logarithm of the distance (Bentley and Yao, 1976).
pub(crate) fn gallop<T>(values: &[T], before: impl Fn(&T) -> bool) -> usize {
    let mut bound = 1;
    // Invariant: the first `bound / 2` values satisfy `before`.
    while bound <= values.len() && before(&values[bound - 1]) {
        bound *= 2;
    }
    let start = bound / 2;
    // The value at `bound - 1` does not satisfy it or does not exist, so the boundary is not after
    // it.
    let end = (bound - 1).min(values.len());
    start + values[start..end].partition_point(before)
}

/// The number of values at the end that satisfy `after`, as [`gallop`] counts those at the start.
pub(crate) fn gallop_back<T>(values: &[T], after: impl Fn(&T) -> bool) -> usize {
    let mut bound = 1;
    // Invariant: the last `bound / 2` values satisfy `after`.
    while bound <= values.len() && after(&values[values.len() - bound]) {
        bound *= 2;
    }
    let end = values.len() - bound / 2;
    let start = values.len() - (bound - 1).min(values.len());
    values.len() - start - values[start..end].partition_point(|value| !after(value))
}

#[cfg(test)]
mod tests;
