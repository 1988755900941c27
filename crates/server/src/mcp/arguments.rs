//! Turns the arguments of a tool into a request to its endpoint.
//!
//! Values become a query string, which the endpoint's own parser validates. Only what a query string
//! cannot express is refused here: unknown names, and values of the wrong JSON type. All errors are
//! reported together.

use axum::http::Request;
use axum::http::request::Parts;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use super::conditions::ToolConditions;
use super::tools::{self, IDEMPOTENCY_KEY, Tool};
use crate::aggregates;
use crate::changes;
use crate::companies;
use crate::limits::URI_BYTES_MAX;
use crate::options;
use crate::problem::Problem;
use crate::replay;
use signaldex::query::limits::ERRORS_MAX;
use signaldex::query::{ErrorCode, ParameterError, list};
use signaldex::text::{nearest_name, quoted};
use signaldex::{Query, SignalId};

/// The largest integer that every JSON parser keeps exact.
const EXACT_INTEGER_MAX: f64 = 9_007_199_254_740_992.0;

/// The request to an endpoint.
#[derive(Debug)]
pub(super) struct ToolTarget {
    /// The last segment of the path, percent-encoded; empty if the endpoint has none.
    pub(super) segment: String,
    /// The query string, percent-encoded.
    pub(super) query: String,
    pub(super) idempotency_key: Option<String>,
}

impl ToolTarget {
    /// Whether it names the facets it wants.
    pub(super) fn names_lists(&self) -> bool {
        self.query
            .split('&')
            .any(|pair| pair.starts_with("facets="))
    }

    /// The HTTP request to the endpoint.
    ///
    /// # Errors
    /// The query string is too long.
    pub(super) fn parts(&self, tool: Tool) -> Result<Parts, Problem> {
        let path = tool.endpoint().path_start();
        let separator = if self.query.is_empty() { "" } else { "?" };
        let target = format!("{path}{}{separator}{}", self.segment, self.query);
        if target.len() > URI_BYTES_MAX {
            return Err(too_long(target.len()));
        }
        let mut request = Request::builder().uri(target);
        if let Some(key) = &self.idempotency_key {
            request = request.header(replay::HEADER, key);
        }
        let request = request
            .body(())
            .map_err(|error| Problem::internal(&error))?;
        Ok(request.into_parts().0)
    }
}

fn too_long(bytes: usize) -> Problem {
    Problem::of_errors(vec![ParameterError::new(
        "",
        ErrorCode::TooLong,
        format!(
            "the arguments take {bytes} bytes as a percent-encoded query; at most {URI_BYTES_MAX} are \
             allowed; shorten the lists"
        ),
    )])
}

/// Creates the request of a tool from its arguments.
///
/// # Errors
/// All errors of the arguments and their values.
pub(super) fn target(tool: Tool, arguments: &Map<String, Value>) -> Result<ToolTarget, Problem> {
    let mut reader = ArgumentReader {
        tool,
        target: ToolTarget {
            segment: String::new(),
            query: String::new(),
            idempotency_key: None,
        },
        errors: Vec::new(),
    };
    for (name, value) in arguments.iter().filter(|(_, value)| !value.is_null()) {
        if reader.errors.len() < ERRORS_MAX {
            reader.take(name, value);
        }
    }
    reader.finish(arguments)
}

/// Reads arguments one by one and collects errors.
struct ArgumentReader {
    tool: Tool,
    target: ToolTarget,
    errors: Vec<ParameterError>,
}

impl ArgumentReader {
    fn take(&mut self, name: &str, value: &Value) {
        let Some(schema) = self.tool.arguments().get(name) else {
            // The list of names is long, so only the first of these errors has it.
            let is_unknown = |error: &ParameterError| error.code == ErrorCode::UnknownParameter;
            let is_first = !self.errors.iter().any(is_unknown);
            return self.errors.push(unknown(self.tool, name, is_first));
        };
        if tools::is_conditions(name) {
            return self.take_conditions(name, value);
        }
        let is_list = schema["type"] == "array";
        let text = match text_of(value, is_list) {
            Ok(text) => text,
            Err(wanted) => return self.refuse(name, ErrorCode::InvalidValue, wanted),
        };
        if name == IDEMPOTENCY_KEY {
            if replay::is_key(text.as_bytes()) {
                self.target.idempotency_key = Some(text);
            } else {
                self.refuse(name, ErrorCode::InvalidValue, replay::KEY_RULE);
            }
        } else if self.tool.required() == Some(name) {
            self.take_segment(name, &text);
        } else {
            self.add_parameter(name, &text);
        }
    }

