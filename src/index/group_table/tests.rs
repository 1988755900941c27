//! Both forms of numbers by combination of codes agree.

use hashbrown::HashMap;

use super::{ByCombination, NO_CELL, cells_of};

#[test]
fn sparse_numbers_are_those_of_dense_ones() {
    let numbers = [NO_CELL, 1, 0, NO_CELL, 2];
    let dense = ByCombination::Dense(numbers.to_vec());
    let some = numbers
        .iter()
        .enumerate()
        .filter(|(_, number)| **number != NO_CELL);
    let pairs: HashMap<u64, u32> = some
        .map(|(index, &number)| (index as u64, number))
        .collect();
    let sparse = ByCombination::Sparse(pairs);
    let cells = [7, NO_CELL, 9];
    let mapped = [&dense, &sparse].map(|numbers| cells_of(numbers, &cells));
    for combination in 0..6 {
        let [dense, sparse] = mapped.each_ref().map(|cells| cells.get(combination));
        assert_eq!(dense.unwrap_or(NO_CELL), sparse.unwrap_or(NO_CELL));
    }
    assert_eq!(mapped[1].get(4), Some(9));
}
