//! Sums and quartiles by hand, and fast ones against arbitrary precision.

use proptest::prelude::*;

use super::{Decimal, DecimalSum, between, hundredths, plain_quartile, plain_sum, quartile};

fn sum(amounts: &[f64]) -> f64 {
    let mut sum = DecimalSum::default();
    amounts.iter().for_each(|&amount| sum.add(amount, 1));
    assert_eq!(sum.rounded(), plain_sum(amounts), "{amounts:?}");
    sum.rounded()
}

#[test]
fn sums_are_those_of_the_decimals() {
    assert_eq!(sum(&[]), 0.0);
    assert_eq!(sum(&[0.1, 0.2]), 0.3);
    assert_eq!(sum(&[0.1; 10]), 1.0);
    assert_eq!(sum(&[1e22, 0.01]), 1e22);
    // Fifty million times two hundredths reach the next double; one by one, none would.
    let mut large = DecimalSum::default();
    large.add(1e22, 1);
    large.add(0.02, 100_000_000);
    assert_eq!(large.rounded(), 1e22 + 2_097_152.0);
    assert_eq!(sum(&[0.125, 0.375]), 0.5);
    assert_eq!(sum(&[f64::from_bits(1), 1.0]), 1.0);
}

#[test]
fn a_sum_over_the_greatest_double_is_the_greatest_double() {
    assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::MAX);
    assert_eq!(sum(&[f64::MAX, 1e300]), f64::MAX);
}

/// Ties go to even, and anything above a tie goes up, however small it is.
#[test]
fn a_sum_is_rounded_once() {
    let two_to_53 = 9_007_199_254_740_992.0;
    assert_eq!(sum(&[two_to_53, 1.0]), two_to_53);
    assert_eq!(sum(&[two_to_53, 1.0, 1e-300]), two_to_53 + 2.0);
}

#[test]
fn quartiles_of_one_to_nine_amounts() {
    let lower = [1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.75, 3.0];
    let median = [1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0];
    let upper = [1.0, 1.75, 2.5, 3.25, 4.0, 4.75, 5.5, 6.25, 7.0];
    let amounts: Vec<f64> = (1..=9).map(f64::from).collect();
    for n in 1..=9 {
        let amounts = &amounts[..n];
        let quartiles = [1, 2, 3].map(|number| plain_quartile(amounts, number));
        assert_eq!(quartiles, [lower[n - 1], median[n - 1], upper[n - 1]]);
        let fast = [1, 2, 3].map(|number| {
            let (index, quarters) = quartile(n as u64, number);
            let next = (index as usize + 1).min(n - 1);
            between(amounts[index as usize], amounts[next], quarters)
        });
        assert_eq!(fast, quartiles);
    }
}

#[test]
fn quartiles_are_those_of_the_decimals() {
    assert_eq!(plain_quartile(&[0.1, 0.2], 2), 0.15);
    assert_eq!(plain_quartile(&[0.1, 0.3], 1), 0.15);
    assert_eq!(plain_quartile(&[0.01, 1e22], 2), 5e21);
    assert_eq!(plain_quartile(&[f64::MAX, f64::MAX], 2), f64::MAX);
}

#[test]
fn the_shortest_decimal_is_taken() {
    let decimal = |digits, exponent| Decimal { digits, exponent };
    assert_eq!(Decimal::of(0.1), decimal(1, -1));
    assert_eq!(Decimal::of(12_500_000.5), decimal(125_000_005, -1));
    assert_eq!(Decimal::of(1e22), decimal(1, 22));
    assert_eq!(Decimal::of(0.0), decimal(0, 0));
    assert_eq!(hundredths(0.29), Some(29));
    assert_eq!(hundredths(0.005), None);
}

/// Amounts as people write them, and any double.
fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (0_u64..1_000_000_000_000).prop_map(|cents| cents as f64 / 100.0),
        2 => (0_u64..1_000_000).prop_map(|thousandths| thousandths as f64 / 1000.0),
        1 => 0.0_f64..f64::MAX,
        1 => any::<u64>().prop_map(|bits| f64::from_bits(bits >> 1)).prop_filter("a number", |x| x.is_finite()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn fast_figures_agree_with_arbitrary_precision(mut amounts in prop::collection::vec(amount(), 1..12)) {
        sum(&amounts);
        amounts.sort_by(f64::total_cmp);
        for number in 1..=3 {
            let (index, quarters) = quartile(amounts.len() as u64, number);
            let low = amounts[index as usize];
            let high = amounts[(index as usize + 1).min(amounts.len() - 1)];
            prop_assert_eq!(between(low, high, quarters), plain_quartile(&amounts, number as usize));
        }
    }

    #[test]
    fn hundredths_are_shortest_decimals(amount in amount()) {
        if let Some(hundredths) = hundredths(amount) {
            let Decimal { digits, exponent } = Decimal::of(amount);
            prop_assert!(exponent >= -2);
            prop_assert_eq!(digits * 10_u64.pow((exponent + 2) as u32), hundredths);
        }
    }
}
