//! From a query string to a builder: decoding, unknown and repeated names.

use std::borrow::Cow;

use super::error::{ErrorCode, InvalidQuery, ParameterError};
use super::limits::{QUERY_STRING_BYTES_MAX, WRITTEN_BYTES_MAX};
use super::written::order_of;
use super::{PARAMETERS, Parameter, QueryBuilder};
use crate::error::{ECHO_CHARS_MAX, quoted};

/// Which parameters a request takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepted {
    /// All of them.
    All,
    /// Those that say what a signal must be like.
    Filters,
    /// The same without the ids of signals.
    #[cfg(feature = "http")]
    FiltersWithoutIds,
    /// All of them and the order, as [`written`](super::written) has them.
    Written,
    /// Those of a filter, as [`written`](super::written) has them.
    WrittenFilters,
}

/// Reads `name=value&name=value`, percent-encoded, `+` for a space. Empty pairs are
/// skipped, so a trailing `&` does no harm.
///
/// # Errors
/// Only for a query string that is too long to be read at all; all other errors are collected in
/// the builder.
pub(super) fn parse(text: &str, accepted: Accepted) -> Result<QueryBuilder, InvalidQuery> {
    check_bytes(text.len(), accepted.bytes_max())?;
    let mut builder = if accepted.is_written() {
        QueryBuilder::of_written_text()
    } else {
        QueryBuilder::default()
    };
    let mut seen: Vec<Parameter> = Vec::new();
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        if let Some(order) = order_of(pair).filter(|_| accepted == Accepted::Written) {
            builder.set_order(order);
            continue;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(parameter) = parameter_of(name, accepted, &mut builder) else {
            continue;
        };
        let name = parameter.name();
        if seen.contains(&parameter) {
            let message = format!("{name} is given more than once; give it once");
            builder.error(ParameterError {
                parameter: name.into(),
                code: ErrorCode::RepeatedParameter,
                message,
            });
            continue;
        }
        seen.push(parameter);
        if let Some(value) = decode_or_error(value, name, name, &mut builder) {
            builder.set(parameter, &value);
        }
    }
    Ok(builder)
}

/// The parameter of a name, still encoded; the builder is told why there is none.
fn parameter_of(name: &str, accepted: Accepted, builder: &mut QueryBuilder) -> Option<Parameter> {
    let name = decode_or_error(name, name, "a name", builder)?;
    let known = known(&name, accepted);
    if known.is_none() {
        builder.error(unknown(&name, accepted));
    }
    known
}

fn check_bytes(bytes: usize, bytes_max: usize) -> Result<(), InvalidQuery> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(InvalidQuery::new(vec![ParameterError {
        parameter: String::new(),
        code: ErrorCode::MalformedQuery,
        message: format!("the query string has {bytes} bytes; at most {bytes_max} are allowed"),
    }]))
}

impl Accepted {
    fn is_written(self) -> bool {
        matches!(self, Accepted::Written | Accepted::WrittenFilters)
    }

    fn bytes_max(self) -> usize {
        if self.is_written() {
            WRITTEN_BYTES_MAX
        } else {
            QUERY_STRING_BYTES_MAX
        }
    }

    fn has(self, parameter: Parameter) -> bool {
        match self {
            Accepted::All | Accepted::Written => true,
            Accepted::Filters | Accepted::WrittenFilters => parameter.is_filter(),
            #[cfg(feature = "http")]
            Accepted::FiltersWithoutIds => parameter.is_filter() && !parameter.is_of_ids(),
        }
    }
}

fn known(name: &str, accepted: Accepted) -> Option<Parameter> {
    Parameter::of_name(name).filter(|&parameter| accepted.has(parameter))
}

fn unknown(name: &str, accepted: Accepted) -> ParameterError {
    let names: Vec<&str> = PARAMETERS
        .iter()
        .filter(|known| accepted.has(known.parameter))
        .map(|known| known.name)
        .collect();
    ParameterError {
        parameter: name.chars().take(ECHO_CHARS_MAX).collect(),
        code: ErrorCode::UnknownParameter,
        message: format!(
            "{} is not a parameter here; allowed are {}",
            quoted(name),
            names.join(", ")
        ),
    }
}

/// Decodes a name or a value; `what` says in a message which it is.
fn decode_or_error<'t>(
    text: &'t str,
    parameter: &str,
    what: &str,
    builder: &mut QueryBuilder,
) -> Option<Cow<'t, str>> {
    let error = match decode(text) {
        Ok(decoded) => return Some(decoded),
        Err(error) => error,
    };
    builder.error(ParameterError {
        parameter: parameter.chars().take(ECHO_CHARS_MAX).collect(),
        code: ErrorCode::MalformedQuery,
        message: format!("{what} is {}, {error}", quoted(text)),
    });
    None
}

/// Percent-decoding; a `+` is a space.
fn decode(text: &str) -> Result<Cow<'_, str>, &'static str> {
    if !text.contains(['%', '+']) {
        return Ok(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [bytes.next(), bytes.next()];
                hexadecimal(digits).ok_or(
                    "where a % is not followed by two hexadecimal digits; write a plain % as %25",
                )?
            }
            _ => byte,
        });
    }
    String::from_utf8(decoded)
        .map(Cow::Owned)
        .map_err(|_| "which does not decode to UTF-8; encode text as UTF-8")
}

fn hexadecimal(digits: [Option<u8>; 2]) -> Option<u8> {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
}
