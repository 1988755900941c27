//! How ids, days, instants and whole amounts are written in answers, without allocation, and
//! which texts are written as they are.

use time::{Date, UtcDateTime};

use crate::signal::SignalId;

/// The first whole number above which a 64-bit float no longer holds every whole number.
pub(crate) const WHOLE_MAX: u64 = 1 << 53;

/// The longest text here is an instant of a year of six digits before 0, which `time` can be
/// told to allow, with nine digits of a second.
const TEXT_BYTES: usize = "-999999-12-31T23:59:59.999999999Z".len();

/// A short text that is put together on the stack: answers hold hundreds.
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
    text.byte(b'T');
    text.pair(hour);
    text.byte(b':');
    text.pair(minute);
    text.byte(b':');
    text.pair(second);
    text.fraction(nanosecond);
    text.byte(b'Z');
    text
}

/// An amount that is whole and exact in a float.
pub(crate) fn whole(amount: f64) -> Option<u64> {
    let whole = amount as u64;
    (whole < WHOLE_MAX && whole as f64 == amount).then_some(whole)
}

/// Whether a text needs no escapes in JSON. Looks at eight bytes at a time: most texts are too short for
/// anything wider to pay.
#[cfg(any(feature = "http", test))]
pub(crate) fn is_plain(text: &[u8]) -> bool {
    let (words, rest) = text.as_chunks::<8>();
    let mut last = [b'x'; 8];
    last[..rest.len()].copy_from_slice(rest);
    let special = |word: &[u8; 8]| special_bytes(u64::from_le_bytes(*word));
    words
        .iter()
        .fold(special(&last), |found, word| found | special(word))
        == 0
}

/// The top bit of the first byte that is a quote, a backslash or below a space, and perhaps of
/// bytes after it; zero where no byte is.
#[cfg(any(feature = "http", test))]
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const TOPS: u64 = ONES << 7;
    let zero_bytes = |word: u64| word.wrapping_sub(ONES) & !word;
    let below_space = word.wrapping_sub(ONES * u64::from(b' ')) & !word;
    let quote = zero_bytes(word ^ (ONES * u64::from(b'"')));
    let backslash = zero_bytes(word ^ (ONES * u64::from(b'\\')));
    (below_space | quote | backslash) & TOPS
}

impl Text {
    const EMPTY: Text = Text {
        bytes: [0; TEXT_BYTES],
        length: 0,
    };

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }

    fn byte(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }

    /// A number below 100 in two digits.
    fn pair(&mut self, number: u8) {
        self.byte(b'0' + number / 10);
        self.byte(b'0' + number % 10);
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
        if year < 0 {
            self.byte(b'-');
        }
        self.number(u64::from(year.unsigned_abs()), 4);
        self.byte(b'-');
        self.pair(u8::from(month));
        self.byte(b'-');
        self.pair(day);
    }

    /// The fraction of a second without trailing zeros; nothing for none.
    fn fraction(&mut self, nanosecond: u32) {
        if nanosecond == 0 {
            return;
        }
        self.byte(b'.');
        self.number(u64::from(nanosecond), 9);
        while self.bytes[self.length - 1] == b'0' {
            self.length -= 1;
        }
    }
}

#[cfg(all(test, feature = "json"))]
mod tests;
