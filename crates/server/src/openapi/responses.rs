//! Response headers, and errors with real examples.

use serde_json::{Map, Value, json};

use crate::problem::ProblemCode;

/// Errors of the service over the sample corpus, by status and name. A test compares them with what the
/// service answers.
const EXAMPLES: &str = include_str!("problems.json");

/// The entry of an error in the responses of an operation.
pub(super) fn reference(code: ProblemCode) -> (String, Value) {
    let status = code.status().as_str().to_owned();
    let component = format!("#/components/responses/Problem{status}");
    (status, json!({ "$ref": component }))
}

/// The headers of an answer with content.
pub(super) fn answer_headers(needs_key: bool, is_metered: bool) -> Value {
    const METERED: [(&str, &str); 5] = [
        ("ETag", "ETag"),
        ("X-Hints", "Hints"),
        ("X-Usage-Charged", "UsageCharged"),
        ("X-Usage-Remaining", "UsageRemaining"),
        ("Idempotency-Replayed", "IdempotencyReplayed"),
    ];
    const KEYED: [(&str, &str); 4] = [
        ("RateLimit", "RateLimit"),
        ("RateLimit-Policy", "RateLimitPolicy"),
        ("Deprecation", "Deprecation"),
        ("Sunset", "Sunset"),
    ];
    let keyed = KEYED.iter().filter(|_| needs_key);
    let metered = METERED.iter().filter(|_| is_metered);
    let all = [("X-Request-Id", "RequestId")];
    let headers = all.iter().chain(keyed).chain(metered);
    let header = |&(name, component): &(&str, &str)| {
        let component = format!("#/components/headers/{component}");
        (name.to_owned(), json!({ "$ref": component }))
    };
    Value::Object(headers.map(header).collect())
}

/// The headers by the names under which answers refer to them.
pub(super) fn headers() -> Value {
    let header = |kind: &str, description: &str, example: Value| json!({"description": description, "schema": {"type": kind}, "example": example});
    json!({
        "RequestId": header("string", "Identifies the request in the logs.", json!("5d0c3f1a0000000017")),
        "RateLimit": header("string", "Requests left, and seconds until the burst is full again.", json!("\"key\";r=99;t=2")),
        "RateLimitPolicy": header("string", "The burst, and the seconds in which it refills.", json!("\"key\";q=100;w=2")),
        "ETag": header("string", "A weak tag of the answer.", json!("W/\"0123456789abcdef01234567\"")),
        "UsageCharged": header("integer", "Units that the request was charged.", json!(1)),
        "Hints": header("string", "On first pages, counts and exports: what was probably meant, a list of strings (RFC 9651) for people; do not parse them.", json!("\"no signal has country \\\"germny\\\"; did you mean Germany?\"")),
        "UsageRemaining": header("integer", "Units left this month, if the key has a quota.", json!(9999)),
        "IdempotencyReplayed": header("string", "`true` if an earlier answer is repeated.", json!("true")),
        "Deprecation": header("string", "Only once a new version has replaced this one: since when it is deprecated (RFC 9745).", json!("@1801353600")),
        "Sunset": header("string", "Only with `Deprecation`: when this version ends (RFC 8594).", json!("Tue, 01 Feb 2028 00:00:00 GMT")),
        "RetryAfter": header("integer", "Seconds after which to try again.", json!(1))
    })
}

/// One response per status; codes with the same status share it.
pub(super) fn problems(base: &str) -> Value {
    let mut examples: Map<String, Value> = serde_json::from_str(EXAMPLES).unwrap_or_default();
    let mut responses: Map<String, Value> = Map::new();
    // GET is the only method of the document, so 405 cannot happen.
    let can_happen = |code: &ProblemCode| *code != ProblemCode::MethodNotAllowed;
    for code in ProblemCode::ALL.into_iter().filter(can_happen) {
        let status = code.status().as_str().to_owned();
        let name = format!("Problem{status}");
        let description = format!("`{}`: {}.", code.as_str(), code.title());
        if let Some(response) = responses.get_mut(&name) {
            let other = response["description"].as_str().unwrap_or_default();
            response["description"] = json!(format!("{other} {description}"));
            continue;
        }
        let examples = examples.remove(&status).unwrap_or_default();
        let mut response = json!({
            "description": description,
            "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
            "content": {"application/problem+json": {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "examples": named_examples(examples, base)
            }}
        });
        if matches!(code, ProblemCode::RateLimited | ProblemCode::Overloaded) {
            response["headers"]["Retry-After"] = json!({"$ref": "#/components/headers/RetryAfter"});
        }
        responses.insert(name, response);
    }
    Value::Object(responses)
}

fn named_examples(examples: Value, base: &str) -> Value {
    let Value::Object(examples) = examples else {
        return json!({});
    };
    let example = |(name, mut value): (String, Value)| {
        let kind = value["type"].as_str().unwrap_or_default();
        value["type"] = json!(format!("{base}{kind}"));
        (name, json!({ "value": value }))
    };
    Value::Object(examples.into_iter().map(example).collect())
}
