//! White-box tests of `encoding/pairs.rs`.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// Numbers on both sides of two bytes.
fn terms() -> impl Strategy<Value = (TermNumber, TermNumber)> {
    let number = prop_oneof![0_u32..4, 65_534_u32..65_538];
    (number.clone(), number).prop_map(|(first, second)| (TermNumber(first), TermNumber(second)))
}

proptest! {
    #[test]
    fn pairs_are_found_in_either_width(
        pairs in prop::collection::vec(terms(), 0..20),
        probe in terms(),
    ) {
        let keys: BTreeSet<u64> = pairs.iter().map(|&(first, second)| key(first, second)).collect();
        let keys: Vec<u64> = keys.into_iter().collect();
        let section = encode(&keys);
        let fits = |number: TermNumber| number.0 < 65_536;
        let is_narrow = pairs.iter().all(|&(first, second)| fits(first) && fits(second));
        prop_assert_eq!(section.len(), keys.len() * if is_narrow { 1 } else { 2 });
        // As aligned as a section of a file is.
        let mut aligned = vec![0_u64; section.len().div_ceil(2)];
        let aligned: &mut [u32] = bytemuck::cast_slice_mut(&mut aligned);
        aligned[..section.len()].copy_from_slice(&section);
        let section = &aligned[..section.len()];
        let view = Pairs::new(section, keys.len(), 100).unwrap();
        view.validate(65_538).unwrap();
        let expected = keys.binary_search(&key(probe.0, probe.1)).ok();
        let found = view.find(probe.0, probe.1).map(|posting| posting.0 as usize - 100);
        prop_assert_eq!(found, expected);
        prop_assert!(Pairs::new(section, 2 * section.len() + 1, 100).is_none());
        if let Some(&last) = keys.iter().max_by_key(|&&key| rarest(key).0) {
            prop_assert!(view.validate(rarest(last).0 as usize).is_err());
        }
    }
}

#[test]
fn validation_refuses_pairs_out_of_order() {
    let view = Pairs::new(&[2, 1], 2, 0).unwrap();
    assert!(view.validate(10).is_err());
    assert!(Pairs::new(&[1, 2], 2, 0).unwrap().validate(10).is_ok());
}
