//! The items of an answer under construction: as many as a page has room for.

use crate::query::limits::PAGE_BYTES_MAX;

/// Bytes of an answer without items: its start and its usual end.
const ENVELOPE_BYTES: usize = 256;

/// Maximum bytes before the end of an answer, which takes less than the rest with the longest cursor or position.
const ITEMS_END_MAX: usize = PAGE_BYTES_MAX - 1536;

/// The start of an answer and its items, separated by commas.
#[derive(Clone, Debug)]
pub(super) struct Items {
    bytes: Vec<u8>,
    /// The end of the answer's start, then that of each item.
    ends: Vec<usize>,
}

impl Items {
    /// No items after this start, with capacity for `items` of `item_bytes` bytes.
    pub(super) fn after(start: &[u8], items: usize, item_bytes: usize) -> Items {
        let mut bytes = Vec::with_capacity(ENVELOPE_BYTES + items * item_bytes);
        bytes.extend_from_slice(start);
        let mut ends = Vec::with_capacity(items + 1);
        ends.push(bytes.len());
        Items { bytes, ends }
    }

    /// Adds an item of at least `bytes_min` bytes, unless the answer would then have more than
    /// [`PAGE_BYTES_MAX`] bytes; the first is always added. Returns whether it was. Most of what has no room is not
    /// written.
    pub(super) fn add(&mut self, bytes_min: usize, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let (end, is_first) = (self.bytes.len(), self.len() == 0);
        if !is_first {
            if end + bytes_min >= ITEMS_END_MAX {
                return false;
            }
            self.bytes.push(b',');
        }
        write(&mut self.bytes);
        if !is_first && self.bytes.len() > ITEMS_END_MAX {
            self.bytes.truncate(end);
            return false;
        }
        self.ends.push(self.bytes.len());
        true
    }

    /// The number of items.
    pub(super) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// The bytes so far.
    pub(super) fn byte_count(&self) -> usize {
        self.bytes.len()
    }

    /// Keeps the first items.
    pub(super) fn truncate(&mut self, items: usize) {
        self.ends.truncate(items + 1);
        self.bytes
            .truncate(self.ends.last().copied().unwrap_or_default());
    }

    /// The bytes, to which the end of the answer can be added.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}
