//! Parses and validates parameter values. All rules for values are in this file.
//!
//! Error messages do not contain the name of the parameter, which [`QueryBuilder`](super::QueryBuilder)
//! prepends.

use std::borrow::Cow;

use smallvec::SmallVec;
use smol_str::SmolStr;
use time::Date;

use super::dates::calendar_date;
use super::error::ErrorCode;
use super::filter::ValueKeys;
use super::limits::HOST_LIMIT_MAX;
use super::list::{self, ListError};
use super::parameter::{Parameter, ParameterKind};
use super::{CompanyReference, Cursor, DateRange, Days, Facet, Order, ParseCursorError, Phrase};
use crate::signal::SignalId;
use crate::text::{did_you_mean, quoted};

/// The kind of error of a value, and its message without the parameter's name.
pub(super) type ValueError = (ErrorCode, String);

/// The origin of a text, which determines its limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Origin {
    /// A client: the limits of the API apply.
    #[default]
    Typed,
    /// The host program, which sets its own limits.
    Host,
    /// The [text form](super::written) of a valid query: folded values may be longer than the original text.
    Written,
}

/// Checks the length of a whole value. Items have limits of their own.
pub(super) fn check_length(
    parameter: Parameter,
    text: &str,
    origin: Origin,
) -> Result<(), ValueError> {
    if text.is_empty() {
        return Err(empty());
    }
    match origin {
        Origin::Typed => check_chars(parameter, text),
        Origin::Host | Origin::Written => Ok(()),
    }
}

fn check_chars(parameter: Parameter, text: &str) -> Result<(), ValueError> {
    let max = match parameter.description().kind {
        ParameterKind::Text(max)
        | ParameterKind::AttributeList(max)
        | ParameterKind::Cursor(max) => max,
        _ => usize::MAX,
    };
    check_chars_max(text, max)
}

/// Checks the number of characters of a text.
pub(super) fn check_chars_max(text: &str, max: usize) -> Result<(), ValueError> {
    let Some(chars) = chars_above(max, text) else {
        return Ok(());
    };
    let error = format!("has {chars} characters; at most {max} are allowed");
    Err((ErrorCode::TooLong, error))
}

/// The number of characters, if it is above `max`. They are counted only where there may be too many.
fn chars_above(max: usize, text: &str) -> Option<usize> {
    let may_be_above = text.len() > max;
    let chars = may_be_above.then(|| text.chars().count());
    chars.filter(|&chars| chars > max)
}

pub(super) fn empty() -> ValueError {
    let error = "is empty; give it a value or leave it out".to_owned();
    (ErrorCode::EmptyValue, error)
}

pub(super) fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort_unstable();
    values.dedup();
    values
}

/// Refuses text without a single word.
pub(super) fn searchable(phrases: Vec<Phrase>, text: &str) -> Result<Vec<Phrase>, ValueError> {
    if !phrases.is_empty() {
        return Ok(phrases);
    }
    Err(unsearchable(text))
}

pub(super) fn unsearchable(text: &str) -> ValueError {
    let error = format!(
        "is {}, which has no searchable word; give at least one letter or digit",
        quoted(text)
    );
    (ErrorCode::UnsearchableText, error)
}

/// Splits a list and checks the number and lengths of its items.
pub(super) fn items(
    parameter: Parameter,
    text: &str,
    origin: Origin,
) -> Result<Vec<Cow<'_, str>>, ValueError> {
    let items = split(text)?;
    check_items(parameter, &items, origin)?;
    Ok(items)
}

pub(super) fn split(text: &str) -> Result<Vec<Cow<'_, str>>, ValueError> {
    list::split(text).map_err(|error| match error {
        ListError::EmptyItem(number) => empty_item(number),
        ListError::OpenQuote(number) => (
            ErrorCode::InvalidValue,
            format!("has an open quote in item {number}; close it, and double quotes within"),
        ),
        ListError::AfterQuote(number) => (
            ErrorCode::InvalidValue,
            format!("has text after the closing quote of item {number}; a comma must follow"),
        ),
    })
}

