//! Records: what a response shows of a signal or company, in one index.
//!
//! ```text
//! 4     CRC-32C of what follows
//! n     LEB128: the length of what follows
//! 4     flags: bit n is set where the n-th field is there; the last where the texts are codes
//! n     LEB128: the length of the fields, which are the next two lines
//! ...   dates, instants and numbers that are there, each in LEB128
//! ...   the length of each text that is there in bytes, in LEB128
//! n     LEB128: the length of all texts together
//! ...   the texts one after the other, UTF-8, or the codes that they are replaced by
//! ```
//!
//! A date is its days since 1970, zigzag. An instant is the seconds since the date or instant before
//! it, zigzag and doubled, plus one where nanoseconds follow. An amount is the bytes of its float in
//! reverse, so that those of round ones are few; a whole number is zigzag.
//!
//! Codes are those of the segment's symbol table ([`symbols`](crate::encoding::symbols)). A record is
//! compressed for itself, since a page reads fifty that are far apart. The checksum is verified when a
//! record is first read, so the records of a large file need not be read to open it.

use std::borrow::Cow;

use time::{Date, UtcDateTime};

use super::parts::Checked;
use crate::encoding::symbols::SymbolTable;
use crate::encoding::varint;
use crate::query::dates::day_of_number;
use crate::signal::{Company, Currency, Funding, Hiring, Signal, SignalId};
use crate::{Error, Result};

mod write;

#[cfg(test)]
pub(crate) use write::WRITTEN;
pub(super) use write::{RecordWriter, write_company, write_signal};
pub(crate) use write::{check_company, check_signal};

/// The most bytes that the texts of a record may have together: those of a signal of the longest
/// texts that JSON lines may have. What a record has beside them is far below a kilobyte.
const TEXT_BYTES_MAX: usize = 16 << 20;

const CHECKSUM_BYTES: usize = 4;

const FLAGS_BYTES: usize = 4;

/// The flag of a record whose texts are codes.
const ARE_CODES: u32 = 1 << 31;

/// The records of a segment, each verified when it is first read: those of the signals by row,
/// after them those of the companies. A checksum takes as long as copying a record, which is most of what
/// a page costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) symbols: SymbolTable<'a>,
    pub(super) checked: &'a Checked,
}

impl<'a> Records<'a> {
    /// Reads the record of a signal, the `record`-th, at an index of the records.
    ///
    /// # Errors
    /// A corrupt record: out of bounds, not matching its checksum, or malformed.
    ///
    /// Cost: of compressed texts, one allocation each.
    pub(super) fn signal(
        self,
        record: usize,
        index: u64,
        id: SignalId,
        company_slug: &'a str,
    ) -> Result<Signal<'a>> {
        let stored = self.stored(record, index)?;
        let of = (id, company_slug);
        let signal = match stored.plain_texts() {
            Some(texts) => parse_signal(stored.reader(), texts, of, Cow::Borrowed),
            None => {
                let mut buffer = Vec::new();
                let texts = stored.texts(self.symbols, &mut buffer);
                texts.and_then(|texts| parse_signal(stored.reader(), texts, of, owned))
            }
        };
        signal.ok_or_else(|| malformed_signal(id))
    }

    /// As [`signal`](Self::signal), with compressed texts in a buffer, which is cleared first.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal).
    #[cfg(any(feature = "http", test))]
    pub(super) fn signal_in<'b>(
        self,
        record: usize,
        index: u64,
        (id, company_slug): (SignalId, &'b str),
        buffer: &'b mut Vec<u8>,
    ) -> Result<Signal<'b>>
    where
        'a: 'b,
    {
        let stored = self.stored(record, index)?;
        let texts = stored.texts(self.symbols, buffer);
        let of = (id, company_slug);
        let signal =
            texts.and_then(|texts| parse_signal(stored.reader(), texts, of, Cow::Borrowed));
        signal.ok_or_else(|| malformed_signal(id))
    }

    /// Reads the record of a company.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal).
    pub(super) fn company(self, record: usize, index: u64) -> Result<Company<'a>> {
        let stored = self.stored(record, index)?;
        let company = match stored.plain_texts() {
            Some(texts) => parse_company(stored.reader(), texts, Cow::Borrowed),
            None => {
                let mut buffer = Vec::new();
                let texts = stored.texts(self.symbols, &mut buffer);
                texts.and_then(|texts| parse_company(stored.reader(), texts, owned))
            }
        };
        company.ok_or_else(|| Error::corrupt(format!("the company record at {index} is malformed")))
    }

    /// A record as it is stored, for copying it.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal), but that a malformed record is not noticed.
    pub(super) fn stored(self, record: usize, index: u64) -> Result<Stored<'a>> {
        let start = usize::try_from(index).ok();
        let bytes = start.and_then(|start| self.bytes.get(start..));
        let verified = bytes.and_then(|bytes| {
            let stored = Stored::first_of(bytes)?;
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
                "the record at {index} of section Records does not match its checksum"
            ))
        })
    }
}

