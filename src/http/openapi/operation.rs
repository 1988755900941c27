//! An operation of the document: an endpoint with its parameters and answers.

use serde_json::{Map, Value, json};

use super::responses;
use crate::http::problem::Code;

/// One endpoint, read with GET.
pub(super) struct Operation {
    /// The name of the function in generated clients.
    pub(super) id: &'static str,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) description: String,
    pub(super) parameters: Vec<Value>,
    /// The component that describes the answer.
    pub(super) schema: &'static str,
    pub(super) media_type: &'static str,
    /// Other media types of the same content.
    pub(super) other_media_types: &'static [&'static str],
    pub(super) examples: &'static [Example],
    /// Errors in addition to those of every endpoint that needs a key.
    pub(super) errors: &'static [Code],
    /// Whether the answer is metered; it then has an `ETag` and headers with the charge.
    pub(super) is_metered: bool,
    pub(super) needs_key: bool,
}

/// A request to the sample corpus, and its answer.
pub(super) struct Example {
    pub(super) name: &'static str,
    pub(super) request: &'static str,
    pub(super) answer: &'static str,
}

/// The errors of every endpoint that needs a key.
const KEYED_ERRORS: [Code; 5] = [
    Code::Unauthorized,
    Code::Forbidden,
    Code::RateLimited,
    Code::Internal,
    Code::Overloaded,
];

impl Operation {
    /// An endpoint that needs a key.
    pub(super) fn keyed(id: &'static str) -> Operation {
        Operation {
            id,
            tag: "Service",
            summary: "",
            description: String::new(),
            parameters: Vec::new(),
            schema: "",
            media_type: "application/json",
            other_media_types: &[],
            examples: &[],
            errors: &[Code::InvalidRequest],
            is_metered: false,
            needs_key: true,
        }
    }

    /// An endpoint without a key.
    pub(super) fn open(id: &'static str) -> Operation {
        Operation {
            needs_key: false,
            ..Operation::keyed(id)
        }
    }

    pub(super) fn document(self) -> Value {
        let mut operation = json!({
            "operationId": self.id,
            "tags": [self.tag],
            "summary": self.summary,
            "description": self.description,
            "responses": self.responses()
        });
        if !self.needs_key {
            operation["security"] = json!([]);
        }
        if !self.parameters.is_empty() {
            operation["parameters"] = Value::Array(self.parameters);
        }
        operation
    }

    fn responses(&self) -> Map<String, Value> {
        let keyed_errors = KEYED_ERRORS.iter().filter(|_| self.needs_key);
        let codes = self.errors.iter().chain(keyed_errors);
        let mut responses: Map<String, Value> = codes.map(responses::reference).collect();
        responses.insert("200".into(), self.answer());
        if self.is_metered {
            let description = "The stored answer is current; nothing is charged.";
            responses.insert("304".into(), json!({ "description": description }));
        }
        responses
    }

    fn answer(&self) -> Value {
        let schema = format!("#/components/schemas/{}", self.schema);
        let mut content = json!({"schema": {"$ref": schema}});
        if !self.examples.is_empty() {
            let examples = self.examples.iter().map(Example::document);
            content["examples"] = Value::Object(examples.collect());
        }
        let mut contents = json!({ self.media_type: content });
        for media_type in self.other_media_types {
            contents[*media_type] = json!({"schema": {"type": "string"}});
        }
        json!({
            "description": "The answer.",
            "headers": responses::answer_headers(self.needs_key, self.is_metered),
            "content": contents
        })
    }
}

impl Example {
    fn document(&self) -> (String, Value) {
        // A test compares each with what the service answers.
        let answer: Value = serde_json::from_str(self.answer).unwrap_or_default();
        let example = json!({"summary": format!("GET {}", self.request), "value": answer});
        (self.name.to_owned(), example)
    }
}
