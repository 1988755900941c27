//! Conditions as texts and as fields of a form: `(name=value;…),(…)` and `has1.name=value`.
//!
//! The library says what conditions mean and what is wrong with them. This file only takes their texts apart, and writes
//! what was typed into a form so that it can break out of no value.

use std::borrow::Cow;

use super::super::query_text::{QueryText, is_list};
use crate::admin::form::FormData;
use signaldex::query::limits::CONDITIONS_MAX;
use signaldex::query::{Parameter, list};

/// The two kinds of conditions, as their parameters are named.
pub(super) const KINDS: [&str; 2] = ["has", "hasNot"];

/// The bounds of a condition, beside its filters.
pub(super) const BOUNDS: [&str; 2] = ["min", "max"];

/// The parameters of which a value in double quotes is one item, so that it can have any character.
const QUOTED: [Parameter; 4] = [
    Parameter::CompanySlug,
    Parameter::Country,
    Parameter::Industry,
    Parameter::FundingStage,
];

/// A condition as an address has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConditionText {
    /// The text with its parentheses.
    pub(super) text: String,
    /// Its names and values, as a search has them.
    pub(super) pairs: Vec<(String, String)>,
}

/// What was typed into the fields of one condition, at least one of them.
#[derive(Clone, Debug)]
pub(super) struct TypedCondition {
    /// `has` or `hasNot`.
    pub(super) kind: &'static str,
    /// The fields without their prefix.
    pub(super) form: FormData,
}

/// Takes the value of `has` or `hasNot` apart; `None` if it cannot be read.
pub(super) fn split(text: &str) -> Option<Vec<ConditionText>> {
    let mut conditions = Vec::new();
    let mut rest = text.trim();
    // Each iteration takes a condition and the comma after it.
    loop {
        let length = length(rest)?;
        let (condition, after) = rest.split_at(length);
        conditions.push(ConditionText {
            pairs: pairs(&condition[1..length - 1])?,
            text: condition.to_owned(),
        });
        let after = after.trim_start();
        if after.is_empty() {
            return Some(conditions);
        }
        rest = after.strip_prefix(',')?.trim_start();
    }
}

/// The bytes of the condition at the start of a text, with its parentheses.
fn length(text: &str) -> Option<usize> {
    let body = text.strip_prefix('(')?;
    let end = outside_of_quotes(body).find(|(_, byte)| matches!(byte, b'(' | b')'))?;
    (end.1 == b')').then_some(end.0 + 2)
}

fn pairs(body: &str) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut start = 0;
    let separators = outside_of_quotes(body).filter(|(_, byte)| *byte == b';');
    let ends = separators.map(|(index, _)| index);
    for end in ends.chain([body.len()]) {
        let pair = &body[start..end];
        start = end + 1;
        if pair.trim().is_empty() {
            continue;
        }
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        pairs.push((name.to_owned(), unquoted(name, value)));
    }
    Some(pairs)
}

/// The bytes outside of double quotes with their positions, quotes left out.
fn outside_of_quotes(text: &str) -> impl Iterator<Item = (usize, u8)> {
    let mut is_quoted = false;
    text.bytes().enumerate().filter(move |(_, byte)| {
        is_quoted ^= *byte == b'"';
        !is_quoted && *byte != b'"'
    })
}

/// A value as a search has it.
fn unquoted(name: &str, value: &str) -> String {
    let items = value.starts_with('"').then(|| list::split(value).ok());
    match items.flatten().as_deref() {
        Some([item]) if is_quoted(name) => item.to_string(),
        _ => value.to_owned(),
    }
}

fn is_quoted(name: &str) -> bool {
    Parameter::of_name(name).is_some_and(|parameter| QUOTED.contains(&parameter))
}

/// The conditions in a form whose fields are not all empty, in order.
pub(super) fn typed(form: &FormData) -> Vec<TypedCondition> {
    let mut conditions = Vec::new();
    for kind in KINDS {
        for number in 1..=CONDITIONS_MAX {
            let prefix = prefix(kind, number);
            let form = form.within(&prefix);
            if form
                .fields()
                .iter()
                .any(|(_, value)| !value.trim().is_empty())
            {
                conditions.push(TypedCondition { kind, form });
            }
        }
    }
    conditions
}

/// Whether a field is that of a condition.
pub(super) fn is_of_condition(name: &str) -> bool {
    let numbers = 1..=CONDITIONS_MAX;
    let mut prefixes = KINDS
        .into_iter()
        .flat_map(|kind| numbers.clone().map(move |number| prefix(kind, number)));
    prefixes.any(|prefix| name.starts_with(&prefix))
}

/// What comes before the names of the fields of a condition.
pub(super) fn prefix(kind: &str, number: usize) -> String {
    format!("{kind}{number}.")
}

impl TypedCondition {
    /// The text of the condition, or the names of the fields whose values cannot be written.
    pub(super) fn text(&self) -> Result<String, Vec<String>> {
        let (mut texts, mut errors) = (Vec::new(), Vec::new());
        for (name, value) in QueryText::of(&self.form).pairs() {
            match written(name, value) {
                Some(value) => texts.push(format!("{name}={value}")),
                None => errors.push(name.clone()),
            }
        }
        if errors.is_empty() {
            Ok(format!("({})", texts.join(";")))
        } else {
            Err(errors)
        }
    }
}

/// A value as a condition has it; `None` if it would end the value or the condition.
fn written<'t>(name: &str, value: &'t str) -> Option<Cow<'t, str>> {
    if !is_plain(name) || name.contains(['=', '"']) {
        return None;
    }
    if is_quoted(name) {
        return Some(item(value));
    }
    if is_list(name)
        && let Ok(items) = list::split(value)
    {
        let items: Vec<Cow<'_, str>> = items.iter().map(|text| item(text)).collect();
        return Some(items.join(",").into());
    }
    is_plain(value).then_some(Cow::Borrowed(value))
}

/// An item of a list, in double quotes if it has a character that means something.
fn item(text: &str) -> Cow<'_, str> {
    if text.contains([',', ';', '(', ')', '"']) || text.trim() != text {
        return Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")));
    }
    Cow::Borrowed(text)
}

/// Whether a value has no character that would end it.
fn is_plain(value: &str) -> bool {
    let is_closed = value.matches('"').count().is_multiple_of(2);
    is_closed && outside_of_quotes(value).all(|(_, byte)| !matches!(byte, b';' | b'(' | b')'))
}

impl ConditionText {
    /// The search for the signals that the condition counts.
    pub(super) fn search(&self) -> QueryText {
        let text = QueryText::of_pairs(self.pairs.iter().cloned());
        text.only(|name| !BOUNDS.contains(&name))
    }

    /// The condition in words, such as `at least 2: categories hiring, days 90`.
    pub(super) fn summary(&self) -> String {
        let bound = |name: &str| {
            let pair = self.pairs.iter().find(|(known, _)| known == name);
            pair.map(|(_, value)| value.as_str())
        };
        let min = bound("min").unwrap_or("1");
        let count = match bound("max") {
            Some(max) if max == min => format!("exactly {max}"),
            Some(max) => format!("{min} to {max}"),
            None => format!("at least {min}"),
        };
        let filters = self.search();
        let filters = filters.pairs().iter();
        let filters: Vec<String> = filters
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        if filters.is_empty() {
            return format!("{count} of any kind");
        }
        format!("{count}: {}", filters.join(", "))
    }
}

#[cfg(test)]
mod tests;
