//! Errors in queries.

use std::fmt;

use super::values::{self, ValueError};
use crate::text::{QUOTED_CHARS_MAX, did_you_mean, quoted};

/// An invalid query, with all its errors.
///
/// [`QueryBuilder::build`](super::QueryBuilder::build) makes it; a request that checks more adds its errors with
/// [`QueryBuilder::add_error`](super::QueryBuilder::add_error), or converts one:
///
/// ```
/// use signaldex::query::{InvalidQuery, ParameterError};
///
/// let invalid = InvalidQuery::from(ParameterError::empty("format"));
/// assert_eq!(invalid.errors().len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidQuery {
    errors: Vec<ParameterError>,
}

/// One error of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct ParameterError {
    /// The parameter as it was typed; empty if the error concerns the whole query string.
    pub parameter: String,
    /// The kind of error.
    pub code: ErrorCode,
    /// What was wrong, and what is allowed. Repeats at most 64 characters of input.
    pub message: String,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum ErrorCode {
    /// No parameter has this name.
    UnknownParameter,
    /// The parameter is given more than once.
    RepeatedParameter,
    /// The parameter has no value.
    EmptyValue,
    /// The value is not one of those allowed.
    InvalidValue,
    /// The value or one of its items has too many characters.
    TooLong,
    /// The list has too many items.
    TooManyItems,
    /// The parameters exclude each other.
    ConflictingParameters,
    /// The text holds no word that can be searched for.
    UnsearchableText,
    /// The query string itself is malformed.
    MalformedQuery,
    /// The cursor is not valid or is damaged.
    InvalidCursor,
    /// The cursor belongs to a query with other filters.
    CursorMismatch,
    /// The position is not valid, is damaged, or is ahead of the index.
    InvalidPosition,
    /// The matches have too many groups of two.
    TooManyGroups,
}

impl ErrorCode {
    /// Every code.
    ///
    /// ```
    /// use signaldex::query::ErrorCode;
    ///
    /// assert!(ErrorCode::ALL.contains(&ErrorCode::TooLong));
    /// ```
    pub const ALL: [ErrorCode; 13] = [
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
        ErrorCode::TooManyGroups,
    ];

