//! Errors in input records: the field, the error and what is allowed.

use std::fmt;

/// Why a line is not a record.
///
/// Its `Display` reads `funding.amount: -1 is not a finite number of at least 0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    field: Option<&'static str>,
    reason: String,
}

impl RecordError {
    /// The field as a path such as `funding.amount`; `None` if the whole line is invalid.
    ///
    /// ```
    /// let line = br#"{"id": 7, "slug": "7", "title": "Acme", "companySlug": "acme", "funding": {"amount": -1}}"#;
    /// let error = signaldex::json::parse_signal(line).expect_err("the amount is negative");
    /// assert_eq!(error.field(), Some("funding.amount"));
    /// ```
    pub fn field(&self) -> Option<&'static str> {
        self.field
    }

    /// What is wrong, and what is allowed. Shows at most 64 characters of the line.
    ///
    /// ```
    /// let error = signaldex::json::parse_signal(b"{").expect_err("it is not an object");
    /// println!("{}", error.reason());
    /// assert_eq!(error.field(), None);
    /// ```
    pub fn reason(&self) -> &str {
        &self.reason
    }

    pub(super) fn of_field(field: &'static str, reason: impl Into<String>) -> RecordError {
        RecordError {
            field: Some(field),
            reason: reason.into(),
        }
    }

    pub(super) fn of_line(reason: impl Into<String>) -> RecordError {
        RecordError {
            field: None,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.reason)
    }
}

impl std::error::Error for RecordError {}
