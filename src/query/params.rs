//! Parses query strings into a builder: decoding, unknown and repeated names.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::char::is_combining_mark;

use super::error::{ErrorCode, ParameterError};
use super::limits::{QUERY_STRING_BYTES_MAX, WRITTEN_BYTES_MAX};
use super::values::Origin;
use super::{Parameter, ParameterSet, QueryBuilder};
use crate::text::quoted;

/// Parses `name=value&name=value`, decoded by [`decode`], into a builder that collects all errors, and the decoded
/// values of `own_names`. Empty pairs are skipped, so a trailing `&` is allowed.
pub(super) fn parse<const N: usize>(
    text: &str,
    accepted: ParameterSet,
    own_names: [&'static str; N],
    origin: Origin,
) -> (QueryBuilder, [Option<String>; N]) {
    let mut builder = QueryBuilder::of_origin(origin);
    let mut own_values = [const { None }; N];
    if let Err(error) = check_bytes(text.len(), bytes_max(origin)) {
        builder.add_error(error);
        return (builder, own_values);
    }
    // A bit for each parameter, and one for each name of the caller's own above them.
    let mut seen = 0_u64;
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(target) = target_of(pair, name, accepted, &own_names, &mut builder) else {
            continue;
        };
        let (name, bit) = match target {
            Target::Parameter(parameter) => (parameter.name(), parameter as u32),
            Target::Own(index) => (own_names[index], u64::BITS - 1 - index as u32),
        };
        if seen & 1 << bit != 0 {
            builder.add_error(repeated(name));
            continue;
        }
        seen |= 1 << bit;
        let raw = value;
        let Some(value) = decode_or_error(raw, name, name, &mut builder) else {
            continue;
        };
        match target {
            Target::Parameter(parameter) => {
                builder.set(parameter, &value);
                builder.typed.note_plus(parameter, raw);
            }
            Target::Own(index) => own_values[index] = Some(value.into_owned()),
        }
    }
    (builder, own_values)
}

/// What a pair sets.
#[derive(Clone, Copy)]
enum Target {
    Parameter(Parameter),
    /// The caller's name at this index.
    Own(usize),
}

fn bytes_max(origin: Origin) -> usize {
    match origin {
        Origin::Typed | Origin::Host => QUERY_STRING_BYTES_MAX,
        Origin::Written => WRITTEN_BYTES_MAX,
    }
}

pub(super) fn repeated(name: &str) -> ParameterError {
    ParameterError::new(
        name,
        ErrorCode::RepeatedParameter,
        format!("{name} is given more than once; give it once"),
    )
}

/// What a pair sets. Errors are added to the builder.
fn target_of(
    pair: &str,
    name: &str,
    accepted: ParameterSet,
    own_names: &[&'static str],
    builder: &mut QueryBuilder,
) -> Option<Target> {
    // Known names have nothing to decode.
    if let Some(target) = known(name, accepted, own_names) {
        return Some(target);
    }
    let decoded = decode_or_error(name, name, "a name", builder)?;
    let known = known(&decoded, accepted, own_names);
    if known.is_none() && builder.takes_errors() {
        builder.add_error(unknown(&decoded, pair == name, accepted, own_names));
    }
    known
}

fn known(name: &str, accepted: ParameterSet, own_names: &[&'static str]) -> Option<Target> {
    if let Some(parameter) = Parameter::of_name(name).filter(|&known| accepted.contains(known)) {
        return Some(Target::Parameter(parameter));
    }
    let index = own_names.iter().position(|own| *own == name)?;
    Some(Target::Own(index))
}

fn check_bytes(bytes: usize, bytes_max: usize) -> Result<(), ParameterError> {
    if bytes <= bytes_max {
        return Ok(());
    }
    Err(ParameterError::new(
        "",
        ErrorCode::MalformedQuery,
        format!("the query string has {bytes} bytes; at most {bytes_max} are allowed"),
    ))
}

/// The error for an unknown name. `is_lone` means that it has no value.
fn unknown(
    name: &str,
    is_lone: bool,
    accepted: ParameterSet,
    own_names: &[&'static str],
) -> ParameterError {
    let own_names = own_names.iter().copied();
    let names: Vec<&str> = accepted
        .iter()
        .map(Parameter::name)
        .chain(own_names)
        .collect();
    let otherwise = if is_lone {
        " (an & within a value is written %26)"
    } else {
        ""
    };
    ParameterError::unknown_or(name, &names, otherwise)
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
    builder.add_error(ParameterError::new(
        parameter,
        ErrorCode::MalformedQuery,
        format!("{what} is {}, {error}", quoted(text)),
    ));
    None
}

/// Why a name or a value of a query string cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// A `%` is not followed by two hexadecimal digits.
    Percent,
    /// The text does not decode to UTF-8.
    NotUtf8,
}

impl fmt::Display for DecodeError {
    /// Completes "the value is ..., ".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecodeError::Percent => {
                "where a % is not followed by two hexadecimal digits; write a plain % as %25"
            }
            DecodeError::NotUtf8 => "which does not decode to UTF-8; encode text as UTF-8",
        })
    }
}

impl std::error::Error for DecodeError {}

/// Decodes a name or a value of a query string, as every call that takes a query string does: percent-decoding, and a
/// `+` is a space unless it is a sign of a word, as in `C++`.
///
/// ```
/// use signaldex::query::decode;
///
/// assert_eq!(decode("series%20a+C++")?, "series a C++");
/// assert!(decode("50%").is_err());
/// # Ok::<(), signaldex::query::DecodeError>(())
/// ```
///
/// # Errors
/// A `%` is not followed by two hexadecimal digits, or the text does not decode to UTF-8.
pub fn decode(text: &str) -> Result<Cow<'_, str>, DecodeError> {
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
                hexadecimal(digits).ok_or(DecodeError::Percent)?
            }
            _ => byte,
        });
    }
    let mut decoded = String::from_utf8(decoded).map_err(|_| DecodeError::NotUtf8)?;
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