/// Gives the bytes of a record the checksum that they should have.
#[cfg(test)]
pub(super) fn forge_checksum(bytes: &mut [u8]) {
    let checksum = crc32c::crc32c(&bytes[CHECKSUM_BYTES..]);
    bytes[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

/// A text that outlives the buffer it was decompressed into.
fn owned<'s>(text: &str) -> Cow<'s, str> {
    Cow::Owned(text.to_owned())
}

fn malformed_signal(id: SignalId) -> Error {
    Error::corrupt(format!("the record of signal {id} is malformed"))
}

/// A record as it lies in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored<'a> {
    /// All of it, from its checksum on.
    pub(super) bytes: &'a [u8],
    flags: u32,
    fields: &'a [u8],
    /// The length of all texts together.
    text_bytes: usize,
    /// The texts, or the codes that they are replaced by.
    content: &'a [u8],
}

impl<'a> Stored<'a> {
    /// The record that some bytes start with.
    fn first_of(bytes: &'a [u8]) -> Option<Stored<'a>> {
        let mut rest = bytes.get(CHECKSUM_BYTES..)?;
        let length = take_length(&mut rest)?;
        let mut content = rest.get(..length)?;
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

    /// Whether its texts are codes.
    pub(super) fn are_codes(&self) -> bool {
        self.flags & ARE_CODES != 0
    }

    /// The texts, where they are not compressed.
    fn plain_texts(&self) -> Option<&'a [u8]> {
        (!self.are_codes()).then_some(self.content)
    }

    /// The texts one after the other: those in the file, or decompressed into a buffer, which is cleared
    /// first. `None` where they are malformed.
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

    /// Appends the texts. `None` where they are malformed.
    pub(super) fn append_texts(
        &self,
        symbols: SymbolTable<'_>,
        output: &mut Vec<u8>,
    ) -> Option<()> {
        if self.text_bytes > TEXT_BYTES_MAX {
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

/// `text` makes the value of a field from what is in the texts.
fn parse_signal<'t, 's>(
    mut fields: Fields<'_>,
    texts: &'t [u8],
    (id, company_slug): (SignalId, &'s str),
    text: impl Fn(&'t str) -> Cow<'s, str>,
) -> Option<Signal<'s>> {
    let date = fields.date()?;
    let published_at = fields.instant()?;
    let updated_at = fields.instant()?;
    let has_funding = fields.flag();
    let amount = fields
        .number()?
        .map(|bits| f64::from_bits(bits.swap_bytes()));
    let has_hiring = fields.flag();
    let [
        slug,
        title,
        evidence,
        category,
        activity_url,
        author_name,
        author_title,
        author_url,
        stage,
        currency,
        hiring_type,
        job_function,
        seniority,
        employment_type,
        work_arrangement,
    ] = fields.texts(texts, text)?;
    let currency = match currency {
        Some(code) => Some(Currency::new(&code)?),
        None => None,
    };
    Some(Signal {
        id,
        slug: slug?,
        title: title?,
        evidence,
        category,
        date,
        published_at,
        updated_at,
        company_slug: Cow::Borrowed(company_slug),
        activity_url,
        author_name,
        author_title,
        author_url,
        funding: has_funding.then_some(Funding {
            stage,
            amount,
            currency,
        }),
        hiring: has_hiring.then_some(Hiring {
            hiring_type,
            job_function,
            seniority,
            employment_type,
            work_arrangement,
        }),
    })
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
    ] = fields.texts(texts, text)?;
    Some(Company {
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
    })
}

/// What is left of a record's fields. Every reader gives `None` where the bytes do not suffice.
struct Fields<'a> {
    flags: u32,
    rest: &'a [u8],
    /// The date or instant before, in seconds since 1970.
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
        self.last_second = i64::from(day) * SECONDS_PER_DAY;
        day_of_number(day).map(Some)
    }

    fn instant(&mut self) -> Option<Option<UtcDateTime>> {
        let Some(number) = self.number()? else {
            return Some(None);
        };
        self.last_second = self.last_second.checked_add(unzigzag(number >> 1))?;
        let instant = UtcDateTime::from_unix_timestamp(self.last_second).ok()?;
        let nanoseconds = match number & 1 {
            0 => 0,
            _ => u32::try_from(varint::take(&mut self.rest)?).ok()?,
        };
        instant.replace_nanosecond(nanoseconds).ok().map(Some)
    }

    /// The texts, which are the last fields: nothing may be left after them.
    fn texts<'t, 's, const N: usize>(
        mut self,
        texts: &'t [u8],
        make: impl Fn(&'t str) -> Cow<'s, str>,
    ) -> Option<[Option<Cow<'s, str>>; N]> {
        let mut rest = simdutf8::basic::from_utf8(texts).ok()?;
        let mut found = [const { None }; N];
        for text in &mut found {
            if self.flag() {
                let length = take_length(&mut self.rest)?;
                let (first, after) = rest.split_at_checked(length)?;
                *text = Some(make(first));
                rest = after;
            }
        }
        let is_end = self.rest.is_empty() && rest.is_empty() && self.flags == 0;
        is_end.then_some(found)
    }
}

const SECONDS_PER_DAY: i64 = 86_400;

/// A number without its sign, small where it is close to zero: 0, -1, 1, -2 are 0, 1, 2, 3.
fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> (i64::BITS - 1))).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

fn take_length(rest: &mut &[u8]) -> Option<usize> {
    varint::take(rest).and_then(|length| usize::try_from(length).ok())
}
