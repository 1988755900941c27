//! White-box tests of `kernels/intersect.rs`.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn by_eight(offsets: [u16; LANES], others: [u16; 2 * LANES]) -> u8 {
    let halves = others.as_chunks().0.iter();
    halves.fold(0, |found, &half| found | common(offsets, half))
}

#[multiversion(targets("x86_64+avx2"))]
fn by_avx2(offsets: [u16; LANES], others: [u16; 2 * LANES]) -> u8 {
    match_target! {
        "x86_64+avx2" => avx2::common(offsets, others),
        _ => by_eight(offsets, others),
    }
}

fn sorted(most: usize) -> impl Strategy<Value = Vec<u16>> {
    prop::collection::btree_set(0_u16..400, 0..most).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #[test]
    fn lanes_decide_as_sets_do(list in sorted(200), array in sorted(300), wanted in any::<bool>()) {
        let among: BTreeSet<u16> = array.iter().copied().collect();
        let mut kept = list.clone();
        let compared = compare(&mut kept, &array, wanted);
        let (decided, rest) = list.split_at(compared.index);
        let expected: Vec<u16> =
            decided.iter().copied().filter(|offset| among.contains(offset) == wanted).collect();
        prop_assert_eq!(&kept[..compared.kept], expected);
        prop_assert_eq!(&kept[compared.index..], rest);
        for (lane, offset) in rest.iter().enumerate() {
            let is_found = lane < LANES && compared.found >> lane & 1 == 1;
            let is_behind = array[compared.at..].contains(offset);
            prop_assert_eq!(is_found || is_behind, among.contains(offset));
        }
        let mut retained = list.clone();
        retain(&mut retained, &array, wanted);
        let expected: Vec<u16> =
            list.iter().copied().filter(|offset| among.contains(offset) == wanted).collect();
        prop_assert_eq!(retained, expected);
    }

    /// In each of the ways that the processor has.
    #[test]
    fn offsets_are_found(
        offsets in prop::array::uniform8(0_u16..30),
        others in prop::array::uniform16(0_u16..30),
    ) {
        for found in [by_eight(offsets, others), by_avx2(offsets, others)] {
            for (lane, offset) in offsets.iter().enumerate() {
                prop_assert_eq!(found >> lane & 1 == 1, others.contains(offset));
            }
        }
    }
}
