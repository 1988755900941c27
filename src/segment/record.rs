//! Records: what a response shows of a signal or company, in one index.
//!
//! ```text
//! 4     CRC-32C of what follows
//! 4     length of the record after these eight bytes
//! 4     flags: bit n is set where the n-th field is there
//! 4     length of the region
//! 4     length of what the region starts with: an item up to its company's name
//! 4     length of what follows that: the item after its company's name
//! ...   the region, UTF-8, in which all texts are
//! ...   dates, instants and numbers that are there
//! ...   for each text that is there, LEB128: the bytes between it and the last, and its length
//! ```
//!
//! A date is 4 bytes (the year times 512, plus the day of the year), an instant 11 (its date,
//! nanoseconds, hour, minute, second), a number 8. The region of a signal starts with the signal
//! as a search shows it, so that an answer is copied and not written ([`item`](super::item)); both
//! lengths are 0 where that cannot be. The checksum is verified when a record is first read, so the
//! records of a large file need not be read to open it.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;
use time::{Date, Time, UtcDateTime};

use super::item;
use crate::signal::{Company, Currency, Funding, Hiring, Signal, SignalId};
use crate::{Error, Result};

/// The most bytes that the texts of a record may have together: those of a signal of the longest
/// texts that JSON lines may have. What a record has beside them is far below a kilobyte.
const TEXT_BYTES_MAX: usize = 16 << 20;

const CHECKSUM_BYTES: usize = 4;

/// Bytes of the checksum and the length.
const FRAME_BYTES: usize = CHECKSUM_BYTES + 4;

/// Bytes of a record before its region.
const HEAD_BYTES: usize = FRAME_BYTES + 16;

/// The bits of a stored date that hold the day of the year.
const ORDINAL_BITS: u32 = 9;

/// Checks that a signal's texts are not too long. What passes can be written as a record.
///
/// # Errors
/// [`is_invalid`](Error::is_invalid) where they are.
///
/// Cost: adds up their lengths; nothing is written.
pub(crate) fn check_signal(signal: &Signal<'_>) -> Result<()> {
    // Every field is named, so that a new one cannot be left out.
    let Signal {
        id: _,
        slug,
        title,
        evidence,
        category,
        date: _,
        published_at: _,
        updated_at: _,
        company_slug,
        activity_url,
        author_name,
        author_title,
        author_url,
        funding,
        hiring,
    } = signal;
    let stage = funding.as_ref().and_then(|funding| funding.stage.as_ref());
    let hiring = hiring.as_ref().map(|hiring| {
        let Hiring {
            hiring_type,
            job_function,
            seniority,
            employment_type,
            work_arrangement,
        } = hiring;
        [
            hiring_type,
            job_function,
            seniority,
            employment_type,
            work_arrangement,
        ]
    });
    let optional = [
        evidence,
        category,
        activity_url,
        author_name,
        author_title,
        author_url,
    ];
    let optional = optional
        .into_iter()
        .chain(hiring.into_iter().flatten())
        .flatten();
    check_texts(
        [slug, title, company_slug]
            .into_iter()
            .chain(optional)
            .chain(stage),
    )
}

/// Checks that a company's texts are not too long; as [`check_signal`].
pub(crate) fn check_company(company: &Company<'_>) -> Result<()> {
    let Company {
        slug,
        name,
        about,
        tagline,
        logo_url,
        country,
        city,
        employees: _,
        industry,
        founded_year: _,
        linkedin_url,
        updated_at: _,
    } = company;
    let optional = [
        about,
        tagline,
        logo_url,
        country,
        city,
        industry,
        linkedin_url,
    ];
    check_texts(
        [slug, name]
            .into_iter()
            .chain(optional.into_iter().flatten()),
    )
}

