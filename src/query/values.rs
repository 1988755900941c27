//! From the text of one parameter to its value: every rule about values is in this file.
//!
//! A function here says why a text is refused, without the name of the parameter, which
//! [`QueryBuilder`](super::QueryBuilder) puts in front.

use smallvec::SmallVec;
use time::Date;

use super::dates::calendar_date;
use super::fault::FaultCode;
use super::filter::Keys;
use super::list::{self, ListFault};
use super::parameter::{Parameter, ParameterKind};
use super::{CompanyReference, Cursor, DateRange, Days, Facet, ParseCursorError, Phrase};
use crate::error::quoted;
use crate::signal::SignalId;
use crate::text;

/// The kind of fault of a value, and its message without the parameter's name.
pub(super) type ValueFault = (FaultCode, String);

/// Where a text comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Origin {
    /// A client, for whom the limits of the API hold.
    #[default]
    Typed,
    /// The program that this library is part of, which sets limits of its own.
    Host,
    /// A valid query that was [written](super::written): folded values may be longer than what was
    /// typed.
    Written,
}

/// Checks the length of a whole value. Items have limits of their own.
pub(super) fn check_length(
    parameter: Parameter,
    text: &str,
    origin: Origin,
) -> Result<(), ValueFault> {
    if text.is_empty() {
        return Err(empty());
    }
    match origin {
        Origin::Typed => check_chars(parameter, text.chars().count()),
        Origin::Host | Origin::Written => Ok(()),
    }
}

fn check_chars(parameter: Parameter, chars: usize) -> Result<(), ValueFault> {
    let max = match parameter.description().kind {
        ParameterKind::Text(max)
        | ParameterKind::AttributeList(max)
        | ParameterKind::Cursor(max) => max,
        _ => usize::MAX,
    };
    if chars <= max {
        return Ok(());
    }
    let fault = format!("has {chars} characters; at most {max} are allowed");
    Err((FaultCode::TooLong, fault))
}

fn empty() -> ValueFault {
    let fault = "is empty; give it a value or leave it out".to_owned();
    (FaultCode::EmptyValue, fault)
}

pub(super) fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort();
    values.dedup();
    values
}

/// Refuses text without a single word.
pub(super) fn searchable(phrases: Vec<Phrase>, text: &str) -> Result<Vec<Phrase>, ValueFault> {
    if !phrases.is_empty() {
        return Ok(phrases);
    }
    Err(unsearchable(text))
}

pub(super) fn unsearchable(text: &str) -> ValueFault {
    let fault = format!(
        "is {}, which has no searchable word; give at least one letter or digit",
        quoted(text)
    );
    (FaultCode::UnsearchableText, fault)
}

/// The items of a list, their number and lengths checked.
pub(super) fn items(
    parameter: Parameter,
    text: &str,
    origin: Origin,
) -> Result<Vec<String>, ValueFault> {
    let items = list::split(text).map_err(|fault| match fault {
        ListFault::EmptyItem(number) => empty_item(number),
        ListFault::OpenQuote(number) => (
            FaultCode::InvalidValue,
            format!("has an open quote in item {number}; close it, and double quotes within"),
        ),
        ListFault::AfterQuote(number) => (
            FaultCode::InvalidValue,
            format!("has text after the closing quote of item {number}; a comma must follow"),
        ),
    })?;
    check_items(parameter, &items, origin)?;
    Ok(items)
}

/// Checks the number of items, and their origin.
pub(super) fn check_items(
    parameter: Parameter,
    items: &[String],
    origin: Origin,
) -> Result<(), ValueFault> {
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
    if let Some(position) = items.iter().position(String::is_empty) {
        return Err(empty_item(position + 1));
    }
    if origin != Origin::Typed {
        return Ok(());
    }
    let mut chars = items.iter().map(|item| item.chars().count()).enumerate();
    match chars.find(|&(_, chars)| chars > chars_max) {
        None => Ok(()),
        Some((position, chars)) => {
            let number = position + 1;
            let fault =
                format!("has {chars} characters in item {number}; at most {chars_max} are allowed");
            Err((FaultCode::TooLong, fault))
        }
    }
}

