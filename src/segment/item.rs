//! Items: a signal as a search shows it. [`visit_members`] is their one layout, which records, JSON and
//! CSV follow.
//!
//! Most of what a service does for a search is to write fifty signals as JSON, always the same. So
//! a record starts with what [`SignalItem`](crate::json::SignalItem) is written as, cut where the
//! company's name belongs, which may change without the signal, and an answer copies it. The texts
//! of the record are those within the item. If a text needs escapes, or the amount is no whole number,
//! the record has the bare texts, and serde_json writes the item when it is shown.

use std::convert::Infallible;

use time::{Date, UtcDateTime};

use super::record::RecordWriter;
#[cfg(feature = "http")]
use crate::signal::Item;
use crate::signal::{Currency, Funding, Signal, SignalId};
use crate::text_encoding::{self, Text, is_plain};

/// A signal as an answer shows it.
#[cfg(feature = "http")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RenderedItem<'a> {
    /// Stored in the bytes of the answer.
    Stored {
        /// Up to the name of its company, which is to be quoted.
        before_name: &'a [u8],
        /// The name of its company, UTF-8.
        company_name: &'a [u8],
        /// What comes after.
        after_name: &'a [u8],
    },
    /// To be written.
    Item(Box<Item<'a>>),
    /// Written already, in the bytes of the answer.
    Written(Vec<u8>),
}

/// The name of a member as it stands between two of an object: `,"name":`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberName(&'static str);

impl MemberName {
    /// The name alone.
    #[cfg(feature = "json")]
    pub(crate) fn name(self) -> &'static str {
        &self.0[2..self.0.len() - 2]
    }
}

