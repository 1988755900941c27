//! White-box tests of `encoding/posting.rs`.

use proptest::prelude::*;

use super::*;
use crate::encoding::row::Row;
use crate::kernels::block::BLOCK_ROWS;

/// Rows of every density, in a segment of a few blocks.
fn row_sets() -> impl Strategy<Value = (u32, Vec<u32>)> {
    (1_u32..200_000, 1_u32..5_000, any::<u64>()).prop_map(|(row_count, stride, seed)| {
        let mut state = seed;
        let rows = (0..row_count)
            .filter(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                ((state >> 33) as u32).is_multiple_of(stride)
            })
            .collect();
        (row_count, rows)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_posting_gives_back_its_rows(
        (row_count, rows) in row_sets(),
        optimize in prop::sample::select(vec![Optimize::Time, Optimize::Space]),
    ) {
        let mut sections = PostingSections::default();
        sections.push(&[0], row_count, optimize);
        sections.push(&rows, row_count, optimize);
        let postings = sections.view();
        postings.validate(0..2, row_count).unwrap();
        prop_assert_eq!(postings.cardinality(PostingId(1)) as usize, rows.len());
        let dense = dense_bits(rows.iter().map(|&row| Row(row)), row_count);
        for posting in [postings.get(PostingId(1)), Posting::Dense(&dense)] {
            prop_assert_eq!(posting.rows().map(|row| row.0).collect::<Vec<_>>(), rows.clone());
            for block in 0..block_count(row_count) + 1 {
                let expected: Vec<u16> = rows
                    .iter()
                    .map(|&row| Row(row))
                    .filter(|row| row.block() == block)
                    .map(Row::offset)
                    .collect();
                let found = posting.block(block);
                prop_assert_eq!(posting.rows_in(block), expected.len());
                prop_assert_eq!(found.offsets().collect::<Vec<_>>(), expected);
                let next = rows.iter().map(|&row| Row(row).block()).find(|&b| b >= block);
                prop_assert_eq!(posting.next_block(block), next);
                let previous = rows.iter().rev().map(|&row| Row(row).block()).find(|&b| b <= block);
                prop_assert_eq!(posting.previous_block(block), previous);
            }
        }
    }

    #[test]
    fn contains_agrees_with_the_rows((row_count, rows) in row_sets(), probe in any::<u32>()) {
        let mut sections = PostingSections::default();
        sections.push(&rows, row_count, Optimize::Time);
        let row = Row(probe % row_count);
        let dense = dense_bits(rows.iter().map(|&row| Row(row)), row_count);
        for posting in [sections.view().get(PostingId(0)), Posting::Dense(&dense)] {
            prop_assert_eq!(posting.contains(row), rows.binary_search(&row.0).is_ok());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_part_that_is_the_whole_takes_no_rows((row_count, rows) in row_sets()) {
        prop_assume!(rows.len() > 2);
        let whole = PostingId(0);
        let mut sections = PostingSections::default();
        sections.push(&rows, row_count, Optimize::Time);
        let stored = |sections: &PostingSections| {
            (sections.rows.len(), sections.arrays.len(), sections.bitsets.len())
        };
        let before = stored(&sections);
        sections.push_part_of(whole, &rows, row_count, Optimize::Time);
        prop_assert_eq!(stored(&sections), before);
        sections.push_part_of(whole, &rows[1..], row_count, Optimize::Time);
        let postings = sections.view();
        postings.validate(0..3, row_count).unwrap();
        for (id, rows) in [(1, &rows[..]), (2, &rows[1..])] {
            let found: Vec<u32> = postings.get(PostingId(id)).rows().map(|row| row.0).collect();
            prop_assert_eq!(&found, rows);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn equal_sets_are_stored_once(
        (row_count, rows) in row_sets(),
        optimize in prop::sample::select(vec![Optimize::Time, Optimize::Space]),
        changed in any::<prop::sample::Index>(),
    ) {
        prop_assume!(rows.len() > 4);
        let mut sections = PostingSections::default();
        sections.push(&rows, row_count, optimize);
        let stored = |sections: &PostingSections| {
            (sections.rows.len(), sections.arrays.len(), sections.bitsets.len())
        };
        let before = stored(&sections);
        sections.push(&rows, row_count, optimize);
        prop_assert_eq!(stored(&sections), before);
        // One row less, and one row that is another: these have mostly the same samples.
        let mut fewer = rows.clone();
        let removed = fewer.remove(changed.index(rows.len()));
        let mut others = fewer.clone();
        let free = (0..row_count).find(|row| *row != removed && fewer.binary_search(row).is_err());
        others.extend(free);
        others.sort_unstable();
        sections.push(&fewer, row_count, optimize);
        sections.push(&others, row_count, optimize);
        let postings = sections.view();
        postings.validate(0..4, row_count).unwrap();
        for (id, rows) in [(0, &rows), (1, &rows), (2, &fewer), (3, &others)] {
            let found: Vec<u32> = postings.get(PostingId(id)).rows().map(|row| row.0).collect();
            prop_assert_eq!(&found, rows);
        }
    }
}

#[test]
fn shapes_follow_the_density() {
    let mut sections = PostingSections::default();
    let row_count = 2 * BLOCK_ROWS;
    for stride in [
        row_count,
        row_count / 2,
        row_count / 15,
        row_count / 16,
        64,
        63,
    ] {
        let rows: Vec<u32> = (0..row_count).step_by(stride as usize).collect();
        sections.push(&rows, row_count, Optimize::Time);
    }
    let entries = sections.entries.iter();
    let in_blocks: Vec<bool> = entries.map(|entry| entry.start & IN_BLOCKS != 0).collect();
    assert_eq!(in_blocks, [false, false, true, true, true, true]);
    assert_eq!(sections.rows.len(), 2, "a single row is in its entry");
    assert_eq!(
        sections.bitsets.len(),
        2,
        "only the last is denser than one row in 64"
    );
    for (stride, bitsets) in [(17, 0), (16, 0), (15, 2)] {
        let rows: Vec<u32> = (0..row_count).step_by(stride).collect();
        let before = sections.bitsets.len();
        sections.push(&rows, row_count, Optimize::Space);
        assert_eq!(
            sections.bitsets.len() - before,
            bitsets,
            "one row in {stride}"
        );
    }
}

#[test]
fn validation_names_the_broken_rule() {
    let row_count = 70_000;
    let rows: Vec<u32> = (0..row_count).step_by(7).collect();
    let mut sections = PostingSections::default();
    sections.push(&rows, row_count, Optimize::Time);
    sections.push(&[1, 2, 3], row_count, Optimize::Time);
    let broken = |change: &dyn Fn(&mut PostingSections)| {
        let mut sections = sections.clone();
        change(&mut sections);
        let error = sections.view().validate(0..2, row_count).unwrap_err();
        error.to_string()
    };
    type Change<'c> = &'c dyn Fn(&mut PostingSections);
    let cases: [(Change<'_>, &str); 9] = [
        (
            &|s| s.entries[1].start = u32::MAX,
            "posting 1: its containers lie outside the section",
        ),
        (
            &|s| s.entries[1].cardinality = u32::MAX,
            "posting 1: its rows lie outside the section",
        ),
        (
            &|s| s.containers[0].start = u32::MAX,
            "posting 0: its containers lie outside the section",
        ),
        (
            &|s| s.containers[0].block = 1,
            "posting 0: its containers lie outside the section",
        ),
        (
            &|s| s.entries[0].cardinality += 1,
            "posting 0: its containers do not add up to its cardinality",
        ),
        (&|s| s.rows[1] = 99, "posting 1: its rows are out of order"),
        (
            &|s| s.rows[2] = row_count,
            "posting 1: it lists a row after the last",
        ),
        (
            &|s| s.bitsets[0][0] ^= 2,
            "posting 0: a bitset does not match its cardinality",
        ),
        (
            &|s| s.containers[2].block = 2,
            "posting 0: a container lies after the last row",
        ),
    ];
    for (change, expected) in cases {
        assert_eq!(broken(change), expected);
    }
}
