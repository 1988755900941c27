//! How single values are written, in input records and responses alike.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use time::{Date, UtcDateTime};

use crate::signal::{Funding, SignalId};

/// The first whole number above which a 64-bit float no longer holds every whole number.
pub(super) const WHOLE_MAX: u64 = 1 << 53;

/// An id as a string, which every reader of JSON keeps exact.
pub(super) struct IdText(pub(super) SignalId);

impl Serialize for IdText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}

impl IdText {
    pub(super) fn text(&self) -> Text {
        let mut text = Text::EMPTY;
        text.number(self.0.get(), 1);
        text
    }
}

/// A day as `YYYY-MM-DD`.
pub(super) struct DayText(pub(super) Date);

impl Serialize for DayText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}

impl DayText {
    pub(super) fn text(&self) -> Text {
        let mut text = Text::EMPTY;
        text.day(self.0);
        text
    }
}

/// An instant as RFC 3339 in UTC, with as many digits behind the second as it needs.
pub(super) struct InstantText(pub(super) UtcDateTime);

impl Serialize for InstantText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text().as_str())
    }
}

impl InstantText {
    pub(super) fn text(&self) -> Text {
        let (hour, minute, second, nanosecond) = self.0.time().as_hms_nano();
        let mut text = Text::EMPTY;
        text.day(self.0.date());
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
}

/// An amount: without a point where it is whole and exact, else in the fewest digits that read
/// back as the same number.
pub(super) struct AmountNumber(pub(super) f64);

impl Serialize for AmountNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let whole = self.0 as u64;
        if whole < WHOLE_MAX && whole as f64 == self.0 {
            return serializer.serialize_u64(whole);
        }
        serializer.serialize_f64(self.0)
    }
}

/// The object `{stage, amount, currency}`.
pub(super) struct FundingObject<'a>(pub(super) &'a Funding<'a>);

impl Serialize for FundingObject<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Funding", 3)?;
        object.serialize_field("stage", &self.0.stage)?;
        object.serialize_field("amount", &self.0.amount.map(AmountNumber))?;
        object.serialize_field(
            "currency",
            &self.0.currency.as_ref().map(|code| code.as_str()),
        )?;
        object.end()
    }
}

/// The longest text here is an instant of a year of six digits before 0, which `time` can be
/// told to allow, with nine digits of a second.
const TEXT_BYTES: usize = "-999999-12-31T23:59:59.999999999Z".len();

/// A short text that is put together on the stack: responses hold hundreds.
pub(super) struct Text {
    bytes: [u8; TEXT_BYTES],
    length: usize,
}

impl Text {
    const EMPTY: Text = Text {
        bytes: [0; TEXT_BYTES],
        length: 0,
    };

    pub(super) fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
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

    /// A number in at least so many digits.
    fn number(&mut self, number: u64, digits: usize) {
        let digits = digits.max(number.checked_ilog10().map_or(1, |log| log as usize + 1));
        let mut rest = number;
        for place in (self.length..self.length + digits).rev() {
            self.bytes[place] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.length += digits;
    }

    fn day(&mut self, date: Date) {
        let (year, month, day) = date.to_calendar_date();
        if year < 0 {
            self.byte(b'-');
        }
        let year = year.unsigned_abs();
        match year {
            0..=9999 => {
                self.pair((year / 100) as u8);
                self.pair((year % 100) as u8);
            }
            _ => self.number(u64::from(year), 4),
        }
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
