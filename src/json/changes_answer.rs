//! Answers of the changes feed as JSON.

use super::ChangeItem;
use super::page::write_value;
use crate::index::Change;

/// An answer `{"data": …}` under construction.
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
        write_value(&mut self.bytes, &ChangeItem { change });
    }

    /// Completes the answer with the position after its changes and whether there are more.
    pub(crate) fn finish(mut self, next: &str, more: bool) -> Vec<u8> {
        self.bytes.extend_from_slice(br#"],"next":"#);
        write_value(&mut self.bytes, &next);
        self.bytes.extend_from_slice(br#","more":"#);
        write_value(&mut self.bytes, &more);
        self.bytes.extend_from_slice(b"}}");
        self.bytes
    }
}