fn check_texts<'t>(texts: impl Iterator<Item = &'t Cow<'t, str>>) -> Result<()> {
    let bytes: usize = texts.map(|text| text.len()).sum();
    if bytes > TEXT_BYTES_MAX {
        return Err(Error::invalid(format!(
            "the texts of a record take {bytes} bytes; {TEXT_BYTES_MAX} are allowed"
        )));
    }
    Ok(())
}

#[cfg(test)]
thread_local! {
    /// How many records this thread has written, for the tests that count.
    pub(crate) static WRITTEN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Appends the record of a signal. Its company is only in it as an item shows it: the company is
/// found by the row.
pub(crate) fn write_signal(output: &mut Vec<u8>, signal: &Signal<'_>) {
    #[cfg(test)]
    WRITTEN.set(WRITTEN.get() + 1);
    let amount = signal.funding.as_ref().and_then(|funding| funding.amount);
    let mut record = RecordWriter::new(output);
    record.date(signal.date);
    record.instant(signal.published_at);
    record.instant(signal.updated_at);
    record.flag(signal.funding.is_some());
    record.number(amount.map(f64::to_bits));
    record.flag(signal.hiring.is_some());
    let lengths = item::write(&mut record, signal);
    let hiring = signal.hiring.as_ref();
    record.text(hiring.and_then(|hiring| hiring.hiring_type.as_deref()));
    record.text(hiring.and_then(|hiring| hiring.job_function.as_deref()));
    record.text(hiring.and_then(|hiring| hiring.seniority.as_deref()));
    record.text(hiring.and_then(|hiring| hiring.employment_type.as_deref()));
    record.text(hiring.and_then(|hiring| hiring.work_arrangement.as_deref()));
    record.finish(lengths);
}

/// Appends the record of a company.
pub(crate) fn write_company(output: &mut Vec<u8>, company: &Company<'_>) {
    #[cfg(test)]
    WRITTEN.set(WRITTEN.get() + 1);
    let mut record = RecordWriter::new(output);
    record.instant(company.updated_at);
    record.number(company.employees.map(i64::cast_unsigned));
    record.number(company.founded_year.map(i64::cast_unsigned));
    record.text(Some(&company.slug));
    record.text(Some(&company.name));
    record.text(company.about.as_deref());
    record.text(company.tagline.as_deref());
    record.text(company.logo_url.as_deref());
    record.text(company.country.as_deref());
    record.text(company.city.as_deref());
    record.text(company.industry.as_deref());
    record.text(company.linkedin_url.as_deref());
    record.finish([0, 0]);
}

/// The records of a segment, each verified when it is first read: those of the signals by row,
/// after them those of the companies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) verified: &'a Verified,
}

/// The records that have matched their checksums in this process: what is mapped does not change.
/// A checksum takes as long as copying a record, which is most of what a page costs.
#[derive(Debug)]
pub(super) struct Verified(Box<[AtomicU64]>);

impl Verified {
    /// None of n records yet.
    pub(super) fn none(records: usize) -> Verified {
        Verified(
            (0..records.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
        )
    }

    /// Whether a record is among them; else it is, once `check` holds.
    fn insert(&self, record: usize, check: impl FnOnce() -> bool) -> bool {
        let (word, bit) = (&self.0[record / 64], 1 << (record % 64));
        // Nothing else is read on the strength of a bit, so the order of memory does not matter.
        if word.load(Ordering::Relaxed) & bit == 0 {
            if !check() {
                return false;
            }
            word.fetch_or(bit, Ordering::Relaxed);
        }
        true
    }
}

impl<'a> Records<'a> {
    /// Reads the record of a signal, the `record`-th, at an index of the records.
    ///
    /// # Errors
    /// A corrupt record: out of bounds, not matching its checksum, or malformed.
    pub(super) fn signal(
        self,
        record: usize,
        index: u64,
        id: SignalId,
        company_slug: &'a str,
    ) -> Result<Signal<'a>> {
        parse_signal(self.fields(record, index)?, id, company_slug)
            .ok_or_else(|| Error::corrupt(format!("the record of signal {id} is malformed")))
    }

