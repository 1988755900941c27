//! Sets of rows beside ordered sets, at the ends of words, blocks and segments.

use std::collections::BTreeSet;

use super::RowBits;
use crate::encoding::row::Row;
use crate::kernels::bits;
use crate::kernels::block::BLOCK_ROWS;

fn rows(set: &RowBits) -> BTreeSet<u32> {
    let mut rows = BTreeSet::new();
    set.for_each_block(|block, offsets| {
        rows.extend(offsets.iter().map(|&offset| Row::of(block, offset).0));
    });
    assert_eq!(set.len(), rows.len() as u64);
    rows
}

/// Every `step`th row of a segment.
fn every(step: u32, row_count: u32) -> BTreeSet<u32> {
    (0..row_count).step_by(step as usize).collect()
}

fn set(rows: &BTreeSet<u32>, row_count: u32) -> RowBits {
    RowBits::of(rows.iter().map(|&row| Row(row)), row_count)
}

#[test]
fn sets_agree_with_ordered_sets() {
    for row_count in [
        0,
        1,
        63,
        64,
        65,
        BLOCK_ROWS - 1,
        BLOCK_ROWS,
        BLOCK_ROWS + 1,
        3 * BLOCK_ROWS,
    ] {
        let (threes, fives) = (every(3, row_count), every(5, row_count));
        let mut bits = set(&threes, row_count);
        assert_eq!(rows(&bits), threes, "{row_count}");
        bits.subtract(&set(&fives, row_count));
        let left: BTreeSet<u32> = threes.difference(&fives).copied().collect();
        assert_eq!(rows(&bits), left, "{row_count}");
        bits.invert();
        let others: BTreeSet<u32> = (0..row_count).filter(|row| !left.contains(row)).collect();
        assert_eq!(rows(&bits), others, "{row_count}");
        let mut all = RowBits::none(row_count);
        assert!(rows(&all).is_empty());
        all.invert();
        assert_eq!(rows(&all), every(1, row_count), "{row_count}");
        let again = RowBits::of_blocks(bits.blocks().to_vec(), bits.row_count());
        assert_eq!(rows(&again), others, "{row_count}");
        assert_eq!(again.into_blocks(), bits.into_blocks());
    }
}

#[test]
fn rows_are_added_as_lists_and_as_words() {
    let mut set = RowBits::none(2 * BLOCK_ROWS);
    set.insert(1, &[0, 63, 64, 65_535]);
    let mut words = [0; 1_024];
    bits::set(&mut words, 640);
    bits::set(&mut words, 703);
    set.insert_words(0, 10, &words[10..11]);
    set.insert_words(1, 0, &words);
    let second = [0, 63, 64, 640, 703, 65_535].map(|offset| BLOCK_ROWS + offset);
    assert_eq!(rows(&set), [640, 703].into_iter().chain(second).collect());
}
