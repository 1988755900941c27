//! A page of search results as bytes: the answer that is asked for most, and the longest.
//!
//! Most items are stored as they are shown and copied whole. Serialising
//! [`Data`](super::Data) of the page gives the same bytes and defines what is right.

use serde::Serialize;

use super::output::SignalItem;
use crate::segment::RenderedItem;
use crate::text_encoding::is_plain;

/// Bytes of the answer but for its items: what it starts and ends with, and a cursor.
const ENVELOPE_BYTES: usize = 256;

/// Bytes of an item beside what is stored of it: quotes, a comma.
const ITEM_BYTES: usize = 8;

/// Bytes to expect of an item that is not stored as it is shown.
const WRITTEN_ITEM_BYTES: usize = 1 << 10;

/// The answer of a search, `{"data": …}`: its items and the cursor of the next page.
///
/// Cost: one allocation, and that of copying the items that are stored as they are shown.
pub(crate) fn search_answer(items: &[RenderedItem<'_>], next_cursor: Option<&str>) -> Vec<u8> {
    let bytes: usize = items.iter().map(item_bytes).sum();
    let mut output = Vec::with_capacity(ENVELOPE_BYTES + bytes);
    output.extend_from_slice(br#"{"data":{"items":["#);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            output.push(b',');
        }
        write_item(&mut output, item);
    }
    output.extend_from_slice(br#"],"nextCursor":"#);
    write_value(&mut output, &next_cursor);
    output.extend_from_slice(b"}}");
    output
}

/// One item of such an answer.
#[cfg(feature = "http")]
pub(crate) fn search_item(item: &RenderedItem<'_>) -> Vec<u8> {
    let mut output = Vec::with_capacity(item_bytes(item));
    write_item(&mut output, item);
    output
}

fn item_bytes(item: &RenderedItem<'_>) -> usize {
    match item {
        RenderedItem::Stored {
            before_name,
            company_name,
            after_name,
        } => before_name.len() + company_name.len() + after_name.len() + ITEM_BYTES,
        RenderedItem::Item(_) => WRITTEN_ITEM_BYTES,
        #[cfg(feature = "http")]
        RenderedItem::Written(bytes) => bytes.len() + ITEM_BYTES,
    }
}

fn write_item(output: &mut Vec<u8>, item: &RenderedItem<'_>) {
    match item {
        RenderedItem::Stored {
            before_name,
            company_name,
            after_name,
        } => {
            output.extend_from_slice(before_name);
            write_name(output, company_name);
            output.extend_from_slice(after_name);
        }
        RenderedItem::Item(item) => write_value(output, &SignalItem::from(&**item)),
        #[cfg(feature = "http")]
        RenderedItem::Written(bytes) => output.extend_from_slice(bytes),
    }
}

/// Writes the name of a company: nearly all need no escapes.
fn write_name(output: &mut Vec<u8>, name: &[u8]) {
    if !is_plain(name) {
        return write_value(output, &String::from_utf8_lossy(name));
    }
    output.push(b'"');
    output.extend_from_slice(name);
    output.push(b'"');
}

fn write_value(output: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(output, value)
        .expect("texts and numbers are valid JSON, and memory can be written to");
}

#[cfg(test)]
mod tests;
