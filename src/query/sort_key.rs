//! Sort keys: where a signal stands in an order, as a number that compares like the value, and an id.

use std::cmp::{Ordering, Reverse};
use std::fmt;

use time::Date;

use super::dates::{calendar_date, day_number, day_of_number};
use super::order::{SortField, Sorting, amount_of};
use super::values;
use super::{IdOrder, Order, ValueOrder};
use crate::signal::{Signal, SignalId};

/// The position of a signal in an [`Order`]: its value and its id. A page or an export continues after one, whether or
/// not the signal still exists.
///
/// For orders by id the key of a signal is its id: `SortKey::from(id)`.
///
/// ```
/// use signaldex::query::{Order, SortKey};
/// use signaldex::{Signal, SignalId};
/// use time::macros::date;
///
/// let mut signal = Signal::new(SignalId::MIN, "acme", "Acme raises");
/// signal.date = Some(date!(2026 - 03 - 01));
/// let key = Order::LatestDate.key_of(&signal);
/// assert_eq!(Order::LatestDate.key_text(key), "2026-03-01,1");
/// assert_eq!(Order::LatestDate.parse_key("2026-03-01,1"), Ok(key));
/// assert_eq!(Order::NewestFirst.key_of(&signal), SortKey::from(SignalId::MIN));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SortKey {
    pub(crate) value: Option<SortValue>,
    pub(crate) id: SignalId,
}

parse_error!(
    ParseSortKeyError,
    "The error for a text that is not a [`SortKey`] of an order.",
    "allowed is the id of a signal for newest and oldest, and VALUE,ID for the others, such as 2026-03-01,123 for date and 4700000,123 for amount, or ,123 for a signal without the value"
);

/// A value as a number that compares like it; never the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SortValue(u64);

/// The rank of a signal without the value, after all others.
const MISSING: u64 = u64::MAX;

impl SortKey {
    /// The id of the signal.
    ///
    /// ```
    /// use signaldex::SignalId;
    /// use signaldex::query::SortKey;
    ///
    /// assert_eq!(SortKey::from(SignalId::MAX).id(), SignalId::MAX);
    /// ```
    pub fn id(self) -> SignalId {
        self.id
    }

    /// The value as a number, for programs that send keys to each other: [`from_bits`](Self::from_bits) reads it. It is
    /// the maximum if the key has no value.
    ///
    /// ```
    /// use signaldex::SignalId;
    /// use signaldex::query::{Order, SortKey};
    ///
    /// let key = Order::LargestAmount.parse_key("4700000,123")?;
    /// assert_eq!(SortKey::from_bits(key.bits(), key.id()), key);
    /// assert_eq!(SortKey::from(SignalId::MIN).bits(), u64::MAX);
    /// # Ok::<(), signaldex::query::ParseSortKeyError>(())
    /// ```
    pub fn bits(self) -> u64 {
        SortValue::to_bits(self.value)
    }

    /// The key of an id with the [`bits`](Self::bits) of its value. Bits of another origin make a key of no signal.
    pub fn from_bits(bits: u64, id: SignalId) -> SortKey {
        let value = (bits != MISSING).then_some(SortValue(bits));
        SortKey { value, id }
    }
}

impl From<SignalId> for SortKey {
    fn from(id: SignalId) -> SortKey {
        SortKey { value: None, id }
    }
}

impl SortValue {
    /// A day, in days since 1970-01-01.
    pub(crate) fn of_day(day: i32) -> SortValue {
        // Flipping the sign makes the bits compare like the number.
        SortValue(u64::from(day as u32 ^ 1 << 31))
    }

    /// An amount. Amounts are finite and not negative, so their bits compare like them.
    pub(crate) fn of_amount(amount: f64) -> SortValue {
        SortValue((amount + 0.0).to_bits())
    }

    fn day(self) -> Option<Date> {
        let bits = u32::try_from(self.0).ok()?;
        day_of_number((bits ^ 1 << 31) as i32)
    }

    fn amount(self) -> Option<f64> {
        let amount = f64::from_bits(self.0);
        (amount.is_finite() && amount.is_sign_positive()).then_some(amount)
    }

    /// The value of a field with these bits, if there is one.
    fn of_bits(field: SortField, bits: u64) -> Option<SortValue> {
        let value = SortValue(bits);
        let is_valid = match field {
            SortField::Date => value.day().is_some(),
            SortField::Amount => value.amount().is_some(),
        };
        is_valid.then_some(value)
    }

    /// The bits of a value or of none, for a cursor.
    pub(super) fn to_bits(value: Option<SortValue>) -> u64 {
        value.map_or(MISSING, |value| value.0)
    }