    /// Reads the record of a company.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal).
    pub(super) fn company(self, record: usize, index: u64) -> Result<Company<'a>> {
        parse_company(self.fields(record, index)?)
            .ok_or_else(|| Error::corrupt(format!("the company record at {index} is malformed")))
    }

    /// The item that a signal's record starts with, where it is stored: what comes before its
    /// company's name, and what after.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal).
    #[cfg(feature = "http")]
    pub(super) fn item(self, record: usize, index: u64) -> Result<Option<[&'a [u8]; 2]>> {
        let fields = self.fields(record, index)?;
        let [before, after] = fields.item;
        if before == 0 {
            return Ok(None);
        }
        let parts = fields.region.split_at_checked(before);
        let item = parts.and_then(|(before, rest)| Some([before, rest.get(..after)?]));
        let malformed =
            || Error::corrupt(format!("the item of the record at {index} is malformed"));
        item.map(Some).ok_or_else(malformed)
    }

    /// The bytes of a record, for copying it.
    ///
    /// # Errors
    /// As for [`signal`](Self::signal), but that a malformed record is not noticed.
    pub(super) fn bytes(self, record: usize, index: u64) -> Result<&'a [u8]> {
        self.verified(record, index).map(|(_, bytes)| bytes)
    }

    fn fields(self, record: usize, index: u64) -> Result<Fields<'a>> {
        self.verified(record, index).map(|(fields, _)| fields)
    }

    /// The fields and the bytes of a record that matches its checksum.
    fn verified(self, record: usize, index: u64) -> Result<(Fields<'a>, &'a [u8])> {
        let frame = usize::try_from(index)
            .ok()
            .and_then(|start| self.bytes.get(start..));
        let verified = frame.and_then(|frame| {
            let (fields, covered, checksum) = Fields::split(frame)?;
            let check = || crc32c::crc32c(covered) == checksum;
            let bytes = &frame[..CHECKSUM_BYTES + covered.len()];
            self.verified
                .insert(record, check)
                .then_some((fields, bytes))
        });
        verified.ok_or_else(|| {
            Error::corrupt(format!("the record at {index} does not match its checksum"))
        })
    }
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

/// A record while it is written: fields in the order of their flags.
pub(super) struct RecordWriter<'o> {
    output: &'o mut Vec<u8>,
    /// Where the record starts in the output.
    start: usize,
    flags: u32,
    count: u32,
    values: SmallVec<[u8; 64]>,
    spans: SmallVec<[u8; 64]>,
    /// Where the last text ends in the output.
    text_end: usize,
}

/// See [`RecordWriter::mark`].
pub(super) struct Mark {
    output: usize,
    spans: usize,
    flags: u32,
    count: u32,
    text_end: usize,
}