/// Checks the number of items.
pub(super) fn check_items(
    parameter: Parameter,
    items: &[Cow<'_, str>],
    origin: Origin,
) -> Result<(), ValueError> {
    let (max, chars_max) = match parameter.description().kind {
        ParameterKind::List { items, chars } => (items, chars),
        ParameterKind::IdList(items) | ParameterKind::ChoiceList { items, .. } => {
            (items, usize::MAX)
        }
        _ => (usize::MAX, usize::MAX),
    };
    if origin == Origin::Typed {
        check_count(items.len(), max)?;
    }
    if let Some(position) = items.iter().position(|item| item.is_empty()) {
        return Err(empty_item(position + 1));
    }
    if origin != Origin::Typed {
        return Ok(());
    }
    let too_long = items.iter().zip(1..);
    let mut too_long =
        too_long.filter_map(|(item, number)| Some((chars_above(chars_max, item)?, number)));
    match too_long.next() {
        None => Ok(()),
        Some((chars, number)) => {
            let error =
                format!("has {chars} characters in item {number}; at most {chars_max} are allowed");
            Err((ErrorCode::TooLong, error))
        }
    }
}

pub(super) fn check_count(count: usize, max: usize) -> Result<(), ValueError> {
    if count <= max {
        Ok(())
    } else {
        Err(too_many_items(count, max))
    }
}

pub(super) fn too_many_items(count: usize, max: usize) -> ValueError {
    let error = format!("has {count} items; at most {max} are allowed");
    (ErrorCode::TooManyItems, error)
}

fn empty_item(number: usize) -> ValueError {
    let error = format!("has no text in item {number}; separate items by single commas");
    (ErrorCode::EmptyValue, error)
}

pub(super) fn not_allowed(parameter: Parameter, text: &str) -> ValueError {
    match parameter.description().kind {
        ParameterKind::Choice(choices) | ParameterKind::ChoiceList { choices, .. } => {
            not_a_choice(text, choices)
        }
        _ => (ErrorCode::InvalidValue, format!("is {}", quoted(text))),
    }
}

pub(super) fn not_a_choice(text: &str, choices: &[&str]) -> ValueError {
    let (text, hint, allowed) = (
        quoted(text),
        did_you_mean(text, choices),
        choices.join(", "),
    );
    let error = format!("is {text}{hint}; allowed are {allowed}");
    (ErrorCode::InvalidValue, error)
}

/// Turns an error into that of a list item.
pub(super) fn of_item((code, error): ValueError) -> ValueError {
    (code, error.replacen("is", "has the item", 1))
}

/// The facets that a text lists, in the order of [`Facet::ALL`].
pub(super) fn facets(text: &str) -> Result<Vec<Facet>, ValueError> {
    facets_among(text, &Facet::ALL)
}

/// The facets that a text lists, each one of the allowed, in the order of [`Facet::ALL`].
pub(super) fn facets_among(text: &str, allowed: &[Facet]) -> Result<Vec<Facet>, ValueError> {
    if text.is_empty() {
        return Err(empty());
    }
    let names = allowed.iter().map(|facet| facet.description().options);
    let names: Vec<&str> = names.collect();
    let facet = |item: &Cow<'_, str>| {
        let index = names.iter().position(|name| name == item);
        index
            .map(|index| allowed[index])
            .ok_or_else(|| of_item(not_a_choice(item, &names)))
    };
    let items = split(text)?;
    check_count(items.len(), names.len())?;
    items
        .iter()
        .map(facet)
        .collect::<Result<_, _>>()
        .map(sorted)
}

/// The keys of a facet's values, sorted.
pub(super) fn facet_keys(
    facet: Facet,
    text: &str,
    origin: Origin,
) -> Result<ValueKeys, ValueError> {
    let parameter = facet.parameter();
    match parameter.description().kind {
        ParameterKind::Choice(choices) => choice(parameter, choices, text).map(one),
        ParameterKind::List { .. } | ParameterKind::AttributeList(_) => {
            Ok(keys_of_items(facet, &items(parameter, text, origin)?))
        }
        _ => {
            let key = facet.key(text);
            if key.is_empty() {
                let error = "is blank; give it a value or leave it out";
                return Err((ErrorCode::EmptyValue, error.to_owned()));
            }
            Ok(one(&key))
        }
    }
}