fn check_count(count: usize, max: usize) -> Result<(), ValueFault> {
    if count <= max {
        Ok(())
    } else {
        Err(too_many_items(count, max))
    }
}

fn too_many_items(count: usize, max: usize) -> ValueFault {
    let fault = format!("has {count} items; at most {max} are allowed");
    (FaultCode::TooManyItems, fault)
}

fn empty_item(number: usize) -> ValueFault {
    let fault = format!("has no text in item {number}; separate items by single commas");
    (FaultCode::EmptyValue, fault)
}

pub(super) fn not_allowed(parameter: Parameter, text: &str) -> ValueFault {
    let allowed = match parameter.description().kind {
        ParameterKind::Choice(choices) | ParameterKind::ChoiceList { choices, .. } => {
            choices.join(", ")
        }
        ParameterKind::Number(max) => format!("whole numbers from 1 to {max}"),
        _ => String::new(),
    };
    (
        FaultCode::InvalidValue,
        format!("is {}; allowed are {allowed}", quoted(text)),
    )
}

/// The keys of a facet's values, sorted.
pub(super) fn facet_keys(facet: Facet, text: &str, origin: Origin) -> Result<Keys, ValueFault> {
    let parameter = facet.parameter();
    match parameter.description().kind {
        ParameterKind::Choice(choices) => choice(parameter, choices, text).map(one),
        ParameterKind::List { .. } | ParameterKind::AttributeList(_) => {
            Ok(keys_of_items(facet, &items(parameter, text, origin)?))
        }
        _ => {
            let key = facet.key(text);
            if key.is_empty() {
                let fault = "is blank; give it a value or leave it out";
                return Err((FaultCode::EmptyValue, fault.to_owned()));
            }
            Ok(one(&key))
        }
    }
}

/// The keys of values that the host gave one by one; of none where it gave none.
pub(super) fn facet_keys_of(facet: Facet, values: &[String]) -> Result<Keys, ValueFault> {
    let parameter = facet.parameter();
    match parameter.description().kind {
        ParameterKind::List { .. } | ParameterKind::AttributeList(_) => {
            check_items(parameter, values, Origin::Host)?;
            Ok(keys_of_items(facet, values))
        }
        _ => match values {
            [] => Ok(Keys::new()),
            [value] => {
                check_length(parameter, value, Origin::Host)?;
                facet_keys(facet, value, Origin::Host)
            }
            _ => Err(too_many_items(values.len(), 1)),
        },
    }
}

fn keys_of_items(facet: Facet, items: &[String]) -> Keys {
    let keys = items.iter().map(|item| facet.key(item).into_owned());
    SmallVec::from_vec(sorted(keys.collect()))
}

fn one(key: &str) -> Keys {
    SmallVec::from_buf([key.to_owned()])
}

/// One of some choices. A `+` that arrived as a space is accepted.
fn choice(
    parameter: Parameter,
    choices: &[&'static str],
    text: &str,
) -> Result<&'static str, ValueFault> {
    let is_meant = |choice: &&&str| **choice == text || **choice == text.replace(' ', "+");
    let meant = choices.iter().find(is_meant);
    meant.copied().ok_or_else(|| not_allowed(parameter, text))
}

pub(super) fn companies(items: Vec<String>) -> Vec<CompanyReference> {
    let reference = |slug: String| {
        let folded = text::fold_value(&slug);
        let name_key = (folded != slug).then(|| folded.into_owned());
        CompanyReference { slug, name_key }
    };
    sorted(items.into_iter().map(reference).collect())
}

pub(super) fn days(text: &str) -> Result<Days, ValueFault> {
    text.parse().map_err(|_| not_allowed(Parameter::Days, text))
}

