//! Checks of whole slices, for validation. Each visits every value, so that it is vectorised; stopping at the
//! first invalid value would take five times as long if none is invalid.

/// Whether values are strictly ascending.
pub(crate) fn ascend<T: Copy + PartialOrd>(values: &[T]) -> bool {
    let later = values.get(1..).unwrap_or_default();
    let pairs = values.iter().zip(later);
    pairs.fold(true, |holds, (first, second)| holds & (first < second))
}

/// The largest value; the default if there are none.
pub(crate) fn greatest<T: Copy + Default + Ord>(values: &[T]) -> T {
    values.iter().copied().fold(T::default(), T::max)
}

/// Whether a slice contains a value.
pub(crate) fn contains<T: Copy + PartialEq>(values: &[T], value: T) -> bool {
    let equal = values.iter().map(|&other| other == value);
    equal.fold(false, |found, is_equal| found | is_equal)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn they_are_what_the_standard_library_says(values in prop::collection::vec(0..90_u16, 0..40)) {
            prop_assert_eq!(ascend(&values), values.is_sorted_by(|a, b| a < b));
            prop_assert_eq!(greatest(&values), values.iter().copied().max().unwrap_or(0));
            prop_assert_eq!(contains(&values, 7), values.contains(&7));
            let mut sorted = values;
            sorted.sort_unstable();
            prop_assert_eq!(ascend(&sorted), sorted.is_sorted_by(|a, b| a < b));
        }
    }
}
