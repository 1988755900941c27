//! Lists of offsets against others: what stays of one, by comparing both, or by looking up or leaping in
//! the longer.

use std::ops::Range;

use super::lanes::{self, Compared, LANES};
use super::probes;
use crate::segment::{BlockBits, BlockRows, Row, retain_where};

/// From this ratio of lengths on, looking up each offset of a list in an array is faster than comparing
/// all of both (`benches/queries`, conjunction without a hit).
const LOOK_UP_RATIO: usize = 8;

/// Those of some ascending rows or offsets that are between two; most often all are, and nothing is to be
/// searched.
pub(super) fn between<'v, T: Copy + Into<u32>>(values: &'v [T], bounds: &Range<u32>) -> &'v [T] {
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

/// Keeps the offsets of the list that are set, or those that are not.
pub(super) fn retain_in_bits(list: &mut Vec<u16>, set: &BlockBits, wanted: bool) {
    let kept = probes::retain(list, set, wanted);
    list.truncate(kept);
}

/// Keeps the offsets of the list that stand in an array, or those that do not.
pub(super) fn retain_in_array(list: &mut Vec<u16>, array: &[u16], wanted: bool) {
    match array.len() / LOOK_UP_RATIO <= list.len() {
        true => retain_in_lanes(list, array, wanted),
        false => {
            let array = BlockRows::Array(array);
            retain_where(list, |offset| array.contains(offset) == wanted);
        }
    }
}

/// Keeps the offsets of the list that stand among the rows of its block, or those that do not.
pub(super) fn retain_in_rows(list: &mut Vec<u16>, rows: &[u32], wanted: bool) {
    retain_from(list, 0, 0, rows, |&row| Row(row).offset(), wanted);
}

/// Compares eight with eight as long as both have as many, and the last few one by one.
fn retain_in_lanes(list: &mut Vec<u16>, array: &[u16], wanted: bool) {
    let Compared {
        mut place,
        at,
        mut kept,
        found,
    } = lanes::retain(list, array, wanted);
    // Lanes that were found before the array ran short stay found.
    for lane in 0..LANES.min(list.len() - place) {
        let offset = list[place + lane];
        let is_found = found >> lane & 1 == 1 || array[at..].binary_search(&offset).is_ok();
        list[kept] = offset;
        kept += usize::from(is_found == wanted);
    }
    place += LANES.min(list.len() - place);
    retain_from(list, kept, place, &array[at..], |&offset| offset, wanted);
}

/// Walks the list from a place on, with `kept` offsets decided, and leaps in the other, which is
/// sorted by offset as well.
fn retain_from<T>(
    list: &mut Vec<u16>,
    mut kept: usize,
    mut place: usize,
    other: &[T],
    offset_of: impl Fn(&T) -> u16,
    wanted: bool,
) {
    let mut rest = other;
    // What lies in front of `kept` is decided; `rest` holds nothing below the next offset.
    while place < list.len() {
        let offset = list[place];
        let skipped = gallop(rest, |value| offset_of(value) < offset);
        rest = &rest[skipped..];
        let Some(next) = rest.first() else { break };
        list[kept] = offset;
        kept += usize::from((offset_of(next) == offset) == wanted);
        place += 1;
    }
    // No offset from `place` on stands in the other.
    if wanted {
        list.truncate(kept);
    } else {
        list.drain(kept..place);
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
