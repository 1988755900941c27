//! Faults of input records: the field, the value, what is wrong and what is allowed.

use std::borrow::Cow;
use std::fmt;

/// Why a line or a row is not a record.
///
/// Its `Display` reads `funding.amount: -1 is not a finite number of at least 0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    field: Option<&'static str>,
    value: Option<String>,
    reason: Cow<'static, str>,
    options: Vec<String>,
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

    /// The value as it was written, at most 64 characters of it; `None` if there is none.
    ///
    /// ```
    /// let line = br#"{"slug": "acme", "name": "Acme", "employees": "many"}"#;
    /// let error = signaldex::json::parse_company(line).expect_err("there is no number");
    /// assert_eq!(error.value(), Some("\"many\""));
    /// ```
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// What is wrong, and what is allowed. It does not repeat the value, so equal faults have equal reasons.
    ///
    /// ```
    /// let error = signaldex::json::parse_signal(b"{").expect_err("it is not an object");
    /// println!("{}", error.reason());
    /// assert_eq!(error.field(), None);
    /// ```
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The options of a load each of which would read the value, such as `--decimal .`.
    ///
    /// ```
    /// let line = br#"{"slug": "acme", "name": "Acme", "employees": "1,200"}"#;
    /// let error = signaldex::json::parse_company(line).expect_err("it has two readings");
    /// assert_eq!(error.options(), ["--decimal ."]);
    /// ```
    pub fn options(&self) -> &[String] {
        &self.options
    }

    pub(crate) fn of_field(
        field: &'static str,
        reason: impl Into<Cow<'static, str>>,
    ) -> RecordError {
        RecordError {
            field: Some(field),
            ..RecordError::of_line(reason)
        }
    }

    pub(crate) fn of_line(reason: impl Into<Cow<'static, str>>) -> RecordError {
        RecordError {
            field: None,
            value: None,
            reason: reason.into(),
            options: Vec::new(),
        }
    }

    /// The same, with the value that it is about.
    pub(crate) fn with_value(mut self, value: impl Into<String>) -> RecordError {
        self.value = Some(value.into());
        self
    }

    /// The same, with the options that would read the value.
    pub(crate) fn with_options(mut self, options: Vec<String>) -> RecordError {
        self.options = options;
        self
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(field) = self.field {
            write!(f, "{field}: ")?;
        }
        if let Some(value) = &self.value {
            write!(f, "{value} ")?;
        }
        f.write_str(&self.reason)?;
        if self.options.is_empty() {
            return Ok(());
        }
        // Further ones are seldom what was meant.
        let options = &self.options[..self.options.len().min(OPTIONS_SHOWN_MAX)];
        let verb = if options.len() == 1 { "reads" } else { "read" };
        write!(f, "; {} {verb} it", options.join(" or "))
    }
}

/// How many options a message names.
const OPTIONS_SHOWN_MAX: usize = 3;

impl std::error::Error for RecordError {}
