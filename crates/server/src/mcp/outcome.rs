//! The result of a tool call: the answer as text and JSON, or all errors as one text.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::arguments::ToolTarget;
use super::compact::{self, CallUsage, EndpointResult, json_bytes};
use super::protocol::{Era, complete};
use super::tools::{IDEMPOTENCY_KEY, Tool};
use crate::problem::{Problem, ProblemCode};
use crate::replay;
use signaldex::query::ParameterError;
use signaldex::query::limits::ERRORS_MAX;

/// Bytes of the errors in an answer, each of which it has as text and as JSON. With all that surrounds them an
/// answer has at most 8 KB, whatever the call: a model pays for what it reads.
const ERRORS_BYTES_MAX: usize = 6_500;
/// Bytes around an error: `{"parameter":…,"code":"repeated_parameter","message":…},` and the line of the text.
const ERROR_FRAME_BYTES: usize = 100;

/// The outcome of a tool call.
pub(super) struct ToolOutcome {
    /// The text for the model.
    text: String,
    /// The same as JSON, for programs.
    structured: Box<RawValue>,
    is_error: bool,
}

impl ToolOutcome {
    /// The outcome of a successful answer.
    ///
    /// # Errors
    /// As [`compact::tool_answer`].
    pub(super) fn of_found(
        tool: Tool,
        target: &ToolTarget,
        (found, hints): (&EndpointResult, &[String]),
        usage: Option<CallUsage>,
    ) -> Result<ToolOutcome, Problem> {
        let text = compact::tool_answer(tool, found, target.names_lists(), hints, usage);
        let text = text.map_err(|error| Problem::internal(&error))?;
        let structured = RawValue::from_string(text.clone());
        Ok(ToolOutcome {
            text,
            structured: structured.map_err(|error| Problem::internal(&error))?,
            is_error: false,
        })
    }

    /// The outcome of a problem. `request_id` identifies the request in the log.
    pub(super) fn of_problem(problem: &Problem, request_id: Option<&str>) -> ToolOutcome {
        let structured = structured(problem, request_id);
        ToolOutcome {
            text: text_of(problem),
            structured: to_raw_value(&structured).unwrap_or_default(),
            is_error: true,
        }
    }

    /// The result in the form that a revision of the protocol expects.
    pub(super) fn result(&self, era: Era) -> impl Serialize {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct CallResult<'a> {
            content: [Content<'a>; 1],
            structured_content: &'a RawValue,
            is_error: bool,
            #[serde(flatten)]
            of_era: Value,
        }
        #[derive(Serialize)]
        struct Content<'a> {
            r#type: &'static str,
            text: &'a str,
        }
        CallResult {
            content: [Content {
                r#type: "text",
                text: &self.text,
            }],
            structured_content: &self.structured,
            is_error: self.is_error,
            of_era: complete(json!({}), era),
        }
    }
}

/// A problem as text, one line per error.
fn text_of(problem: &Problem) -> String {
    let mut text = match problem.errors.len() {
        0 => format!(
            "{}: {}",
            problem.code.as_str(),
            named_as_argument(&problem.detail)
        ),
        1 => "The call has 1 error; correct it and call again.".to_owned(),
        count if count >= ERRORS_MAX => {
            format!("The call has {count} or more errors; correct them and call again.")
        }
        count => format!("The call has {count} errors; correct them and call again."),
    };
    let shown = shown(&problem.errors);
    for error in shown {
        text.push_str(&format!("\n- {} ({})", error.message, error.code));
    }
    if shown.len() < problem.errors.len() {
        text.push_str("\n- and more, which the next call will show");
    }
    if let Some(seconds) = problem.retry_after_seconds {
        text.push_str(&format!("\nWait {seconds} s before you try again."));
    }
    if problem.code != ProblemCode::ChargeUncertain && !text.contains("charged") {
        text.push_str("\nNothing was charged.");
    }
    text
}

/// The first errors, as many as fit into an answer, and at least one.
fn shown(errors: &[ParameterError]) -> &[ParameterError] {
    let mut bytes = 0;
    let fitting = errors.iter().take_while(|error| {
        let texts = json_bytes(&error.parameter) + 2 * json_bytes(&error.message);
        bytes += texts + ERROR_FRAME_BYTES;
        bytes <= ERRORS_BYTES_MAX
    });
    let count = fitting.count().max(1).min(errors.len());
    &errors[..count]
}

/// Replaces the name of the API's header by that of the tool's argument.
fn named_as_argument(detail: &str) -> String {
    detail.replace(replay::SHOWN_NAME, IDEMPOTENCY_KEY)
}

fn structured(problem: &Problem, request_id: Option<&str>) -> Value {
    let errors = shown(&problem.errors).iter().map(|error| {
        json!({
            "parameter": error.parameter, "code": error.code.as_str(), "message": error.message
        })
    });
    let mut members = json!({
        "code": problem.code.as_str(),
        "detail": named_as_argument(&problem.detail)
    });
    if !problem.errors.is_empty() {
        members["errors"] = errors.collect();
    }
    if let Some(seconds) = problem.retry_after_seconds {
        members["retryAfterSeconds"] = json!(seconds);
    }
    if let Some(request_id) = request_id {
        members["requestId"] = json!(request_id);
    }
    json!({ "error": members })
}
