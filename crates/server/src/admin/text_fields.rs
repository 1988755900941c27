//! The text fields of a form: their values, and what is wrong with them.

use super::form::FormData;

/// An error of a form field.
pub(super) struct FieldError {
    pub(super) field: &'static str,
    pub(super) text: String,
}

/// The values of the fields with their errors.
pub(super) struct TextFields {
    values: Vec<(&'static str, String)>,
    pub(super) errors: Vec<FieldError>,
}

impl FieldError {
    pub(super) fn new(field: &'static str, text: impl Into<String>) -> FieldError {
        let text = text.into();
        FieldError { field, text }
    }
}

impl TextFields {
    /// Fields without errors.
    pub(super) fn of(values: impl IntoIterator<Item = (&'static str, String)>) -> TextFields {
        TextFields {
            values: values.into_iter().collect(),
            errors: Vec::new(),
        }
    }

    /// The fields of these names as they were submitted.
    pub(super) fn typed(
        names: &[&'static str],
        form: &FormData,
        errors: Vec<FieldError>,
    ) -> TextFields {
        let typed = names
            .iter()
            .map(|&name| (name, form.value(name).to_owned()));
        TextFields {
            errors,
            ..TextFields::of(typed)
        }
    }

    /// The value of a field.
    pub(super) fn value(&self, field: &str) -> &str {
        let value = self.values.iter().find(|(name, _)| *name == field);
        value.map_or("", |(_, value)| value)
    }

    /// The error of a field; empty if there is none.
    pub(super) fn error(&self, field: &str) -> &str {
        let error = self.errors.iter().find(|error| error.field == field);
        error.map_or("", |error| &error.text)
    }
}
