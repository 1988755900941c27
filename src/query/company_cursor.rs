//! Where a page of companies starts: cursors as opaque text for clients.
//!
//! ```text
//! offset  width  what
//! 0       1      version
//! 1       1      order, by its index in `CompanyOrder::ALL`
//! 2       4      the day of the first page, in days since 1970-01-01
//! 6       16     fingerprint of the filter
//! 22      1      1 if the last company seen has a value, else 0
//! 23      8      its value, 0 without one
//! 31      n      its slug, UTF-8
//!         4      CRC-32C of the bytes before
//! ```
//!
//! All little endian, written as base64url without padding. A slug has at most 180 characters, so a cursor has at most
//! 1,007. The version differs from those of [cursors of signals](super::Cursor), so neither is taken for the other.

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use time::Date;

use super::company_order::CompanyKey;
use super::dates::{day_number, day_of_number};
use super::limits::COMPANY_CURSOR_CHARS_MAX;
use super::{CompanyOrder, Fingerprint, ParseCursorError};

const VERSION: u8 = 0x40;
/// The bytes before the slug.
const FIELD_BYTES: usize = 31;
const CHECKSUM_BYTES: usize = 4;

/// The end of a page of companies, where the next one starts.
///
/// `Display` writes it, [`parse`](Self::parse) reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CompanyCursor {
    order: CompanyOrder,
    day: Date,
    last: CompanyKey,
    filter: Fingerprint,
}

/// The start of a page of companies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CompanyStart {
    /// At the first company.
    #[default]
    First,
    /// After the page that returned this cursor.
    After(CompanyCursor),
    /// At the page with this number, counted from 1, with `limit` companies per page.
    Page(u16),
}

impl CompanyCursor {
    pub(super) fn new(
        filter: Fingerprint,
        order: CompanyOrder,
        day: Date,
        last: CompanyKey,
    ) -> CompanyCursor {
        CompanyCursor {
            order,
            day,
            last,
            filter,
        }
    }

    /// Reads a cursor.
    ///
    /// ```
    /// use signaldex::query::{CompanyCursor, CompanyQuery, ParseCursorError};
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.companies(&CompanyQuery::from_query_string("limit=5")?, sample::AS_OF)?;
    /// let cursor = page.next_cursor().expect("there are more");
    /// assert_eq!(CompanyCursor::parse(&cursor.to_string())?, *cursor);
    /// assert_eq!(CompanyCursor::parse("page 2"), Err(ParseCursorError::Foreign));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The text is not a cursor, is damaged, or is from a later release.
    pub fn parse(text: &str) -> Result<CompanyCursor, ParseCursorError> {
        if text.len() > COMPANY_CURSOR_CHARS_MAX {
            return Err(ParseCursorError::Foreign);
        }
        let bytes = URL_SAFE_NO_PAD.decode(text);
        let bytes = bytes.map_err(|_| ParseCursorError::Foreign)?;
        let (covered, checksum) = bytes
            .split_last_chunk::<CHECKSUM_BYTES>()
            .filter(|(covered, _)| covered.len() > FIELD_BYTES)
            .ok_or(ParseCursorError::Foreign)?;
        if crc32c::crc32c(covered).to_le_bytes() != *checksum {
            return Err(ParseCursorError::Damaged);
        }
        if covered[0] > VERSION {
            return Err(ParseCursorError::Newer);
        }
        CompanyCursor::from_fields(covered).ok_or(ParseCursorError::Foreign)
    }

    /// The date used as today for the first page, which all pages of the result use.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.companies(&CompanyQuery::from_query_string("limit=5")?, sample::AS_OF)?;
    /// assert_eq!(page.next_cursor().expect("there are more").day(), sample::AS_OF);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn day(&self) -> Date {
        self.day
    }

    /// The order of the result.
    pub fn order(&self) -> CompanyOrder {
        self.order
    }

    /// The slug of the last company of the previous page.
    ///
    /// ```
    /// use signaldex::query::CompanyQuery;
    /// use signaldex::sample;
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.companies(&CompanyQuery::from_query_string("limit=5")?, sample::AS_OF)?;
    /// let cursor = page.next_cursor().expect("there are more");
    /// assert_eq!(cursor.last_slug(), page.items()[4].profile.company.slug);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn last_slug(&self) -> &str {
        &self.last.slug
    }

    /// The key of the last company of the previous page.
    pub(crate) fn last(&self) -> &CompanyKey {
        &self.last
    }

    /// The fingerprint of the filter that the cursor was made for, within that of the key.
    pub(super) fn filter(&self) -> Fingerprint {
        self.filter
    }

    fn from_fields(covered: &[u8]) -> Option<CompanyCursor> {
        let (fields, slug) = covered.split_at(FIELD_BYTES);
        if fields[0] != VERSION {
            return None;
        }
        let number = i64::from_le_bytes(fields[23..31].try_into().ok()?);
        let value = match fields[22] {
            0 => (number == 0).then_some(None)?,
            1 => Some(number),
            _ => return None,
        };
        Some(CompanyCursor {
            order: *CompanyOrder::ALL.get(usize::from(fields[1]))?,
            day: day_of_number(i32::from_le_bytes(fields[2..6].try_into().ok()?))?,
            last: CompanyKey {
                value,
                slug: std::str::from_utf8(slug).ok()?.into(),
            },
            filter: Fingerprint::from_bytes(fields[6..22].try_into().ok()?),
        })
    }
}

impl fmt::Display for CompanyCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CompanyKey { value, slug } = &self.last;
        let mut bytes = Vec::with_capacity(FIELD_BYTES + slug.len() + CHECKSUM_BYTES);
        bytes.extend([VERSION, self.order as u8]);
        bytes.extend(day_number(self.day).to_le_bytes());
        bytes.extend(self.filter.as_bytes());
        bytes.push(u8::from(value.is_some()));
        bytes.extend(value.unwrap_or_default().to_le_bytes());
        bytes.extend(slug.as_bytes());
        bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
        f.write_str(&URL_SAFE_NO_PAD.encode(&bytes))
    }
}

impl FromStr for CompanyCursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<CompanyCursor, ParseCursorError> {
        CompanyCursor::parse(text)
    }
}

#[cfg(feature = "serde")]
serde_as_text!(CompanyCursor);

#[cfg(test)]
mod tests;
