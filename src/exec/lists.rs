//! Lists of offsets against others: what stays of one, by walking both or leaping in the longer.

use crate::segment::Row;

/// From this ratio of lengths on, finding each offset of a list in an array by leaps is faster than
/// comparing all of both (`benches/queries`, two or three terms).
const GALLOP_RATIO: usize = 32;

/// Offsets that are compared at once: a vector of 128 bits, which every processor has.
const LANES: usize = 8;

/// Keeps the offsets that pass a cheap test; without a branch, since it cannot be predicted.
pub(super) fn retain_where(list: &mut Vec<u16>, keep: impl Fn(u16) -> bool) {
    let mut kept = 0;
    for place in 0..list.len() {
        let offset = list[place];
        list[kept] = offset;
        kept += usize::from(keep(offset));
    }
    list.truncate(kept);
}

/// Keeps the offsets of the list that stand in an array, or those that do not.
pub(super) fn retain_in_array(list: &mut Vec<u16>, array: &[u16], wanted: bool) {
    match array.len() / GALLOP_RATIO <= list.len() {
        true => retain_in_lanes(list, array, wanted),
        false => retain_from(list, 0, 0, array, |&offset| offset, wanted),
    }
}

/// Keeps the offsets of the list that stand among the rows of its block, or those that do not.
pub(super) fn retain_in_rows(list: &mut Vec<u16>, rows: &[u32], wanted: bool) {
    retain_from(list, 0, 0, rows, |&row| Row(row).offset(), wanted);
}

/// Compares eight offsets with eight at a time, all with all, which the compiler turns into vector
/// instructions (Schlegel, Willhalm and Lehner, 2011), and the last few one by one.
fn retain_in_lanes(list: &mut Vec<u16>, array: &[u16], wanted: bool) {
    let (mut place, mut at, mut kept) = (0, 0, 0);
    let mut found = [false; LANES];
    // What lies in front of `kept` is decided; every round moves on in one of the two at least.
    while let (Some(&offsets), Some(others)) = (
        list[place..].first_chunk::<LANES>(),
        array[at..].first_chunk::<LANES>(),
    ) {
        mark(&mut found, &offsets, others);
        let (last, other_last) = (offsets[LANES - 1], others[LANES - 1]);
        if last <= other_last {
            kept = keep_lanes(list, kept, &offsets, &found, wanted);
            found = [false; LANES];
            place += LANES;
        }
        at += LANES * usize::from(other_last <= last);
    }
    // Lanes that were found before the array ran short stay found.
    for lane in 0..LANES.min(list.len() - place) {
        let offset = list[place + lane];
        let is_found = found[lane] || array[at..].binary_search(&offset).is_ok();
        list[kept] = offset;
        kept += usize::from(is_found == wanted);
    }
    place += LANES.min(list.len() - place);
    retain_from(list, kept, place, &array[at..], |&offset| offset, wanted);
}

/// Marks the offsets that are among the others.
fn mark(found: &mut [bool; LANES], offsets: &[u16; LANES], others: &[u16; LANES]) {
    for &other in others {
        for lane in 0..LANES {
            found[lane] |= offsets[lane] == other;
        }
    }
}

/// Keeps a run of offsets as they were found; most runs are dropped whole where few are wanted.
fn keep_lanes(
    list: &mut [u16],
    mut kept: usize,
    offsets: &[u16; LANES],
    found: &[bool; LANES],
    wanted: bool,
) -> usize {
    if wanted && *found == [false; LANES] {
        return kept;
    }
    for lane in 0..LANES {
        list[kept] = offsets[lane];
        kept += usize::from(found[lane] == wanted);
    }
    kept
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
