//! A page of search results as bytes: the answer that is asked for most, and the longest.
//!
//! Most items are stored as they are shown and copied whole. Serialising
//! [`Data`](super::Data) of the page gives the same bytes and defines what is right.

use serde::Serialize;

use super::output::SignalItem;
use crate::notation::is_plain;
use crate::segment::Shown;

/// Bytes of the answer but for its items.
const ENVELOPE_BYTES: usize = 1 << 10;

/// Bytes to expect of an item; a page of more than that grows its buffer once or twice.
const ITEM_BYTES: usize = 1 << 10;

/// What comes before the items.
const ITEMS: &[u8] = br#"{"data":{"items":["#;

/// The whole answer of a search, written item by item.
#[derive(Debug)]
pub(crate) struct SearchAnswer(Vec<u8>);

impl SearchAnswer {
    /// An answer without items yet; `items` are expected, more or fewer may come.
    pub(crate) fn new(items: usize) -> SearchAnswer {
        let mut output = Vec::with_capacity(ENVELOPE_BYTES + items * ITEM_BYTES);
        output.extend_from_slice(ITEMS);
        SearchAnswer(output)
    }

    /// Adds an item. Cost: that of copying it, where it is stored as it is shown.
    pub(crate) fn push(&mut self, shown: &Shown<'_>) {
        let output = &mut self.0;
        if output.len() > ITEMS.len() {
            output.push(b',');
        }
        match shown {
            Shown::Stored {
                before_name,
                company_name,
                behind_name,
            } => {
                output.extend_from_slice(before_name);
                write_name(output, company_name);
                output.extend_from_slice(behind_name);
            }
            Shown::Item(item) => write_value(output, &SignalItem::from(&**item)),
        }
    }

    /// The answer, `{"data": …}`, with the cursor of the next page.
    pub(crate) fn finish(self, next_cursor: Option<&str>) -> Vec<u8> {
        let mut output = self.0;
        output.extend_from_slice(br#"],"nextCursor":"#);
        write_value(&mut output, &next_cursor);
        output.extend_from_slice(b"}}");
        output
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
#[path = "page_tests.rs"]
mod tests;