/// The keys of values given by the host; empty if there are none.
pub(super) fn facet_keys_of(
    facet: Facet,
    values: &[Cow<'_, str>],
) -> Result<ValueKeys, ValueError> {
    let parameter = facet.parameter();
    match parameter.description().kind {
        ParameterKind::List { .. } | ParameterKind::AttributeList(_) => {
            check_items(parameter, values, Origin::Host)?;
            Ok(keys_of_items(facet, values))
        }
        _ => match values {
            [] => Ok(ValueKeys::new()),
            [value] => {
                check_length(parameter, value, Origin::Host)?;
                facet_keys(facet, value, Origin::Host)
            }
            _ => Err(too_many_items(values.len(), 1)),
        },
    }
}

fn keys_of_items(facet: Facet, items: &[Cow<'_, str>]) -> ValueKeys {
    let keys = items.iter().map(|item| SmolStr::from(facet.key(item)));
    let mut keys: ValueKeys = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn one(key: &str) -> ValueKeys {
    SmallVec::from_buf([key.into()])
}

/// Parses one of several choices. Accepts a space for `+`, which decoding produces from an unescaped `+`.
fn choice(
    parameter: Parameter,
    choices: &[&'static str],
    text: &str,
) -> Result<&'static str, ValueError> {
    let is_meant = |choice: &&&str| **choice == text || **choice == text.replace(' ', "+");
    let meant = choices.iter().find(is_meant);
    meant.copied().ok_or_else(|| not_allowed(parameter, text))
}

pub(super) fn companies(items: Vec<Cow<'_, str>>) -> Vec<CompanyReference> {
    let references = items.iter().map(|item| CompanyReference::new(item));
    sorted(references.collect())
}

pub(super) fn days(text: &str) -> Result<Days, ValueError> {
    text.parse().map_err(|_| not_allowed(Parameter::Days, text))
}

pub(super) fn date_ranges(items: Vec<Cow<'_, str>>) -> Result<Vec<DateRange>, ValueError> {
    let range = |item: &Cow<'_, str>| {
        item.parse()
            .map_err(|_| of_item(not_allowed(Parameter::DateRanges, item)))
    };
    items
        .iter()
        .map(range)
        .collect::<Result<_, _>>()
        .map(sorted)
}

pub(super) fn date(text: &str) -> Result<Date, ValueError> {
    calendar_date(text).ok_or_else(|| no_date(text))
}

pub(super) fn amount(text: &str) -> Result<f64, ValueError> {
    let parsed = is_amount(text).then(|| text.parse::<f64>().ok()).flatten();
    parsed
        .filter(|amount| amount.is_finite())
        .ok_or_else(|| no_amount(text))
}

/// Whether a text is an unsigned JSON number: Rust's parser also accepts `inf`, `+1`, `007` and `1.`.
fn is_amount(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let are_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let unsigned = |text: &str| are_digits(text.strip_prefix(['+', '-']).unwrap_or(text));
    are_digits(whole)
        && !has_leading_zero(whole)
        && fraction.is_none_or(are_digits)
        && exponent.is_none_or(unsigned)
}

fn has_leading_zero(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0')
}

/// Checks an amount; negative zero becomes zero.
pub(super) fn amount_of(amount: f64) -> Result<f64, ValueError> {
    if amount.is_finite() && amount >= 0.0 {
        Ok(amount.abs())
    } else {
        Err(no_amount(&amount.to_string()))
    }
}

fn no_amount(text: &str) -> ValueError {
    let error = format!(
        "is {}; allowed are finite decimal numbers from 0 on, without a sign or leading zeros",
        quoted(text)
    );
    (ErrorCode::InvalidValue, error)
}

/// Checks a date: years have four digits in a query string.
pub(super) fn date_of(date: Date) -> Result<Date, ValueError> {
    if (0..=9999).contains(&date.year()) {
        Ok(date)
    } else {
        Err(no_date(&date.to_string()))
    }
}

fn no_date(text: &str) -> ValueError {
    let error = format!(
        "is {}; allowed are calendar dates as YYYY-MM-DD",
        quoted(text)
    );
    (ErrorCode::InvalidValue, error)
}

pub(super) fn ids(items: Vec<Cow<'_, str>>) -> Result<Vec<SignalId>, ValueError> {
    let id = |item: &Cow<'_, str>| id(item).map_err(of_item);
    items.iter().map(id).collect::<Result<_, _>>().map(sorted)
}

fn id(text: &str) -> Result<SignalId, ValueError> {
    text.parse().map_err(|_| {
        let error = format!(
            "is {}; allowed are whole numbers of 1 to 19 digits without a leading zero",
            quoted(text)
        );
        (ErrorCode::InvalidValue, error)
    })
}

/// Parses a number of the API, or of the text form of a valid query.
pub(super) fn number(parameter: Parameter, text: &str, origin: Origin) -> Result<u32, ValueError> {
    number_up_to(text, number_max(parameter, origin))
}

/// Parses a number from 1 to `max`.
pub(super) fn number_up_to(text: &str, max: u32) -> Result<u32, ValueError> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !has_leading_zero(text);
    let number = is_number.then(|| text.parse().ok()).flatten();
    number
        .filter(|number| (1..=max).contains(number))
        .ok_or_else(|| not_a_number(text, max))
}

/// Checks a number given by the host.
pub(super) fn number_of(parameter: Parameter, number: usize) -> Result<u32, ValueError> {
    let max = number_max(parameter, Origin::Host);
    u32::try_from(number)
        .ok()
        .filter(|number| (1..=max).contains(number))
        .ok_or_else(|| not_a_number(&number.to_string(), max))
}

/// The largest number: a page that is not sent over HTTP may be longer.
fn number_max(parameter: Parameter, origin: Origin) -> u32 {
    match parameter.description().kind {
        ParameterKind::Number(_) if parameter == Parameter::Limit && origin != Origin::Typed => {
            HOST_LIMIT_MAX as u32
        }
        ParameterKind::Number(max) => max,
        _ => 0,
    }
}

pub(super) fn not_a_number(text: &str, max: u32) -> ValueError {
    let text = quoted(text);
    let error = format!("is {text}; allowed are whole numbers from 1 to {max}");
    (ErrorCode::InvalidValue, error)
}

/// Parses a whole number from 0 on with at most `digits` digits, at most 18.
pub(super) fn whole_number(text: &str, digits: usize) -> Result<i64, ValueError> {
    let is_number = !text.is_empty()
        && text.len() <= digits
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && !has_leading_zero(text);
    let number = is_number.then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| not_a_whole_number(text, digits))
}

/// Checks a whole number given by the host.
pub(super) fn whole_number_of(number: i64, digits: usize) -> Result<i64, ValueError> {
    whole_number(&number.to_string(), digits)
}

pub(super) fn not_a_whole_number(text: &str, digits: usize) -> ValueError {
    if text.is_empty() {
        return empty();
    }
    let text = quoted(text);
    let error = format!(
        "is {text}; allowed are whole numbers of at most {digits} digits, without a sign or leading zeros"
    );
    (ErrorCode::InvalidValue, error)
}

pub(super) fn flag(text: &str) -> Result<bool, ValueError> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(not_a_choice(text, &["true", "false"])),
    }
}

pub(super) fn order(text: &str) -> Result<Order, ValueError> {
    text.parse()
        .map_err(|_| not_allowed(Parameter::Order, text))
}

pub(super) fn cursor(text: &str) -> Result<Cursor, ValueError> {
    Cursor::parse(text).map_err(no_cursor)
}

pub(super) fn no_cursor(error: ParseCursorError) -> ValueError {
    let error = format!("{error}; give the nextCursor of an earlier answer unchanged");
    (ErrorCode::InvalidCursor, error)
}
