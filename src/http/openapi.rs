//! The description of the interface for programs, made from the tables that requests are checked by.

use serde_json::{Map, Value, json};

use super::problem::Code;
use crate::query::{Facet, FaultCode, PARAMETERS, ParameterDescription, ParameterKind};

/// A signal id, as parameters and paths write it.
const ID_PATTERN: &str = "^[1-9][0-9]{0,18}$";
/// Characters of the shortest value; an empty one is refused.
const NOT_EMPTY: u32 = 1;

/// Every code that may stand in `errors`.
const FAULT_CODES: [FaultCode; 11] = [
    FaultCode::UnknownParameter,
    FaultCode::RepeatedParameter,
    FaultCode::EmptyValue,
    FaultCode::InvalidValue,
    FaultCode::TooLong,
    FaultCode::TooManyItems,
    FaultCode::ConflictingParameters,
    FaultCode::UnsearchableText,
    FaultCode::MalformedQuery,
    FaultCode::InvalidCursor,
    FaultCode::CursorMismatch,
];

/// The OpenAPI 3.1 document of the service.
pub fn document() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "signaldex",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "A read-only interface for searching signals, activities of companies, and for reading single signals and companies.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"}
        },
        "servers": [{"url": "/"}],
        "security": [{"apiKey": []}],
        "paths": paths(),
        "components": {
            "securitySchemes": {"apiKey": {
                "type": "http", "scheme": "bearer", "bearerFormat": "sdx_ and 43 base64url characters"
            }},
            "headers": headers(),
            "responses": problem_responses(),
            "schemas": schemas()
        }
    })
}

fn paths() -> Value {
    let search: Vec<Value> = PARAMETERS
        .iter()
        .map(parameter)
        .chain([idempotency_key(), if_none_match()])
        .collect();
    let filters: Vec<Value> = PARAMETERS
        .iter()
        .filter(|known| known.parameter.is_filter() && !known.parameter.is_of_ids())
        .map(parameter)
        .collect();
    let id = path_parameter(
        "id",
        json!({"type": "string", "pattern": ID_PATTERN}),
        "9999999999999999999",
    );
    let slug = path_parameter(
        "slug",
        json!({"type": "string", "minLength": NOT_EMPTY}),
        "pomelora",
    );
    let metered = [Code::InvalidRequest, Code::QuotaExceeded];
    let searched = [
        Code::InvalidRequest,
        Code::QuotaExceeded,
        Code::RequestInProgress,
        Code::IdempotencyKeyReused,
        Code::UriTooLong,
    ];
    let detailed = [metered.as_slice(), &[Code::NotFound]].concat();
    json!({
        "/api/v1/signals": keyed("searchSignals", "Search signals; charged by the item", search, "SearchResult", true, &searched),
        "/api/v1/signals/{id}": keyed("getSignal", "Read a signal with its company; charged one activity", vec![id, if_none_match()], "SignalResult", true, &detailed),
        "/api/v1/companies/{slug}": keyed("getCompany", "Read a company; needs the scope companies:read; charged one company", vec![slug, if_none_match()], "CompanyResult", true, &detailed),
        "/api/v1/filter-options": keyed("getFilterOptions", "Values to filter on, with counts, each list lifted from its own filter; not billed", filters, "FilterOptionsResult", false, &[Code::InvalidRequest, Code::QuotaExceeded, Code::UriTooLong]),
        "/healthz": open_page("getHealth", "Whether the process answers", "application/json", &[]),
        "/readyz": open_page("getReadiness", "Whether the process can answer searches", "application/json", &[Code::Overloaded]),
        "/openapi.json": open_page("getOpenApi", "This document", "application/json", &[]),
        "/docs": open_page("getDocs", "A page for people", "text/html", &[])
    })
}

