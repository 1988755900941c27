//! White-box tests of `encoding/hash_index.rs`.

use proptest::prelude::*;

use super::*;
use crate::encoding::dictionary::StringSections;

fn strings(keys: &[String]) -> StringSections {
    let mut sections = StringSections::default();
    keys.iter()
        .for_each(|key| sections.push(key.as_bytes()).unwrap());
    sections
}

proptest! {
    #[test]
    fn buckets_find_what_a_search_finds(
        keys in prop::collection::vec("[a-c]{0,4}|a{0,9}b{0,9}", 0..60),
        probe in "[a-d]{0,4}|a{0,9}b{0,9}",
    ) {
        let sections = strings(&keys);
        let keys = Strings::new(&sections.ends, &sections.bytes);
        let indices_of = |key| (0..keys.len()).filter(move |&index| keys.bytes(index) == key);
        let several = (0..keys.len()).map(|index| keys.bytes(index)).chain([probe.as_bytes()]);
        let expected: Vec<usize> = several.clone().flat_map(indices_of).collect();
        // All in one bucket is what a corpus made for that comes to.
        for sections in [HashIndexSections::of(&keys), HashIndexSections::in_buckets(&keys, 1)] {
            let HashIndexSections { starts, entries } = &sections;
            let buckets = HashIndex { starts, entries };
            buckets.validate(&keys).unwrap();
            for key in several.clone() {
                prop_assert_eq!(buckets.find(&keys, key), indices_of(key).next());
            }
            let mut each = Vec::new();
            buckets.find_each(&keys, several.clone(), |index| each.push(index));
            prop_assert_eq!(each, expected.clone());
        }
    }
}

#[test]
fn validation_finds_what_is_broken() {
    let words: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
    let sections = strings(&words);
    let keys = Strings::new(&sections.ends, &sections.bytes);
    type Change = fn(&mut HashIndexSections);
    let changes: [Change; 8] = [
        |sections| sections.entries.swap(0, 19),
        |sections| sections.entries[3] |= 31,
        |sections| sections.entries[4] = sections.entries[5],
        |sections| sections.entries[6] ^= 1 << 31,
        |sections| sections.starts[1] = u32::MAX,
        |sections| sections.starts[0] = 1,
        |sections| sections.starts.truncate(3),
        |sections| sections.starts.clear(),
    ];
    for change in changes {
        let mut sections = HashIndexSections::of(&keys);
        change(&mut sections);
        let HashIndexSections { starts, entries } = &sections;
        assert!(HashIndex { starts, entries }.validate(&keys).is_err());
    }
}