/// The value of an item's member.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Member<'s> {
    Id(SignalId),
    /// One of the signal's own texts.
    Text(Option<&'s str>),
    Day(Option<Date>),
    Instant(Option<UtcDateTime>),
    CompanySlug(&'s str),
    /// The name of the company, which the signal does not have.
    CompanyName,
    /// An object of its own: see [`visit_funding`].
    Funding(Option<&'s Funding<'s>>),
}

/// The value of a member of `funding`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FundingMember<'s> {
    Text(Option<&'s str>),
    Amount(Option<f64>),
}

/// Calls `visit` with the name and the value of each member of an item, in the order in which they are
/// written. Hiring attributes are searched but never shown.
///
/// # Errors
/// Those of `visit`; the first one ends the visits.
pub(crate) fn visit_members<'s, E>(
    signal: &'s Signal<'_>,
    mut visit: impl FnMut(MemberName, Member<'s>) -> Result<(), E>,
) -> Result<(), E> {
    visit(MemberName(r#","id":"#), Member::Id(signal.id))?;
    visit(MemberName(r#","slug":"#), Member::Text(Some(&signal.slug)))?;
    visit(
        MemberName(r#","title":"#),
        Member::Text(Some(&signal.title)),
    )?;
    visit(
        MemberName(r#","evidence":"#),
        Member::Text(signal.evidence.as_deref()),
    )?;
    visit(
        MemberName(r#","category":"#),
        Member::Text(signal.category.as_deref()),
    )?;
    visit(MemberName(r#","date":"#), Member::Day(signal.date))?;
    visit(
        MemberName(r#","publishedAt":"#),
        Member::Instant(signal.published_at),
    )?;
    visit(
        MemberName(r#","updatedAt":"#),
        Member::Instant(signal.updated_at),
    )?;
    visit(
        MemberName(r#","companySlug":"#),
        Member::CompanySlug(&signal.company_slug),
    )?;
    visit(MemberName(r#","companyName":"#), Member::CompanyName)?;
    visit(
        MemberName(r#","activityUrl":"#),
        Member::Text(signal.activity_url.as_deref()),
    )?;
    visit(
        MemberName(r#","authorName":"#),
        Member::Text(signal.author_name.as_deref()),
    )?;
    visit(
        MemberName(r#","authorTitle":"#),
        Member::Text(signal.author_title.as_deref()),
    )?;
    visit(
        MemberName(r#","authorUrl":"#),
        Member::Text(signal.author_url.as_deref()),
    )?;
    visit(
        MemberName(r#","funding":"#),
        Member::Funding(signal.funding.as_ref()),
    )
}

/// As [`visit_members`], of the object `funding`.
///
/// # Errors
/// Those of `visit`.
pub(crate) fn visit_funding<'s, E>(
    funding: &'s Funding<'_>,
    mut visit: impl FnMut(MemberName, FundingMember<'s>) -> Result<(), E>,
) -> Result<(), E> {
    let currency = funding.currency.as_ref().map(Currency::as_str);
    visit(
        MemberName(r#","stage":"#),
        FundingMember::Text(funding.stage.as_deref()),
    )?;
    visit(
        MemberName(r#","amount":"#),
        FundingMember::Amount(funding.amount),
    )?;
    visit(MemberName(r#","currency":"#), FundingMember::Text(currency))
}

/// A text would need escapes, or an amount a point.
struct NotPlain;

/// Writes the texts of a signal but for hiring attributes, within an item where there can be one.
/// Returns the lengths of the item before and after its company's name, or zeros.
pub(super) fn write(record: &mut RecordWriter<'_>, signal: &Signal<'_>) -> [usize; 2] {
    let start = record.mark();
    write_item(record, signal).unwrap_or_else(|NotPlain| {
        record.rewind(start);
        write_texts(record, signal);
        [0, 0]
    })
}

/// Writes the texts alone, in their order in an item.
fn write_texts(record: &mut RecordWriter<'_>, signal: &Signal<'_>) {
    let Ok(()) = visit_members(signal, |_, member| {
        match member {
            Member::Text(text) => record.text(text),
            Member::Funding(funding) => write_funding_texts(record, funding),
            _ => {}
        }
        Ok::<(), Infallible>(())
    });
}

fn write_funding_texts(record: &mut RecordWriter<'_>, funding: Option<&Funding<'_>>) {
    let none = Funding::default();
    let Ok(()) = visit_funding(funding.unwrap_or(&none), |_, member| {
        if let FundingMember::Text(text) = member {
            record.text(text);
        }
        Ok::<(), Infallible>(())
    });
}

/// Writes the members of an item, as long as copying texts and digits gives them.
fn write_item(record: &mut RecordWriter<'_>, signal: &Signal<'_>) -> Result<[usize; 2], NotPlain> {
    let mut before_name = 0;
    let mut is_first = true;
    visit_members(signal, |name, member| {
        write_name(record, name, &mut is_first);
        match member {
            Member::Id(id) => write_value(record, Some(text_encoding::id(id))),
            Member::Text(text) => return write_text(record, text),
            Member::Day(day) => write_value(record, day.map(text_encoding::day)),
            Member::Instant(instant) => write_value(record, instant.map(text_encoding::instant)),
            Member::CompanySlug(slug) if is_plain(slug.as_bytes()) => write_quoted(record, slug),
            Member::CompanySlug(_) => return Err(NotPlain),
            Member::CompanyName => before_name = record.region_bytes(),
            Member::Funding(Some(funding)) => return write_funding(record, funding),
            Member::Funding(None) => {
                record.literal("null");
                write_funding_texts(record, None);
            }
        }
        Ok(())
    })?;
    record.literal("}");
    Ok([before_name, record.region_bytes() - before_name])
}

fn write_funding(record: &mut RecordWriter<'_>, funding: &Funding<'_>) -> Result<(), NotPlain> {
    let mut is_first = true;
    visit_funding(funding, |name, member| {
        write_name(record, name, &mut is_first);
        match member {
            FundingMember::Text(text) => return write_text(record, text),
            FundingMember::Amount(None) => record.literal("null"),
            FundingMember::Amount(Some(amount)) => {
                let digits = text_encoding::whole_amount(amount).ok_or(NotPlain)?;
                record.literal(digits.as_str());
            }
        }
        Ok(())
    })?;
    record.literal("}");
    Ok(())
}

/// Writes what comes before the value of a member, or of the first one of an object.
fn write_name(record: &mut RecordWriter<'_>, MemberName(name): MemberName, is_first: &mut bool) {
    if std::mem::take(is_first) {
        record.literal("{");
        record.literal(&name[1..]);
    } else {
        record.literal(name);
    }
}

/// Writes a text of the record in quotes, or null.
fn write_text(record: &mut RecordWriter<'_>, text: Option<&str>) -> Result<(), NotPlain> {
    let quote = match text {
        Some(text) if !is_plain(text.as_bytes()) => return Err(NotPlain),
        Some(_) => "\"",
        None => "null",
    };
    record.literal(quote);
    record.text(text);
    if text.is_some() {
        record.literal(quote);
    }
    Ok(())
}

/// Writes a text that is none of the record's in quotes, or null.
fn write_value(record: &mut RecordWriter<'_>, text: Option<Text>) {
    match text {
        Some(text) => write_quoted(record, text.as_str()),
        None => record.literal("null"),
    }
}

fn write_quoted(record: &mut RecordWriter<'_>, text: &str) {
    record.literal("\"");
    record.literal(text);
    record.literal("\"");
}
