//! Where a page starts: cursors, the position after a page, as opaque text for clients.
//!
//! ```text
//! offset  width  what
//! 0       1      version
//! 1       1      order, by its index in `Order::ALL`
//! 2       4      the day of the first page, in days since 1970-01-01
//! 6       8      the id of the last signal seen
//! 14      16     fingerprint of the filters
//! 30      8      the value of the last signal seen, only for orders by value
//!         4      CRC-32C of the bytes before
//! ```
//!
//! All little endian, written as base64url without padding: 46 characters, or 56 for orders by value. A cursor names no
//! segment, generation or machine, so it stays valid across updates, restarts and replicas.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use time::Date;

use super::dates::{day_number, day_of_number};
use super::sort_key::SortValue;
use super::{Fingerprint, Order, SortKey, Sorting};
use crate::signal::SignalId;

const VERSION: u8 = 1;
/// The bytes before the value.
const FIELD_BYTES: usize = 30;
const VALUE_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;
const BYTES_MAX: usize = FIELD_BYTES + VALUE_BYTES + CHECKSUM_BYTES;

/// The end of a page, where the next one starts.
///
/// `Display` writes it, [`parse`](Self::parse) reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cursor {
    order: Order,
    day: Date,
    last: SortKey,
    filter: Fingerprint,
}

/// The start of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// At the first match.
    #[default]
    First,
    /// After the page that returned this cursor.
    After(Cursor),
    /// At the page with this number, counted from 1, with `limit` signals per page.
    Page(u16),
}

/// Why a text is not a valid cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParseCursorError {
    /// It does not have the form of a cursor.
    Foreign,
    /// It is damaged: its checksum does not match.
    Damaged,
    /// A later release created it.
    Newer,
}

impl Cursor {
    pub(super) fn new(filter: Fingerprint, order: Order, day: Date, last: SortKey) -> Cursor {
        Cursor {
            order,
            day,
            last,
            filter,
        }
    }

    /// Reads a cursor.
    ///
    /// ```
    /// use signaldex::query::{Cursor, ParseCursorError};
    /// use signaldex::{Query, SignalId, sample};
    ///
    /// let query = Query::from_query_string("q=robotics")?;
    /// let cursor = query.cursor_after(SignalId::MAX, sample::AS_OF);
    /// assert_eq!(Cursor::parse(&cursor.to_string())?, cursor);
    /// assert_eq!(Cursor::parse("page 2"), Err(ParseCursorError::Foreign));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The text is not a cursor, is damaged, or is from a later release.
    pub fn parse(text: &str) -> Result<Cursor, ParseCursorError> {
        let mut bytes = [0; BYTES_MAX];
        let length = URL_SAFE_NO_PAD.decode_slice(text, &mut bytes);
        let parts = length
            .ok()
            .and_then(|length| bytes[..length].split_last_chunk());
        let (covered, checksum): (&[u8], &[u8; CHECKSUM_BYTES]) =
            parts.ok_or(ParseCursorError::Foreign)?;
        if ![FIELD_BYTES, FIELD_BYTES + VALUE_BYTES].contains(&covered.len()) {
            return Err(ParseCursorError::Foreign);
        }
        if crc32c::crc32c(covered).to_le_bytes() != *checksum {
            return Err(ParseCursorError::Damaged);
        }
        if covered[0] > VERSION {
            return Err(ParseCursorError::Newer);
        }
        Cursor::from_fields(covered).ok_or(ParseCursorError::Foreign)
    }

    /// The date used as today for the first page, which all pages of the result use.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("days=90&limit=10")?, sample::AS_OF)?;
    /// let cursor = page.next_cursor().expect("there are more");
    /// assert_eq!(cursor.day(), sample::AS_OF);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn day(&self) -> Date {
        self.day
    }

    /// The id of the last signal of the previous page.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=robotics&limit=10")?, sample::AS_OF)?;
    /// let cursor = page.next_cursor().expect("there are more");
    /// assert_eq!(page.ids().last(), Some(cursor.last_id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last_id(&self) -> SignalId {
        self.last.id
    }

    /// The sort key of the last signal of the previous page, after which the next one starts.
    ///
    /// ```
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let query = Query::from_query_string("order=-date&limit=10")?;
    /// let page = snapshot.search(&query, sample::AS_OF)?;
    /// let cursor = page.next_cursor().expect("there are more");
    /// let items = snapshot.records(&page)?;
    /// assert_eq!(cursor.last(), query.order().key_of(&items[9].signal));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last(&self) -> SortKey {
        self.last
    }

    /// The order of the result.
    ///
    /// ```
    /// use signaldex::query::Order;
    /// use signaldex::{Query, SignalId, sample};
    ///
    /// let query = Query::builder().order(Order::OldestFirst).build()?;
    /// let cursor = query.cursor_after(SignalId::MIN, sample::AS_OF);
    /// assert_eq!(cursor.order(), Order::OldestFirst);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn order(&self) -> Order {
        self.order
    }

    /// The fingerprint of the filters that the cursor was made for, within that of the key.
    pub(super) fn filter(&self) -> Fingerprint {
        self.filter
    }

    fn from_fields(covered: &[u8]) -> Option<Cursor> {
        let (fields, value) = covered.split_at(FIELD_BYTES);
        if fields[0] != VERSION {
            return None;
        }
        let order = *Order::ALL.get(usize::from(fields[1]))?;
        let value = match order.sorting() {
            Sorting::ById(_) => value.is_empty().then_some(None)?,
            Sorting::ByValue(by) => {
                SortValue::from_bits(by.field, u64::from_le_bytes(value.try_into().ok()?))?
            }
        };
        Some(Cursor {
            order,
            day: day_of_number(i32::from_le_bytes(fields[2..6].try_into().ok()?))?,
            last: SortKey {
                value,
                id: SignalId::new(u64::from_le_bytes(fields[6..14].try_into().ok()?))?,
            },
            filter: Fingerprint::from_bytes(fields[14..30].try_into().ok()?),
        })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = [0; BYTES_MAX];
        bytes[0] = VERSION;
        bytes[1] = self.order as u8;
        bytes[2..6].copy_from_slice(&day_number(self.day).to_le_bytes());
        bytes[6..14].copy_from_slice(&self.last.id.get().to_le_bytes());
        bytes[14..FIELD_BYTES].copy_from_slice(self.filter.as_bytes());
        let value = SortValue::to_bits(self.last.value).to_le_bytes();
        bytes[FIELD_BYTES..][..VALUE_BYTES].copy_from_slice(&value);
        let covered = match self.order.sorting() {
            Sorting::ById(_) => FIELD_BYTES,
            Sorting::ByValue(_) => FIELD_BYTES + VALUE_BYTES,
        };
        let checksum = crc32c::crc32c(&bytes[..covered]).to_le_bytes();
        bytes[covered..][..CHECKSUM_BYTES].copy_from_slice(&checksum);
        f.write_str(&URL_SAFE_NO_PAD.encode(&bytes[..covered + CHECKSUM_BYTES]))
    }
}

impl FromStr for Cursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Cursor, ParseCursorError> {
        Cursor::parse(text)
    }
}

impl fmt::Display for ParseCursorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseCursorError::Foreign => "is not a cursor of this service",
            ParseCursorError::Damaged => "is damaged",
            ParseCursorError::Newer => "was created by a later release of this service",
        })
    }
}

impl std::error::Error for ParseCursorError {}

#[cfg(feature = "serde")]
serde_as_text!(Cursor);

#[cfg(test)]
mod tests;
