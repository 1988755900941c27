//! Compact answers of tools: what the endpoint found, shortened because models pay by the token.
//!
//! Empty members are omitted, and so are those that agents seldom need: slug, timestamps and the author's
//! URL. A signal takes at most [`SIGNAL_BYTES_MAX`] bytes; `cut` names the fields that were shortened.
//!
//! Signals come as the bytes of the API's answer, because those kept under an idempotency key and those of
//! a cluster's nodes are nothing else.

mod companies;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::tools::Tool;
use crate::options::FoundOptions;

/// Maximum bytes of a signal: at most 400 tokens, because a token of this JSON has at least 3.2 bytes.
pub(super) const SIGNAL_BYTES_MAX: usize = 1_280;
/// Maximum bytes of evidence in JSON, which takes what the others leave.
const EVIDENCE_BYTES_MAX: usize = 600;

/// What becomes of a text that is too long.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Excess {
    /// Its start is shown.
    Cut,
    /// It is omitted, because a part of a slug or URL is useless.
    Omit,
}

/// The members of a compact signal before its evidence: name, maximum bytes of the text in JSON, and what
/// becomes of a longer one. That of `funding` is for its stage.
const MEMBERS: [(&str, usize, Excess); 10] = [
    ("id", 20, Excess::Omit),
    ("date", 10, Excess::Omit),
    ("category", 40, Excess::Cut),
    ("title", 200, Excess::Cut),
    ("companySlug", 100, Excess::Omit),
    ("companyName", 100, Excess::Cut),
    ("funding", 40, Excess::Cut),
    ("authorName", 64, Excess::Cut),
    ("authorTitle", 64, Excess::Cut),
    ("activityUrl", 250, Excess::Omit),
];

/// Maximum number of values per facet: if all facets are listed, and if the call names them.
pub(super) const VALUES_MAX: usize = 20;
pub(super) const NAMED_VALUES_MAX: usize = 200;

const CUT_NOTE: &str = "Fields named in cut are shortened; the tool signal returns them whole.";

/// The charge for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct CallUsage {
    pub(super) charged: u64,
    pub(super) unit: &'static str,
    /// Units left this month, if the key has a quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remaining: Option<u64>,
    /// Whether this answer repeats an earlier one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) replayed: bool,
}

/// What an endpoint has found for a tool.
pub(super) enum EndpointResult {
    Count(u64),
    Options(Box<FoundOptions>),
    /// The body of the API's answer.
    Body(Vec<u8>),
}

/// Creates the JSON answer of a tool. `names_lists` says whether the call named the facets it wants.
///
/// # Errors
/// The body does not have the form of the endpoint's answers.
pub(super) fn tool_answer(
    tool: Tool,
    found: &EndpointResult,
    names_lists: bool,
    hints: &[String],
    usage: Option<CallUsage>,
) -> serde_json::Result<String> {
    let answer = Object(Vec::new());
    let answer = match (found, tool) {
        (EndpointResult::Count(count), _) => answer.with("count", Some(count)),
        (EndpointResult::Options(options), _) => add_options(answer, options, names_lists),
        (EndpointResult::Body(body), Tool::Signal) => answer.with("signal", Some(record(body)?)),
        (EndpointResult::Body(body), Tool::Company) => answer.with("company", Some(record(body)?)),
        (EndpointResult::Body(body), Tool::Aggregate) => answer.with("data", Some(record(body)?)),
        (EndpointResult::Body(body), Tool::Changes) => add_changes(answer, body),
        (EndpointResult::Body(body), Tool::Companies) => companies::add(answer, body),
        (EndpointResult::Body(body), _) => add_page(answer, body),
    };
    let hints = (!hints.is_empty()).then_some(hints);
    serde_json::to_string(&answer?.with("hints", hints)?.with("usage", usage)?)
}

/// A JSON object that keeps the order of its members.
struct Object<'n, V>(Vec<(&'n str, V)>);

impl Object<'_, Box<RawValue>> {
    /// Adds a member, if there is a value.
    fn with(
        mut self,
        name: &'static str,
        value: Option<impl Serialize>,
    ) -> serde_json::Result<Self> {
        if let Some(value) = value {
            self.0.push((name, to_raw_value(&value)?));
        }
        Ok(self)
    }
}

impl<V: Serialize> Serialize for Object<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

type AnswerObject = Object<'static, Box<RawValue>>;

fn add_options(
    answer: AnswerObject,
    found: &FoundOptions,
    names_lists: bool,
) -> serde_json::Result<AnswerObject> {
    let values_max = if names_lists {
        NAMED_VALUES_MAX
    } else {
        VALUES_MAX
    };
    // `more` has the number of omitted values of each facet.
    let (mut options, mut more) = (Vec::new(), Vec::new());
    for &facet in &found.facets {
        let (name, values) = (facet.description().options, found.counts.values(facet));
        if values.len() > values_max {
            more.push((name, values.len() - values_max));
        }
        let shown = values.iter().take(values_max);
        let shown = shown.map(|value| (value.label(), value.count()));
        options.push((name, Object(shown.collect())));
    }
    answer
        .with("options", Some(Object(options)))?
        .with("more", Some(Object(more)))
}

