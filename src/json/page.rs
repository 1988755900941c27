//! Writes a page of search results as bytes. This is the most frequent and longest answer, so it does not go
//! through serde.
//!
//! Most texts need no escapes and are copied. Tests compare the bytes with the serialisation of
//! [`Data`](super::Data).

use std::convert::Infallible;
use std::ops::ControlFlow;

use serde::Serialize;

use super::item::{FundingMember, ItemMember, visit_funding, visit_members};
use super::items::Items;
use super::rendering::{Rendering, shortened};
use super::sent_item::write_sent;
use super::text_encoding::{self, Text};
use super::written::AmountNumber;
use crate::Result;
use crate::index::{Page, Snapshot};
use crate::signal::escapes::is_plain;
use crate::signal::{FundingView, SentItem, Signal, SignalView};

/// Expected bytes of an item: most of the generated corpus have fewer.
const ITEM_BYTES: usize = 900;

/// The start of the answer.
const START: &[u8] = br#"{"data":{"items":["#;

/// A search answer `{"data":{"items":[…],"nextCursor":…}}` under construction, byte by byte what the service sends.
/// Items are written directly to the buffer that is sent.
///
/// ```
/// use signaldex::json::{Rendering, SearchAnswer};
/// use signaldex::{Query, sample};
///
/// let index = sample::index()?;
/// let snapshot = index.snapshot();
/// let query = Query::from_query_string("q=robotics&limit=2")?;
/// let page = snapshot.search(&query, sample::AS_OF)?;
/// let answer = SearchAnswer::of_page(&snapshot, &page, Rendering::Whole)?;
/// // Records of a mebibyte each are not shown all; the next page then begins where this answer ends.
/// let last = answer.len().checked_sub(1).and_then(|last| page.ids().nth(last));
/// let cut = last.filter(|_| answer.len() < page.len());
/// let cut = cut.map(|last| query.cursor_after(last, sample::AS_OF));
/// let cursor = cut.as_ref().or(page.next_cursor()).map(ToString::to_string);
/// let body = answer.finish(cursor.as_deref());
/// assert!(body.starts_with(br#"{"data":{"items":[{"id":""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SearchAnswer {
    items: Items,
    rendering: Rendering,
}

