//! The parameters of the document, from the table of the query parser.

use serde_json::{Value, json};

use super::super::changes;
use super::super::export::EXPORT_NAMES;
use super::{ID_PATTERN, NOT_EMPTY};
use crate::corpus::ExportFormat;
use crate::query::{Facet, PARAMETERS, Parameter, ParameterDescription, ParameterKind, list};

/// The search parameters.
pub(super) fn of_search() -> Vec<Value> {
    let parameters = PARAMETERS.iter().map(parameter);
    parameters
        .chain([idempotency_key(REPEATED_KEY), if_none_match()])
        .collect()
}

/// The parameters of filter options: the search filters except lists of ids, and the facets to return.
pub(super) fn of_filter_options() -> Vec<Value> {
    let filters = PARAMETERS
        .iter()
        .filter(|known| known.parameter.is_filter() && !known.parameter.is_of_ids());
    filters.map(parameter).chain([facets()]).collect()
}

/// The parameters of the changes feed: the search filters, a length and a position.
pub(super) fn of_changes() -> Vec<Value> {
    let known = PARAMETERS.iter().filter(|known| is_of_changes(known));
    let parameters = known.map(parameter);
    parameters
        .chain([since(), idempotency_key(REPEATED_KEY), if_none_match()])
        .collect()
}

/// Whether the changes feed takes a search parameter.
pub(in crate::http) fn is_of_changes(known: &ParameterDescription) -> bool {
    known.parameter.is_filter() || known.parameter == Parameter::Limit
}

/// The parameter for the position in the changes feed: name, bounds, meaning and example.
pub(in crate::http) const SINCE: [&str; 4] = [
    changes::SINCE,
    "A position",
    "The `next` of an earlier answer, or `start` for everything that matches; without it, only the present position is returned",
    "start",
];

fn since() -> Value {
    let [name, _, meaning, example] = SINCE;
    json!({
        "name": name, "in": "query", "required": false, "description": format!("{meaning}."),
        "schema": {"type": "string", "minLength": NOT_EMPTY}, "example": example
    })
}

/// The parameters of an export: the search filters, its start and length, and its format.
pub(super) fn of_export() -> Vec<Value> {
    let filters = PARAMETERS
        .iter()
        .filter(|known| known.parameter.is_filter());
    let schemas = [
        json!({"type": "string", "pattern": ID_PATTERN}),
        json!({"type": "integer", "minimum": 1}),
        json!({"type": "string", "enum": ExportFormat::NAMES}),
    ];
    let own = EXPORT.iter().zip(schemas).map(|([name, _, meaning, example], schema)| {
        let example = match schema["type"] == "integer" {
            true => example.parse().map_or(Value::Null, |number: u64| json!(number)),
            false => json!(example),
        };
        json!({
            "name": name, "in": "query", "required": false, "description": format!("{meaning}."),
            "schema": schema, "example": example
        })
    });
    let parameters = filters.map(parameter).chain(own);
    parameters.chain([idempotency_key(EXPORT_KEY)]).collect()
}

/// The parameters that only an export has: name, bounds, meaning and example.
pub(in crate::http) const EXPORT: [[&str; 4]; 3] = [
    [
        EXPORT_NAMES[0],
        "A signal id",
        "Begins after that signal, which need not match any more",
        "7471864829972502442",
    ],
    [
        EXPORT_NAMES[1],
        "A whole number from 1",
        "Ends after so many signals",
        "10000",
    ],
    [
        EXPORT_NAMES[2],
        "ndjson or csv",
        "The form of the answer; without it, the `Accept` header says it, and NDJSON is the default",
        "csv",
    ],
];

pub(super) fn of_signal() -> Vec<Value> {
    let schema = json!({"type": "string", "pattern": ID_PATTERN});
    let id = path_parameter("id", "The id of the signal.", schema, "7477456168553964859");
    vec![id, if_none_match()]
}

pub(super) fn of_company() -> Vec<Value> {
    let schema = json!({"type": "string", "minLength": NOT_EMPTY});
    let slug = path_parameter(
        "slug",
        "The `companySlug` of a signal.",
        schema,
        "sao-bento-agro",
    );
    vec![slug, if_none_match()]
}

fn path_parameter(name: &str, description: &str, schema: Value, example: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "description": description,
        "schema": schema, "example": example
    })
}

/// The effect of an idempotency key on requests other than exports.
pub(in crate::http) const REPEATED_KEY: &str = "A repeated request with the same key and parameters returns the same items for 24 hours and is charged once.";

/// The effect of an idempotency key on an export.
pub(in crate::http) const EXPORT_KEY: &str = "Names an export with these filters: what was charged under it is not charged again within 24 hours, whatever `after`, `maxItems` and `format` are.";

fn idempotency_key(description: &str) -> Value {
    json!({
        "name": "Idempotency-Key", "in": "header", "required": false,
        "description": description,
        "schema": {"type": "string", "minLength": 8, "maxLength": 128, "pattern": "^[!-~]{8,128}$"},
        "example": "0f8fad5b-d9cb-469f"
    })
}

