//! How much of a signal an answer shows: all of it, or what a summary can use.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::signal::{Funding, Signal};

/// Bytes from which on a text is shortened. A summary shows less of each, so it cannot tell where the text
/// went on.
pub(crate) const SHORT_TEXT_BYTES: usize = 2048;

/// How signals are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Rendering {
    /// As they are.
    Whole,
    /// With the start of each text, for an answer that shows no more of it.
    Short,
}

/// The signal with the start of each text.
pub(super) fn shortened<'a>(signal: &'a Signal<'_>) -> Signal<'a> {
    let text = |text: &'a str| Cow::Borrowed(start(text));
    let optional = |value: &'a Option<Cow<'_, str>>| value.as_deref().map(text);
    Signal {
        id: signal.id,
        slug: text(&signal.slug),
        title: text(&signal.title),
        evidence: optional(&signal.evidence),
        category: optional(&signal.category),
        date: signal.date,
        published_at: signal.published_at,
        updated_at: signal.updated_at,
        company_slug: text(&signal.company_slug),
        activity_url: optional(&signal.activity_url),
        author_name: optional(&signal.author_name),
        author_title: optional(&signal.author_title),
        author_url: optional(&signal.author_url),
        funding: signal.funding.as_ref().map(|funding| Funding {
            stage: optional(&funding.stage),
            ..*funding
        }),
        hiring: None,
    }
}

/// Bytes of the texts of a signal that may be long: most of what it takes, and never more.
pub(crate) fn text_bytes(signal: &Signal<'_>) -> usize {
    signal.title.len() + signal.evidence.as_ref().map_or(0, |text| text.len())
}

/// The start of a text, if it is long.
pub(super) fn start(text: &str) -> &str {
    &text[..text.floor_char_boundary(SHORT_TEXT_BYTES)]
}
