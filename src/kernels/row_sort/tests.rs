//! White-box tests of `kernels/row_sort.rs`.

use std::collections::BTreeSet;

use super::*;
use crate::fixtures::Random;

#[test]
fn few_and_many_rows_are_sorted_and_distinct() {
    let random = &mut Random::new(3);
    for row_count in [1, 63, 64, 65, 1_000, 100_000] {
        for length in [0, 1, 2, 100, 1_000] {
            let mut rows: Vec<u32> = (0..length)
                .map(|_| random.below(row_count) as u32)
                .collect();
            let expected: BTreeSet<u32> = rows.iter().copied().collect();
            sort_distinct(&mut rows, row_count);
            assert!(rows.iter().eq(&expected), "{length} of {row_count} rows");
        }
    }
}