impl SearchAnswer {
    /// Writes the signals of a page, as many as have room: see [`push`](Self::push).
    ///
    /// # Errors
    /// A record is corrupt.
    ///
    /// Cost: half a microsecond a signal while its record is cached, without an allocation for each.
    ///
    /// ```
    /// use signaldex::json::{Rendering, SearchAnswer};
    /// use signaldex::{Query, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let page = snapshot.search(&Query::from_query_string("q=robotics")?, sample::AS_OF)?;
    /// let answer = SearchAnswer::of_page(&snapshot, &page, Rendering::Whole)?;
    /// assert_eq!(answer.len(), page.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_page(snapshot: &Snapshot, page: &Page, rendering: Rendering) -> Result<SearchAnswer> {
        let mut answer = SearchAnswer::with_capacity(page.len(), rendering);
        match rendering {
            Rendering::Whole => snapshot
                .visit_sent_items(page, page.len(), |item| while_room(answer.push_item(item)))?,
            Rendering::Short => snapshot.visit_records(page, |signal, company_name| {
                while_room(answer.push(signal, company_name))
            })?,
        }
        Ok(answer)
    }

    /// Creates an empty answer with capacity for `items` items of typical size.
    pub fn with_capacity(items: usize, rendering: Rendering) -> SearchAnswer {
        SearchAnswer {
            items: Items::after(START, items, ITEM_BYTES),
            rendering,
        }
    }

    /// Adds a signal, unless the answer would then have more than
    /// [`PAGE_BYTES_MAX`](crate::query::limits::PAGE_BYTES_MAX) bytes; the first is always added. Returns whether it was.
    pub fn push(&mut self, signal: &Signal<'_>, company_name: &str) -> bool {
        self.push_view(&SignalView::of(signal, company_name))
    }

    fn push_item(&mut self, item: &SentItem<'_>) -> bool {
        self.items
            .add(item.long_text_bytes(), |bytes| write_sent(bytes, item))
    }

    fn push_view(&mut self, signal: &SignalView<'_>) -> bool {
        match self.rendering {
            Rendering::Whole => self
                .items
                .add(signal.long_text_bytes(), |bytes| write_view(bytes, signal)),
            Rendering::Short => self
                .items
                .add(0, |bytes| write_view(bytes, &shortened(signal))),
        }
    }

    /// As [`push`](Self::push), for an item that [`visit_items`] or [`search_item`] has written.
    pub fn push_written(&mut self, item: &[u8]) -> bool {
        let write = |bytes: &mut Vec<u8>| bytes.extend_from_slice(item);
        self.items.add(item.len(), write)
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is no item yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the answer, without the cursor of the next page.
    ///
    /// ```
    /// use signaldex::json::{Rendering, SearchAnswer};
    ///
    /// let answer = SearchAnswer::with_capacity(0, Rendering::Whole);
    /// assert_eq!(answer.byte_count(), br#"{"data":{"items":["#.len());
    /// ```
    pub fn byte_count(&self) -> usize {
        self.items.byte_count()
    }

    /// Keeps the first `items` items: for a client that may have no more of them.
    ///
    /// ```
    /// use signaldex::json::{Rendering, SearchAnswer};
    /// use signaldex::{Signal, SignalId};
    ///
    /// let mut answer = SearchAnswer::with_capacity(2, Rendering::Whole);
    /// for id in [SignalId::MAX, SignalId::MIN] {
    ///     answer.push(&Signal::new(id, "acme", "Acme hires"), "Acme GmbH");
    /// }
    /// answer.truncate(1);
    /// assert_eq!(answer.len(), 1);
    /// ```
    pub fn truncate(&mut self, items: usize) {
        self.items.truncate(items);
    }

    /// Completes the answer with the cursor of the next page.
    ///
    /// ```
    /// use signaldex::json::{Rendering, SearchAnswer};
    ///
    /// let answer = SearchAnswer::with_capacity(0, Rendering::Whole);
    /// assert!(answer.is_empty());
    /// assert_eq!(answer.finish(None), br#"{"data":{"items":[],"nextCursor":null}}"#);
    /// ```
    pub fn finish(self, next_cursor: Option<&str>) -> Vec<u8> {
        let mut bytes = self.items.into_bytes();
        bytes.extend_from_slice(br#"],"nextCursor":"#);
        write_value(&mut bytes, &next_cursor);
        bytes.extend_from_slice(b"}}");
        bytes
    }
}

/// Calls `visit` with the item of each of the first `limit` signals of a page, in its order, until it returns `Break`: for
/// services that merge pages of several indexes, with [`push_written`](SearchAnswer::push_written).
///
/// # Errors
/// A record is corrupt.
///
/// Cost: that of [`SearchAnswer::of_page`].
///
/// ```
/// use std::ops::ControlFlow;
///
/// use signaldex::json::{Rendering, SearchAnswer, visit_items};
/// use signaldex::{Query, sample};
///
/// let snapshot = sample::index()?.snapshot();
/// let page = snapshot.search(&Query::from_query_string("q=robotics")?, sample::AS_OF)?;
/// let mut answer = SearchAnswer::with_capacity(10, Rendering::Whole);
/// visit_items(&snapshot, &page, 10, Rendering::Whole, |item| {
///     answer.push_written(item);
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!(answer.len(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn visit_items(
    snapshot: &Snapshot,
    page: &Page,
    limit: usize,
    rendering: Rendering,
    mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> Result<()> {
    let mut bytes = Vec::with_capacity(ITEM_BYTES);
    match rendering {
        Rendering::Whole => snapshot.visit_sent_items(page, limit, |item| {
            bytes.clear();
            write_sent(&mut bytes, item);
            visit(&bytes)
        }),
        Rendering::Short => snapshot.visit_first_records(page, limit, |signal, company_name| {
            bytes.clear();
            write_rendered(&mut bytes, signal, company_name, rendering);
            visit(&bytes)
        }),
    }
}

/// Continues if the last item had room.
fn while_room(had_room: bool) -> ControlFlow<()> {
    if had_room {
        ControlFlow::Continue(())
    } else {
        ControlFlow::Break(())
    }
}

/// Writes one item of a [`SearchAnswer`], for [`push_written`](SearchAnswer::push_written).
///
/// ```
/// use signaldex::json::{Rendering, SearchAnswer, search_item};
/// use signaldex::{Signal, SignalId};
///
/// let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
/// let item = search_item(&signal, "Acme GmbH", Rendering::Whole);
/// let mut answer = SearchAnswer::with_capacity(1, Rendering::Whole);
/// assert!(answer.push_written(&item) && answer.len() == 1);
/// ```
pub fn search_item(signal: &Signal<'_>, company_name: &str, rendering: Rendering) -> Vec<u8> {
    let mut output = Vec::with_capacity(ITEM_BYTES);
    write_rendered(&mut output, signal, company_name, rendering);
    output
}

/// Appends as much of a signal as an answer shows.
pub(super) fn write_rendered(
    output: &mut Vec<u8>,
    signal: &Signal<'_>,
    company_name: &str,
    rendering: Rendering,
) {
    let signal = SignalView::of(signal, company_name);
    match rendering {
        Rendering::Whole => write_view(output, &signal),
        Rendering::Short => write_view(output, &shortened(&signal)),
    }
}

/// Appends a signal as a search item on a line of its own, the form of exports.
///
/// ```
/// use signaldex::{Signal, SignalId, json};
///
/// let mut line = Vec::new();
/// json::write_item_line(&mut line, &Signal::new(SignalId::MIN, "acme", "Acme hires"), "Acme GmbH");
/// assert!(line.starts_with(br#"{"id":"1","#) && line.ends_with(b"}\n"));
/// ```
pub fn write_item_line(output: &mut Vec<u8>, signal: &Signal<'_>, company_name: &str) {
    write_item(output, signal, company_name);
    output.push(b'\n');
}

/// Appends a signal as a search item.
///
/// ```
/// use signaldex::{Signal, SignalId, json};
///
/// let mut item = Vec::new();
/// json::write_item(&mut item, &Signal::new(SignalId::MIN, "acme", "Acme hires"), "Acme GmbH");
/// assert!(item.starts_with(br#"{"id":"1","#) && item.ends_with(b"}"));
/// ```
pub fn write_item(output: &mut Vec<u8>, signal: &Signal<'_>, company_name: &str) {
    write_view(output, &SignalView::of(signal, company_name));
}

fn write_view(output: &mut Vec<u8>, signal: &SignalView<'_>) {
    let first = output.len();
    let Ok(()) = visit_members(signal, |name, member| {
        name.write_separated(output);
        write_member(output, member);
        Ok::<(), Infallible>(())
    });
    output[first] = b'{';
    output.push(b'}');
}

/// Writes the value of a member.
#[inline(always)]
pub(super) fn write_member(output: &mut Vec<u8>, member: ItemMember<'_>) {
    match member {
        ItemMember::Id(id) => write_plain(output, Some(text_encoding::id(id))),
        ItemMember::Text(text) => write_text(output, text),
        ItemMember::Day(day) => write_plain(output, day.map(text_encoding::day)),
        ItemMember::Instant(instant) => write_plain(output, instant.map(text_encoding::instant)),
        ItemMember::CompanySlug(text) | ItemMember::CompanyName(text) => {
            write_text(output, Some(text));
        }
        ItemMember::Funding(Some(funding)) => write_funding(output, funding),
        ItemMember::Funding(None) => output.extend_from_slice(b"null"),
    }
}

fn write_funding(output: &mut Vec<u8>, funding: FundingView<'_>) {
    let first = output.len();
    let Ok(()) = visit_funding(funding, |name, member| {
        name.write_separated(output);
        match member {
            FundingMember::Text(text) => write_text(output, text),
            FundingMember::Amount(amount) => write_value(output, &amount.map(AmountNumber)),
        }
        Ok::<(), Infallible>(())
    });
    output[first] = b'{';
    output.push(b'}');
}

/// Writes a text that needs no escapes.
pub(super) fn write_quoted(output: &mut Vec<u8>, text: &[u8]) {
    output.reserve(text.len() + 2);
    output.push(b'"');
    output.extend_from_slice(text);
    output.push(b'"');
}

/// Writes a text in quotes, or null.
pub(super) fn write_text(output: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) if is_plain(text.as_bytes()) => write_quoted(output, text.as_bytes()),
        _ => write_value(output, &text),
    }
}

/// Writes a text that never needs escapes, or null.
pub(super) fn write_plain(output: &mut Vec<u8>, text: Option<Text>) {
    match text {
        Some(text) => text.write_quoted(output),
        None => output.extend_from_slice(b"null"),
    }
}

pub(super) fn write_value(output: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(output, value)
        .expect("texts and numbers are valid JSON, and memory can be written to");
}

#[cfg(test)]
mod tests;
