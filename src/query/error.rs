//! Errors in queries.

use std::fmt;

/// An invalid query, with all its errors.
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
}

impl ErrorCode {
    /// The name of the code in answers.
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
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl InvalidQuery {
    pub(super) fn new(errors: Vec<ParameterError>) -> InvalidQuery {
        InvalidQuery { errors }
    }

    /// The errors, at least one.
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