/// GET and HEAD of an endpoint that needs a key.
fn keyed(
    name: &str,
    summary: &str,
    parameters: Vec<Value>,
    schema: &str,
    is_tagged: bool,
    errors: &[Code],
) -> Value {
    let always = [
        Code::Unauthorized,
        Code::Forbidden,
        Code::RateLimited,
        Code::Internal,
        Code::Overloaded,
    ];
    let mut responses = error_responses(errors.iter().chain(&always));
    let mut head_responses = responses.clone();
    let mut answer_headers = json!({
        "X-Request-Id": header("RequestId"), "RateLimit": header("RateLimit"), "RateLimit-Policy": header("RateLimitPolicy")
    });
    if is_tagged {
        for (shown, component) in [
            ("ETag", "ETag"),
            ("X-Usage-Charged", "UsageCharged"),
            ("X-Usage-Remaining", "UsageRemaining"),
            ("Idempotency-Replayed", "IdempotencyReplayed"),
        ] {
            answer_headers[shown] = header(component);
        }
        let held = json!({"description": "The client has the answer already; nothing is charged"});
        responses.insert("304".into(), held.clone());
        head_responses.insert("304".into(), held);
    }
    let content =
        json!({"application/json": {"schema": {"$ref": format!("#/components/schemas/{schema}")}}});
    responses.insert(
        "200".into(),
        json!({"description": "The result", "headers": answer_headers, "content": content}),
    );
    head_responses.insert("200".into(), json!({"description": "As GET, without a body; nothing is charged", "headers": answer_headers}));
    json!({
        "get": {"operationId": name, "summary": summary, "parameters": parameters, "responses": responses},
        "head": {"operationId": format!("{name}Head"), "summary": format!("{summary} (as GET, without a body and free)"), "parameters": parameters, "responses": head_responses}
    })
}

/// GET and HEAD of a page without a key.
fn open_page(name: &str, summary: &str, content_type: &str, errors: &[Code]) -> Value {
    let mut responses = error_responses(errors.iter().chain(&[Code::InvalidRequest]));
    let mut head_responses = responses.clone();
    responses.insert(
        "200".into(),
        json!({"description": summary, "content": {content_type: {"schema": {}}}}),
    );
    head_responses.insert("200".into(), json!({"description": summary}));
    json!({
        "get": {"operationId": name, "summary": summary, "security": [], "responses": responses},
        "head": {"operationId": format!("{name}Head"), "summary": format!("{summary} (without a body)"), "security": [], "responses": head_responses}
    })
}

fn error_responses<'c>(codes: impl Iterator<Item = &'c Code>) -> Map<String, Value> {
    codes
        .map(|code| {
            let status = code.status().as_u16().to_string();
            (
                status.clone(),
                json!({"$ref": format!("#/components/responses/Problem{status}")}),
            )
        })
        .collect()
}

fn header(component: &str) -> Value {
    json!({"$ref": format!("#/components/headers/{component}")})
}

fn path_parameter(name: &str, schema: Value, example: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": schema, "example": example})
}

fn idempotency_key() -> Value {
    json!({
        "name": "Idempotency-Key", "in": "header", "required": false,
        "description": "The same key with the same parameters within 24 hours returns the same items and is charged once.",
        "schema": {"type": "string", "minLength": 8, "maxLength": 128, "pattern": "^[!-~]{8,128}$"},
        "example": "0f8fad5b-d9cb-469f"
    })
}

fn if_none_match() -> Value {
    json!({
        "name": "If-None-Match", "in": "header", "required": false,
        "description": "The ETag of an earlier answer; if it still holds, the answer is 304 and free.",
        "schema": {"type": "string"}, "example": "W/\"0123456789abcdef01234567\""
    })
}

/// A search parameter with its bounds and an example.
fn parameter(known: &ParameterDescription) -> Value {
    let description = format!("{} {}.", known.description, bounds(known.kind));
    let mut parameter = json!({
        "name": known.name, "in": "query", "required": false, "description": description,
        "schema": schema(known.kind)
    });
    if known.name == "limit" {
        parameter["schema"]["default"] = json!(50);
    }
    if !known.example.is_empty() {
        parameter["example"] = match known.kind {
            ParameterKind::Number(_) | ParameterKind::Amount => known
                .example
                .parse::<u64>()
                .map_or_else(|_| json!(known.example), |number| json!(number)),
            ParameterKind::Flag => json!(known.example == "true"),
            _ => json!(known.example),
        };
    } else {
        parameter["example"] = json!("AQD_UAAAkU4");
    }
    parameter
}

