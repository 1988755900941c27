//! Answers of the changes feed as JSON.

use super::ChangeItem;
use super::items::Items;
use super::page::write_value;
use super::rendering::{Rendering, shortened, start, text_bytes};
use crate::index::Change;
use crate::signal::Item;

/// The start of the answer.
const START: &[u8] = br#"{"data":{"changes":["#;

/// An answer `{"data": …}` under construction.
#[derive(Debug)]
pub(crate) struct ChangesAnswer {
    items: Items,
    rendering: Rendering,
}

impl ChangesAnswer {
    /// An answer without changes.
    pub(crate) fn new(rendering: Rendering) -> ChangesAnswer {
        ChangesAnswer {
            items: Items::after(START, 0, 0),
            rendering,
        }
    }

    /// Adds a change, unless the answer would then have more than
    /// [`PAGE_BYTES_MAX`](crate::query::limits::PAGE_BYTES_MAX) bytes; the first is always added. Returns whether it was.
    pub(crate) fn push(&mut self, change: &Change<'_>) -> bool {
        match (change, self.rendering) {
            (Change::Upsert { item, is_new }, Rendering::Short) => {
                let item = Item {
                    signal: shortened(&item.signal),
                    company_name: start(&item.company_name).into(),
                };
                let is_new = *is_new;
                self.add(0, &Change::Upsert { item, is_new })
            }
            (Change::Upsert { item, .. }, Rendering::Whole) => {
                self.add(text_bytes(&item.signal), change)
            }
            (Change::Remove { .. }, _) => self.add(0, change),
        }
    }

    /// Adds a change of at least `bytes_min` bytes.
    fn add(&mut self, bytes_min: usize, change: &Change<'_>) -> bool {
        let write = |bytes: &mut Vec<u8>| write_value(bytes, &ChangeItem { change });
        self.items.add(bytes_min, write)
    }

    /// Completes the answer with the position after its changes and whether there are more.
    pub(crate) fn finish(self, next: &str, more: bool) -> Vec<u8> {
        let mut bytes = self.items.into_bytes();
        bytes.extend_from_slice(br#"],"next":"#);
        write_value(&mut bytes, &next);
        bytes.extend_from_slice(br#","more":"#);
        write_value(&mut bytes, &more);
        bytes.extend_from_slice(b"}}");
        bytes
    }
}
