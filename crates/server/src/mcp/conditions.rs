//! Writes the conditions of a call, which are objects, as the API takes them: `(name=value;…),(…)`.
//!
//! The endpoint's parser validates what is written. Only what the text cannot express is refused here.

use serde_json::{Map, Value};

use super::arguments::{text_of, text_of_one};
use signaldex::query::{ErrorCode, Parameter, ParameterError, ParameterKind, list};
use signaldex::text::quoted;

/// The characters that end a value, a pair or a condition outside of quotes.
const ENDS: [char; 3] = [';', '(', ')'];

/// The members of a condition that are no filters.
const BOUNDS: [&str; 2] = ["min", "max"];

/// Conditions as text, and what of them cannot be written.
#[derive(Debug, Default)]
pub(super) struct ToolConditions {
    /// `None` if the value as a whole has the wrong type.
    pub(super) text: Option<String>,
    pub(super) errors: Vec<ParameterError>,
}

impl ToolConditions {
    /// The conditions in a value of `has` or `hasNot`, which `name` is: a list of objects, or the text of the API.
    pub(super) fn of(name: &str, value: &Value) -> ToolConditions {
        match value {
            Value::Array(items) => ToolConditions::of_items(name, items),
            Value::String(text) => ToolConditions {
                text: Some(text.clone()),
                errors: Vec::new(),
            },
            _ => ToolConditions {
                text: None,
                errors: vec![ParameterError::new(
                    name,
                    ErrorCode::InvalidValue,
                    format!(
                        "{name} has to be a list of objects, such as [{{\"days\":90,\"min\":2}}]"
                    ),
                )],
            },
        }
    }

    fn of_items(name: &str, items: &[Value]) -> ToolConditions {
        let mut errors = Vec::new();
        let mut texts = Vec::with_capacity(items.len());
        for (item, number) in items.iter().zip(1..) {
            let mut refuse = |code, message: &str| {
                let message = format!("{name}, condition {number}: {message}");
                errors.push(ParameterError::new(name, code, message));
            };
            let text = match item {
                Value::Object(members) => condition(members, &mut refuse),
                _ => {
                    refuse(ErrorCode::InvalidValue, "has to be an object");
                    String::new()
                }
            };
            texts.push(format!("({text})"));
        }
        ToolConditions {
            text: Some(texts.join(",")),
            errors,
        }
    }
}

/// The pairs of a condition that can be written.
fn condition(members: &Map<String, Value>, refuse: &mut impl FnMut(ErrorCode, &str)) -> String {
    let mut pairs = Vec::with_capacity(members.len());
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        // What cannot be written.
        if name.is_empty() || name.contains(ENDS) || name.contains(['=', '"']) {
            let message = format!("{} is not a filter of signals", quoted(name));
            refuse(ErrorCode::UnknownParameter, &message);
            continue;
        }
        if Parameter::of_name(name).is_none() && !BOUNDS.contains(&name.as_str()) {
            // The parser refuses the name, whatever its value.
            pairs.push(format!("{name}="));
            continue;
        }
        match value_of(name, value) {
            Ok(value) => pairs.push(format!("{name}={value}")),
            Err(error) => refuse(ErrorCode::InvalidValue, &format!("{name} {error}")),
        }
    }
    pairs.join(";")
}

/// The text of a value, which ends where the parser ends it.
fn value_of(name: &str, value: &Value) -> Result<String, &'static str> {
    let kind = Parameter::of_name(name).map(|parameter| parameter.description().kind);
    let is_list = matches!(
        kind,
        Some(
            ParameterKind::List { .. }
                | ParameterKind::AttributeList(_)
                | ParameterKind::IdList(_)
                | ParameterKind::ChoiceList { .. }
        )
    );
    let text = match value {
        Value::Array(items) if is_list => {
            let items: Option<Vec<String>> = items.iter().map(text_of_one).collect();
            let items = items.ok_or("has to be a list of strings")?;
            let items: Vec<String> = items.iter().map(|item| list_item(item)).collect();
            items.join(",")
        }
        _ => {
            let text = text_of(value, is_list)?;
            if is_one_value(name) && text.contains(ENDS) | text.contains('"') {
                in_quotes(&text)
            } else {
                closed(text)
            }
        }
    };
    if is_whole(&text) {
        Ok(text)
    } else {
        Err(
            "has a semicolon or a parenthesis outside of double quotes; write the words in double quotes",
        )
    }
}

/// Whether a value that begins with a quote is read as one item of a list.
fn is_one_value(name: &str) -> bool {
    ["companySlug", "country", "industry", "fundingStage"].contains(&name)
}

fn list_item(item: &str) -> String {
    if item.contains(ENDS) || item.contains('"') {
        in_quotes(item)
    } else {
        list::join([item])
    }
}

fn in_quotes(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A text whose last quote, if it is open, is closed at the end, as searches read it.
fn closed(mut text: String) -> String {
    if text.matches('"').count() % 2 == 1 {
        text.push('"');
    }
    text
}

/// Whether nothing outside of quotes ends the value early.
fn is_whole(text: &str) -> bool {
    let outside = text.split('"').step_by(2);
    outside.into_iter().all(|part| !part.contains(ENDS))
}

#[cfg(test)]
mod tests;