    /// Takes what can be read of conditions, so that the endpoint's parser finds the other faults in them.
    fn take_conditions(&mut self, name: &str, value: &Value) {
        let conditions = ToolConditions::of(name, value);
        self.errors.extend(conditions.errors);
        if let Some(text) = conditions.text {
            self.add_parameter(name, &text);
        }
    }

    fn take_segment(&mut self, name: &str, text: &str) {
        if text.is_empty() {
            self.refuse(name, ErrorCode::EmptyValue, "is empty");
        } else if self.tool == Tool::Signal && text.parse::<SignalId>().is_err() {
            let rule = "has to be a whole number of 1 to 19 digits without a leading zero";
            self.refuse(name, ErrorCode::InvalidValue, rule);
        }
        self.target.segment = encoded(text);
    }

    fn add_parameter(&mut self, name: &str, text: &str) {
        let query = &mut self.target.query;
        if !query.is_empty() {
            query.push('&');
        }
        query.push_str(name);
        query.push('=');
        query.push_str(&encoded(text));
    }

    fn refuse(&mut self, name: &str, code: ErrorCode, what: &str) {
        self.errors
            .push(ParameterError::new(name, code, format!("{name} {what}")));
    }

    fn finish(mut self, arguments: &Map<String, Value>) -> Result<ToolTarget, Problem> {
        let is_missing = |name: &&str| arguments.get(*name).is_none_or(Value::is_null);
        if let Some(name) = self.tool.required().filter(is_missing) {
            self.refuse(name, ErrorCode::EmptyValue, "is missing; it is required");
        }
        if self.tool == Tool::Count {
            self.add_parameter("countOnly", "true");
        }
        if self.errors.is_empty() {
            return Ok(self.target);
        }
        // The endpoint will not be called, so its errors are collected here.
        self.errors.extend(errors_of(self.tool, &self.target.query));
        self.errors.truncate(ERRORS_MAX);
        Err(Problem::of_errors(self.errors))
    }
}

/// The errors that the endpoint of a tool reports for a query string.
fn errors_of(tool: Tool, query: &str) -> Vec<ParameterError> {
    let invalid = match tool {
        Tool::Search | Tool::Count => Query::from_query_string(query).err(),
        Tool::Options => options::parse(query).err(),
        Tool::Changes => changes::parse(query).err(),
        Tool::Aggregate => aggregates::parse(query).err(),
        Tool::Companies => companies::parse(query, None).err(),
        Tool::Signal | Tool::Company => None,
    };
    invalid.map_or(Vec::new(), |invalid| invalid.errors().to_vec())
}

fn unknown(tool: Tool, name: &str, lists_names: bool) -> ParameterError {
    let arguments = tool.arguments();
    let names = || arguments.keys().map(String::as_str);
    let nearest = nearest_name(name, names());
    let hint = nearest.map_or(String::new(), |nearest| {
        format!(" (did you mean {nearest}?)")
    });
    let allowed = if lists_names {
        format!("; allowed are {}", names().collect::<Vec<_>>().join(", "))
    } else {
        String::new()
    };
    let message = format!(
        "{} is not an argument of {}{hint}{allowed}",
        quoted(name),
        tool.name(),
    );
    ParameterError::new(name, ErrorCode::UnknownParameter, message)
}

/// The text of a value in a query string, or the expected type. A list may also be given as
/// comma-separated text.
pub(super) fn text_of(value: &Value, is_list: bool) -> Result<String, &'static str> {
    match value {
        Value::Array(items) if is_list => {
            let items: Option<Vec<String>> = items.iter().map(text_of_one).collect();
            let items = items.ok_or("has to be a list of strings")?;
            Ok(list::join(items))
        }
        _ => text_of_one(value).ok_or(if is_list {
            "has to be a list of strings"
        } else {
            "has to be one value, neither a list nor an object"
        }),
    }
}

pub(super) fn text_of_one(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => {
            // Some clients write 10.0, which equals 10 in JSON.
            let whole = number.as_f64().filter(|&float| {
                number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT_INTEGER_MAX
            });
            Some(whole.map_or_else(|| number.to_string(), |float| (float as i64).to_string()))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}

#[cfg(test)]
mod tests;
