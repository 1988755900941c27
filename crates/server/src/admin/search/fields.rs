//! The fields of filters in a form: what is typed, what is wrong with it, and the choices with their counts.

use super::choices::{Choices, FilterGroup};
use super::words::WordedFault;
use crate::admin::form::FormData;

/// The fields of the filters of signals: those of a search, or those of one condition on companies.
pub(super) struct FilterFields {
    /// What comes before the names of the fields, so that those of several conditions differ.
    pub(super) prefix: String,
    pub(super) form: FormData,
    pub(super) choices: Choices,
    pub(super) errors: Vec<WordedFault>,
}

impl FilterFields {
    /// The name of a field, which is its id, too.
    pub(super) fn id(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The value of a field.
    pub(super) fn typed(&self, name: &str) -> &str {
        self.form.value(name)
    }

    /// The error of a field; empty if there is none.
    pub(super) fn error(&self, name: &str) -> &str {
        let error = self.errors.iter().find(|error| error.parameter == name);
        error.map_or("", |error| &error.text)
    }

    /// Whether any of these fields has a value, so that their group is expanded.
    pub(super) fn uses(&self, names: &[&str]) -> bool {
        names.iter().any(|name| !self.typed(name).is_empty())
    }

    /// Whether any field of these groups has a value.
    pub(super) fn uses_any_of(&self, groups: &[FilterGroup]) -> bool {
        groups
            .iter()
            .any(|group| !self.typed(group.name).is_empty())
    }
}
