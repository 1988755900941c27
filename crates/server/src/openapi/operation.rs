//! An operation of the document: an endpoint with its parameters and answers.

use serde_json::{Map, Value, json};

use super::responses;
use crate::endpoint::{EndpointDescription, Example};
use crate::keys::Scope;

/// The operation of an endpoint, which is read with GET.
pub(super) fn document(endpoint: &EndpointDescription, base: &str) -> Value {
    let tag = match endpoint.scope {
        Some(Scope::SignalsRead) => "Signals",
        Some(Scope::CompaniesRead) => "Companies",
        None => "Service",
    };
    let description = match endpoint.scope {
        Some(_) => format!("{} Cost: {}", endpoint.description, endpoint.cost),
        None => endpoint.description.replace("{base}", base),
    };
    let mut operation = json!({
        "operationId": endpoint.operation,
        "tags": [tag],
        "summary": endpoint.summary,
        "description": description,
        "responses": responses_of(endpoint)
    });
    if endpoint.scope.is_none() {
        operation["security"] = json!([]);
    }
    let parameters: Vec<Value> = endpoint
        .parameters()
        .map(|parameter| parameter.document(base))
        .collect();
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    operation
}

fn responses_of(endpoint: &EndpointDescription) -> Map<String, Value> {
    let errors = endpoint.all_errors().map(responses::reference);
    let mut responses: Map<String, Value> = errors.collect();
    responses.insert("200".into(), successful_response(endpoint));
    if endpoint.is_revalidated() {
        let description = "The stored answer is current; nothing is charged.";
        responses.insert("304".into(), json!({ "description": description }));
    }
    responses
}

fn successful_response(endpoint: &EndpointDescription) -> Value {
    let schema = format!("#/components/schemas/{}", endpoint.schema);
    let mut content = json!({"schema": {"$ref": schema}});
    if !endpoint.examples.is_empty() {
        let examples = endpoint.examples.iter().map(example);
        content["examples"] = Value::Object(examples.collect());
    }
    let same = std::iter::repeat(json!({"schema": {"type": "string"}}));
    let contents = std::iter::once(content).chain(same);
    let media_types = endpoint.media_types.iter().map(|&name| name.to_owned());
    let contents: Map<String, Value> = media_types.zip(contents).collect();
    let needs_key = endpoint.scope.is_some();
    json!({
        "description": "The answer.",
        "headers": responses::answer_headers(needs_key, endpoint.is_revalidated()),
        "content": contents
    })
}

/// A test compares each with what the service answers.
fn example(example: &Example) -> (String, Value) {
    let answer: Value = serde_json::from_str(example.answer).unwrap_or_default();
    let summary = format!("GET {}", example.request);
    let document = json!({"summary": summary, "value": answer});
    (example.name.to_owned(), document)
}
