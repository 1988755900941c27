//! White-box tests of `query/sort_key.rs`.

use proptest::prelude::*;

use super::*;
use crate::query::order::tests::signals;

proptest! {
    #[test]
    fn keys_compare_as_the_law_says(a in signals(), b in signals()) {
        for order in Order::ALL {
            let by_key = order.compare_keys(order.key_of(&a), order.key_of(&b));
            prop_assert_eq!(by_key, order.compare(&a, &b), "{}", order);
        }
    }

    #[test]
    fn texts_are_read_back(signal in signals()) {
        for order in Order::ALL {
            let key = order.key_of(&signal);
            prop_assert_eq!(order.parse_key(&order.key_text(key)), Ok(key), "{}", order);
        }
    }
}

#[test]
fn the_form_follows_from_the_order() {
    let key = |order: Order, text| order.parse_key(text).map(|key| order.key_text(key));
    for (order, text, expected) in [
        (Order::NewestFirst, "123", Some("123")),
        (Order::NewestFirst, ",123", None),
        (Order::NewestFirst, "2026-03-01,123", None),
        (Order::LatestDate, "2026-03-01,123", Some("2026-03-01,123")),
        (Order::EarliestDate, "0000-01-01,1", Some("0000-01-01,1")),
        (Order::LatestDate, "9999-12-31,1", Some("9999-12-31,1")),
        (Order::LatestDate, ",123", Some(",123")),
        (Order::LatestDate, "123", None),
        (Order::LatestDate, "2026-02-30,123", None),
        (Order::LatestDate, "2026-03-01,0", None),
        (Order::LatestDate, "4700000,123", None),
        (Order::LargestAmount, "4700000,123", Some("4700000,123")),
        (Order::LargestAmount, "4.7e6,123", Some("4700000,123")),
        (Order::LargestAmount, "0.1,123", Some("0.1,123")),
        (Order::LargestAmount, "-1,123", None),
        (Order::LargestAmount, "1e999,123", None),
        (Order::LargestAmount, "", None),
        (Order::LargestAmount, ",", None),
    ] {
        let read = key(order, text);
        assert_eq!(read.ok().as_deref(), expected, "{order}: {text}");
    }
}
