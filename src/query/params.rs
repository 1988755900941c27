//! Parses query strings into a builder: decoding, unknown and repeated names.

use std::borrow::Cow;

use unicode_normalization::char::is_combining_mark;

use super::error::{ErrorCode, ParameterError};
use super::limits::{QUERY_STRING_BYTES_MAX, WRITTEN_BYTES_MAX};
use super::nearest::did_you_mean;
use super::values;
use super::written::order_of;
use super::{Facet, PARAMETERS, Parameter, QueryBuilder};
use crate::error::{ECHO_CHARS_MAX, quoted};

/// The parameters that a request accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Accepted {
    /// All search parameters.
    All,
    /// Filters.
    Filters,
    /// Filters and `facets`.
    FacetQuery,
    /// As [`FacetQuery`](Self::FacetQuery), without lists of ids.
    #[cfg(feature = "http")]
    FacetQueryWithoutIds,
    /// Filters, `limit` and `since`.
    #[cfg(feature = "http")]
    Changes,
    /// Filters, `after`, `maxItems` and `format`.
    #[cfg(feature = "http")]
    Export,
    /// All search parameters and the order, in the form of [`written`](super::written).
    Written,
    /// Filters, in the form of [`written`](super::written).
    WrittenFilters,
}

/// Parses `name=value&name=value`, decoded by [`decode`]. Empty pairs are skipped, so a
/// trailing `&` is allowed. Errors are collected in the builder.
pub(super) fn parse(text: &str, accepted: Accepted) -> QueryBuilder {
    let mut builder = if accepted.is_written() {
        QueryBuilder::of_written_text()
    } else {
        QueryBuilder::default()
    };
    if let Err(error) = check_bytes(text.len(), accepted.bytes_max()) {
        builder.error(error);
        return builder;
    }
    // One bit per parameter.
    let mut seen = 0_u64;
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        if let Some(order) = order_of(pair).filter(|_| accepted == Accepted::Written) {
            builder.set_order(order);
            continue;
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(parameter) = parameter_of(pair, name, accepted, &mut builder) else {
            continue;
        };
        let name = parameter.name();
        let bit = 1 << parameter as u32;
        if seen & bit != 0 {
            builder.error(repeated(name));
            continue;
        }
        seen |= bit;
        if let Some(value) = decode_or_error(value, name, name, &mut builder) {
            builder.set(parameter, &value);
        }
    }
    builder
}

/// The name of the parameter for facets, which only [`parse_with_facets`] accepts.
const FACETS_NAME: &str = "facets";

/// As [`parse`], with the facets listed by `facets`; `None` if it is not given.
pub(super) fn parse_with_facets(
    text: &str,
    accepted: Accepted,
) -> (QueryBuilder, Option<Vec<Facet>>) {
    let (mut builder, [value]) = parse_with(text, [FACETS_NAME], accepted);
    let facets = value.and_then(|value| {
        let facets = values::facets(&value);
        facets
            .map_err(|error| builder.error_of(FACETS_NAME, error))
            .ok()
    });
    (builder, facets)
}

/// The name of the parameter for the position in the changes feed.
#[cfg(feature = "http")]
pub(super) const SINCE_NAME: &str = "since";

/// The names of the parameters that only exports accept.
#[cfg(feature = "http")]
pub(crate) const EXPORT_NAMES: [&str; 3] = ["after", "maxItems", "format"];

