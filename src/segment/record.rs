//! Records: what a response shows of a signal or company, its fields next to each other.
//!
//! ```text
//! 4     CRC-32C of what follows
//! 4     length of the fields
//! n     the fields, in the order of the struct
//! ```
//!
//! A text is its length (LEB128) and its bytes; an optional one adds 1 to the length and writes 0
//! for none. A date is 4 bytes, an instant 12, a number 8, each behind a byte that is 0 for none.
//! The checksum is verified whenever a record is read, so the records of a large file need not be
//! read to open it.

use std::borrow::Cow;

use time::{Date, UtcDateTime};

use crate::query::dates::{day_number, day_of_number};
use crate::signal::{Company, Currency, Funding, Hiring, Signal, SignalId};
use crate::{Error, Result};

const FRAME_BYTES: usize = 8;

/// Appends the record of a signal. Its id and its company are not in it: the id is a column, and
/// the company is found by the row.
pub(crate) fn write_signal(output: &mut Vec<u8>, signal: &Signal<'_>) {
    framed(output, |fields| {
        fields.text(&signal.slug);
        fields.text(&signal.title);
        fields.optional_text(signal.evidence.as_deref());
        fields.optional_text(signal.category.as_deref());
        fields.date(signal.date);
        fields.instant(signal.published_at);
        fields.instant(signal.updated_at);
        fields.optional_text(signal.activity_url.as_deref());
        fields.optional_text(signal.author_name.as_deref());
        fields.optional_text(signal.author_title.as_deref());
        fields.optional_text(signal.author_url.as_deref());
        fields.flag(signal.funding.is_some());
        if let Some(funding) = &signal.funding {
            fields.optional_text(funding.stage.as_deref());
            fields.number(funding.amount.map(f64::to_bits));
            fields.optional_text(funding.currency.as_ref().map(Currency::as_str));
        }
        fields.flag(signal.hiring.is_some());
        if let Some(hiring) = &signal.hiring {
            fields.optional_text(hiring.hiring_type.as_deref());
            fields.optional_text(hiring.job_function.as_deref());
            fields.optional_text(hiring.seniority.as_deref());
            fields.optional_text(hiring.employment_type.as_deref());
            fields.optional_text(hiring.work_arrangement.as_deref());
        }
    });
}

/// Appends the record of a company.
pub(crate) fn write_company(output: &mut Vec<u8>, company: &Company<'_>) {
    framed(output, |fields| {
        fields.text(&company.slug);
        fields.text(&company.name);
        fields.optional_text(company.about.as_deref());
        fields.optional_text(company.tagline.as_deref());
        fields.optional_text(company.logo_url.as_deref());
        fields.optional_text(company.country.as_deref());
        fields.optional_text(company.city.as_deref());
        fields.number(company.employees.map(i64::cast_unsigned));
        fields.optional_text(company.industry.as_deref());
        fields.number(company.founded_year.map(i64::cast_unsigned));
        fields.optional_text(company.linkedin_url.as_deref());
        fields.instant(company.updated_at);
    });
}

/// Reads the record of a signal at a place of the records.
///
/// # Errors
/// A corrupt record: out of bounds, not matching its checksum, or malformed.
pub(crate) fn read_signal<'a>(
    records: &'a [u8],
    place: u64,
    id: SignalId,
    company_slug: &'a str,
) -> Result<Signal<'a>> {
    let mut fields = Fields::at(records, place)?;
    parse_signal(&mut fields, id, company_slug)
        .filter(|_| fields.0.is_empty())
        .ok_or_else(|| Error::corrupt(format!("the record of signal {id} is malformed")))
}

/// Reads the record of a company at a place of the records.
///
/// # Errors
/// A corrupt record: out of bounds, not matching its checksum, or malformed.
pub(crate) fn read_company(records: &[u8], place: u64) -> Result<Company<'_>> {
    let mut fields = Fields::at(records, place)?;
    parse_company(&mut fields)
        .filter(|_| fields.0.is_empty())
        .ok_or_else(|| Error::corrupt(format!("the company record at {place} is malformed")))
}

fn parse_signal<'a>(
    fields: &mut Fields<'a>,
    id: SignalId,
    company_slug: &'a str,
) -> Option<Signal<'a>> {
    Some(Signal {
        id,
        slug: fields.text()?,
        title: fields.text()?,
        evidence: fields.optional_text()?,
        category: fields.optional_text()?,
        date: fields.date()?,
        published_at: fields.instant()?,
        updated_at: fields.instant()?,
        company_slug: Cow::Borrowed(company_slug),
        activity_url: fields.optional_text()?,
        author_name: fields.optional_text()?,
        author_title: fields.optional_text()?,
        author_url: fields.optional_text()?,
        funding: if fields.flag()? {
            Some(parse_funding(fields)?)
        } else {
            None
        },
        hiring: if fields.flag()? {
            Some(parse_hiring(fields)?)
        } else {
            None
        },
    })
}

fn parse_funding<'a>(fields: &mut Fields<'a>) -> Option<Funding<'a>> {
    let stage = fields.optional_text()?;
    let amount = fields.number()?.map(f64::from_bits);
    let currency = match fields.optional_text()? {
        Some(code) => Some(Currency::new(&code)?),
        None => None,
    };
    Some(Funding {
        stage,
        amount,
        currency,
    })
}

