//! Answers of the changes feed as JSON.

use super::ChangeItem;
use super::items::Items;
use super::page::{write_rendered, write_value};
use super::rendering::{Rendering, text_bytes};
use crate::index::Change;

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
        let bytes_min = match (change, self.rendering) {
            (Change::Upsert { item, .. }, Rendering::Whole) => text_bytes(&item.signal),
            _ => 0,
        };
        let rendering = self.rendering;
        let write = |bytes: &mut Vec<u8>| write_change(bytes, change, rendering);
        self.items.add(bytes_min, write)
    }

    /// As [`push`](Self::push), for a change that [`write_change`] has written.
    ///
    /// ```
    /// use signaldex::json::{ChangesAnswer, Rendering};
    ///
    /// let mut answer = ChangesAnswer::new(Rendering::Whole);
    /// assert!(answer.push_written(br#"{"op":"remove","id":"1"}"#));
    /// let body = answer.finish("start", false);
    /// assert!(body.starts_with(br#"{"data":{"changes":[{"op":"remove","id":"1"}]"#));
    /// ```
    pub fn push_written(&mut self, change: &[u8]) -> bool {
        let write = |bytes: &mut Vec<u8>| bytes.extend_from_slice(change);
        self.items.add(change.len(), write)
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

/// Appends a change as an item of a [`ChangesAnswer`], for [`push_written`](ChangesAnswer::push_written).
///
/// ```
/// use signaldex::json::{Rendering, write_change};
/// use signaldex::{Change, SignalId};
///
/// let mut item = Vec::new();
/// write_change(&mut item, &Change::Remove { id: SignalId::MIN }, Rendering::Whole);
/// assert_eq!(item, br#"{"op":"remove","id":"1"}"#);
/// ```
pub fn write_change(output: &mut Vec<u8>, change: &Change<'_>, rendering: Rendering) {
    let Change::Upsert { item, .. } = change else {
        return write_value(output, &ChangeItem { change });
    };
    output.extend_from_slice(br#"{"op":"upsert","signal":"#);
    write_rendered(output, &item.signal, &item.company_name, rendering);
    output.push(b'}');
}