    /// What [`to_bits`](Self::to_bits) wrote, or `None` if it cannot have.
    pub(super) fn from_bits(field: SortField, bits: u64) -> Option<Option<SortValue>> {
        if bits == MISSING {
            return Some(None);
        }
        SortValue::of_bits(field, bits).map(Some)
    }
}

impl ValueOrder {
    /// A number that sorts keys: those that come first have smaller ones.
    pub(crate) fn rank(self, key: SortKey) -> (u64, Reverse<SignalId>) {
        let rank = match key.value {
            None => MISSING,
            // No value is the maximum, so nothing that has one gets the rank of none.
            Some(SortValue(value)) if self.descending => MISSING - 1 - value,
            Some(SortValue(value)) => value,
        };
        (rank, Reverse(key.id))
    }
}

impl Order {
    /// The key of a signal. Keys compare as [`compare`](Self::compare) compares the signals.
    ///
    /// ```
    /// use signaldex::query::{Order, Start};
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::builder().order(Order::EarliestDate).limit(3).build()?;
    /// let page = snapshot.search(&query, sample::AS_OF)?;
    /// let second = Order::EarliestDate.key_of(&snapshot.records(&page)?[1].signal);
    /// let rest = query.part(Start::After(query.cursor_after(second, sample::AS_OF)), 3);
    /// assert_eq!(snapshot.search(&rest, sample::AS_OF)?.ids().next(), page.ids().last());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key_of(self, signal: &Signal<'_>) -> SortKey {
        let value = match self.sorting() {
            Sorting::ById(_) => None,
            Sorting::ByValue(by) => match by.field {
                SortField::Date => signal.date.map(day_number).map(SortValue::of_day),
                SortField::Amount => amount_of(signal).map(SortValue::of_amount),
            },
        };
        SortKey {
            value,
            id: signal.id,
        }
    }

    /// The text of a key of this order: the id, or value and id, which [`parse_key`](Self::parse_key) reads.
    pub fn key_text(self, key: SortKey) -> String {
        let SortKey { value, id } = key;
        let Sorting::ByValue(by) = self.sorting() else {
            return id.to_string();
        };
        match by.field {
            SortField::Date => {
                let date = value.and_then(SortValue::day);
                format!("{},{id}", OrEmpty(date))
            }
            SortField::Amount => {
                let amount = value.and_then(SortValue::amount);
                format!("{},{id}", OrEmpty(amount))
            }
        }
    }

    /// Reads the text of a key: `ID` for `newest` and `oldest`, `VALUE,ID` for the others, `,ID` for a signal without
    /// the value.
    ///
    /// # Errors
    /// The text does not have the form of the order.
    pub fn parse_key(self, text: &str) -> Result<SortKey, ParseSortKeyError> {
        self.read_key(text).ok_or(ParseSortKeyError)
    }

    fn read_key(self, text: &str) -> Option<SortKey> {
        let id = |text: &str| text.parse::<SignalId>().ok();
        let Sorting::ByValue(by) = self.sorting() else {
            return id(text).map(SortKey::from);
        };
        let (value, last) = text.split_once(',')?;
        let value = match (value, by.field) {
            ("", _) => None,
            (date, SortField::Date) => Some(SortValue::of_day(day_number(calendar_date(date)?))),
            (amount, SortField::Amount) => Some(SortValue::of_amount(values::amount(amount).ok()?)),
        };
        Some(SortKey {
            value,
            id: id(last)?,
        })
    }

    /// Compares keys of this order as [`compare`](Self::compare) compares the signals: to merge results of several
    /// indexes.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Signal, SignalId};
    /// use time::macros::date;
    ///
    /// let undated = Signal::new(SignalId::MAX, "acme", "Acme raises");
    /// let mut dated = Signal::new(SignalId::MIN, "acme", "Acme raises");
    /// dated.date = Some(date!(2026 - 03 - 01));
    /// let keys = [&dated, &undated].map(|signal| Order::LatestDate.key_of(signal));
    /// assert!(Order::LatestDate.compare_keys(keys[0], keys[1]).is_lt());
    /// ```
    pub fn compare_keys(self, a: SortKey, b: SortKey) -> Ordering {
        match self.sorting() {
            Sorting::ById(IdOrder::NewestFirst) => b.id.cmp(&a.id),
            Sorting::ById(IdOrder::OldestFirst) => a.id.cmp(&b.id),
            Sorting::ByValue(order) => order.rank(a).cmp(&order.rank(b)),
        }
    }
}

/// Displays a value, or nothing.
struct OrEmpty<T>(Option<T>);

impl<T: fmt::Display> fmt::Display for OrEmpty<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |value| value.fmt(f))
    }
}

#[cfg(test)]
mod tests;
