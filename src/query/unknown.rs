//! A value that a filter names and that no record has: more often than not, it is misspelt.

use std::fmt;

use super::Parameter;

/// A value that a filter names and that no signal has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownValue {
    /// The parameter that names it.
    pub parameter: Parameter,
    /// The value as the filter compares it: folded text, a lower-case ID, or a slug as typed.
    pub value: String,
}

impl fmt::Display for UnknownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no signal has {} {:?}",
            self.parameter.name(),
            self.value
        )
    }
}
