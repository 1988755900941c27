//! Formats numbers, sizes, times and names for people.

use std::time::{Duration, SystemTime};

use time::UtcDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// 1,234,567.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part in percent of a whole, at most 100.
pub(super) fn percent(part: u64, whole: u64) -> u64 {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    percent.min(100) as u64
}

/// An amount of money, with decimals only if it has a fraction.
pub(super) fn amount(amount: f64) -> String {
    let whole = amount.trunc();
    // Amounts that do not fit into a u64 are shown in scientific notation.
    if whole >= 1e18 {
        return format!("{amount:e}");
    }
    let grouped = grouped(whole as u64);
    if amount.fract() == 0.0 {
        return grouped;
    }
    let fraction = format!("{amount:.2}");
    let cents = fraction.rsplit('.').next().unwrap_or_default();
    format!("{grouped}.{cents}")
}

/// A count in at most four characters: 999, 1.2k, 24k, 1.3M; nothing for zero.
pub(super) fn short(count: u64) -> String {
    const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let (mut value, mut unit) = (count, 0);
    let mut tenths = 0;
    while value >= 1000 {
        tenths = value % 1000 / 100;
        value /= 1000;
        unit += 1;
    }
    match (value, unit) {
        (0, _) => String::new(),
        (..10, 1..) => format!("{value}.{tenths}{}", UNITS[unit]),
        _ => format!("{value}{}", UNITS[unit]),
    }
}

/// 1.4 MB, by powers of ten.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if count < 1000 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// 40 ns, 3.5 µs, 35 µs, 4.1 ms, 1.2 s.
pub(super) fn duration(time: Duration) -> String {
    let microseconds = time.as_secs_f64() * 1e6;
    match microseconds {
        ..0.9995 => format!("{:.0} ns", microseconds * 1e3),
        ..9.95 => format!("{microseconds:.1} µs"),
        ..999.5 => format!("{microseconds:.0} µs"),
        ..999_950.0 => format!("{:.1} ms", microseconds / 1e3),
        _ => format!("{:.1} s", microseconds / 1e6),
    }
}

/// 45 s, 12 min, 3 h 20 min, 12 d 4 h.
pub(super) fn uptime(time: Duration) -> String {
    let minutes = time.as_secs() / 60;
    let (hours, days) = (minutes / 60, minutes / (60 * 24));
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{} s", time.as_secs()),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} d {} h", grouped(days), hours % 24),
    }
}

/// A text of at most some bytes, or its beginning and a mark that there is more.
pub(super) fn cut(text: &str, bytes_max: usize) -> String {
    let end = text.floor_char_boundary(bytes_max);
    let rest = if end < text.len() { "…" } else { "" };
    format!("{}{rest}", &text[..end])
}

/// The name of a key, or its id if the name is empty.
pub(super) fn key_name(id: &str, name: &str) -> String {
    let name = if name.is_empty() { id } else { name };
    name.to_owned()
}

/// 2026-06-30 14:05:09.
pub(super) fn moment(instant: UtcDateTime) -> String {
    const FORMAT: &[BorrowedFormatItem<'_>] =
        format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    instant.format(FORMAT).unwrap_or_default()
}

/// 2026-06-30 14:05 UTC.
pub(super) fn instant(instant: UtcDateTime) -> String {
    const FORMAT: &[BorrowedFormatItem<'_>] =
        format_description!("[year]-[month]-[day] [hour]:[minute] UTC");
    instant.format(FORMAT).unwrap_or_default()
}

/// A time of the file system.
pub(super) fn file_time(time: SystemTime) -> String {
    instant(UtcDateTime::from(time))
}

#[cfg(test)]
mod tests;
