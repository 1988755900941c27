//! Items: a signal as a search shows it, in the bytes of the answer.
//!
//! Most of what a service does for a search is to write fifty signals as JSON, always the same. So
//! a record starts with what [`SignalItem`](crate::json::SignalItem) is written as, cut where the
//! company's name belongs, which may change without the signal, and an answer copies it. The texts
//! of the record are those within the item. A signal of which a text needs escapes, or whose amount
//! is no whole number, is stored as bare texts and written by serde_json when it is shown.

use super::record::RecordWriter;
#[cfg(feature = "http")]
use crate::signal::Item;
use crate::signal::{Currency, Signal};
use crate::text_encoding::{self, is_plain};

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
        behind_name: &'a [u8],
    },
    /// To be written.
    Item(Box<Item<'a>>),
    /// Written already, in the bytes of the answer.
    Written(Vec<u8>),
}

/// Writes the texts of a signal but for hiring attributes, within an item where there can be one.
/// Returns the lengths of the item before and after its company's name, or zeros.
pub(super) fn write(record: &mut RecordWriter<'_>, signal: &Signal<'_>) -> [usize; 2] {
    if is_stored(signal) {
        write_item(record, signal)
    } else {
        write_texts(record, signal);
        [0, 0]
    }
}

/// Whether an item can be told by copying texts and digits.
fn is_stored(signal: &Signal<'_>) -> bool {
    let funding = signal.funding.as_ref();
    let amount = funding.and_then(|funding| funding.amount);
    let required = [&signal.slug, &signal.title, &signal.company_slug];
    let optional = [
        &signal.evidence,
        &signal.category,
        &signal.activity_url,
        &signal.author_name,
        &signal.author_title,
        &signal.author_url,
    ];
    let stage = funding.and_then(|funding| funding.stage.as_deref());
    amount.is_none_or(|amount| text_encoding::whole_amount(amount).is_some())
        && required.iter().all(|text| is_plain(text.as_bytes()))
        && optional
            .iter()
            .all(|text| is_plain_or_none(text.as_deref()))
        && is_plain_or_none(stage)
}

fn is_plain_or_none(text: Option<&str>) -> bool {
    text.is_none_or(|text| is_plain(text.as_bytes()))
}

fn write_texts(record: &mut RecordWriter<'_>, signal: &Signal<'_>) {
    let funding = signal.funding.as_ref();
    record.text(Some(&signal.slug));
    record.text(Some(&signal.title));
    record.text(signal.evidence.as_deref());
    record.text(signal.category.as_deref());
    record.text(signal.activity_url.as_deref());
    record.text(signal.author_name.as_deref());
    record.text(signal.author_title.as_deref());
    record.text(signal.author_url.as_deref());
    record.text(funding.and_then(|funding| funding.stage.as_deref()));
    record.text(funding.and_then(|funding| funding.currency.as_ref().map(Currency::as_str)));
}

/// Writes the members of an item in their order; texts are fields in the order of
/// [`write_texts`].
fn write_item(record: &mut RecordWriter<'_>, signal: &Signal<'_>) -> [usize; 2] {
    write_literal(record, r#"{"id":"#, Some(text_encoding::id(signal.id)));
    write_text(record, r#","slug":"#, Some(&signal.slug));
    write_text(record, r#","title":"#, Some(&signal.title));
    write_text(record, r#","evidence":"#, signal.evidence.as_deref());
    write_text(record, r#","category":"#, signal.category.as_deref());
    write_literal(record, r#","date":"#, signal.date.map(text_encoding::day));
    let published_at = signal.published_at.map(text_encoding::instant);
    write_literal(record, r#","publishedAt":"#, published_at);
    let updated_at = signal.updated_at.map(text_encoding::instant);
    write_literal(record, r#","updatedAt":"#, updated_at);
    record.literal(r#","companySlug":""#);
    record.literal(&signal.company_slug);
    record.literal(r#"","companyName":"#);
    let before_name = record.region_bytes();
    write_text(record, r#","activityUrl":"#, signal.activity_url.as_deref());
    write_text(record, r#","authorName":"#, signal.author_name.as_deref());
    write_text(record, r#","authorTitle":"#, signal.author_title.as_deref());
    write_text(record, r#","authorUrl":"#, signal.author_url.as_deref());
    write_funding(record, signal);
    [before_name, record.region_bytes() - before_name]
}

fn write_funding(record: &mut RecordWriter<'_>, signal: &Signal<'_>) {
    let Some(funding) = &signal.funding else {
        // The stage and the currency are fields that are not there.
        record.text(None);
        record.text(None);
        return record.literal(r#","funding":null}"#);
    };
    write_text(record, r#","funding":{"stage":"#, funding.stage.as_deref());
    let amount = funding.amount.and_then(text_encoding::whole_amount);
    record.literal(r#","amount":"#);
    record.literal(amount.as_ref().map_or("null", |digits| digits.as_str()));
    let currency = funding.currency.as_ref().map(Currency::as_str);
    write_text(record, r#","currency":"#, currency);
    record.literal("}}");
}

/// Writes what comes before a field, and the field in quotes or null.
fn write_text(record: &mut RecordWriter<'_>, before: &str, text: Option<&str>) {
    let quote = if text.is_some() { "\"" } else { "null" };
    record.literal(before);
    record.literal(quote);
    record.text(text);
    if text.is_some() {
        record.literal(quote);
    }
}

/// Writes what comes before a text that is no field, and the text in quotes or null.
fn write_literal(record: &mut RecordWriter<'_>, before: &str, text: Option<text_encoding::Text>) {
    record.literal(before);
    match text {
        Some(text) => {
            record.literal("\"");
            record.literal(text.as_str());
            record.literal("\"");
        }
        None => record.literal("null"),
    }
}
