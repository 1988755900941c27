//! Error messages of the form of companies.

use super::super::fields::FilterFields;
use super::super::words::{self, WordedFault};
use super::conditions::{BOUNDS, TypedCondition};
use super::form::ConditionGroup;
use signaldex::query::limits::CONDITION_BOUND_DIGITS_MAX;
use signaldex::query::{ErrorCode, Parameter, ParameterError};

/// An error in the list above the results.
pub(super) struct CompanyFault {
    /// The id of the field; empty if there is none.
    pub(super) id: String,
    pub(super) label: String,
    pub(super) text: String,
}

/// The errors of all fields, and those of conditions that no field shows.
pub(super) fn faults(
    invalid: &[ParameterError],
    fields: &FilterFields,
    groups: &[ConditionGroup],
) -> Vec<CompanyFault> {
    let mut faults: Vec<CompanyFault> =
        fields.errors.iter().map(|error| fault(error, "")).collect();
    for group in groups {
        let before = faults.len();
        for condition in &group.conditions {
            let place = format!("{}, condition {}", group.title, condition.number);
            faults.extend(condition.fields.errors.iter().map(|error| CompanyFault {
                id: condition.fields.id(&error.parameter),
                ..fault(error, &place)
            }));
        }
        if faults.len() > before {
            continue;
        }
        let of_kind = invalid.iter().filter(|error| error.parameter == group.kind);
        faults.extend(of_kind.map(|error| CompanyFault {
            id: String::new(),
            label: group.title.to_owned(),
            text: error.message.clone(),
        }));
    }
    faults
}

fn fault(error: &WordedFault, place: &str) -> CompanyFault {
    let id = error.label.map(|_| error.parameter.clone());
    let parts = [Some(place), error.label];
    let parts = parts.into_iter().flatten().filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    CompanyFault {
        id: id.unwrap_or_default(),
        label: parts.join(", "),
        text: error.text.clone(),
    }
}

/// An error of a filter of companies, or of the page.
pub(super) fn of_company(error: &ParameterError) -> WordedFault {
    let (label, text) = match (error.parameter.as_str(), error.code) {
        ("city", ErrorCode::TooLong) => ("City", "Use at most 180 characters."),
        ("foundedFrom", ErrorCode::ConflictingParameters) => {
            ("Founded from", "The first year is after the last.")
        }
        ("foundedFrom", _) => ("Founded from", "Enter a year of at most four digits."),
        ("foundedTo", _) => ("Founded to", "Enter a year of at most four digits."),
        ("employeesMin", ErrorCode::ConflictingParameters) => (
            "Employees, at least",
            "The lowest number is above the highest.",
        ),
        ("employeesMin", _) => ("Employees, at least", "Enter a whole number."),
        ("employeesMax", _) => ("Employees, at most", "Enter a whole number."),
        ("order", _) => ("Order", "Choose one of slug, -matches, -latest."),
        _ => return of_search(error),
    };
    WordedFault {
        parameter: error.parameter.clone(),
        label: Some(label),
        text: text.to_owned(),
    }
}

/// An error in a parameter that searches have, too, or that is none.
fn of_search(error: &ParameterError) -> WordedFault {
    let fault = WordedFault::of(error);
    match (error.parameter.as_str(), error.code) {
        ("limit", _) => WordedFault {
            label: Some("Companies per page"),
            ..fault
        },
        // The message tells where a filter of signals belongs, or which name is near.
        (_, ErrorCode::UnknownParameter) => WordedFault {
            label: None,
            text: error.message.clone(),
            ..fault
        },
        _ => fault,
    }
}

/// The errors of the fields of a condition: those of its filters, its bounds, and values that cannot be written.
pub(super) fn of_condition(typed: &TypedCondition, invalid: &[ParameterError]) -> Vec<WordedFault> {
    let unwritten = typed.text().err().unwrap_or_default();
    let is_written = |error: &&ParameterError| !unwritten.contains(&error.parameter);
    let mut faults: Vec<WordedFault> = invalid
        .iter()
        .filter(is_written)
        .map(WordedFault::of)
        .collect();
    faults.extend(
        unwritten
            .iter()
            .filter(|name| !BOUNDS.contains(&name.as_str()))
            .map(|name| WordedFault {
                label: Parameter::of_name(name).and_then(words::label),
                parameter: name.clone(),
                text: "Put ; ( ) in double quotes, and close each quotation mark.".to_owned(),
            }),
    );
    faults.extend(of_bounds(typed));
    faults
}

fn of_bounds(typed: &TypedCondition) -> Vec<WordedFault> {
    let labels = ["At least", "At most"];
    let mut faults = Vec::new();
    let mut numbers = [Some(1), Some(u32::MAX)];
    for (index, name) in BOUNDS.into_iter().enumerate() {
        let value = typed.form.value(name);
        if value.is_empty() {
            continue;
        }
        numbers[index] = bound(value);
        if numbers[index].is_none() {
            let text = "Enter a whole number of at most 9 digits.".to_owned();
            faults.push(bound_fault(name, labels[index], text));
        }
    }
    if let [Some(min), Some(max)] = numbers
        && min > max
    {
        let text = "The lowest number is above the highest; it is 1 unless given.".to_owned();
        faults.push(bound_fault(BOUNDS[0], labels[0], text));
    }
    faults
}

fn bound_fault(name: &str, label: &'static str, text: String) -> WordedFault {
    WordedFault {
        parameter: name.to_owned(),
        label: Some(label),
        text,
    }
}

/// A bound as the library reads it: without a sign or leading zeros.
fn bound(text: &str) -> Option<u32> {
    let is_short = text.len() <= CONDITION_BOUND_DIGITS_MAX;
    let number: u32 = text.parse().ok().filter(|_| is_short)?;
    (number.to_string() == text).then_some(number)
}
