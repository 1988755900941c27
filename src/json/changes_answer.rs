//! Answers of the changes feed as JSON.

use super::ChangeItem;
use super::items::Items;
use super::page::write_value;
use super::rendering::{Rendering, shortened, start, text_bytes};
use crate::index::Change;
use crate::signal::Item;

/// The start of the answer.
const START: &[u8] = br#"{"data":{"changes":["#;

/// An answer of the changes feed under construction: `{"data":{"changes":[…],"next":…,"more":…}}`.
///
/// ```
/// use signaldex::json::{ChangesAnswer, Rendering};
/// use signaldex::{Filter, sample};
///
/// let index = sample::index()?;
/// let snapshot = index.snapshot();
/// let since = snapshot.position();
/// let filter = Filter::default();
/// let mut changes = snapshot.changes(&filter, sample::AS_OF, &since)?.bounded();
/// let mut answer = ChangesAnswer::new(Rendering::Whole);
/// for change in changes.by_ref().take(50) {
///     answer.push(&change?);
/// }
/// let more = changes.has_more()?;
/// let body = answer.finish(&changes.position().to_string(), more);
/// assert!(body.starts_with(br#"{"data":{"changes":[],"next":""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ChangesAnswer {
    items: Items,
    rendering: Rendering,
}

impl ChangesAnswer {
    /// An answer without changes.
    pub fn new(rendering: Rendering) -> ChangesAnswer {
        ChangesAnswer {
            items: Items::after(START, 0, 0),
            rendering,
        }
    }

    /// Adds a change, unless the answer would then have more than
    /// [`PAGE_BYTES_MAX`](crate::query::limits::PAGE_BYTES_MAX) bytes; the first is always added. Returns whether it was.
    ///
    /// ```
    /// use signaldex::json::{ChangesAnswer, Rendering};
    /// use signaldex::{Filter, Position, sample};
    ///
    /// let (snapshot, filter) = (sample::index()?.snapshot(), Filter::from_query_string("q=robotics")?);
    /// let mut answer = ChangesAnswer::new(Rendering::Whole);
    /// for change in snapshot.changes(&filter, sample::AS_OF, &Position::START)? {
    ///     assert!(answer.push(&change?), "few records are never too long");
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn push(&mut self, change: &Change<'_>) -> bool {
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
    ///
    /// ```
    /// use signaldex::json::{ChangesAnswer, Rendering};
    ///
    /// let body = ChangesAnswer::new(Rendering::Whole).finish("start", false);
    /// assert_eq!(body, br#"{"data":{"changes":[],"next":"start","more":false}}"#);
    /// ```
    pub fn finish(self, next: &str, more: bool) -> Vec<u8> {
        let mut bytes = self.items.into_bytes();
        bytes.extend_from_slice(br#"],"next":"#);
        write_value(&mut bytes, &next);
        bytes.extend_from_slice(br#","more":"#);
        write_value(&mut bytes, &more);
        bytes.extend_from_slice(b"}}");
        bytes
    }
}
