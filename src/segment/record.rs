//! Records: the stored fields of signals and companies.
//!
//! ```text
//! 4     CRC-32C of the rest
//! n     LEB128: the length of the rest
//! 4     flags: bit n is set if the n-th field is present; the last bit if the texts are compressed
//! n     LEB128: the length of the fields in the next two lines
//! ...   present dates, instants and numbers, in LEB128
//! ...   the length of each present text in bytes, in LEB128
//! n     LEB128: the total length of the texts
//! ...   the concatenated texts in UTF-8, or their codes
//! ```
//!
//! A date is the number of days since 1970, zigzag-encoded. An instant is the seconds since the previous date or
//! instant, zigzag-encoded and doubled, plus one if nanoseconds follow. An amount is its float with reversed bytes,
//! so that round ones are short; an integer is zigzag-encoded. The texts of a signal have the escapes of JSON
//! ([`signal`]).
//!
//! Codes belong to the segment's symbol table ([`symbols`](crate::encoding::symbols)). Each record is compressed
//! separately, because a page reads fifty scattered ones. Checksums are verified when a record is first read, so
//! opening a file need not read its records.

use std::borrow::Cow;

use time::{Date, UtcDateTime};

use super::parts::Checked;
use crate::encoding::symbols::SymbolTable;
use crate::encoding::varint;
use crate::query::dates::day_of_number;
#[cfg(feature = "json")]
use crate::signal::SentItem;
use crate::signal::{Company, Signal, SignalId};
use crate::{Error, Result};

mod signal;
mod write;

use signal::SignalFields;
pub(super) use signal::write_signal;
#[cfg(test)]
pub(crate) use write::WRITTEN;
pub(super) use write::{RecordWriter, write_company};
pub(crate) use write::{check_company, check_signal};

/// Maximum total bytes of the texts of a signal or a company: those of a signal with all texts at the limit of JSON
/// lines. The other fields take much less than a kilobyte.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// Maximum bytes of a record's texts: an escape takes six bytes instead of one.
const ESCAPED_BYTES_MAX: usize = 6 * TEXT_BYTES_MAX;

const CHECKSUM_BYTES: usize = 4;

const FLAGS_BYTES: usize = 4;

/// The flag of a record with compressed texts.
const ARE_CODES: u32 = 1 << 31;

/// The records of a segment: those of signals by row, followed by those of companies. Each is verified when it is first
/// read, because a checksum takes as long as copying a record, which is most of the cost of a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) symbols: SymbolTable<'a>,
    pub(super) checked: &'a Checked,
}

impl<'a> Records<'a> {
    /// Reads the record of a signal, given its number and its offset.
    ///
    /// # Errors
    /// A corrupt record: out of bounds, not matching its checksum, or malformed.
    ///
    /// Cost: one allocation per compressed text.
    pub(super) fn signal(
        self,
        record: usize,
        offset: u64,
        id: SignalId,
        company_slug: &'a str,
    ) -> Result<Signal<'a>> {
        let stored = self.stored(record, offset)?;
        let of = (id, company_slug);
        let signal = match stored.plain_texts() {
            Some(texts) => parse_signal(stored, texts, of, Cow::Borrowed),
            None => {
                let mut buffer = Vec::new();
                let texts = stored.texts(self.symbols, &mut buffer);
                texts.and_then(|texts| parse_signal(stored, texts, of, owned))
            }
        };
        signal.ok_or_else(|| malformed_signal(id))
    }

    /// As [`signal`](Self::signal), but decompresses texts into a buffer, which is cleared first.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal).
    pub(super) fn signal_in<'b>(
        self,
        record: usize,
        offset: u64,
        (id, company_slug): (SignalId, &'b str),
        buffer: &'b mut Vec<u8>,
    ) -> Result<Signal<'b>>
    where
        'a: 'b,
    {
        let stored = self.stored(record, offset)?;
        let texts = stored.texts(self.symbols, buffer);
        let of = (id, company_slug);
        let signal = texts.and_then(|texts| parse_signal(stored, texts, of, Cow::Borrowed));
        signal.ok_or_else(|| malformed_signal(id))
    }

    /// As [`signal_in`](Self::signal_in), with what answers copy of the record, given the slug and the name of the
    /// company.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal).
    #[cfg(feature = "json")]
    pub(super) fn sent_item_in<'b>(
        self,
        record: usize,
        offset: u64,
        (id, company): (SignalId, [&'b [u8]; 2]),
        buffer: &'b mut Vec<u8>,
    ) -> Result<SentItem<'b>>
    where
        'a: 'b,
    {
        let stored = self.stored(record, offset)?;
        let texts = stored.texts(self.symbols, buffer);
        let item = texts
            .and_then(|texts| SignalFields::read(stored.reader(), texts)?.sent_item(id, company));
        item.ok_or_else(|| malformed_signal(id))
    }

    /// Reads the record of a company.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal).
    pub(super) fn company(self, record: usize, offset: u64) -> Result<Company<'a>> {
        let stored = self.stored(record, offset)?;
        let company = match stored.plain_texts() {
            Some(texts) => parse_company(stored.reader(), texts, Cow::Borrowed),
            None => {
                let mut buffer = Vec::new();
                let texts = stored.texts(self.symbols, &mut buffer);
                texts.and_then(|texts| parse_company(stored.reader(), texts, owned))
            }
        };
        company
            .ok_or_else(|| Error::corrupt(format!("the company record at {offset} is malformed")))
    }

    /// A stored record, for copying.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal), but malformed records are not detected.
    pub(super) fn stored(self, record: usize, offset: u64) -> Result<Stored<'a>> {
        let start = usize::try_from(offset).ok();
        let bytes = start.and_then(|start| self.bytes.get(start..));
        let verified = bytes.and_then(|bytes| {
            let stored = Stored::first_of(bytes)?;
            // A checksum is compared once per process, unless the file is overwritten.
            if !self.checked.contains(record) {
                if !stored.matches_checksum() {
                    return None;
                }
                self.checked.insert(record);
            }
            Some(stored)
        });
        verified.ok_or_else(|| {
            Error::corrupt(format!(
                "the record at {offset} of section Records does not match its checksum"
            ))
        })
    }
}

