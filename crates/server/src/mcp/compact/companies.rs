//! Compact companies, and numbers of them.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{AnswerObject, CompactRecord, Envelope, Excess, NAMED_VALUES_MAX, Object};

/// The members of a compact company: name, maximum bytes of the text in JSON, and what becomes of a longer one. Those of
/// other types are shown as they are.
const MEMBERS: [(&str, usize, Excess); 12] = [
    // The longest slug in JSON is that of 180 characters of six bytes each.
    ("slug", 1080, Excess::Omit),
    ("name", 100, Excess::Cut),
    ("tagline", 100, Excess::Cut),
    ("about", 200, Excess::Cut),
    ("country", 64, Excess::Cut),
    ("city", 64, Excess::Cut),
    ("employees", 0, Excess::Omit),
    ("industry", 64, Excess::Cut),
    ("foundedYear", 0, Excess::Omit),
    ("signalCount", 0, Excess::Omit),
    ("latestSignalDate", 10, Excess::Omit),
    ("matches", 0, Excess::Omit),
];

const CUT_NOTE: &str = "Fields named in cut are shortened; the tool company returns them whole.";

/// The data of an answer with companies.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompaniesBody {
    items: Vec<Map<String, Value>>,
    next_cursor: Option<String>,
    count: Option<u64>,
    #[serde(default)]
    facets: Map<String, Value>,
}

/// Adds a page of companies, or their number and facets.
pub(super) fn add(answer: AnswerObject, body: &[u8]) -> serde_json::Result<AnswerObject> {
    let Envelope { data } = serde_json::from_slice::<Envelope<CompaniesBody>>(body)?;
    if let Some(count) = data.count {
        let answer = answer.with("count", Some(count))?;
        return if data.facets.is_empty() {
            Ok(answer)
        } else {
            add_facets(answer, &data.facets)
        };
    }
    let companies: Vec<CompactRecord> = data.items.iter().map(compact).collect();
    let is_cut = companies.iter().any(|company| !company.cut.is_empty());
    answer
        .with("companies", Some(companies))?
        .with("nextCursor", data.next_cursor)?
        .with("note", is_cut.then_some(CUT_NOTE))
}

/// The compact form of a company of the API.
fn compact(item: &Map<String, Value>) -> CompactRecord {
    let mut compact = CompactRecord::default();
    for (name, bytes_max, excess) in MEMBERS {
        match item.get(name) {
            Some(Value::String(text)) => {
                let shown = compact.shorten(name, text, bytes_max, excess);
                compact.add(name, shown);
            }
            None | Some(Value::Null) => {}
            Some(Value::Array(matches)) => {
                let matches: Vec<Value> = matches.iter().map(without_nulls).collect();
                compact.add(name, (!matches.is_empty()).then_some(matches));
            }
            Some(other) => compact.add(name, Some(other.clone())),
        }
    }
    compact
}

fn without_nulls(value: &Value) -> Value {
    let mut value = value.clone();
    if let Value::Object(members) = &mut value {
        members.retain(|_, value| !value.is_null());
    }
    value
}

/// Adds lists of values with their numbers of companies, and how many values are left out.
fn add_facets(
    answer: AnswerObject,
    facets: &Map<String, Value>,
) -> serde_json::Result<AnswerObject> {
    #[derive(Deserialize)]
    struct FacetValueJson {
        value: String,
        count: u64,
    }
    let (mut lists, mut more) = (Vec::new(), Vec::new());
    for (name, list) in facets {
        let values = Vec::<FacetValueJson>::deserialize(list)?;
        if values.len() > NAMED_VALUES_MAX {
            more.push((&**name, values.len() - NAMED_VALUES_MAX));
        }
        lists.push((&**name, values));
    }
    let lists = lists.iter().map(|(name, values)| {
        let shown = values.iter().take(NAMED_VALUES_MAX);
        let shown = shown.map(|value| (&*value.value, value.count));
        (*name, Object(shown.collect()))
    });
    answer
        .with("facets", Some(Object(lists.collect())))?
        .with("more", (!more.is_empty()).then_some(Object(more)))
}
