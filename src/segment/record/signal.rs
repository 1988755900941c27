//! The record of a signal. Its texts have the escapes with which answers send them, so that these copy them without
//! looking at each character.
//!
//! The id and the company are not in the record: they are found by the row.

use std::borrow::Cow;

use time::{Date, UtcDateTime};

use super::{Fields, RecordWriter};
#[cfg(feature = "json")]
use crate::signal::SentItem;
use crate::signal::escapes::{is_plain, unescaped};
use crate::signal::{Currency, Funding, Hiring, Signal, SignalId};

/// Texts of a signal's record: those of its item, then the hiring attributes, which no answer shows.
const TEXTS: usize = 15;

/// Writes the record of a signal.
pub(crate) fn write_signal(record: &mut RecordWriter, signal: &Signal<'_>) {
    record.begin();
    write_fields(record, signal);
    // Looking through all texts at once takes a fraction of the time of one after the other.
    let has_escapes = !is_plain(&record.texts);
    if has_escapes {
        record.restart_with_escapes();
        write_fields(record, signal);
    }
    record.flag(has_escapes);
}

/// Writes all fields but the last.
fn write_fields(record: &mut RecordWriter, signal: &Signal<'_>) {
    let none = (Funding::default(), Hiring::default());
    let funding = signal.funding.as_ref().unwrap_or(&none.0);
    let hiring = signal.hiring.as_ref().unwrap_or(&none.1);
    record.date(signal.date);
    record.instant(signal.published_at);
    record.instant(signal.updated_at);
    record.flag(signal.funding.is_some());
    record.number(funding.amount.map(|amount| amount.to_bits().swap_bytes()));
    record.flag(signal.hiring.is_some());
    record.text(&signal.slug);
    record.text(&signal.title);
    record.optional_text(signal.evidence.as_deref());
    record.optional_text(signal.category.as_deref());
    record.optional_text(signal.activity_url.as_deref());
    record.optional_text(signal.author_name.as_deref());
    record.optional_text(signal.author_title.as_deref());
    record.optional_text(signal.author_url.as_deref());
    record.optional_text(funding.stage.as_deref());
    record.optional_text(funding.currency.as_ref().map(Currency::as_str));
    record.optional_text(hiring.hiring_type.as_deref());
    record.optional_text(hiring.job_function.as_deref());
    record.optional_text(hiring.seniority.as_deref());
    record.optional_text(hiring.employment_type.as_deref());
    record.optional_text(hiring.work_arrangement.as_deref());
}

/// The fields of a signal's record, in its order.
pub(super) struct SignalFields<'t> {
    date: Option<Date>,
    published_at: Option<UtcDateTime>,
    updated_at: Option<UtcDateTime>,
    has_funding: bool,
    amount: Option<f64>,
    has_hiring: bool,
    texts: [Option<&'t str>; TEXTS],
    has_escapes: bool,
}

impl<'t> SignalFields<'t> {
    #[inline(always)]
    pub(super) fn read(mut fields: Fields<'_>, texts: &'t [u8]) -> Option<SignalFields<'t>> {
        let date = fields.date()?;
        let published_at = fields.instant()?;
        let updated_at = fields.instant()?;
        let has_funding = fields.flag();
        let amount = fields.number()?;
        let has_hiring = fields.flag();
        let texts = fields.texts(texts)?;
        let has_escapes = fields.flag();
        fields.is_end().then_some(SignalFields {
            date,
            published_at,
            updated_at,
            has_funding,
            amount: amount.map(|bits| f64::from_bits(bits.swap_bytes())),
            has_hiring,
            texts,
            has_escapes,
        })
    }

    /// The signal. `text` converts what has no escapes to the value of a field.
    #[inline(always)]
    pub(super) fn signal<'s>(
        self,
        of: (SignalId, &'s str),
        text: impl Fn(&'t str) -> Cow<'s, str>,
    ) -> Option<Signal<'s>> {
        if self.has_escapes {
            let mut texts = [const { None }; TEXTS];
            for (unescaped_text, found) in texts.iter_mut().zip(self.texts) {
                *unescaped_text = match found {
                    Some(found) if !is_plain(found.as_bytes()) => {
                        Some(Cow::Owned(unescaped(found)?))
                    }
                    found => found.map(&text),
                };
            }
            return self.with_texts(of, texts);
        }
        self.with_texts(of, self.texts.map(|found| found.map(&text)))
    }

    #[inline(always)]
    fn with_texts<'s>(
        &self,
        (id, company_slug): (SignalId, &'s str),
        texts: [Option<Cow<'s, str>>; TEXTS],
    ) -> Option<Signal<'s>> {
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
        ] = texts;
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
            date: self.date,
            published_at: self.published_at,
            updated_at: self.updated_at,
            company_slug: Cow::Borrowed(company_slug),
            activity_url,
            author_name,
            author_title,
            author_url,
            funding: self.has_funding.then_some(Funding {
                stage,
                amount: self.amount,
                currency,
            }),
            hiring: self.has_hiring.then_some(Hiring {
                hiring_type,
                job_function,
                seniority,
                employment_type,
                work_arrangement,
            }),
        })
    }

    /// What answers copy of the record, given the id and the slug and name of the company.
    #[cfg(feature = "json")]
    #[inline(always)]
    pub(super) fn sent_item<'s>(
        &self,
        id: SignalId,
        [company_slug, company_name]: [&'s [u8]; 2],
    ) -> Option<SentItem<'s>>
    where
        't: 's,
    {
        let (texts, _) = self.texts.split_first_chunk()?;
        // Every signal has a slug and a title.
        self.texts[0].and(self.texts[1])?;
        Some(SentItem {
            id,
            texts: *texts,
            date: self.date,
            published_at: self.published_at,
            updated_at: self.updated_at,
            amount: self.has_funding.then_some(self.amount),
            company_slug,
            company_name,
        })
    }
}