/// Writes the correct checksum into the bytes of a record.
#[cfg(test)]
pub(super) fn forge_checksum(bytes: &mut [u8]) {
    let checksum = crc32c::crc32c(&bytes[CHECKSUM_BYTES..]);
    bytes[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// Copies a decompressed text out of its buffer.
fn owned<'s>(text: &str) -> Cow<'s, str> {
    Cow::Owned(text.to_owned())
}

fn malformed_signal(id: SignalId) -> Error {
    Error::corrupt(format!("the record of signal {id} is malformed"))
}

/// A record in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored<'a> {
    /// All bytes, starting with the checksum.
    pub(super) bytes: &'a [u8],
    flags: u32,
    fields: &'a [u8],
    /// The total length of the texts.
    text_bytes: usize,
    /// The texts or their codes.
    content: &'a [u8],
}

impl<'a> Stored<'a> {
    /// Parses the record at the start of some bytes.
    fn first_of(bytes: &'a [u8]) -> Option<Stored<'a>> {
        let mut rest = bytes.get(CHECKSUM_BYTES..)?;
        let length = take_length(&mut rest)?;
        let mut content = rest.get(..length)?;
        // `rest` is what follows the length, so the difference is the number of bytes up to there.
        let end = bytes.len() - rest.len() + length;
        let (flags, rest) = content.split_first_chunk::<FLAGS_BYTES>()?;
        content = rest;
        let fields_bytes = take_length(&mut content)?;
        let (fields, rest) = content.split_at_checked(fields_bytes)?;
        content = rest;
        let text_bytes = take_length(&mut content)?;
        Some(Stored {
            bytes: &bytes[..end],
            flags: u32::from_le_bytes(*flags),
            fields,
            text_bytes,
            content,
        })
    }

    fn matches_checksum(&self) -> bool {
        let (checksum, covered) = self.bytes.split_at(CHECKSUM_BYTES);
        crc32c::crc32c(covered).to_le_bytes() == *checksum
    }

    /// Whether its texts are compressed.
    pub(super) fn are_codes(&self) -> bool {
        self.flags & ARE_CODES != 0
    }

    /// The texts, if they are not compressed.
    fn plain_texts(&self) -> Option<&'a [u8]> {
        (!self.are_codes()).then_some(self.content)
    }

    /// The concatenated texts: those in the file, or decompressed into a buffer, which is cleared first. `None` if they
    /// are malformed.
    fn texts<'b>(&self, symbols: SymbolTable<'_>, buffer: &'b mut Vec<u8>) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        if let Some(texts) = self.plain_texts() {
            return (texts.len() == self.text_bytes).then_some(texts);
        }
        buffer.clear();
        self.append_texts(symbols, buffer)?;
        Some(buffer)
    }

    /// Appends the texts. `None` if they are malformed.
    pub(super) fn append_texts(
        &self,
        symbols: SymbolTable<'_>,
        output: &mut Vec<u8>,
    ) -> Option<()> {
        if self.text_bytes > ESCAPED_BYTES_MAX {
            return None;
        }
        if self.are_codes() {
            return symbols.decode(self.content, self.text_bytes, output);
        }
        output.extend_from_slice(self.content);
        (self.content.len() == self.text_bytes).then_some(())
    }

    fn reader(&self) -> Fields<'a> {
        Fields {
            flags: self.flags & !ARE_CODES,
            rest: self.fields,
            last_second: 0,
        }
    }
}