pub(super) fn date_ranges(items: Vec<String>) -> Result<Vec<DateRange>, ValueFault> {
    let range = |item: &String| {
        item.parse().map_err(|_| {
            let (code, fault) = not_allowed(Parameter::DateRanges, item);
            (code, fault.replacen("is", "has the item", 1))
        })
    };
    items
        .iter()
        .map(range)
        .collect::<Result<_, _>>()
        .map(sorted)
}

pub(super) fn date(text: &str) -> Result<Date, ValueFault> {
    calendar_date(text).ok_or_else(|| no_date(text))
}

pub(super) fn amount(text: &str) -> Result<f64, ValueFault> {
    let parsed = is_amount(text).then(|| text.parse::<f64>().ok()).flatten();
    parsed
        .filter(|amount| amount.is_finite())
        .ok_or_else(|| no_amount(text))
}

/// Whether a text is a number as JSON writes it, without a sign: Rust's own parser takes `inf`,
/// `+1`, `007` and `1.` too.
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

/// An amount that was given as a number; negative zero is zero.
pub(super) fn amount_of(amount: f64) -> Result<f64, ValueFault> {
    if amount.is_finite() && amount >= 0.0 {
        Ok(amount.abs())
    } else {
        Err(no_amount(&amount.to_string()))
    }
}

fn no_amount(text: &str) -> ValueFault {
    let fault = format!(
        "is {}; allowed are finite decimal numbers from 0 on, without a sign or leading zeros",
        quoted(text)
    );
    (FaultCode::InvalidValue, fault)
}

/// A date that was given as such. A query string has years of four digits.
pub(super) fn date_of(date: Date) -> Result<Date, ValueFault> {
    if (0..=9999).contains(&date.year()) {
        Ok(date)
    } else {
        Err(no_date(&date.to_string()))
    }
}

fn no_date(text: &str) -> ValueFault {
    let fault = format!(
        "is {}; allowed are calendar dates as YYYY-MM-DD",
        quoted(text)
    );
    (FaultCode::InvalidValue, fault)
}

pub(super) fn ids(items: Vec<String>) -> Result<Vec<SignalId>, ValueFault> {
    let id = |item: &String| {
        item.parse::<SignalId>().map_err(|_| {
            let fault = format!(
                "has the item {}; allowed are whole numbers of 1 to 19 digits without a leading zero",
                quoted(item)
            );
            (FaultCode::InvalidValue, fault)
        })
    };
    items.iter().map(id).collect::<Result<_, _>>().map(sorted)
}

pub(super) fn number(parameter: Parameter, text: &str) -> Result<u16, ValueFault> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !has_leading_zero(text);
    let number = is_number.then(|| text.parse().ok()).flatten();
    number
        .filter(|&number| is_in_range(parameter, number))
        .ok_or_else(|| not_allowed(parameter, text))
}

/// A number that was given as such.
pub(super) fn number_of(parameter: Parameter, number: usize) -> Result<u16, ValueFault> {
    u16::try_from(number)
        .ok()
        .filter(|&number| is_in_range(parameter, number))
        .ok_or_else(|| not_allowed(parameter, &number.to_string()))
}

fn is_in_range(parameter: Parameter, number: u16) -> bool {
    match parameter.description().kind {
        ParameterKind::Number(max) => (1..=max).contains(&u32::from(number)),
        _ => false,
    }
}

pub(super) fn flag(text: &str) -> Result<bool, ValueFault> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err((
            FaultCode::InvalidValue,
            format!("is {}; allowed are true, false", quoted(text)),
        )),
    }
}

pub(super) fn cursor(text: &str) -> Result<Cursor, ValueFault> {
    Cursor::parse(text).map_err(|fault: ParseCursorError| {
        let fault = format!("{fault}; give the nextCursor of an earlier answer unchanged");
        (FaultCode::InvalidCursor, fault)
    })
}