fn parse_hiring<'a>(fields: &mut Fields<'a>) -> Option<Hiring<'a>> {
    Some(Hiring {
        hiring_type: fields.optional_text()?,
        job_function: fields.optional_text()?,
        seniority: fields.optional_text()?,
        employment_type: fields.optional_text()?,
        work_arrangement: fields.optional_text()?,
    })
}

fn parse_company<'a>(fields: &mut Fields<'a>) -> Option<Company<'a>> {
    Some(Company {
        slug: fields.text()?,
        name: fields.text()?,
        about: fields.optional_text()?,
        tagline: fields.optional_text()?,
        logo_url: fields.optional_text()?,
        country: fields.optional_text()?,
        city: fields.optional_text()?,
        employees: fields.number()?.map(u64::cast_signed),
        industry: fields.optional_text()?,
        founded_year: fields.number()?.map(u64::cast_signed),
        linkedin_url: fields.optional_text()?,
        updated_at: fields.instant()?,
    })
}

/// Appends a frame around what `write` appends.
fn framed(output: &mut Vec<u8>, write: impl FnOnce(&mut FieldWriter<'_>)) {
    let start = output.len();
    output.extend_from_slice(&[0; FRAME_BYTES]);
    write(&mut FieldWriter(output));
    let length = (output.len() - start - FRAME_BYTES) as u32;
    output[start + 4..start + FRAME_BYTES].copy_from_slice(&length.to_le_bytes());
    let checksum = crc32c::crc32c(&output[start + 4..]);
    output[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
}

struct FieldWriter<'a>(&'a mut Vec<u8>);

impl FieldWriter<'_> {
    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }

    fn optional_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) => {
                self.length(text.len() + 1);
                self.0.extend_from_slice(text.as_bytes());
            }
            None => self.length(0),
        }
    }

    fn flag(&mut self, flag: bool) {
        self.0.push(u8::from(flag));
    }

    fn number(&mut self, number: Option<u64>) {
        self.flag(number.is_some());
        if let Some(number) = number {
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn date(&mut self, date: Option<Date>) {
        self.flag(date.is_some());
        if let Some(date) = date {
            self.0.extend_from_slice(&day_number(date).to_le_bytes());
        }
    }

    fn instant(&mut self, instant: Option<UtcDateTime>) {
        self.flag(instant.is_some());
        if let Some(instant) = instant {
            self.0
                .extend_from_slice(&instant.unix_timestamp().to_le_bytes());
            self.0
                .extend_from_slice(&instant.nanosecond().to_le_bytes());
        }
    }

    fn length(&mut self, mut length: usize) {
        while length >= 0x80 {
            self.0.push(length as u8 | 0x80);
            length >>= 7;
        }
        self.0.push(length as u8);
    }
}

/// What is left of a record's fields. Every reader gives `None` where the bytes do not suffice.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The fields of the record at `place`, its checksum verified.
    fn at(records: &'a [u8], place: u64) -> Result<Fields<'a>> {
        let frame = usize::try_from(place)
            .ok()
            .and_then(|start| records.get(start..));
        let verified = frame.and_then(|frame| {
            let (checksum, rest) = frame.split_first_chunk::<4>()?;
            let length = u32::from_le_bytes(*rest.first_chunk::<4>()?) as usize;
            let covered = rest.get(..length.checked_add(4)?)?;
            (crc32c::crc32c(covered) == u32::from_le_bytes(*checksum)).then(|| &covered[4..])
        });
        verified.map(Fields).ok_or_else(|| {
            Error::corrupt(format!("the record at {place} does not match its checksum"))
        })
    }

    fn text(&mut self) -> Option<Cow<'a, str>> {
        let length = self.length()?;
        self.take_text(length)
    }

    fn optional_text(&mut self) -> Option<Option<Cow<'a, str>>> {
        match self.length()? {
            0 => Some(None),
            length => self.take_text(length - 1).map(Some),
        }
    }

    fn flag(&mut self) -> Option<bool> {
        match self.take::<1>()? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }

    fn number(&mut self) -> Option<Option<u64>> {
        match self.flag()? {
            true => self
                .take::<8>()
                .map(|bytes| Some(u64::from_le_bytes(bytes))),
            false => Some(None),
        }
    }

    fn date(&mut self) -> Option<Option<Date>> {
        match self.flag()? {
            true => day_of_number(i32::from_le_bytes(self.take::<4>()?)).map(Some),
            false => Some(None),
        }
    }

    fn instant(&mut self) -> Option<Option<UtcDateTime>> {
        if !self.flag()? {
            return Some(None);
        }
        let seconds = i64::from_le_bytes(self.take::<8>()?);
        let nanosecond = u32::from_le_bytes(self.take::<4>()?);
        let instant = UtcDateTime::from_unix_timestamp(seconds).ok()?;
        instant.replace_nanosecond(nanosecond).ok().map(Some)
    }

    fn length(&mut self) -> Option<usize> {
        let mut length = 0_usize;
        for shift in (0..u32::BITS).step_by(7) {
            let [byte] = self.take::<1>()?;
            length |= usize::from(byte & 0x7F).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(length);
            }
        }
        None
    }

    fn take_text(&mut self, length: usize) -> Option<Cow<'a, str>> {
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(Cow::Borrowed)
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }
}
