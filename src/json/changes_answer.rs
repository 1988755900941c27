//! A part of the feed of changes as bytes.

use serde::Serialize;

use super::ChangeItem;
use crate::index::Change;

/// The answer of the feed, `{"data": …}`, while its changes are added.
#[derive(Debug)]
pub(crate) struct ChangesAnswer {
    bytes: Vec<u8>,
    is_empty: bool,
}

impl ChangesAnswer {
    /// An answer without changes.
    pub(crate) fn new() -> ChangesAnswer {
        ChangesAnswer {
            bytes: br#"{"data":{"changes":["#.to_vec(),
            is_empty: true,
        }
    }

    /// Adds a change.
    pub(crate) fn push(&mut self, change: &Change<'_>) {
        if !self.is_empty {
            self.bytes.push(b',');
        }
        self.is_empty = false;
        self.write(&ChangeItem { change });
    }

    /// The whole answer, with the position after its changes and whether there are more.
    pub(crate) fn finish(mut self, next: &str, more: bool) -> Vec<u8> {
        self.bytes.extend_from_slice(br#"],"next":"#);
        self.write(&next);
        self.bytes.extend_from_slice(br#","more":"#);
        self.write(&more);
        self.bytes.extend_from_slice(b"}}");
        self.bytes
    }

    fn write(&mut self, value: &impl Serialize) {
        serde_json::to_writer(&mut self.bytes, value)
            .expect("texts and numbers are valid JSON, and memory can be written to");
    }
}
