//! Compact answers of tools: the body of the endpoint, shortened because models pay by the token.
//!
//! Empty members are omitted, and so are those that agents seldom need: slug, timestamps and the author's
//! URL. A signal takes at most [`SIGNAL_BYTES_MAX`] bytes; `cut` names the fields that were shortened.

use std::collections::HashMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

use super::tools::Tool;
use crate::query::Facet;

/// Maximum bytes of a signal: at most 400 tokens, because a token of this JSON has at least 3.2 bytes.
pub(super) const SIGNAL_BYTES_MAX: usize = 1_280;
/// Maximum bytes of each text in JSON. Evidence takes what the others leave, up to its own limit.
const EVIDENCE_BYTES_MAX: usize = 600;
const TITLE_BYTES_MAX: usize = 200;
const COMPANY_NAME_BYTES_MAX: usize = 100;
const AUTHOR_BYTES_MAX: usize = 64;
const ID_BYTES_MAX: usize = 40;
/// Maximum bytes of a slug or URL. Longer ones are omitted, because a part of one is useless.
const SLUG_BYTES_MAX: usize = 100;
const ADDRESS_BYTES_MAX: usize = 250;
/// Maximum number of values per facet: if all facets are listed, and if the call names them.
pub(super) const VALUES_MAX: usize = 20;
pub(super) const NAMED_VALUES_MAX: usize = 200;

const CUT_NOTE: &str = "Texts that cut names are shortened; the tool signal has the whole ones.";
const NOTHING_NOTE: &str = "Nothing matches; the tool options lists the values of filters.";

/// The charge for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Usage {
    pub(super) charged: u64,
    pub(super) unit: &'static str,
    /// Units left this month, if the key has a quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remaining: Option<u64>,
    /// Whether this answer repeats an earlier one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) replayed: bool,
}

/// Creates the JSON answer of a tool from the body of its endpoint. `names_lists` says whether the call
/// named the facets it wants.
///
/// # Errors
/// The body does not have the form of the endpoint's answers.
pub(super) fn answer(
    tool: Tool,
    body: &[u8],
    names_lists: bool,
    usage: Option<Usage>,
) -> serde_json::Result<String> {
    match tool {
        Tool::Search => page(body, usage),
        Tool::Count => count(body, usage),
        Tool::Options => options(body, names_lists, usage),
        Tool::Signal | Tool::Company => record(tool, body, usage),
        Tool::Changes => changes(body, usage),
    }
}

#[derive(Deserialize)]
struct Body<D> {
    data: D,
}

/// A signal in the body of an endpoint.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item {
    id: String,
    title: String,
    evidence: Option<String>,
    category: Option<String>,
    date: Option<String>,
    company_slug: String,
    company_name: String,
    activity_url: Option<String>,
    author_name: Option<String>,
    author_title: Option<String>,
    funding: Option<Funding>,
}

#[derive(Deserialize, Serialize)]
struct Funding {
    #[serde(skip_serializing_if = "Option::is_none")]
    stage: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<serde_json::Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

/// The compact form of a signal.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Compact {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    category: Option<String>,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    company_slug: Option<String>,
    company_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    funding: Option<Funding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    author_title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    activity_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cut: Vec<&'static str>,
}

impl Item {
    fn compact(self) -> Compact {
        let mut cut = Vec::new();
        let mut compact = Compact {
            id: self.id,
            date: self.date,
            category: shorten(self.category, ID_BYTES_MAX, "category", &mut cut),
            title: shorten(Some(self.title), TITLE_BYTES_MAX, "title", &mut cut)
                .unwrap_or_default(),
            company_slug: keep(
                Some(self.company_slug),
                SLUG_BYTES_MAX,
                "companySlug",
                &mut cut,
            ),
            company_name: shorten(
                Some(self.company_name),
                COMPANY_NAME_BYTES_MAX,
                "companyName",
                &mut cut,
            )
            .unwrap_or_default(),
            funding: self.funding.map(|funding| Funding {
                stage: shorten(funding.stage, ID_BYTES_MAX, "funding.stage", &mut cut),
                ..funding
            }),
            author_name: shorten(self.author_name, AUTHOR_BYTES_MAX, "authorName", &mut cut),
            author_title: shorten(self.author_title, AUTHOR_BYTES_MAX, "authorTitle", &mut cut),
            activity_url: keep(
                self.activity_url,
                ADDRESS_BYTES_MAX,
                "activityUrl",
                &mut cut,
            ),
            evidence: None,
            cut,
        };
        let Some(evidence) = self.evidence else {
            return compact;
        };
        const FRAME_BYTES: usize = r#","evidence":"","cut":["evidence"]"#.len();
        let taken = json_bytes(&compact) + FRAME_BYTES;
        let left = SIGNAL_BYTES_MAX
            .saturating_sub(taken)
            .min(EVIDENCE_BYTES_MAX);
        compact.evidence = shorten(Some(evidence), left, "evidence", &mut compact.cut);
        compact
    }
}

