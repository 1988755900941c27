//! Histograms against the times that they count.

use proptest::prelude::*;

use super::*;

fn histogram(microseconds: &[u64]) -> TimeHistogram {
    let mut histogram = TimeHistogram::default();
    let times = microseconds.iter();
    times.for_each(|&time| histogram.add(Duration::from_micros(time)));
    histogram
}

proptest! {
    #[test]
    fn percentiles_are_at_most_9_percent_high(
        mut times in prop::collection::vec(1..3_000_000_000_u64, 1..60),
        percent in 1..=100_u64,
    ) {
        let found = histogram(&times).percentile(percent).expect("times");
        times.sort_unstable();
        let rank = (times.len() as u64 * percent).div_ceil(100).max(1);
        let exact = times[rank as usize - 1] as f64;
        let ratio = found.as_secs_f64() * 1e6 / exact;
        prop_assert!((0.999_999..1.091).contains(&ratio), "{ratio}");
    }

    #[test]
    fn what_is_stored_comes_back_and_adds_up(
        one in prop::collection::vec(0..1_000_000_u64, 0..40),
        other in prop::collection::vec(0..1_000_000_u64, 0..40),
    ) {
        let mut sum = TimeHistogram::from_bytes(&histogram(&one).to_bytes()).expect("a histogram");
        sum.merge(&histogram(&other));
        prop_assert_eq!(sum, histogram(&[one, other].concat()));
    }

    #[test]
    fn no_bytes_are_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
        if let Some(read) = TimeHistogram::from_bytes(&bytes) {
            prop_assert_eq!(read.to_bytes().len() <= bytes.len(), true);
            let _ = read.percentile(99);
        }
    }
}

#[test]
fn no_time_is_too_short_or_too_long() {
    let mut histogram = TimeHistogram::default();
    assert_eq!(histogram.percentile(50), None);
    for time in [Duration::ZERO, Duration::from_nanos(1), Duration::MAX] {
        histogram.add(time);
    }
    assert!(histogram.percentile(100) > histogram.percentile(1));
}