/// The envelope of the API's answers.
#[derive(Deserialize)]
struct Envelope<D> {
    data: D,
}

fn record(body: &[u8]) -> serde_json::Result<Box<RawValue>> {
    serde_json::from_slice(body).map(|Envelope { data }| data)
}

fn add_page(answer: AnswerObject, body: &[u8]) -> serde_json::Result<AnswerObject> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct PageBody {
        items: Vec<Map<String, Value>>,
        next_cursor: Option<String>,
    }
    let Envelope { data } = serde_json::from_slice::<Envelope<PageBody>>(body)?;
    let signals: Vec<CompactRecord> = data.items.iter().map(CompactRecord::of_signal).collect();
    let note = note_of_cuts(&signals);
    answer
        .with("signals", Some(signals))?
        .with("nextCursor", data.next_cursor)?
        .with("note", note)
}

/// A change: `upsert` with its signal, or `remove` with its id.
#[derive(Deserialize, Serialize)]
struct CompactChange<S> {
    op: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<S>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
}

fn add_changes(answer: AnswerObject, body: &[u8]) -> serde_json::Result<AnswerObject> {
    #[derive(Deserialize)]
    struct ChangesBody {
        changes: Vec<CompactChange<Map<String, Value>>>,
        next: String,
        more: bool,
    }
    let Envelope { data } = serde_json::from_slice::<Envelope<ChangesBody>>(body)?;
    let changes = data.changes.into_iter().map(|change| CompactChange {
        op: change.op,
        signal: change.signal.as_ref().map(CompactRecord::of_signal),
        id: change.id,
    });
    let changes: Vec<CompactChange<CompactRecord>> = changes.collect();
    let note = note_of_cuts(changes.iter().filter_map(|change| change.signal.as_ref()));
    answer
        .with("changes", Some(changes))?
        .with("next", Some(data.next))?
        .with("more", Some(data.more))?
        .with("note", note)
}

fn note_of_cuts<'c>(signals: impl IntoIterator<Item = &'c CompactRecord>) -> Option<&'static str> {
    let mut signals = signals.into_iter();
    let is_cut = signals.any(|signal| !signal.cut.is_empty());
    is_cut.then_some(CUT_NOTE)
}

/// The compact form of a signal or a company.
#[derive(Default)]
struct CompactRecord {
    members: Vec<(&'static str, Value)>,
    /// The names of the shortened members.
    cut: Vec<&'static str>,
}

impl CompactRecord {
    /// The compact form of a signal of the API.
    fn of_signal(item: &Map<String, Value>) -> CompactRecord {
        let mut compact = CompactRecord::default();
        for (name, bytes_max, excess) in MEMBERS {
            match item.get(name) {
                Some(Value::String(text)) => {
                    let shown = compact.shorten(name, text, bytes_max, excess);
                    compact.add(name, shown);
                }
                Some(Value::Object(funding)) => {
                    let funding = compact.funding(funding, bytes_max);
                    compact.add(name, Some(funding));
                }
                _ => {}
            }
        }
        if let Some(Value::String(evidence)) = item.get("evidence") {
            const FRAME_BYTES: usize = r#","evidence":"","cut":["evidence"]"#.len();
            let left = SIGNAL_BYTES_MAX.saturating_sub(json_bytes(&compact) + FRAME_BYTES);
            let bytes_max = left.min(EVIDENCE_BYTES_MAX);
            let shown = compact.shorten("evidence", evidence, bytes_max, Excess::Cut);
            compact.add("evidence", shown);
        }
        compact
    }

    fn add(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        self.members.extend(value.map(|value| (name, value.into())));
    }

    /// The text, or what is shown of it if it has more than that many bytes in JSON.
    fn shorten(
        &mut self,
        name: &'static str,
        text: &str,
        bytes_max: usize,
        excess: Excess,
    ) -> Option<String> {
        if escaped_bytes(text) <= bytes_max {
            return Some(text.to_owned());
        }
        self.cut.push(name);
        match excess {
            Excess::Cut => start(text, bytes_max),
            Excess::Omit => None,
        }
    }

    fn funding(&mut self, funding: &Map<String, Value>, stage_bytes_max: usize) -> Value {
        let mut shown = funding.clone();
        if let Some(Value::String(stage)) = funding.get("stage") {
            let stage = self.shorten("funding.stage", stage, stage_bytes_max, Excess::Cut);
            shown.insert("stage".to_owned(), json!(stage));
        }
        shown.retain(|_, value| !value.is_null());
        Value::Object(shown)
    }
}

impl Serialize for CompactRecord {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cut = (!self.cut.is_empty()).then(|| ("cut", json!(self.cut)));
        let members = self.members.iter().chain(&cut);
        serializer.collect_map(members.map(|(name, value)| (name, value)))
    }
}

/// The start of a text and a mark, in at most that many bytes of JSON; `None` if not even the mark fits.
fn start(text: &str, bytes_max: usize) -> Option<String> {
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

#[cfg(test)]
mod tests;
