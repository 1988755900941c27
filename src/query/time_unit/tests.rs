//! Periods at the ends of the calendar and over New Year.

use time::Date;
use time::macros::date;

use super::TimeUnit;

fn periods(day: Date) -> [String; 5] {
    TimeUnit::ALL.map(|unit| unit.period(day).to_string())
}

#[test]
fn the_ends_of_the_calendar_have_periods() {
    let first = ["0000-01-01", "0000-01-01", "0000-01", "0000-Q1", "0000"];
    assert_eq!(periods(date!(0000 - 01 - 01)), first);
    let monday = date!(0000 - 01 - 03);
    assert_eq!(TimeUnit::Week.period(monday).first_day(), monday);
    let last = ["9999-12-31", "9999-12-27", "9999-12", "9999-Q4", "9999"];
    assert_eq!(periods(date!(9999 - 12 - 31)), last);
}

#[test]
fn a_week_over_new_year_is_one_period() {
    let days = [
        date!(2024 - 12 - 30),
        date!(2024 - 12 - 31),
        date!(2025 - 01 - 05),
    ];
    for day in days {
        assert_eq!(TimeUnit::Week.period(day).to_string(), "2024-12-30");
    }
    assert_eq!(
        TimeUnit::Week.period(date!(2025 - 01 - 06)).to_string(),
        "2025-01-06"
    );
}

#[test]
fn each_month_is_in_its_quarter() {
    for month in 1..=12_u8 {
        let day = Date::from_calendar_date(2026, month.try_into().expect("a month"), 28);
        let quarter = TimeUnit::Quarter.period(day.expect("a day"));
        assert_eq!(
            quarter.to_string(),
            format!("2026-Q{}", (month - 1) / 3 + 1)
        );
    }
}
