//! White-box tests of `announcement.rs`.

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn what_a_node_says_is_read_as_it_was_said(
        held in prop::collection::btree_map(any::<u64>(), prop::collection::btree_set(0..SHARDS_MAX, 0..60), 0..4),
        zone in "[a-z]{0,3}",
        leases in prop::collection::btree_set(any::<u64>(), 0..=LEASED_MAX),
        has_sql: bool,
        has_left: bool,
    ) {
        let held = held.into_iter().map(|(generation, shards)| (generation, shards.into_iter().collect()));
        let said = Announcement {
            address: "10.0.0.1:7400".to_owned(),
            zone,
            release: "0.1.0".to_owned(),
            engine: "4.0.0".to_owned(),
            messages: "1".to_owned(),
            held: held.collect(),
            leases: leases.into_iter().collect(),
            has_sql,
            has_left,
        };
        let mut texts = said.texts();
        texts.insert("something newer".to_owned(), "that this release ignores".to_owned());
        let read = Announcement::read(texts.iter().map(|(key, text)| (key.as_str(), text.as_str())));
        prop_assert_eq!(read, Some(said));
    }

    #[test]
    fn any_text_of_shards_is_read_or_left_out(text in "[0-9,-]{0,12}") {
        let read = shards_of(&text).unwrap_or_default();
        prop_assert!(read.is_sorted() && read.iter().all(|&shard| shard < SHARDS_MAX));
        prop_assert!(read.len() <= SHARDS_MAX as usize);
    }
}

#[test]
fn a_node_without_an_address_has_not_joined() {
    assert_eq!(Announcement::read([("zone", "a")].into_iter()), None);
    assert_eq!(text_of(&[0, 1, 2, 3, 7, 9, 10]), "0-3,7,9-10");
    assert_eq!(shards_of("0-4294967295"), None);
    assert_eq!(shards_of("5,4"), None);
}
