//! Sorting by counting and by comparing, beside a sort of all keys.

use super::*;
use crate::fixtures::{self, Random, Records};
use crate::query::{SortField, ValueOrder};

#[test]
fn rows_come_by_code_then_descending() {
    let segment = fixtures::segment(&Records::new(3_000, 3));
    let mut random = Random::new(7);
    let mut order_of_codes = CodeOrder::default();
    for round in 0..200 {
        let order = ValueOrder {
            field: SortField::Date,
            descending: round % 2 == 0,
        };
        let column = ValueColumn::of(&segment, order).expect("a whole segment");
        let every = 1 + random.below(40) as u16;
        let offsets: Vec<u16> = (0..3_000).filter(|offset| offset % every == 0).collect();
        let lowest = 1 + random.below(20) as u32;
        let codes = lowest..=lowest + random.below(300) as u32;
        let first = FirstKeys::new(10, order);
        let mut rows = Vec::new();
        let candidates = CandidateRows::List(&offsets);
        let max = [usize::MAX, 20][random.below(2)];
        let by = (column, &codes);
        order_of_codes.list((0, candidates), by, (&first, max), &mut rows);
        let mut expected: Vec<u32> = offsets.iter().map(|&offset| offset.into()).collect();
        expected.retain(|&row| codes.contains(&column.code(Row(row))));
        expected.sort_by_key(|&row| first.key(column.code(Row(row)), row));
        let wanted = max.min(expected.len());
        assert!(rows.len() >= wanted, "round {round}");
        assert_eq!(rows[..wanted], expected[..wanted], "round {round}");
    }
}