fn schema(kind: ParameterKind) -> Value {
    match kind {
        ParameterKind::Text(chars)
        | ParameterKind::Cursor(chars)
        | ParameterKind::AttributeList(chars) => {
            json!({"type": "string", "minLength": NOT_EMPTY, "maxLength": chars})
        }
        // Items of a list stand in one value; quotes may double its length.
        ParameterKind::List { .. } => json!({"type": "string", "minLength": NOT_EMPTY}),
        ParameterKind::IdList(items) => json!({
            "type": "string",
            "pattern": format!("^[1-9][0-9]{{0,18}}(,[1-9][0-9]{{0,18}}){{0,{}}}$", items - 1)
        }),
        ParameterKind::Choice(choices) => json!({"type": "string", "enum": choices}),
        ParameterKind::ChoiceList { items, choices } => {
            let any = choices.join("|");
            json!({"type": "string", "pattern": format!("^({any})(,({any})){{0,{}}}$", items - 1)})
        }
        ParameterKind::Date => {
            json!({"type": "string", "format": "date", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"})
        }
        ParameterKind::Amount => json!({"type": "number", "minimum": 0}),
        ParameterKind::Number(most) => json!({"type": "integer", "minimum": 1, "maximum": most}),
        ParameterKind::Flag => json!({"type": "boolean"}),
    }
}

/// The bounds of a parameter in words.
pub(super) fn bounds(kind: ParameterKind) -> String {
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
        ParameterKind::Amount => "A finite number from 0 on".to_owned(),
        ParameterKind::Number(most) => format!("A whole number from 1 to {most}"),
        ParameterKind::Flag => "true or false".to_owned(),
    }
}

fn headers() -> Value {
    let of = |kind: &str, description: &str| json!({"description": description, "schema": {"type": kind}});
    json!({
        "RequestId": of("string", "Names the request in the logs"),
        "RateLimit": of("string", "Requests left, and seconds until more are"),
        "RateLimitPolicy": of("string", "Requests at once, and the seconds in which they are given again"),
        "ETag": of("string", "A weak tag of the answer"),
        "UsageCharged": of("integer", "Units that the request was charged"),
        "UsageRemaining": of("integer", "Units left this month, where the key has a quota"),
        "IdempotencyReplayed": of("string", "true where a former answer is repeated")
    })
}

/// One response a status; codes that share a status share it.
fn problem_responses() -> Value {
    let mut responses = Map::new();
    for code in Code::ALL {
        let name = format!("Problem{}", code.status().as_u16());
        let mut description = format!("{}: {}", code.as_str(), code.title());
        if let Some(other) = responses.get(&name) {
            let other = other["description"].as_str().unwrap_or_default();
            description = format!("{other}; {description}");
        }
        let mut response = json!({
            "description": description,
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
        });
        if matches!(code, Code::RateLimited | Code::Overloaded) {
            response["headers"] =
                json!({"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}});
        }
        responses.insert(name, response);
    }
    Value::Object(responses)
}

fn schemas() -> Value {
    let mut signal = signal_properties();
    let item = object(signal.clone());
    signal.insert("company".into(), object(company_description()));
    let envelope = |data: Value| json!({"type": "object", "required": ["data"], "properties": {"data": data}, "additionalProperties": false});
    let reference = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    json!({
        "SignalItem": item,
        "SignalDetail": object(signal),
        "Company": object(company_properties()),
        "SearchResult": envelope(json!({
            "type": "object", "required": ["items", "nextCursor"], "additionalProperties": false,
            "properties": {
                "items": {"type": "array", "maxItems": 50, "items": reference("SignalItem")},
                "nextCursor": {"type": ["string", "null"], "maxLength": 512},
                "count": {"type": "integer", "minimum": 0, "description": "With countOnly=true alone"}
            }
        })),
        "SignalResult": envelope(reference("SignalDetail")),
        "CompanyResult": envelope(reference("Company")),
        "FilterOptionsResult": envelope(filter_options()),
        "Problem": problem_schema()
    })
}

/// An object of exactly these properties, all of them required.
fn object(properties: Map<String, Value>) -> Value {
    let required: Vec<&String> = properties.keys().collect();
    json!({"type": "object", "required": required, "properties": properties, "additionalProperties": false})
}

fn signal_properties() -> Map<String, Value> {
    let mut properties = Map::new();
    properties.insert(
        "id".into(),
        json!({"type": "string", "pattern": ID_PATTERN}),
    );
    for name in ["slug", "title", "companySlug", "companyName"] {
        properties.insert(name.into(), json!({"type": "string"}));
    }
    for name in [
        "evidence",
        "category",
        "activityUrl",
        "authorName",
        "authorTitle",
        "authorUrl",
    ] {
        properties.insert(name.into(), json!({"type": ["string", "null"]}));
    }
    properties.insert(
        "date".into(),
        json!({"type": ["string", "null"], "format": "date"}),
    );
    for name in ["publishedAt", "updatedAt"] {
        properties.insert(
            name.into(),
            json!({"type": ["string", "null"], "format": "date-time"}),
        );
    }
    let funding = json!({
        "type": ["object", "null"], "required": ["stage", "amount", "currency"], "additionalProperties": false,
        "properties": {
            "stage": {"type": ["string", "null"]},
            "amount": {"type": ["number", "null"], "minimum": 0},
            "currency": {"type": ["string", "null"], "pattern": "^[A-Z]{3}$"}
        }
    });
    properties.insert("funding".into(), funding);
    properties
}

fn company_description() -> Map<String, Value> {
    let mut properties = Map::new();
    for name in [
        "about",
        "tagline",
        "logoUrl",
        "country",
        "city",
        "industry",
        "linkedinUrl",
    ] {
        properties.insert(name.into(), json!({"type": ["string", "null"]}));
    }
    for name in ["employees", "foundedYear"] {
        properties.insert(name.into(), json!({"type": ["integer", "null"]}));
    }
    properties
}

fn company_properties() -> Map<String, Value> {
    let mut properties = company_description();
    for name in ["slug", "name"] {
        properties.insert(name.into(), json!({"type": "string"}));
    }
    properties.insert(
        "signalCount".into(),
        json!({"type": "integer", "minimum": 0}),
    );
    properties.insert(
        "latestSignalDate".into(),
        json!({"type": ["string", "null"], "format": "date"}),
    );
    properties.insert(
        "updatedAt".into(),
        json!({"type": ["string", "null"], "format": "date-time"}),
    );
    properties
}

fn filter_options() -> Value {
    let list = |name: &str| {
        let value = if name == "categories" { "id" } else { "value" };
        let mut item = Map::new();
        item.insert(value.into(), json!({"type": "string"}));
        item.insert("count".into(), json!({"type": "integer", "minimum": 1}));
        json!({"type": "array", "items": object(item)})
    };
    object(
        Facet::ALL
            .iter()
            .map(|facet| facet.description().options)
            .map(|name| (name.to_owned(), list(name)))
            .collect(),
    )
}

fn problem_schema() -> Value {
    let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    codes.dedup();
    let faults: Vec<&str> = FAULT_CODES.iter().map(|code| code.as_str()).collect();
    json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "requestId"],
        "properties": {
            "type": {"type": "string"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string"},
            "code": {"type": "string", "enum": codes},
            "requestId": {"type": "string"},
            "errors": {"type": "array", "items": {
                "type": "object", "required": ["parameter", "code", "message"],
                "properties": {
                    "parameter": {"type": "string"},
                    "code": {"type": "string", "enum": faults},
                    "message": {"type": "string"}
                }
            }}
        }
    })
}
