//! The schemas of answers, and enumerations that parameters and answers share.

use serde_json::{Map, Value, json};

use crate::fields::{CHANGES, OBJECTS};
use crate::parameters::ID_PATTERN;
use crate::problem::{PARAMETER_ERRORS, ProblemCode};
use signaldex::query::{Parameter, ParameterKind};

/// Every schema by its name.
pub(super) fn all() -> Value {
    let objects = OBJECTS.iter();
    let mut schemas: Map<String, Value> = objects
        .map(|object| (object.name.to_owned(), object.schema(reference)))
        .collect();
    schemas.extend(closed_sets());
    schemas.insert("Change".into(), change());
    Value::Object(schemas)
}

/// The schemas of single values.
fn closed_sets() -> Map<String, Value> {
    let named = |name: &str, schema: Value| (name.to_owned(), schema);
    let choice = |name, parameter: Parameter| {
        let description = format!("Values of `{}`.", parameter.name());
        let schema =
            json!({"type": "string", "enum": choices(parameter), "description": description});
        named(name, schema)
    };
    let codes = PARAMETER_ERRORS.map(|(code, meaning)| (code.as_str(), meaning));
    [
        named(
            "SignalId",
            json!({"type": "string", "pattern": ID_PATTERN, "description": "A string, since 19 digits exceed what a JavaScript number holds."}),
        ),
        choice("CompanySize", Parameter::Size),
        choice("Days", Parameter::Days),
        choice("DateRange", Parameter::DateRanges),
        choice("FundingCurrency", Parameter::FundingCurrency),
        choice("Order", Parameter::Order),
        named(
            "OpenApiDocument",
            json!({"type": "object", "description": "An OpenAPI 3.1 document."}),
        ),
        named("ProblemCode", codes_with_meanings(problem_codes())),
        named("ParameterErrorCode", codes_with_meanings(codes)),
    ]
    .into_iter()
    .collect()
}

/// A closed set of codes, each explained in the description. Answers may gain codes.
fn codes_with_meanings<'c>(codes: impl IntoIterator<Item = (&'c str, &'c str)>) -> Value {
    let mut description = "More codes may be added.".to_owned();
    let mut names = Vec::new();
    for (code, meaning) in codes {
        description.push_str(&format!("\n- `{code}`: {meaning}."));
        names.push(code);
    }
    json!({"type": "string", "enum": names, "description": description})
}

/// Every code with its first title; two statuses may share a code.
fn problem_codes() -> Vec<(&'static str, &'static str)> {
    let codes = ProblemCode::ALL.iter();
    let mut codes: Vec<(&str, &str)> = codes.map(|code| (code.as_str(), code.title())).collect();
    codes.dedup_by_key(|(code, _)| *code);
    codes
}

fn change() -> Value {
    let target = |name: &str| format!("#/components/schemas/{name}");
    let [upsert, remove] = CHANGES;
    json!({
        "oneOf": CHANGES.map(reference),
        "discriminator": {"propertyName": "op", "mapping": {
            "upsert": target(upsert), "remove": target(remove)
        }}
    })
}

fn choices(parameter: Parameter) -> &'static [&'static str] {
    match parameter.description().kind {
        ParameterKind::Choice(choices) | ParameterKind::ChoiceList { choices, .. } => choices,
        _ => &[],
    }
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}