/// Shortens a text to at most that many bytes in JSON, and adds its name to `cut` if it was longer.
fn shorten(
    text: Option<String>,
    bytes_max: usize,
    name: &'static str,
    cut: &mut Vec<&'static str>,
) -> Option<String> {
    let text = text?;
    if escaped_bytes(&text) <= bytes_max {
        return Some(text);
    }
    cut.push(name);
    const MARK: char = '…';
    let mut left = bytes_max.checked_sub(MARK.len_utf8())?;
    // `left` is the number of bytes left after the characters so far.
    let end = text.char_indices().find(|&(_, letter)| {
        let bytes = escaped_bytes(letter.encode_utf8(&mut [0; 4]));
        let is_over = bytes > left;
        left = left.saturating_sub(bytes);
        is_over
    });
    let kept = &text[..end.map_or(text.len(), |(index, _)| index)];
    Some(format!("{}{MARK}", kept.trim_end()))
}

/// Omits a text if it is too long, and then adds its name to `cut`.
fn keep(
    text: Option<String>,
    bytes_max: usize,
    name: &'static str,
    cut: &mut Vec<&'static str>,
) -> Option<String> {
    let is_short = escaped_bytes(text.as_deref()?) <= bytes_max;
    if !is_short {
        cut.push(name);
    }
    text.filter(|_| is_short)
}

/// Bytes of a text in JSON, without quotes.
fn escaped_bytes(text: &str) -> usize {
    let extra = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 1,
        0..0x20 => 5,
        _ => 0,
    });
    text.len() + extra.sum::<usize>()
}

pub(super) fn json_bytes(value: &impl Serialize) -> usize {
    serde_json::to_string(value).map_or(0, |text| text.len())
}

/// A page of signals.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    items: Vec<Item>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CompactPage {
    signals: Vec<Compact>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

fn page(body: &[u8], usage: Option<Usage>) -> serde_json::Result<String> {
    let Body { data } = serde_json::from_slice::<Body<Page>>(body)?;
    let signals: Vec<Compact> = data.items.into_iter().map(Item::compact).collect();
    let note = match signals.as_slice() {
        [] => Some(NOTHING_NOTE),
        some => note_of_cuts(some.iter()),
    };
    serde_json::to_string(&CompactPage {
        signals,
        next_cursor: data.next_cursor,
        note,
        usage,
    })
}

fn note_of_cuts<'c>(mut signals: impl Iterator<Item = &'c Compact>) -> Option<&'static str> {
    signals
        .any(|signal| !signal.cut.is_empty())
        .then_some(CUT_NOTE)
}

fn count(body: &[u8], usage: Option<Usage>) -> serde_json::Result<String> {
    #[derive(Deserialize)]
    struct Counted {
        count: u64,
    }
    #[derive(Serialize)]
    struct Answer {
        count: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    }
    let Body {
        data: Counted { count },
    } = serde_json::from_slice(body)?;
    serde_json::to_string(&Answer { count, usage })
}

/// A value of a facet.
#[derive(Deserialize, Serialize)]
struct Choice {
    #[serde(alias = "id")]
    value: String,
    count: u64,
}

/// A JSON object that keeps the order of its members.
struct Ordered<V>(Vec<(String, V)>);

impl<V: Serialize> Serialize for Ordered<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

fn options(body: &[u8], names_lists: bool, usage: Option<Usage>) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Answer {
        options: Ordered<Ordered<u64>>,
        /// The number of omitted values per facet.
        more: Ordered<usize>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    }
    let mut lists = serde_json::from_slice::<Body<HashMap<String, Vec<Choice>>>>(body)?.data;
    let values_max = if names_lists {
        NAMED_VALUES_MAX
    } else {
        VALUES_MAX
    };
    let (mut options, mut more) = (Vec::new(), Vec::new());
    for name in Facet::LIST_NAMES {
        let Some(mut values) = lists.remove(name) else {
            continue;
        };
        if values.len() > values_max {
            more.push((name.to_owned(), values.len() - values_max));
            values.truncate(values_max);
        }
        let values = values
            .into_iter()
            .map(|choice| (choice.value, choice.count));
        options.push((name.to_owned(), Ordered(values.collect())));
    }
    serde_json::to_string(&Answer {
        options: Ordered(options),
        more: Ordered(more),
        usage,
    })
}

/// A complete record.
#[derive(Serialize)]
struct Whole<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    company: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

fn record(tool: Tool, body: &[u8], usage: Option<Usage>) -> serde_json::Result<String> {
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        data: &'a RawValue,
    }
    let Body { data } = serde_json::from_slice(body)?;
    serde_json::to_string(&Whole {
        signal: (tool == Tool::Signal).then_some(data),
        company: (tool == Tool::Company).then_some(data),
        usage,
    })
}

/// A change: `upsert` with its signal, or `remove` with its id.
#[derive(Deserialize, Serialize)]
struct Change<S> {
    op: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<S>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

fn changes(body: &[u8], usage: Option<Usage>) -> serde_json::Result<String> {
    #[derive(Deserialize)]
    struct Changes {
        changes: Vec<Change<Item>>,
        next: String,
        more: bool,
    }
    #[derive(Serialize)]
    struct Answer {
        changes: Vec<Change<Compact>>,
        next: String,
        more: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    }
    let found = serde_json::from_slice::<Body<Changes>>(body)?.data;
    let changes = found.changes.into_iter().map(|change| Change {
        op: change.op,
        signal: change.signal.map(Item::compact),
        id: change.id,
    });
    let changes: Vec<Change<Compact>> = changes.collect();
    let signals = changes.iter().filter_map(|change| change.signal.as_ref());
    let note = note_of_cuts(signals);
    serde_json::to_string(&Answer {
        changes,
        next: found.next,
        more: found.more,
        note,
        usage,
    })
}

#[cfg(test)]
mod tests;
