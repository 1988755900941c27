//! What is wrong with a query, in words that help.

use std::fmt;

/// A query that cannot be answered, with all its faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidQuery {
    faults: Vec<Fault>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct Fault {
    /// The parameter, as it was typed; empty where the fault is of the query string as a whole.
    pub parameter: String,
    /// The kind of fault.
    pub code: FaultCode,
    /// What was wrong, and what is allowed. Repeats at most 64 characters of input.
    pub message: String,
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum FaultCode {
    /// There is no parameter of that name.
    UnknownParameter,
    /// The parameter is given more than once.
    RepeatedParameter,
    /// The parameter has no value.
    EmptyValue,
    /// The value is not one of those allowed.
    InvalidValue,
    /// The value, or an item of it, has too many characters.
    TooLong,
    /// The list has too many items.
    TooManyItems,
    /// The parameters exclude each other.
    ConflictingParameters,
    /// The text holds no word that can be searched for.
    UnsearchableText,
    /// The query string itself is malformed.
    MalformedQuery,
    /// The cursor is not one of ours, or damaged.
    InvalidCursor,
    /// The cursor belongs to other filters.
    CursorMismatch,
}

impl FaultCode {
    /// The code as answers write it.
    pub fn as_str(self) -> &'static str {
        match self {
            FaultCode::UnknownParameter => "unknown_parameter",
            FaultCode::RepeatedParameter => "repeated_parameter",
            FaultCode::EmptyValue => "empty_value",
            FaultCode::InvalidValue => "invalid_value",
            FaultCode::TooLong => "too_long",
            FaultCode::TooManyItems => "too_many_items",
            FaultCode::ConflictingParameters => "conflicting_parameters",
            FaultCode::UnsearchableText => "unsearchable_text",
            FaultCode::MalformedQuery => "malformed_query",
            FaultCode::InvalidCursor => "invalid_cursor",
            FaultCode::CursorMismatch => "cursor_mismatch",
        }
    }
}

impl fmt::Display for FaultCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl InvalidQuery {
    pub(super) fn new(faults: Vec<Fault>) -> InvalidQuery {
        InvalidQuery { faults }
    }

    /// The faults, at least one.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }
}

impl fmt::Display for InvalidQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, fault) in self.faults.iter().enumerate() {
            let line_end = if position == 0 { "" } else { "\n" };
            write!(f, "{line_end}{}", fault.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for InvalidQuery {}
