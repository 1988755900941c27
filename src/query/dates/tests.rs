//! White-box tests of `query/dates.rs`.

use proptest::prelude::*;
use time::macros::date;

use super::*;

#[test]
fn windows_reach_back_from_today() {
    let today = date!(2026 - 06 - 30);
    for (age_days, seven, ninety, older) in [
        (-1, false, false, false),
        (0, true, true, false),
        (6, true, true, false),
        (7, false, true, false),
        (89, false, true, false),
        (90, false, false, true),
    ] {
        let date = day_of_number(day_number(today) - age_days).unwrap();
        assert_eq!(Days::Seven.contain(date, today), seven, "{age_days}");
        assert_eq!(Days::Ninety.contain(date, today), ninety, "{age_days}");
        assert_eq!(DateRange::Older.contains(date, today), older, "{age_days}");
    }
}

#[test]
fn every_date_has_a_number() {
    for date in [
        Date::MIN,
        date!(1970 - 01 - 01),
        date!(2024 - 02 - 29),
        Date::MAX,
    ] {
        assert_eq!(day_of_number(day_number(date)), Some(date));
    }
    assert_eq!(day_number(date!(1970 - 01 - 01)), 0);
    assert_eq!(day_of_number(i32::MAX), None);
    assert_eq!(day_of_number(i32::MIN), None);
}

proptest! {
    #[test]
    fn intervals_are_what_the_ranges_say(
        days in prop::option::of(prop::sample::select(vec![Days::Seven, Days::Thirty, Days::Ninety])),
        ranges in prop::collection::vec(prop::sample::select(vec![
            DateRange::Last(Days::Seven),
            DateRange::Last(Days::Thirty),
            DateRange::Last(Days::Ninety),
            DateRange::Older,
        ]), 0..4),
        from in prop::option::of(-150_i32..10),
        to in prop::option::of(-150_i32..10),
        age_days in -10_i32..150,
    ) {
        let today = date!(2026 - 06 - 30);
        let back = |days: i32| day_of_number(day_number(today) - days).unwrap();
        let filter = Filter {
            days,
            date_ranges: ranges,
            date_from: from.map(|days| back(-days)),
            date_to: to.map(|days| back(-days)),
            ..Filter::default()
        };
        let date = back(age_days);
        let expected = filter.matches_dates(Some(date), today);
        let found = filter.date_intervals(today).is_none_or(|intervals| {
            intervals.iter().any(|days| days.contains(&day_number(date)))
        });
        prop_assert_eq!(found, expected);
    }
}
