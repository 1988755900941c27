//! Writes an item from the texts of its record, which are as answers send them.

use super::item::MemberName;
use super::page::{write_plain, write_quoted, write_value};
use super::text_encoding;
use super::written::AmountNumber;
use crate::signal::SentItem;
use crate::signal::escapes::is_plain;

/// Bytes of an item whose texts are empty, and more than of any id.
const EMPTY_ITEM_BYTES: usize = 320;

/// Appends an item.
pub(super) fn write_sent(output: &mut Vec<u8>, item: &SentItem<'_>) {
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
    ] = item.texts;
    output.reserve(EMPTY_ITEM_BYTES + item.long_text_bytes());
    output.extend_from_slice(b"{\"id\":");
    text_encoding::id(item.id).write_quoted(output);
    write_text(output, const { MemberName::new("slug") }, slug);
    write_text(output, const { MemberName::new("title") }, title);
    write_text(output, const { MemberName::new("evidence") }, evidence);
    write_text(output, const { MemberName::new("category") }, category);
    write_moments(output, item);
    const { MemberName::new("companySlug") }.write_separated(output);
    write_unescaped(output, item.company_slug);
    const { MemberName::new("companyName") }.write_separated(output);
    write_unescaped(output, item.company_name);
    write_text(
        output,
        const { MemberName::new("activityUrl") },
        activity_url,
    );
    write_text(output, const { MemberName::new("authorName") }, author_name);
    write_text(
        output,
        const { MemberName::new("authorTitle") },
        author_title,
    );
    write_text(output, const { MemberName::new("authorUrl") }, author_url);
    match item.amount {
        Some(amount) => write_funding(output, stage, amount, currency),
        None => output.extend_from_slice(br#","funding":null}"#),
    }
}

/// Writes the date and the instants.
fn write_moments(output: &mut Vec<u8>, item: &SentItem<'_>) {
    const { MemberName::new("date") }.write_separated(output);
    write_plain(output, item.date.map(text_encoding::day));
    const { MemberName::new("publishedAt") }.write_separated(output);
    write_plain(output, item.published_at.map(text_encoding::instant));
    const { MemberName::new("updatedAt") }.write_separated(output);
    write_plain(output, item.updated_at.map(text_encoding::instant));
}

/// Writes the last member.
fn write_funding(
    output: &mut Vec<u8>,
    stage: Option<&str>,
    amount: Option<f64>,
    currency: Option<&str>,
) {
    output.extend_from_slice(br#","funding":"#);
    let first = output.len();
    write_text(output, const { MemberName::new("stage") }, stage);
    output[first] = b'{';
    const { MemberName::new("amount") }.write_separated(output);
    write_value(output, &amount.map(AmountNumber));
    write_text(output, const { MemberName::new("currency") }, currency);
    output.extend_from_slice(b"}}");
}

/// Writes a member with a text, or null.
#[inline(always)]
fn write_text(output: &mut Vec<u8>, name: MemberName, text: Option<&str>) {
    match text {
        Some(text) => {
            name.write_before_text(output);
            output.extend_from_slice(text.as_bytes());
            output.push(b'"');
        }
        None => {
            name.write_separated(output);
            output.extend_from_slice(b"null");
        }
    }
}

/// Writes a text that may need escapes, given its bytes in UTF-8.
fn write_unescaped(output: &mut Vec<u8>, text: &[u8]) {
    if is_plain(text) {
        write_quoted(output, text);
    } else {
        write_value(output, &String::from_utf8_lossy(text));
    }
}
