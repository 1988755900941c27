//! Galloping from either end against counting.

use super::{gallop, gallop_back};

#[test]
fn both_ends_are_found_wherever_the_boundary_is() {
    for len in 0..40 {
        let values: Vec<usize> = (0..len).collect();
        for boundary in 0..=len {
            assert_eq!(gallop(&values, |&value| value < boundary), boundary);
            let after = gallop_back(&values, |&value| value >= boundary);
            assert_eq!(after, len - boundary);
        }
    }
}
