//! Values of a filter that no signal has, often because they are misspelt.

use std::fmt;

use super::Parameter;

/// A value of a filter that no signal has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnknownValue {
    /// The parameter with the value.
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
