//! Records: what a response shows of a signal or company, its fields next to each other.
//!
//! ```text
//! 4     CRC-32C of what follows
//! 4     length of what follows
//! 4     flags: bit n is set where the n-th field is there
//! ...   dates, instants and numbers that are there
//! ...   the length (LEB128) of each text that is there
//! ...   the texts, one behind the other
//! ```
//!
//! A date is 4 bytes (the year times 512, plus the day of the year), an instant 11 (its date,
//! nanoseconds, hour, minute, second), a number 8. Dates are kept as a calendar has them and texts
//! lie together, so that reading a record divides by nothing and validates UTF-8 once. The checksum
//! is verified whenever a record is read, so the records of a large file need not be read to open
//! it.

use std::borrow::Cow;

use smallvec::SmallVec;
use time::{Date, Time, UtcDateTime};

use crate::signal::{Company, Currency, Funding, Hiring, Signal, SignalId};
use crate::{Error, Result};

const FRAME_BYTES: usize = 8;

/// The bits of a stored date that hold the day of the year.
const ORDINAL_BITS: u32 = 9;

/// Appends the record of a signal. Its id and its company are not in it: the id is a column, and
/// the company is found by the row.
pub(crate) fn write_signal(output: &mut Vec<u8>, signal: &Signal<'_>) {
    let (funding, hiring) = (signal.funding.as_ref(), signal.hiring.as_ref());
    let mut fields = FieldWriter::default();
    fields.date(signal.date);
    fields.instant(signal.published_at);
    fields.instant(signal.updated_at);
    fields.flag(funding.is_some());
    fields.number(funding.and_then(|funding| funding.amount).map(f64::to_bits));
    fields.flag(hiring.is_some());
    fields.text(Some(&signal.slug));
    fields.text(Some(&signal.title));
    fields.text(signal.evidence.as_deref());
    fields.text(signal.category.as_deref());
    fields.text(signal.activity_url.as_deref());
    fields.text(signal.author_name.as_deref());
    fields.text(signal.author_title.as_deref());
    fields.text(signal.author_url.as_deref());
    fields.text(funding.and_then(|funding| funding.stage.as_deref()));
    fields.text(funding.and_then(|funding| funding.currency.as_ref().map(Currency::as_str)));
    fields.text(hiring.and_then(|hiring| hiring.hiring_type.as_deref()));
    fields.text(hiring.and_then(|hiring| hiring.job_function.as_deref()));
    fields.text(hiring.and_then(|hiring| hiring.seniority.as_deref()));
    fields.text(hiring.and_then(|hiring| hiring.employment_type.as_deref()));
    fields.text(hiring.and_then(|hiring| hiring.work_arrangement.as_deref()));
    fields.append_to(output);
}

/// Appends the record of a company.
pub(crate) fn write_company(output: &mut Vec<u8>, company: &Company<'_>) {
    let mut fields = FieldWriter::default();
    fields.instant(company.updated_at);
    fields.number(company.employees.map(i64::cast_unsigned));
    fields.number(company.founded_year.map(i64::cast_unsigned));
    fields.text(Some(&company.slug));
    fields.text(Some(&company.name));
    fields.text(company.about.as_deref());
    fields.text(company.tagline.as_deref());
    fields.text(company.logo_url.as_deref());
    fields.text(company.country.as_deref());
    fields.text(company.city.as_deref());
    fields.text(company.industry.as_deref());
    fields.text(company.linkedin_url.as_deref());
    fields.append_to(output);
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
    parse_signal(Fields::at(records, place)?, id, company_slug)
        .ok_or_else(|| Error::corrupt(format!("the record of signal {id} is malformed")))
}

/// Reads the record of a company at a place of the records.
///
/// # Errors
/// A corrupt record: out of bounds, not matching its checksum, or malformed.
pub(crate) fn read_company(records: &[u8], place: u64) -> Result<Company<'_>> {
    parse_company(Fields::at(records, place)?)
        .ok_or_else(|| Error::corrupt(format!("the company record at {place} is malformed")))
}

fn parse_signal<'a>(
    mut fields: Fields<'a>,
    id: SignalId,
    company_slug: &'a str,
) -> Option<Signal<'a>> {
    let date = fields.date()?;
    let published_at = fields.instant()?;
    let updated_at = fields.instant()?;
    let has_funding = fields.flag();
    let amount = fields.number()?.map(f64::from_bits);
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
    ] = fields.texts()?;
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

