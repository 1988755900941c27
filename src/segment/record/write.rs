//! Writing records.

use std::borrow::Cow;

use time::{Date, UtcDateTime};

use super::{
    ARE_CODES, CHECKSUM_BYTES, FLAGS_BYTES, SECONDS_PER_DAY, Stored, TEXT_BYTES_MAX, zigzag,
};
use crate::encoding::symbols::{Encoder, SymbolTable};
use crate::encoding::varint;
use crate::query::dates::day_number;
use crate::query::limits::SLUG_CHARS_MAX;
use crate::signal::escapes::push_escaped;
use crate::signal::{Company, Hiring, Signal};
use crate::{Error, Result};

/// Checks that a signal's texts are not too long. What passes can be written as a record.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) if they are.
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

/// Checks that a company's slug and texts are not too long; as [`check_signal`].
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
    check_slug(slug)?;
    check_texts(
        [slug, name]
            .into_iter()
            .chain(optional.into_iter().flatten()),
    )
}

/// Checks that a cursor can hold the slug of a company.
fn check_slug(slug: &str) -> Result<()> {
    let chars = slug.chars().count();
    if chars <= SLUG_CHARS_MAX {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the slug of a company has {chars} characters; at most {SLUG_CHARS_MAX} are allowed"
    )))
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

/// Writes the record of a company.
pub(crate) fn write_company(record: &mut RecordWriter, company: &Company<'_>) {
    record.begin();
    record.instant(company.updated_at);
    record.number(company.employees.map(zigzag));
    record.number(company.founded_year.map(zigzag));
    record.text(&company.slug);
    record.text(&company.name);
    record.optional_text(company.about.as_deref());
    record.optional_text(company.tagline.as_deref());
    record.optional_text(company.logo_url.as_deref());
    record.optional_text(company.country.as_deref());
    record.optional_text(company.city.as_deref());
    record.optional_text(company.industry.as_deref());
    record.optional_text(company.linkedin_url.as_deref());
}

/// A record while it is written: fields in the order of their flags. It is used for one after the other,
/// so that its memory is.
#[derive(Debug, Default)]
pub(crate) struct RecordWriter {
    flags: u32,
    count: u32,
    fields: Vec<u8>,
    pub(super) texts: Vec<u8>,
    /// Whether texts are written with the escapes of JSON.
    has_escapes: bool,
    /// The date or instant before, in seconds since 1970.
    last_second: i64,
    codes: Vec<u8>,
    bytes: Vec<u8>,
}

impl RecordWriter {
    pub(super) fn begin(&mut self) {
        #[cfg(test)]
        WRITTEN.set(WRITTEN.get() + 1);
        self.has_escapes = false;
        self.clear();
    }

    /// Begins the same record once more, with the escapes of JSON in its texts.
    pub(super) fn restart_with_escapes(&mut self) {
        self.has_escapes = true;
        self.clear();
    }

    fn clear(&mut self) {
        (self.flags, self.count, self.last_second) = (0, 0, 0);
        self.fields.clear();
        self.texts.clear();
    }

    pub(super) fn flag(&mut self, flag: bool) {
        // Neither kind of record has 32 flags, so the shift stays in range.
        self.flags |= u32::from(flag) << self.count;
        self.count += 1;
    }

    pub(super) fn number(&mut self, number: Option<u64>) {
        self.flag(number.is_some());
        if let Some(number) = number {
            varint::push(&mut self.fields, number);
        }
    }

    pub(super) fn date(&mut self, date: Option<Date>) {
        let day = date.map(|date| i64::from(day_number(date)));
        self.last_second = day.unwrap_or(0) * SECONDS_PER_DAY;
        self.number(day.map(zigzag));
    }

    pub(super) fn instant(&mut self, instant: Option<UtcDateTime>) {
        let Some(instant) = instant else {
            return self.flag(false);
        };
        let second = instant.unix_timestamp();
        let nanoseconds = instant.nanosecond();
        // The difference to the previous date or instant, which is usually small.
        let seconds = zigzag(second - self.last_second);
        self.last_second = second;
        self.number(Some(seconds << 1 | u64::from(nanoseconds > 0)));
        if nanoseconds > 0 {
            varint::push(&mut self.fields, nanoseconds.into());
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        let start = self.texts.len();
        if self.has_escapes {
            push_escaped(&mut self.texts, text);
        } else {
            self.texts.extend_from_slice(text.as_bytes());
        }
        let bytes = self.texts.len() - start;
        self.number(Some(bytes as u64));
    }

    /// An empty text is none.
    pub(super) fn optional_text(&mut self, text: Option<&str>) {
        match text {
            Some(text) if !text.is_empty() => self.text(text),
            _ => self.flag(false),
        }
    }

    /// The bytes of the record, its texts compressed where an encoder makes them shorter.
    pub(in super::super) fn finish(&mut self, encoder: Option<&Encoder>) -> &[u8] {
        let record = Plain {
            flags: self.flags,
            fields: &self.fields,
            texts: &self.texts,
        };
        record.write(encoder, &mut self.codes, &mut self.bytes);
        &self.bytes
    }

    /// The bytes of a stored record with its texts compressed by an encoder, or not at all.
    ///
    /// # Errors
    /// It is malformed.
    pub(in super::super) fn encode(
        &mut self,
        stored: &Stored<'_>,
        symbols: SymbolTable<'_>,
        encoder: Option<&Encoder>,
    ) -> Result<&[u8]> {
        let texts = stored.texts(symbols, &mut self.texts);
        let record = Plain {
            flags: stored.flags & !ARE_CODES,
            fields: stored.fields,
            texts: texts.ok_or_else(|| Error::corrupt("the texts of a record are malformed"))?,
        };
        record.write(encoder, &mut self.codes, &mut self.bytes);
        Ok(&self.bytes)
    }
}

/// The parts of a record whose texts are not compressed.
struct Plain<'a> {
    flags: u32,
    fields: &'a [u8],
    texts: &'a [u8],
}

impl Plain<'_> {
    /// Writes the record to `bytes`, with the codes of its texts if an encoder makes them shorter.
    fn write(&self, encoder: Option<&Encoder>, codes: &mut Vec<u8>, bytes: &mut Vec<u8>) {
        codes.clear();
        if let Some(encoder) = encoder {
            encoder.encode(self.texts, codes);
        }
        let are_codes = encoder.is_some() && codes.len() < self.texts.len();
        let (flags, content) = if are_codes {
            (self.flags | ARE_CODES, codes.as_slice())
        } else {
            (self.flags, self.texts)
        };
        let [fields_bytes, text_bytes] = [self.fields, self.texts].map(|part| part.len() as u64);
        let lengths = varint::length(fields_bytes) + varint::length(text_bytes);
        // The length counts everything after itself.
        let length = FLAGS_BYTES + lengths + self.fields.len() + content.len();
        bytes.clear();
        bytes.extend_from_slice(&[0; CHECKSUM_BYTES]);
        varint::push(bytes, length as u64);
        bytes.extend_from_slice(&flags.to_le_bytes());
        varint::push(bytes, fields_bytes);
        bytes.extend_from_slice(self.fields);
        varint::push(bytes, text_bytes);
        bytes.extend_from_slice(content);
        // The checksum covers everything after itself.
        let checksum = crc32c::crc32c(&bytes[CHECKSUM_BYTES..]);
        bytes[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
    }
}
