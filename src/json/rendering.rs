//! How much of a signal an answer shows: all of it, or what a summary can use.

use serde::{Deserialize, Serialize};

use crate::signal::{Signal, SignalView};

/// Bytes from which on a text is shortened. A summary shows less of each, so it cannot tell where the text
/// went on.
const SHORT_TEXT_BYTES: usize = 2048;

/// How much of a signal [`SearchAnswer`](super::SearchAnswer) and [`ChangesAnswer`](super::ChangesAnswer) write.
///
/// ```
/// use signaldex::json::{Rendering, search_item};
/// use signaldex::{Signal, SignalId};
///
/// let title = "hires ".repeat(1000);
/// let signal = Signal::new(SignalId::MIN, "acme", title.as_str());
/// let item = |rendering| search_item(&signal, "Acme", rendering);
/// assert!(item(Rendering::Whole).len() > 6000);
/// assert!(item(Rendering::Short).len() < 3000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rendering {
    /// As they are.
    Whole,
    /// With the first 2 KiB of each text, for an answer that shows no more of it.
    Short,
}

/// The signal with the start of each text.
pub(super) fn shortened<'s>(signal: &SignalView<'s>) -> SignalView<'s> {
    signal.map_texts(|text| &text[..text.floor_char_boundary(SHORT_TEXT_BYTES)])
}

/// Bytes of the texts of a signal that may be long: most of what its item takes, and never more. For a page of your own
/// that is bounded in bytes.
///
/// ```
/// use signaldex::{Signal, SignalId, json};
///
/// let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
/// assert_eq!(json::text_bytes(&signal), "Acme hires".len());
/// ```
pub fn text_bytes(signal: &Signal<'_>) -> usize {
    SignalView::of(signal, "").long_text_bytes()
}