impl<'o> RecordWriter<'o> {
    fn new(output: &'o mut Vec<u8>) -> RecordWriter<'o> {
        let start = output.len();
        output.extend_from_slice(&[0; HEAD_BYTES]);
        RecordWriter {
            text_end: output.len(),
            output,
            start,
            flags: 0,
            count: 0,
            values: SmallVec::new(),
            spans: SmallVec::new(),
        }
    }

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

    /// Adds a text field to the region.
    pub(super) fn text(&mut self, text: Option<&str>) {
        self.flag(text.is_some());
        if let Some(text) = text {
            push_length(&mut self.spans, self.output.len() - self.text_end);
            push_length(&mut self.spans, text.len());
            self.literal(text);
            self.text_end = self.output.len();
        }
    }

    /// Adds what is no field to the region.
    pub(super) fn literal(&mut self, text: &str) {
        self.output.extend_from_slice(text.as_bytes());
    }

    /// The length of the region so far.
    pub(super) fn region_bytes(&self) -> usize {
        self.output.len() - self.start - HEAD_BYTES
    }

    /// The end of what is written so far.
    pub(super) fn mark(&self) -> Mark {
        Mark {
            output: self.output.len(),
            spans: self.spans.len(),
            flags: self.flags,
            count: self.count,
            text_end: self.text_end,
        }
    }

    /// Takes back the texts that were added since.
    pub(super) fn rewind(&mut self, mark: Mark) {
        self.output.truncate(mark.output);
        self.spans.truncate(mark.spans);
        (self.flags, self.count) = (mark.flags, mark.count);
        self.text_end = mark.text_end;
    }

    /// Ends the record. `lengths` are those of the two parts of an item.
    fn finish(self, lengths: [usize; 2]) {
        let region = self.region_bytes();
        let RecordWriter { output, start, .. } = self;
        output.extend_from_slice(&self.values);
        output.extend_from_slice(&self.spans);
        let length = output.len() - start - FRAME_BYTES;
        let [before, after] = lengths.map(|length| length as u32);
        let head = [length as u32, self.flags, region as u32, before, after];
        output[start + 4..start + HEAD_BYTES]
            .copy_from_slice(bytemuck::cast_slice(&head.map(u32::to_le_bytes)));
        let checksum = crc32c::crc32c(&output[start + 4..]);
        output[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
    }
}

fn push_length(output: &mut SmallVec<[u8; 64]>, mut length: usize) {
    while length >= 0x80 {
        output.push(length as u8 | 0x80);
        length >>= 7;
    }
    output.push(length as u8);
}

/// What is left of a record's fields. Every reader gives `None` where the bytes do not suffice.
struct Fields<'a> {
    flags: u32,
    /// The lengths of an item's two parts.
    #[cfg(feature = "http")]
    item: [usize; 2],
    region: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// The fields of the record that a frame starts with, what its checksum covers, and the
    /// checksum.
    fn split(frame: &'a [u8]) -> Option<(Fields<'a>, &'a [u8], u32)> {
        let (head, after_head) = frame.split_first_chunk::<HEAD_BYTES>()?;
        let word = |index: usize| {
            let bytes = head[index * 4..].first_chunk::<4>().copied();
            bytes.map_or(0, u32::from_le_bytes)
        };
        let length = word(1) as usize;
        let covered = frame.get(CHECKSUM_BYTES..FRAME_BYTES.checked_add(length)?)?;
        let body = after_head.get(..length.checked_sub(HEAD_BYTES - FRAME_BYTES)?)?;
        let (region, rest) = body.split_at_checked(word(3) as usize)?;
        let fields = Fields {
            flags: word(2),
            #[cfg(feature = "http")]
            item: [word(4) as usize, word(5) as usize],
            region,
            rest,
        };
        Some((fields, covered, word(0)))
    }

    fn flag(&mut self) -> bool {
        let flag = self.flags & 1 != 0;
        self.flags >>= 1;
        flag
    }

    fn number(&mut self) -> Option<Option<u64>> {
        if self.flag() {
            self.take::<8>()
                .map(|bytes| Some(u64::from_le_bytes(bytes)))
        } else {
            Some(None)
        }
    }

    fn date(&mut self) -> Option<Option<Date>> {
        if self.flag() {
            self.day().map(Some)
        } else {
            Some(None)
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

    /// The texts, which are the last fields: nothing may be left after them.
    fn texts<const N: usize>(mut self) -> Option<[Option<Cow<'a, str>>; N]> {
        let region = std::str::from_utf8(self.region).ok()?;
        let mut texts = [const { None }; N];
        let mut end = 0_usize;
        for text in &mut texts {
            if self.flag() {
                let start = end.checked_add(self.length()?)?;
                end = start.checked_add(self.length()?)?;
                *text = Some(Cow::Borrowed(region.get(start..end)?));
            }
        }
        (self.rest.is_empty() && self.flags == 0).then_some(texts)
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
