//! The schemas of answers, and enumerations that parameters and answers share.

use serde_json::{Map, Value, json};

use crate::parameters::ID_PATTERN;
use crate::problem::ProblemCode;
use signaldex::query::{ErrorCode, Facet, Parameter, ParameterKind};

/// Every code in `errors`.
const ERROR_CODES: [ErrorCode; 12] = [
    ErrorCode::UnknownParameter,
    ErrorCode::RepeatedParameter,
    ErrorCode::EmptyValue,
    ErrorCode::InvalidValue,
    ErrorCode::TooLong,
    ErrorCode::TooManyItems,
    ErrorCode::ConflictingParameters,
    ErrorCode::UnsearchableText,
    ErrorCode::MalformedQuery,
    ErrorCode::InvalidCursor,
    ErrorCode::CursorMismatch,
    ErrorCode::InvalidPosition,
];

type Properties = Map<String, Value>;

/// Every schema by its name.
pub(super) fn all() -> Value {
    let mut detail = signal_properties();
    detail.insert("company".into(), reference("CompanyProfile"));
    json!({
        "SignalId": {"type": "string", "pattern": ID_PATTERN, "description": "A string, since 19 digits exceed what a JavaScript number holds."},
        "CompanySize": {"type": "string", "enum": choices(Parameter::Size)},
        "Days": {"type": "string", "enum": choices(Parameter::Days)},
        "DateRange": {"type": "string", "enum": choices(Parameter::DateRanges)},
        "FundingCurrency": {"type": "string", "enum": choices(Parameter::FundingCurrency)},
        "Funding": funding(),
        "Signal": object(signal_properties()),
        "SignalDetail": object(detail),
        "CompanyProfile": object(company_profile()),
        "Company": object(company_properties()),
        "SearchPage": search_page(),
        "SearchResult": envelope("SearchPage"),
        "SignalResult": envelope("SignalDetail"),
        "CompanyResult": envelope("Company"),
        "CategoryOption": option("id"),
        "FilterOption": option("value"),
        "FilterOptions": filter_options(),
        "FilterOptionsResult": envelope("FilterOptions"),
        "Upsert": change("upsert", ("signal", reference("Signal"))),
        "Remove": change("remove", ("id", reference("SignalId"))),
        "Change": {
            "oneOf": [reference("Upsert"), reference("Remove")],
            "discriminator": {"propertyName": "op", "mapping": {
                "upsert": "#/components/schemas/Upsert", "remove": "#/components/schemas/Remove"
            }}
        },
        "Changes": changes(),
        "ChangesResult": envelope("Changes"),
        "Health": object(properties([("status", json!({"type": "string", "const": "ok"}))])),
        "Readiness": readiness(),
        "OpenApiDocument": {"type": "object"},
        "ProblemCode": {"type": "string", "enum": problem_codes()},
        "ParameterErrorCode": {"type": "string", "enum": ERROR_CODES.map(ErrorCode::as_str)},
        "ParameterError": parameter_error(),
        "Problem": problem()
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

fn properties<const N: usize>(properties: [(&str, Value); N]) -> Properties {
    let named = properties.map(|(name, schema)| (name.to_owned(), schema));
    named.into_iter().collect()
}

/// An object of exactly these properties, all of them required.
fn object(properties: Properties) -> Value {
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

fn envelope(data: &str) -> Value {
    object(properties([("data", reference(data))]))
}

fn signal_properties() -> Properties {
    let text = || json!({"type": "string"});
    let optional_text = || json!({"type": ["string", "null"]});
    properties([
        ("id", reference("SignalId")),
        ("slug", text()),
        ("title", text()),
        ("evidence", optional_text()),
        ("category", optional_text()),
        ("date", optional_date()),
        ("publishedAt", optional_instant()),
        ("updatedAt", optional_instant()),
        ("companySlug", text()),
        ("companyName", text()),
        ("activityUrl", optional_text()),
        ("authorName", optional_text()),
        ("authorTitle", optional_text()),
        ("authorUrl", optional_text()),
        (
            "funding",
            json!({"oneOf": [reference("Funding"), {"type": "null"}]}),
        ),
    ])
}

fn optional_date() -> Value {
    json!({"type": ["string", "null"], "format": "date"})
}

fn optional_instant() -> Value {
    json!({"type": ["string", "null"], "format": "date-time"})
}

fn funding() -> Value {
    object(properties([
        ("stage", json!({"type": ["string", "null"]})),
        (
            "amount",
            json!({"type": ["number", "null"], "minimum": 0, "description": "In the currency of the funding."}),
        ),
        (
            "currency",
            json!({"type": ["string", "null"], "pattern": "^[A-Z]{3}$"}),
        ),
    ]))
}

/// The company in a signal's detail.
fn company_profile() -> Properties {
    let optional_text = || json!({"type": ["string", "null"]});
    let optional_number = || json!({"type": ["integer", "null"]});
    properties([
        ("about", optional_text()),
        ("tagline", optional_text()),
        ("logoUrl", optional_text()),
        ("country", optional_text()),
        ("city", optional_text()),
        ("industry", optional_text()),
        ("linkedinUrl", optional_text()),
        ("employees", optional_number()),
        ("foundedYear", optional_number()),
    ])
}

fn company_properties() -> Properties {
    let mut all = company_profile();
    all.extend(properties([
        ("slug", json!({"type": "string"})),
        ("name", json!({"type": "string"})),
        ("signalCount", json!({"type": "integer", "minimum": 0})),
        ("latestSignalDate", optional_date()),
        ("updatedAt", optional_instant()),
    ]));
    all
}

fn search_page() -> Value {
    json!({
        "type": "object", "required": ["items", "nextCursor"], "additionalProperties": false,
        "properties": {
            "items": {"type": "array", "maxItems": 50, "items": reference("Signal")},
            "nextCursor": {"type": ["string", "null"], "maxLength": 512, "description": "The `cursor` of the next page; `null` on the last one."},
            "count": {"type": "integer", "minimum": 0, "description": "Only with `countOnly=true`: the exact number of matches."}
        }
    })
}

fn change(op: &str, of: (&str, Value)) -> Value {
    let op = json!({"type": "string", "const": op});
    object(properties([("op", op), of]))
}

fn changes() -> Value {
    object(properties([
        (
            "changes",
            json!({"type": "array", "maxItems": 50, "items": reference("Change")}),
        ),
        (
            "next",
            json!({"type": "string", "description": "The `since` of the next request."}),
        ),
        (
            "more",
            json!({"type": "boolean", "description": "Whether further changes are already available."}),
        ),
    ]))
}

fn option(value: &str) -> Value {
    object(properties([
        (value, json!({"type": "string"})),
        ("count", json!({"type": "integer", "minimum": 1})),
    ]))
}

fn filter_options() -> Value {
    let list = |facet: &Facet| {
        let name = facet.description().options;
        let item = if *facet == Facet::Category {
            "CategoryOption"
        } else {
            "FilterOption"
        };
        (
            name.to_owned(),
            json!({"type": "array", "items": reference(item)}),
        )
    };
    let lists: serde_json::Map<String, Value> = Facet::ALL.iter().map(list).collect();
    // `facets` can omit lists.
    json!({"type": "object", "properties": lists})
}

fn readiness() -> Value {
    json!({
        "type": "object", "required": ["status", "generation"],
        "properties": {
            "status": {"type": "string", "const": "ready"},
            "generation": {"type": "integer", "minimum": 0, "description": "The generation of the index."},
            "damaged": {
                "type": "boolean", "const": true,
                "description": "Only after a request has failed because a file of the index is damaged or was overwritten; a replica answers 503."
            },
            "following": {
                "type": "object", "description": "Only on a replica: the state of its store.",
                "required": ["newest", "secondsSinceAnswer", "error"],
                "properties": {
                    "newest": {"type": "integer", "minimum": 0},
                    "secondsSinceAnswer": {
                        "type": ["integer", "null"], "minimum": 0,
                        "description": "Seconds since the store last answered; `null` if it has not yet."
                    },
                    "error": {"type": ["string", "null"], "description": "Why the newest generation is not served."}
                }
            }
        }
    })
}

fn problem_codes() -> Vec<&'static str> {
    let mut codes: Vec<&str> = ProblemCode::ALL.iter().map(|code| code.as_str()).collect();
    codes.dedup();
    codes
}

fn parameter_error() -> Value {
    json!({
        "type": "object", "required": ["parameter", "code", "message"],
        "properties": {
            "parameter": {"type": "string", "description": "The name as it was sent; empty if the error is in the query string as a whole."},
            "code": reference("ParameterErrorCode"),
            "message": {"type": "string"}
        }
    })
}

fn problem() -> Value {
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "requestId"],
        "properties": {
            "type": {"type": "string", "format": "uri-reference", "description": "Leads to the error in the API reference."},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": reference("ProblemCode"),
            "requestId": {"type": "string"},
            "errors": {"type": "array", "items": reference("ParameterError"), "description": "Only with status 400: every error of the request."}
        }
    })
}
