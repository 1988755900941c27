//! Days.
use time::Date;
const EPOCH: i32 = 2_440_588;
pub(crate) fn day_number(date: Date) -> i32 {
    date.to_julian_day() - EPOCH
}
pub(crate) fn day_of_number(day: i32) -> Option<Date> {
    Date::from_julian_day(day.checked_add(EPOCH)?).ok()
}
