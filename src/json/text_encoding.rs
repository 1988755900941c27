//! Writes ids, days, instants and whole amounts without allocation.

use time::{Date, UtcDateTime};

use crate::signal::SignalId;

/// The longest text: an instant with a negative year of six digits, which `time` can be configured to
/// allow, and nine fractional digits.
const TEXT_BYTES: usize = "-999999-12-31T23:59:59.999999999Z".len();

/// A short text on the stack; an answer contains hundreds.
pub(crate) struct Text {
    bytes: [u8; TEXT_BYTES],
    length: usize,
}

/// An id in digits.
pub(crate) fn id(id: SignalId) -> Text {
    let mut text = Text::EMPTY;
    text.number(id.get(), 1);
    text
}

/// A day as `YYYY-MM-DD`.
pub(crate) fn day(date: Date) -> Text {
    let mut text = Text::EMPTY;
    text.day(date);
    text
}

/// An instant as RFC 3339 in UTC, with as many fractional digits as it needs.
pub(crate) fn instant(instant: UtcDateTime) -> Text {
    let (hour, minute, second, nanosecond) = instant.time().as_hms_nano();
    let mut text = Text::EMPTY;
    text.day(instant.date());
    let ([h, o], [m, i], [s, e]) = (pair(hour), pair(minute), pair(second));
    text.push([b'T', h, o, b':', m, i, b':', s, e]);
    text.fraction(nanosecond);
    text.push([b'Z']);
    text
}

/// A number below 100 in two digits.
fn pair(number: u8) -> [u8; 2] {
    [b'0' + number / 10, b'0' + number % 10]
}

/// From here on, the shortest text of a float has an exponent.
const EXPONENT_MIN: u64 = 10_000_000_000_000_000;

/// A whole amount whose digits are its shortest text.
pub(crate) fn whole(amount: f64) -> Option<u64> {
    let whole = amount as u64;
    (whole < EXPONENT_MIN && whole as f64 == amount).then_some(whole)
}

impl Text {
    const EMPTY: Text = Text {
        bytes: [0; TEXT_BYTES],
        length: 0,
    };

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    /// Writes the text in quotes. Copies unused bytes, too, and truncates: a copy of fixed length is inlined.
    pub(crate) fn write_quoted(&self, output: &mut Vec<u8>) {
        output.push(b'"');
        let end = output.len() + self.length;
        output.extend_from_slice(&self.bytes);
        output.truncate(end);
        output.push(b'"');
    }

    fn push<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.length..][..N].copy_from_slice(&bytes);
        self.length += N;
    }

    /// A number in at least `digits` digits.
    fn number(&mut self, number: u64, digits: usize) {
        let digits = digits.max(number.checked_ilog10().map_or(1, |log| log as usize + 1));
        let mut rest = number;
        for position in (self.length..self.length + digits).rev() {
            self.bytes[position] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.length += digits;
    }

    fn day(&mut self, date: Date) {
        let (year, month, day) = date.to_calendar_date();
        match u16::try_from(year) {
            Ok(year) if year < 10_000 => {
                self.push(pair((year / 100) as u8));
                self.push(pair((year % 100) as u8));
            }
            _ => {
                if year < 0 {
                    self.push([b'-']);
                }
                self.number(u64::from(year.unsigned_abs()), 4);
            }
        }
        let ([m, o], [d, e]) = (pair(u8::from(month)), pair(day));
        self.push([b'-', m, o, b'-', d, e]);
    }

    /// Writes the fraction of a second without trailing zeros, or nothing if it is zero.
    fn fraction(&mut self, nanosecond: u32) {
        if nanosecond == 0 {
            return;
        }
        self.push([b'.']);
        self.number(u64::from(nanosecond), 9);
        while self.bytes[self.length - 1] == b'0' {
            self.length -= 1;
        }
    }
}
