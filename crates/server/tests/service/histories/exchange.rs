//! A question as a request over HTTP or to a tool, and what comes back, in the model's terms.

use axum::body::Body as RequestBody;
use axum::http::Request;
use serde_json::{Map, Value, json};

use super::corpus::{Change, Filter, Item};
use super::model::{Answer, Body, Question};
use super::subject::Answered;
use crate::mcp;

impl Filter {
    /// The parameter that says it, and its value.
    fn parameter(self) -> Option<(&'static str, &'static str)> {
        match self {
            Filter::All => None,
            Filter::Alpha => Some(("q", "alpha")),
            Filter::NotBeta => Some(("q", "-beta")),
            Filter::Funding => Some(("categories", "funding")),
            Filter::North => Some(("company", "north")),
        }
    }
}

impl Question {
    pub(super) fn filter(&self) -> Filter {
        match self {
            Question::Search { filter, .. }
            | Question::Count { filter }
            | Question::Changes { filter, .. }
            | Question::Export { filter, .. } => *filter,
        }
    }

    /// Its path and its tool, if there is one.
    fn ways(&self) -> (&'static str, Option<&'static str>) {
        match self {
            Question::Search { .. } => ("signals", Some("search")),
            Question::Count { .. } => ("signals", Some("count")),
            Question::Changes { .. } => ("changes", Some("changes")),
            Question::Export { .. } => ("export", None),
        }
    }

    /// The parameters beside the filter.
    fn parameters(&self) -> Vec<(&'static str, Value)> {
        match self {
            Question::Search { limit, .. } => vec![("limit", json!(limit))],
            Question::Count { .. } => Vec::new(),
            Question::Changes { limit, since, .. } => {
                let since = since.iter().map(|since| ("since", json!(since.text)));
                since.chain([("limit", json!(limit))]).collect()
            }
            Question::Export {
                after, max_items, ..
            } => {
                let after = after.iter().map(|id| ("after", json!(id)));
                let max_items = max_items.iter().map(|items| ("maxItems", json!(items)));
                after.chain(max_items).collect()
            }
        }
    }

    /// Whether a tool is asked, which counting with a name cannot.
    pub(super) fn has_tool(&self, name: Option<&str>) -> bool {
        let takes_name = !matches!(self, Question::Count { .. });
        self.ways().1.is_some() && (takes_name || name.is_none())
    }

    pub(super) fn request(&self, name: Option<&str>) -> Request<RequestBody> {
        let mut target = format!("/api/v1/{}?", self.ways().0);
        if let Some((parameter, value)) = self.filter().parameter() {
            target.push_str(&format!("{parameter}={value}&"));
        }
        for (parameter, value) in self.parameters() {
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            target.push_str(&format!("{parameter}={value}&"));
        }
        if matches!(self, Question::Count { .. }) {
            target.push_str("countOnly=true&");
        }
        let mut request = Request::get(target.trim_end_matches(['&', '?']));
        if let Some(name) = name {
            request = request.header("idempotency-key", name);
        }
        request.body(RequestBody::empty()).expect("a request")
    }

    pub(super) fn call(&self, name: Option<&str>) -> Request<RequestBody> {
        let mut arguments = Map::new();
        if let Some((parameter, value)) = self.filter().parameter() {
            let is_list = parameter == "categories";
            let value = if is_list {
                json!([value])
            } else {
                json!(value)
            };
            arguments.insert(parameter.to_owned(), value);
        }
        for (parameter, value) in self.parameters() {
            arguments.insert(parameter.to_owned(), value);
        }
        if let Some(name) = name {
            arguments.insert("idempotencyKey".to_owned(), json!(name));
        }
        let tool = self.ways().1.expect("a question with a tool");
        let message = mcp::call(tool, arguments.into());
        let mut request = Request::post("/mcp");
        for (header, value) in mcp::headers_of(&message) {
            request = request.header(header, value);
        }
        request
            .body(RequestBody::from(message.to_string()))
            .expect("a request")
    }

    /// What an answer over HTTP says.
    pub(super) fn read(&self, answered: &Answered) -> Answer {
        let header = |name: &str| answered.head.headers().get(name);
        let number = |name| -> Option<usize> { header(name)?.to_str().ok()?.parse().ok() };
        let body = match (answered.head.status().as_u16(), self) {
            (200, Question::Export { .. }) => {
                let text = std::str::from_utf8(&answered.body).expect("UTF-8");
                let lines = text.lines().map(|line| item(&json_of(line.as_bytes())));
                Ok(Body::Export {
                    items: lines.collect(),
                    read: None,
                })
            }
            (200, _) => Ok(self.body(&json_of(&answered.body)["data"], "items")),
            _ => Err(text(&json_of(&answered.body)["code"])),
        };
        Answer {
            body,
            charged: number("x-usage-charged").unwrap_or(0),
            remaining: number("x-usage-remaining"),
            is_replayed: header("idempotency-replayed").is_some(),
        }
    }

    /// What the result of a tool says.
    pub(super) fn read_result(&self, answered: &Answered) -> Answer {
        let result = json_of(&answered.body)["result"].clone();
        let content = &result["structuredContent"];
        let usage = &content["usage"];
        let number = |value: &Value| value.as_u64().map(|number| number as usize);
        Answer {
            body: if result["isError"] == false {
                Ok(self.body(content, "signals"))
            } else {
                Err(text(&content["error"]["code"]))
            },
            charged: number(&usage["charged"]).unwrap_or(0),
            remaining: number(&usage["remaining"]),
            is_replayed: usage["replayed"] == true,
        }
    }

    fn body(&self, data: &Value, items: &str) -> Body {
        match self {
            Question::Search { .. } => Body::Page {
                items: list(&data[items]).iter().map(item).collect(),
                has_next: data["nextCursor"].is_string(),
            },
            Question::Count { .. } => {
                Body::Count(data["count"].as_u64().expect("a number") as usize)
            }
            Question::Changes { .. } | Question::Export { .. } => Body::Changes {
                changes: list(&data["changes"]).iter().map(change).collect(),
                next: text(&data["next"]),
                more: data["more"].as_bool().expect("a boolean"),
            },
        }
    }
}

fn json_of(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).expect("JSON")
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn id(value: &Value) -> u64 {
    text(value).parse().expect("an id")
}

fn item(value: &Value) -> Item {
    Item {
        id: id(&value["id"]),
        title: text(&value["title"]),
        category: text(&value["category"]),
        company: text(&value["companyName"]),
        has_evidence: value["evidence"].is_string(),
    }
}

fn change(value: &Value) -> Change {
    if value["op"] == "upsert" {
        Change::Upsert(item(&value["signal"]))
    } else {
        Change::Remove(id(&value["id"]))
    }
}