    /// The name of the code in answers.
    ///
    /// ```
    /// let invalid = signaldex::Query::from_query_string("contry=Germany").unwrap_err();
    /// assert_eq!(invalid.errors()[0].code.as_str(), "unknown_parameter");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::UnknownParameter => "unknown_parameter",
            ErrorCode::RepeatedParameter => "repeated_parameter",
            ErrorCode::EmptyValue => "empty_value",
            ErrorCode::InvalidValue => "invalid_value",
            ErrorCode::TooLong => "too_long",
            ErrorCode::TooManyItems => "too_many_items",
            ErrorCode::ConflictingParameters => "conflicting_parameters",
            ErrorCode::UnsearchableText => "unsearchable_text",
            ErrorCode::MalformedQuery => "malformed_query",
            ErrorCode::InvalidCursor => "invalid_cursor",
            ErrorCode::CursorMismatch => "cursor_mismatch",
            ErrorCode::InvalidPosition => "invalid_position",
            ErrorCode::TooManyGroups => "too_many_groups",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ParameterError {
    /// An error of a request's own parameters. Only the first 64 characters of the name are kept; quote input in the
    /// message with [`text::quoted`](crate::text::quoted), which bounds it likewise.
    ///
    /// ```
    /// use signaldex::query::{ErrorCode, ParameterError};
    ///
    /// let error = ParameterError::new("since", ErrorCode::InvalidPosition, "since is too old; copy again");
    /// assert_eq!(error.code.as_str(), "invalid_position");
    /// ```
    pub fn new(
        parameter: impl AsRef<str>,
        code: ErrorCode,
        message: impl Into<String>,
    ) -> ParameterError {
        ParameterError {
            parameter: parameter.as_ref().chars().take(QUOTED_CHARS_MAX).collect(),
            code,
            message: message.into(),
        }
    }

    /// A parameter without a value.
    ///
    /// ```
    /// use signaldex::query::ParameterError;
    ///
    /// let error = ParameterError::empty("after");
    /// assert_eq!(error.message, "after is empty; give it a value or leave it out");
    /// ```
    pub fn empty(parameter: &str) -> ParameterError {
        ParameterError::of_value(parameter, values::empty())
    }

    /// A value that is not allowed; `allowed` says what is.
    ///
    /// ```
    /// use signaldex::query::ParameterError;
    ///
    /// let error = ParameterError::invalid("maxItems", "0", "whole numbers from 1");
    /// assert_eq!(error.message, "maxItems is \"0\"; allowed are whole numbers from 1");
    /// ```
    pub fn invalid(parameter: &str, value: &str, allowed: &str) -> ParameterError {
        let message = format!("{parameter} is {}; allowed are {allowed}", quoted(value));
        ParameterError::new(parameter, ErrorCode::InvalidValue, message)
    }

    /// A value that is none of the choices, with the most similar one.
    ///
    /// ```
    /// use signaldex::query::ParameterError;
    ///
    /// let error = ParameterError::not_a_choice("format", "cvs", &["ndjson", "csv"]);
    /// assert_eq!(error.message, "format is \"cvs\" (did you mean csv?); allowed are ndjson, csv");
    /// ```
    pub fn not_a_choice(parameter: &str, value: &str, choices: &[&str]) -> ParameterError {
        ParameterError::of_value(parameter, values::not_a_choice(value, choices))
    }

    /// A parameter that the request does not have, with the most similar known one.
    ///
    /// ```
    /// use signaldex::query::ParameterError;
    ///
    /// let error = ParameterError::unknown("contry", &["country", "limit"]);
    /// assert!(error.message.contains("(did you mean country?); allowed are country, limit"));
    /// ```
    pub fn unknown(name: &str, known: &[&str]) -> ParameterError {
        ParameterError::unknown_or(name, known, "")
    }

    /// As [`unknown`](Self::unknown), with another hint where no known name is similar.
    pub(super) fn unknown_or(name: &str, known: &[&str], otherwise: &str) -> ParameterError {
        let similar = did_you_mean(name, known);
        let hint = if similar.is_empty() {
            otherwise
        } else {
            &similar
        };
        let allowed = match known {
            [] => "none is allowed".to_owned(),
            _ => format!("allowed are {}", known.join(", ")),
        };
        let message = format!("{} is not a parameter here{hint}; {allowed}", quoted(name));
        ParameterError::new(name, ErrorCode::UnknownParameter, message)
    }

    /// The error of a value.
    pub(super) fn of_value(parameter: &str, (code, error): ValueError) -> ParameterError {
        ParameterError::new(parameter, code, format!("{parameter} {error}"))
    }
}

impl From<ParameterError> for InvalidQuery {
    fn from(error: ParameterError) -> InvalidQuery {
        InvalidQuery::new(vec![error])
    }
}

impl InvalidQuery {
    pub(super) fn new(errors: Vec<ParameterError>) -> InvalidQuery {
        InvalidQuery { errors }
    }

    /// The errors, at least one.
    ///
    /// ```
    /// let invalid = signaldex::Query::from_query_string("contry=Germany&limit=0").unwrap_err();
    /// let names: Vec<&str> = invalid.errors().iter().map(|error| error.parameter.as_str()).collect();
    /// assert_eq!(names, ["contry", "limit"]);
    /// ```
    pub fn errors(&self) -> &[ParameterError] {
        &self.errors
    }
}

impl fmt::Display for InvalidQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.errors.iter().enumerate() {
            let line_end = if position == 0 { "" } else { "\n" };
            write!(f, "{line_end}{}", error.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidQuery {}

#[cfg(test)]
mod tests;