fn parse_company(mut fields: Fields<'_>) -> Option<Company<'_>> {
    let updated_at = fields.instant()?;
    let employees = fields.number()?.map(u64::cast_signed);
    let founded_year = fields.number()?.map(u64::cast_signed);
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
    ] = fields.texts()?;
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

/// Collects fields, those of a fixed length first.
#[derive(Default)]
struct FieldWriter<'a> {
    flags: u32,
    count: u32,
    values: SmallVec<[u8; 64]>,
    texts: SmallVec<[&'a str; 16]>,
}

impl<'a> FieldWriter<'a> {
    fn flag(&mut self, flag: bool) {
        self.flags |= u32::from(flag) << self.count;
        self.count += 1;
    }

    fn number(&mut self, number: Option<u64>) {
        self.flag(number.is_some());
        if let Some(number) = number {
            self.values.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn date(&mut self, date: Option<Date>) {
        self.flag(date.is_some());
        if let Some(date) = date {
            self.day(date);
        }
    }

    fn instant(&mut self, instant: Option<UtcDateTime>) {
        self.flag(instant.is_some());
        if let Some(instant) = instant {
            let (hour, minute, second, nanosecond) = instant.time().as_hms_nano();
            self.day(instant.date());
            self.values.extend_from_slice(&nanosecond.to_le_bytes());
            self.values.extend_from_slice(&[hour, minute, second]);
        }
    }

    fn day(&mut self, date: Date) {
        let (year, ordinal) = date.to_ordinal_date();
        let day = (year << ORDINAL_BITS) | i32::from(ordinal);
        self.values.extend_from_slice(&day.to_le_bytes());
    }

    fn text(&mut self, text: Option<&'a str>) {
        self.flag(text.is_some());
        self.texts.extend(text);
    }

    /// Appends the record, its frame around it.
    fn append_to(self, output: &mut Vec<u8>) {
        let start = output.len();
        output.extend_from_slice(&[0; FRAME_BYTES]);
        output.extend_from_slice(&self.flags.to_le_bytes());
        output.extend_from_slice(&self.values);
        for text in &self.texts {
            push_length(output, text.len());
        }
        for text in &self.texts {
            output.extend_from_slice(text.as_bytes());
        }
        let length = (output.len() - start - FRAME_BYTES) as u32;
        output[start + 4..start + FRAME_BYTES].copy_from_slice(&length.to_le_bytes());
        let checksum = crc32c::crc32c(&output[start + 4..]);
        output[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn push_length(output: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        output.push(length as u8 | 0x80);
        length >>= 7;
    }
    output.push(length as u8);
}

/// What is left of a record's fields. Every reader gives `None` where the bytes do not suffice.
struct Fields<'a> {
    flags: u32,
    rest: &'a [u8],
}

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
            let (flags, rest) = covered[4..].split_first_chunk::<4>()?;
            let flags = u32::from_le_bytes(*flags);
            (crc32c::crc32c(covered) == u32::from_le_bytes(*checksum))
                .then_some(Fields { flags, rest })
        });
        verified.ok_or_else(|| {
            Error::corrupt(format!("the record at {place} does not match its checksum"))
        })
    }

    fn flag(&mut self) -> bool {
        let flag = self.flags & 1 != 0;
        self.flags >>= 1;
        flag
    }

    fn number(&mut self) -> Option<Option<u64>> {
        match self.flag() {
            true => self
                .take::<8>()
                .map(|bytes| Some(u64::from_le_bytes(bytes))),
            false => Some(None),
        }
    }

    fn date(&mut self) -> Option<Option<Date>> {
        match self.flag() {
            true => self.day().map(Some),
            false => Some(None),
        }
    }

    fn instant(&mut self) -> Option<Option<UtcDateTime>> {
        if !self.flag() {
            return Some(None);
        }
        let date = self.day()?;
        let nanosecond = u32::from_le_bytes(self.take::<4>()?);
        let [hour, minute, second] = self.take::<3>()?;
        let time = Time::from_hms_nano(hour, minute, second, nanosecond).ok()?;
        Some(Some(UtcDateTime::new(date, time)))
    }

    fn day(&mut self) -> Option<Date> {
        let day = i32::from_le_bytes(self.take::<4>()?);
        let ordinal = day & ((1 << ORDINAL_BITS) - 1);
        Date::from_ordinal_date(day >> ORDINAL_BITS, ordinal as u16).ok()
    }

    /// The texts, which are the last fields: nothing may be left behind them.
    fn texts<const N: usize>(mut self) -> Option<[Option<Cow<'a, str>>; N]> {
        let mut lengths = [None; N];
        for length in &mut lengths {
            if self.flag() {
                *length = Some(self.length()?);
            }
        }
        let mut texts = [const { None }; N];
        let mut rest = std::str::from_utf8(self.rest).ok()?;
        for (text, length) in texts.iter_mut().zip(lengths) {
            if let Some(length) = length {
                let (first, behind) = rest.split_at_checked(length)?;
                *text = Some(Cow::Borrowed(first));
                rest = behind;
            }
        }
        (rest.is_empty() && self.flags == 0).then_some(texts)
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

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*bytes)
    }
}