fn if_none_match() -> Value {
    json!({
        "name": "If-None-Match", "in": "header", "required": false,
        "description": "The `ETag` of a stored answer; if it is unchanged, the answer is 304 and free.",
        "schema": {"type": "string"}, "example": "W/\"0123456789abcdef01234567\""
    })
}

/// The parameter of filter options for the facets to return: name, meaning and example.
pub(in crate::http) const FACETS: [&str; 3] = [
    "facets",
    "The lists to return; all of them if left out",
    "countries,sizes",
];
/// Its values.
pub(in crate::http) const FACETS_KIND: ParameterKind = ParameterKind::ChoiceList {
    items: Facet::LIST_NAMES.len(),
    choices: &Facet::LIST_NAMES,
};

fn facets() -> Value {
    let [name, meaning, example] = FACETS;
    let names = Facet::LIST_NAMES;
    json!({
        "name": name, "in": "query", "required": false, "description": format!("{meaning}."),
        "style": "form", "explode": false,
        "schema": array(Some(names.len()), json!({"type": "string", "enum": names})),
        "example": example_items(example)
    })
}

/// A search parameter with its bounds and an example.
fn parameter(known: &ParameterDescription) -> Value {
    let description = format!("{} {}.", known.description, bounds(known.kind));
    let mut parameter = json!({
        "name": known.name, "in": "query", "required": false, "description": description,
        "schema": schema(known), "example": example(known)
    });
    if parameter["schema"]["type"] == "array" {
        parameter["style"] = json!("form");
        parameter["explode"] = json!(false);
    }
    if known.parameter == Parameter::Limit {
        parameter["schema"]["default"] = json!(50);
    }
    parameter
}

fn example(known: &ParameterDescription) -> Value {
    match known.kind {
        ParameterKind::Number(_) | ParameterKind::Amount => known
            .example
            .parse::<u64>()
            .map_or_else(|_| json!(known.example), |number| json!(number)),
        ParameterKind::Flag => json!(known.example == "true"),
        ParameterKind::List { .. }
        | ParameterKind::AttributeList(_)
        | ParameterKind::IdList(_)
        | ParameterKind::ChoiceList { .. } => example_items(known.example),
        ParameterKind::Cursor(_) => json!("AQD_UAAAkU4"),
        _ => json!(known.example),
    }
}

/// The items of an example list, quoted if they contain a comma.
fn example_items(list: &str) -> Value {
    let items = list::split(list).unwrap_or_default();
    items.iter().map(|item| list::join([item])).collect()
}

fn schema(known: &ParameterDescription) -> Value {
    match known.kind {
        ParameterKind::Text(chars) | ParameterKind::Cursor(chars) => {
            json!({"type": "string", "minLength": NOT_EMPTY, "maxLength": chars})
        }
        // A quoted item may have twice the characters of its text, so its length is given only in words.
        ParameterKind::List { items, .. } => array(
            Some(items),
            json!({"type": "string", "minLength": NOT_EMPTY}),
        ),
        ParameterKind::AttributeList(_) => {
            array(None, json!({"type": "string", "minLength": NOT_EMPTY}))
        }
        ParameterKind::IdList(items) => array(Some(items), named("SignalId")),
        ParameterKind::Choice(_) => match known.parameter {
            Parameter::Size => named("CompanySize"),
            Parameter::Days => named("Days"),
            _ => named("FundingCurrency"),
        },
        ParameterKind::ChoiceList { items, .. } => array(Some(items), named("DateRange")),
        ParameterKind::Date => {
            json!({"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})
        }
        ParameterKind::Amount => json!({"type": "number", "minimum": 0}),
        ParameterKind::Number(max) => json!({"type": "integer", "minimum": 1, "maximum": max}),
        ParameterKind::Flag => json!({"type": "boolean"}),
    }
}

fn array(max_items: Option<usize>, item: Value) -> Value {
    let mut array = json!({"type": "array", "minItems": 1, "items": item});
    if let Some(items) = max_items {
        array["maxItems"] = json!(items);
    }
    array
}

fn named(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

/// The limits of a parameter as text.
pub(in crate::http) fn bounds(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Text(chars) => format!("At most {chars} characters"),
        ParameterKind::Cursor(chars) => format!("A cursor, at most {chars} characters"),
        ParameterKind::List { items, chars } => {
            format!("1 to {items} items of 1 to {chars} characters, comma-separated")
        }
        ParameterKind::AttributeList(chars) => {
            format!("Comma-separated IDs, at most {chars} characters in all")
        }
        ParameterKind::IdList(items) => format!("1 to {items} signal ids, comma-separated"),
        ParameterKind::Choice(choices) => format!("One of {}", choices.join(", ")),
        ParameterKind::ChoiceList { items, choices } => {
            format!("1 to {items} of {}", choices.join(", "))
        }
        ParameterKind::Date => "A calendar date, YYYY-MM-DD".to_owned(),
        ParameterKind::Amount => "A finite number, at least 0".to_owned(),
        ParameterKind::Number(max) => format!("A whole number from 1 to {max}"),
        ParameterKind::Flag => "true or false".to_owned(),
    }
}
