//! White-box tests of `query/order.rs`.

use proptest::prelude::*;

use super::*;
use crate::query::dates::day_of_number;
use crate::signal::Funding;

/// A signal with an id, and perhaps a date and an amount, from few values of each.
pub(in crate::query) fn signals() -> impl Strategy<Value = Signal<'static>> {
    let amounts = prop_oneof![Just(0.0), Just(-0.0), Just(0.1), Just(2e6), Just(f64::MAX)];
    let parts = (
        1..9_u64,
        proptest::option::of(-2..2),
        proptest::option::of(amounts),
    );
    parts.prop_map(|(id, day, amount)| {
        let mut signal = Signal::new(SignalId::new(id).unwrap(), "acme", "Acme raises");
        signal.date = day.and_then(day_of_number);
        signal.funding = amount.map(|amount| Funding {
            amount: Some(amount),
            ..Funding::default()
        });
        signal
    })
}

proptest! {
    #[test]
    fn every_order_is_total(a in signals(), b in signals(), c in signals()) {
        for order in Order::ALL {
            prop_assert_eq!(order.compare(&a, &b), order.compare(&b, &a).reverse());
            prop_assert_eq!(order.compare(&a, &b).is_eq() && a.id != b.id, false);
            if order.compare(&a, &b).is_le() && order.compare(&b, &c).is_le() {
                prop_assert!(order.compare(&a, &c).is_le());
            }
        }
    }

    #[test]
    fn signals_without_the_value_come_last(a in signals(), b in signals()) {
        for (order, has) in [
            (Order::LatestDate, (|signal| signal.date.is_some()) as fn(&Signal<'_>) -> bool),
            (Order::EarliestDate, |signal| signal.date.is_some()),
            (Order::LargestAmount, |signal| amount_of(signal).is_some()),
            (Order::SmallestAmount, |signal| amount_of(signal).is_some()),
        ] {
            if has(&a) && !has(&b) {
                prop_assert!(order.compare(&a, &b).is_lt());
            }
            if !has(&a) && !has(&b) {
                prop_assert_eq!(order.compare(&a, &b), b.id.cmp(&a.id));
            }
        }
    }
}

#[test]
fn names_are_read_back() {
    for order in Order::ALL {
        assert_eq!(order.to_string().parse(), Ok(order));
    }
    assert_eq!("-Date".parse::<Order>(), Err(ParseOrderError));
}