/// As [`parse`], with the values of additional parameters; `None` for each that is not given.
pub(super) fn parse_with<const N: usize>(
    text: &str,
    names: [&'static str; N],
    accepted: Accepted,
) -> (QueryBuilder, [Option<String>; N]) {
    if text.len() > accepted.bytes_max() {
        return (parse(text, accepted), [const { None }; N]);
    }
    let is_own = |pair: &&str| names.iter().any(|name| is_named(pair, name));
    let (own, others): (Vec<&str>, Vec<&str>) = text.split('&').partition(is_own);
    let mut builder = parse(&others.join("&"), accepted);
    let values = names.map(|name| {
        let mut pairs = own.iter().filter(|pair| is_named(pair, name));
        let pair = pairs.next()?;
        if pairs.next().is_some() {
            builder.error(repeated(name));
        }
        let value = pair.split_once('=').map_or("", |(_, value)| value);
        decode_or_error(value, name, name, &mut builder).map(Cow::into_owned)
    });
    (builder, values)
}

/// Whether a pair has this name.
fn is_named(pair: &str, name: &str) -> bool {
    let given = pair.split_once('=').map_or(pair, |(given, _)| given);
    decode(given).is_ok_and(|given| given == name)
}

fn repeated(name: &str) -> ParameterError {
    ParameterError {
        parameter: name.into(),
        code: ErrorCode::RepeatedParameter,
        message: format!("{name} is given more than once; give it once"),
    }
}

/// The parameter that a pair names. Errors are added to the builder.
fn parameter_of(
    pair: &str,
    name: &str,
    accepted: Accepted,
    builder: &mut QueryBuilder,
) -> Option<Parameter> {
    // Known names have nothing to decode.
    if let Some(parameter) = known(name, accepted) {
        return Some(parameter);
    }
    let decoded = decode_or_error(name, name, "a name", builder)?;
    let known = known(&decoded, accepted);
    if known.is_none() && builder.takes_errors() {
        builder.error(unknown(&decoded, pair == name, accepted));
    }
    known
}

fn check_bytes(bytes: usize, bytes_max: usize) -> Result<(), ParameterError> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(ParameterError {
        parameter: String::new(),
        code: ErrorCode::MalformedQuery,
        message: format!("the query string has {bytes} bytes; at most {bytes_max} are allowed"),
    })
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

    /// The names of additional parameters, which searches do not have.
    fn own_names(self) -> &'static [&'static str] {
        match self {
            Accepted::FacetQuery => &[FACETS_NAME],
            #[cfg(feature = "http")]
            Accepted::FacetQueryWithoutIds => &[FACETS_NAME],
            #[cfg(feature = "http")]
            Accepted::Changes => &[SINCE_NAME],
            #[cfg(feature = "http")]
            Accepted::Export => &EXPORT_NAMES,
            _ => &[],
        }
    }

    fn has(self, parameter: Parameter) -> bool {
        match self {
            Accepted::All | Accepted::Written => true,
            Accepted::Filters | Accepted::WrittenFilters | Accepted::FacetQuery => {
                parameter.is_filter()
            }
            #[cfg(feature = "http")]
            Accepted::Export => parameter.is_filter(),
            #[cfg(feature = "http")]
            Accepted::FacetQueryWithoutIds => parameter.is_filter() && !parameter.is_of_ids(),
            #[cfg(feature = "http")]
            Accepted::Changes => parameter.is_filter() || parameter == Parameter::Limit,
        }
    }

    /// The names of all accepted parameters.
    fn names(self) -> impl Iterator<Item = &'static str> {
        let known = PARAMETERS.iter();
        let accepted = known.filter(move |known| self.has(known.parameter));
        let accepted = accepted.map(|known| known.name);
        accepted.chain(self.own_names().iter().copied())
    }
}

fn known(name: &str, accepted: Accepted) -> Option<Parameter> {
    Parameter::of_name(name).filter(|&parameter| accepted.has(parameter))
}

/// The error for an unknown name. `is_lone` means that it has no value.
fn unknown(name: &str, is_lone: bool, accepted: Accepted) -> ParameterError {
    let names: Vec<&str> = accepted.names().collect();
    let hint = match did_you_mean(name, &names) {
        hint if hint.is_empty() && is_lone => " (an & within a value is written %26)".to_owned(),
        hint => hint,
    };
    ParameterError {
        parameter: name.chars().take(ECHO_CHARS_MAX).collect(),
        code: ErrorCode::UnknownParameter,
        message: format!(
            "{} is not a parameter here{hint}; allowed are {}",
            quoted(name),
            names.join(", ")
        ),
    }
}

/// Decodes a name or a value; `what` names it in the error message.
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

/// Percent-decoding; a `+` is a space, unless [`keeps_signs`] says otherwise.
pub(crate) fn decode(text: &str) -> Result<Cow<'_, str>, &'static str> {
    if !text.bytes().any(|byte| matches!(byte, b'%' | b'+')) {
        return Ok(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    // Where two `+` have become two spaces.
    let mut doubled = Vec::new();
    let mut bytes = text.as_bytes().iter().copied();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => {
                if bytes.clone().next() == Some(b'+') {
                    doubled.push(decoded.len());
                }
                b' '
            }
            b'%' => {
                let digits = [bytes.next(), bytes.next()];
                hexadecimal(digits).ok_or(
                    "where a % is not followed by two hexadecimal digits; write a plain % as %25",
                )?
            }
            _ => byte,
        });
    }
    let mut decoded = String::from_utf8(decoded)
        .map_err(|_| "which does not decode to UTF-8; encode text as UTF-8")?;
    doubled.retain(|&at| keeps_signs(&decoded, at));
    for at in doubled {
        decoded.replace_range(at..at + 2, "++");
    }
    Ok(Cow::Owned(decoded))
}

/// Whether two `+`, decoded to two spaces at a position, stand for themselves: directly after a word of one
/// letter and not before a letter or digit, as in `C++`.
fn keeps_signs(text: &str, at: usize) -> bool {
    let (word, next) = (&text[..at], text[at + 2..].chars().next());
    let mut before = word
        .chars()
        .rev()
        .skip_while(|&mark| is_combining_mark(mark));
    before.next().is_some_and(char::is_alphabetic)
        && !before
            .next()
            .is_some_and(|before| before.is_alphanumeric() || is_combining_mark(before))
        && !next.is_some_and(char::is_alphanumeric)
}

fn hexadecimal(digits: [Option<u8>; 2]) -> Option<u8> {
    let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
    Some((digit(digits[0])? * 16 + digit(digits[1])?) as u8)
}

#[cfg(test)]
mod tests;
