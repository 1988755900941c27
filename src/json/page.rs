//! A page of search results as bytes: the answer that is asked for most, and the longest.
//!
//! Most texts need no escapes and are copied. Serialising [`Data`](super::Data) of the page gives the
//! same bytes and defines what is right.

use std::convert::Infallible;

use serde::Serialize;

use super::item::{FundingMember, Member, MemberName, visit_funding, visit_members};
use super::text_encoding::{self, Text, is_plain};
use super::written::AmountNumber;
use crate::signal::{Funding, Signal};

/// Bytes of the answer but for its items: what it starts and ends with, and a cursor.
const ENVELOPE_BYTES: usize = 256;

/// Bytes to expect of an item: most of the generated corpus have fewer.
const ITEM_BYTES: usize = 900;

/// The answer of a search, `{"data": …}`: its items and the cursor of the next page.
///
/// Cost: one allocation, and that of copying the items.
pub(crate) fn search_answer(items: &[Vec<u8>], next_cursor: Option<&str>) -> Vec<u8> {
    let bytes: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut output = Vec::with_capacity(ENVELOPE_BYTES + bytes);
    output.extend_from_slice(br#"{"data":{"items":["#);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            output.push(b',');
        }
        output.extend_from_slice(item);
    }
    output.extend_from_slice(br#"],"nextCursor":"#);
    write_value(&mut output, &next_cursor);
    output.extend_from_slice(b"}}");
    output
}

/// One item of such an answer.
pub(crate) fn search_item(signal: &Signal<'_>, company_name: &str) -> Vec<u8> {
    let mut output = Vec::with_capacity(ITEM_BYTES);
    let mut is_first = true;
    let Ok(()) = visit_members(signal, |name, member| {
        write_name(&mut output, name, &mut is_first);
        match member {
            Member::Id(id) => write_plain(&mut output, Some(text_encoding::id(id))),
            Member::Text(text) => write_text(&mut output, text),
            Member::Day(day) => write_plain(&mut output, day.map(text_encoding::day)),
            Member::Instant(instant) => {
                write_plain(&mut output, instant.map(text_encoding::instant));
            }
            Member::CompanySlug(slug) => write_text(&mut output, Some(slug)),
            Member::CompanyName => write_text(&mut output, Some(company_name)),
            Member::Funding(Some(funding)) => write_funding(&mut output, funding),
            Member::Funding(None) => output.extend_from_slice(b"null"),
        }
        Ok::<(), Infallible>(())
    });
    output.push(b'}');
    output
}

fn write_funding(output: &mut Vec<u8>, funding: &Funding<'_>) {
    let mut is_first = true;
    let Ok(()) = visit_funding(funding, |name, member| {
        write_name(output, name, &mut is_first);
        match member {
            FundingMember::Text(text) => write_text(output, text),
            FundingMember::Amount(amount) => write_value(output, &amount.map(AmountNumber)),
        }
        Ok::<(), Infallible>(())
    });
    output.push(b'}');
}

/// Writes what comes before the value of a member, or of the first one of an object.
fn write_name(output: &mut Vec<u8>, name: MemberName, is_first: &mut bool) {
    let separated = name.separated().as_bytes();
    if std::mem::take(is_first) {
        output.push(b'{');
        output.extend_from_slice(&separated[1..]);
    } else {
        output.extend_from_slice(separated);
    }
}

/// Writes a text in quotes, or null: nearly all need no escapes.
fn write_text(output: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) if is_plain(text.as_bytes()) => write_quoted(output, text),
        _ => write_value(output, &text),
    }
}

/// Writes a text that never needs escapes in quotes, or null.
fn write_plain(output: &mut Vec<u8>, text: Option<Text>) {
    match text {
        Some(text) => write_quoted(output, text.as_str()),
        None => output.extend_from_slice(b"null"),
    }
}

fn write_quoted(output: &mut Vec<u8>, text: &str) {
    output.push(b'"');
    output.extend_from_slice(text.as_bytes());
    output.push(b'"');
}

fn write_value(output: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(output, value)
        .expect("texts and numbers are valid JSON, and memory can be written to");
}

#[cfg(test)]
mod tests;
