//! The schemas of the answers of tools, whose records are described by the table of fields.

use serde_json::{Map, Value, json};

use super::tools::Tool;
use crate::fields::ObjectDescription;

const SIGNALS: &str = "With the members that the tool signal describes, if they have a value, but slug, publishedAt, \
    updatedAt and authorUrl; cut names shortened ones.";
const NOTE: &str = "What to know about this answer.";
const NEXT_CURSOR: &str = "The cursor of the next page.";
const CHANGES: &str = "op is upsert with the signal as it is now, or remove with the id of one that no longer matches. Signals are as in search.";
const OPTIONS: &str = "Of each list, the values with their numbers of signals.";
const MORE_OPTIONS: &str = "Of each list, how many values were left out.";
const DATA: &str = "groups (key, count, companies, amounts per currency), truncated, totals.";
const COMPANIES: &str = "Members as in company, if they have a value; matches has count and latestDate for each \
    condition of has; cut names shortened ones.";
const FACETS: &str = "Numbers of companies by value.";
const USAGE: &str = "Units charged, units remaining this month, replayed if repeated.";

/// The schema of what a tool answers. Nothing is required, because errors come in another form.
pub(super) fn schema(tool: Tool) -> Value {
    let list = |description| {
        described(
            json!({"type": "array", "items": {"type": "object"}}),
            description,
        )
    };
    let text = |description| described(json!({"type": "string"}), description);
    let object = |description| described(json!({"type": "object"}), description);
    let members = match tool {
        Tool::Search => vec![
            ("signals", list(SIGNALS)),
            ("nextCursor", text(NEXT_CURSOR)),
            ("note", text(NOTE)),
        ],
        Tool::Count => vec![(
            "count",
            described(json!({"type": "integer"}), "The exact number of matches."),
        )],
        Tool::Options => vec![("options", object(OPTIONS)), ("more", object(MORE_OPTIONS))],
        Tool::Signal => vec![(
            "signal",
            described(record("SignalDetail"), "The whole record."),
        )],
        Tool::Aggregate => vec![("data", object(DATA))],
        Tool::Companies => vec![
            ("companies", list(COMPANIES)),
            ("nextCursor", text(NEXT_CURSOR)),
            (
                "count",
                described(json!({"type": "integer"}), "With countOnly."),
            ),
            ("facets", object(FACETS)),
            ("note", text(NOTE)),
        ],
        Tool::Company => vec![("company", described(record("Company"), "The whole record."))],
        Tool::Changes => vec![
            ("changes", list(CHANGES)),
            ("next", text("The since of the next call.")),
            (
                "more",
                described(
                    json!({"type": "boolean"}),
                    "Whether further changes are already there.",
                ),
            ),
            ("note", text(NOTE)),
        ],
    };
    let members = members.into_iter().chain([("usage", object(USAGE))]);
    let members: Map<String, Value> = members
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({"type": "object", "properties": members})
}

fn described(mut schema: Value, description: &str) -> Value {
    schema["description"] = json!(description);
    schema
}

/// An object of the table with those in it, in as few bytes as a model needs.
fn record(name: &str) -> Value {
    let Some(object) = ObjectDescription::of_name(name) else {
        return json!({"type": "string"});
    };
    let fields = object.fields().map(|field| {
        let full = field.schema(record);
        let mut schema = json!({"description": field.meaning.replace('`', "")});
        for name in ["type", "oneOf", "properties"] {
            if !full[name].is_null() {
                schema[name] = full[name].clone();
            }
        }
        (field.name.to_owned(), schema)
    });
    let fields: Map<String, Value> = fields.collect();
    json!({"type": "object", "properties": fields})
}
