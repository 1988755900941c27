//! Values of input records: texts, days, instants, numbers, ids.

use std::borrow::Cow;

use serde::de::MapAccess;
use serde_json::value::RawValue;
use time::format_description::well_known::Rfc3339;
use time::{Date, OffsetDateTime, UtcDateTime};

use super::object::{Context, Member, TextSeed};
use crate::query::dates::calendar_date;
use crate::signal::{Currency, SignalId};
use crate::tables::FIELD_BYTES_MAX;

impl<'de> Member<'de> for Cow<'de, str> {
    const EXPECTED: &'static str = "a string";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        let text = map.next_value_seed(TextSeed)?;
        match text.as_ref().map(|text| text.len()) {
            Some(bytes) if bytes > FIELD_BYTES_MAX => Err(context.fail(format!(
                "has {bytes} bytes; a text has at most {FIELD_BYTES_MAX}"
            ))),
            // As in a table, nothing is no text.
            _ => Ok(text.filter(|text| !text.is_empty())),
        }
    }
}

impl<'de> Member<'de> for Date {
    const EXPECTED: &'static str = "a day of the calendar as \"YYYY-MM-DD\"";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        read_text(map, context, calendar_date)
    }
}

impl<'de> Member<'de> for UtcDateTime {
    const EXPECTED: &'static str =
        "an instant of RFC 3339 in the years 0000 to 9999, such as \"2026-06-30T12:00:00Z\"";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        read_text(map, context, instant)
    }
}

impl<'de> Member<'de> for Currency {
    const EXPECTED: &'static str = "a currency of three letters, such as \"USD\"";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        read_text(map, context, Currency::new)
    }
}

impl<'de> Member<'de> for SignalId {
    const EXPECTED: &'static str =
        "a whole number of 1 to 19 digits without a leading zero, as a number or a string";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        read_as_written(map, context, signal_id)
    }
}

impl<'de> Member<'de> for f64 {
    const EXPECTED: &'static str = "a finite number of at least 0";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        read_as_written(map, context, amount)
    }
}

impl<'de> Member<'de> for i64 {
    const EXPECTED: &'static str = "a whole number from -9223372036854775808 to 9223372036854775807, without point or exponent";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        read_as_written(map, context, whole)
    }
}

/// A count, such as the number of employees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WholeNumber(pub(super) i64);

impl<'de> Member<'de> for WholeNumber {
    const EXPECTED: &'static str =
        "a whole number from 0 to 9223372036854775807, without point or exponent";

    fn read<A: MapAccess<'de>>(
        map: &mut A,
        context: &mut Context,
    ) -> Result<Option<Self>, A::Error> {
        read_as_written(map, context, |written| {
            let number = whole(written)?;
            (number >= 0).then_some(WholeNumber(number))
        })
    }
}

/// Reads a string and parses it.
fn read_text<'de, A: MapAccess<'de>, T>(
    map: &mut A,
    context: &mut Context,
    meaning: fn(&str) -> Option<T>,
) -> Result<Option<T>, A::Error> {
    let Some(text) = map.next_value_seed(TextSeed)? else {
        return Ok(None);
    };
    match meaning(&text) {
        Some(value) => Ok(Some(value)),
        None => Err(context.refuse(&format!("\"{text}\""))),
    }
}

/// Reads a value as written: a float would lose digits, and `1.0` would equal `1`.
fn read_as_written<'de, A: MapAccess<'de>, T>(
    map: &mut A,
    context: &mut Context,
    meaning: fn(&str) -> Option<T>,
) -> Result<Option<T>, A::Error> {
    let written = map.next_value::<&'de RawValue>()?.get();
    if written == "null" {
        return Ok(None);
    }
    match meaning(written) {
        Some(value) => Ok(Some(value)),
        None => Err(context.refuse(written)),
    }
}

fn signal_id(written: &str) -> Option<SignalId> {
    if written.starts_with('"') {
        return serde_json::from_str::<String>(written).ok()?.parse().ok();
    }
    written.parse().ok()
}

/// An integer, or a decimal string of one, in which a fraction of zeros is allowed.
fn whole(written: &str) -> Option<i64> {
    let Some(text) = unquoted(written) else {
        return written.parse().ok();
    };
    let (digits, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_whole = !fraction.is_empty() && fraction.bytes().all(|digit| digit == b'0');
    (is_whole && is_decimal(digits.strip_prefix('-').unwrap_or(digits)))
        .then(|| digits.parse().ok())?
}

/// The content of a string without escapes.
fn unquoted(written: &str) -> Option<&str> {
    written.strip_prefix('"')?.strip_suffix('"')
}

/// Whether a text is digits with an optional fraction, as in JSON. `1.200` is not: its point may group thousands.
fn is_decimal(text: &str) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if fraction.len() == 3 && whole.len() <= 3 && whole != "0" {
        return false;
    }
    let are_digits =
        |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(whole) && are_digits(fraction) && (whole == "0" || !whole.starts_with('0'))
}

/// An amount, or a decimal string that a float represents exactly.
fn amount(written: &str) -> Option<f64> {
    if let Some(text) = unquoted(written) {
        let number: f64 = is_decimal(text).then(|| text.parse().ok())??;
        return (number.is_finite() && is_exact(text, number)).then_some(number);
    }
    let number: f64 = written.parse().ok()?;
    // Adding zero turns -0 into 0.
    (number.is_finite() && number >= 0.0).then_some(number + 0.0)
}

/// Whether a float represents a decimal without loss, so that its digits can be restored.
fn is_exact(text: &str, number: f64) -> bool {
    const DIGITS_ALWAYS_KEPT: usize = f64::DIGITS as usize;
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let fraction_digits = text.split_once('.').map_or(0, |(_, digits)| digits.len());
    // The first condition suffices for nearly all, and saves formatting.
    digits <= DIGITS_ALWAYS_KEPT || format!("{number:.fraction_digits$}") == text
}

fn instant(text: &str) -> Option<UtcDateTime> {
    // A day stands for its first instant.
    if let Some(day) = calendar_date(text) {
        return Some(day.midnight().as_utc());
    }
    // The parser accepts any character between day and time; RFC 3339 allows these.
    if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let instant = OffsetDateTime::parse(text, &Rfc3339)
        .ok()?
        .checked_to_utc()?;
    (0..=9999).contains(&instant.year()).then_some(instant)
}

#[cfg(test)]
mod tests;