/// `text` converts a slice of the texts to the value of a field.
fn parse_signal<'t, 's>(
    stored: Stored<'_>,
    texts: &'t [u8],
    of: (SignalId, &'s str),
    text: impl Fn(&'t str) -> Cow<'s, str>,
) -> Option<Signal<'s>> {
    SignalFields::read(stored.reader(), texts)?.signal(of, text)
}

fn parse_company<'t, 's>(
    mut fields: Fields<'_>,
    texts: &'t [u8],
    text: impl Fn(&'t str) -> Cow<'s, str>,
) -> Option<Company<'s>> {
    let updated_at = fields.instant()?;
    let employees = fields.number()?.map(unzigzag);
    let founded_year = fields.number()?.map(unzigzag);
    let [
        slug,
        name,
        about,
        tagline,
        logo_url,
        country,
        city,
        industry,
        linkedin_url,
    ] = fields.texts(texts)?.map(|found| found.map(&text));
    let company = Company {
        slug: slug?,
        name: name?,
        about,
        tagline,
        logo_url,
        country,
        city,
        employees,
        industry,
        founded_year,
        linkedin_url,
        updated_at,
    };
    fields.is_end().then_some(company)
}

/// The unread part of a record's fields. Every reader returns `None` if there are not enough bytes.
struct Fields<'a> {
    flags: u32,
    rest: &'a [u8],
    /// The previous date or instant, in seconds since 1970.
    last_second: i64,
}

impl Fields<'_> {
    fn flag(&mut self) -> bool {
        let flag = self.flags & 1 != 0;
        self.flags >>= 1;
        flag
    }

    fn number(&mut self) -> Option<Option<u64>> {
        if self.flag() {
            varint::take(&mut self.rest).map(Some)
        } else {
            Some(None)
        }
    }

    fn date(&mut self) -> Option<Option<Date>> {
        let Some(number) = self.number()? else {
            return Some(None);
        };
        let day = i32::try_from(unzigzag(number)).ok()?;
        // The seconds of any `i32` of days fit into an `i64`.
        self.last_second = i64::from(day) * SECONDS_PER_DAY;
        day_of_number(day).map(Some)
    }

    fn instant(&mut self) -> Option<Option<UtcDateTime>> {
        let Some(number) = self.number()? else {
            return Some(None);
        };
        // A forged difference may overflow.
        self.last_second = self.last_second.checked_add(unzigzag(number >> 1))?;
        let instant = UtcDateTime::from_unix_timestamp(self.last_second).ok()?;
        let nanoseconds = match number & 1 {
            0 => 0,
            _ => u32::try_from(varint::take(&mut self.rest)?).ok()?,
        };
        instant.replace_nanosecond(nanoseconds).ok().map(Some)
    }

    /// Reads the texts, which must be all that is given.
    #[inline(always)]
    fn texts<'t, const N: usize>(&mut self, texts: &'t [u8]) -> Option<[Option<&'t str>; N]> {
        // Checked once for all texts; splitting within a character fails below.
        let mut rest = simdutf8::basic::from_utf8(texts).ok()?;
        let mut found = [None; N];
        for text in &mut found {
            if self.flag() {
                let length = take_length(&mut self.rest)?;
                let (first, after) = rest.split_at_checked(length)?;
                *text = Some(first);
                rest = after;
            }
        }
        rest.is_empty().then_some(found)
    }

    /// Whether everything has been read.
    fn is_end(&self) -> bool {
        self.rest.is_empty() && self.flags == 0
    }
}

const SECONDS_PER_DAY: i64 = 86_400;

/// Zigzag encoding: maps 0, -1, 1, -2 to 0, 1, 2, 3.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> (i64::BITS - 1))).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    varint::take(rest).and_then(|length| usize::try_from(length).ok())
}
