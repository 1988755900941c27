//! Parses conditions: `(name=value;…),(…)`, collecting every error with the number of its condition.
//!
//! Each `"` switches between inside and outside of quotes. Outside, `;` ends a value, `)` ends the condition, and `(` is
//! an error. In the [text form](super::written) of a query, values are percent-encoded once more, so they hold none of
//! these.

use std::borrow::Cow;

use super::condition::MIN_DEFAULT;
use super::error::{ErrorCode, ParameterError};
use super::limits::{CONDITION_BOUND_DIGITS_MAX, CONDITIONS_CHARS_MAX, CONDITIONS_MAX};
use super::values::{self, Origin, ValueError};
use super::{Condition, Parameter, ParameterSet, QueryBuilder, list, params};
use crate::text::quoted;

/// The bounds of a condition.
const BOUNDS: [&str; 2] = ["min", "max"];

/// Reads the decoded value of `has` or `hasNot`, which `name` is.
///
/// # Errors
/// All errors of all conditions; each is named at `name`.
pub(super) fn parse(
    name: &str,
    text: &str,
    origin: Origin,
) -> Result<Vec<Condition>, Vec<ParameterError>> {
    let of_whole = |error: ValueError| vec![ParameterError::of_value(name, error)];
    check_length(text, origin).map_err(of_whole)?;
    let (bodies, malformed) = split(text);
    let mut errors = Vec::new();
    if origin == Origin::Typed && bodies.len() > CONDITIONS_MAX {
        let n = bodies.len();
        let error = format!("has {n} conditions; at most {CONDITIONS_MAX} are allowed");
        errors.push(ParameterError::of_value(
            name,
            (ErrorCode::TooManyItems, error),
        ));
    }
    let read = match origin {
        Origin::Typed => CONDITIONS_MAX,
        Origin::Host | Origin::Written => usize::MAX,
    };
    let mut conditions = Vec::new();
    for (pairs, number) in bodies.iter().zip(1..).take(read) {
        match condition(pairs, origin) {
            Ok(condition) => conditions.push(condition),
            Err(found) => errors.extend(found.iter().map(|error| located(name, number, error))),
        }
    }
    if let Some((number, error)) = malformed {
        let error = ParameterError::new(name, ErrorCode::InvalidValue, error);
        errors.push(located(name, number, &error));
    }
    if errors.is_empty() {
        Ok(conditions)
    } else {
        Err(errors)
    }
}

/// The error for a text that is not one condition.
pub(super) fn not_one(name: &str) -> ParameterError {
    ParameterError::new(
        name,
        ErrorCode::InvalidValue,
        "allowed is one condition, such as (categories=funding;min=2)",
    )
}

/// An error of a condition, named at its parameter, with its number.
pub(super) fn located(name: &str, number: usize, error: &ParameterError) -> ParameterError {
    let message = format!("{name}, condition {number}: {}", error.message);
    ParameterError::new(name, error.code, message)
}

fn check_length(text: &str, origin: Origin) -> Result<(), ValueError> {
    if text.trim().is_empty() {
        return Err(values::empty());
    }
    if origin == Origin::Typed {
        values::check_chars_max(text, CONDITIONS_CHARS_MAX)?;
    }
    Ok(())
}

/// The pairs of each condition, and what cannot be read: the number of its condition, and why.
type Split<'t> = (Vec<Vec<&'t str>>, Option<(usize, &'static str)>);

fn split(text: &str) -> Split<'_> {
    let mut bodies = Vec::new();
    let mut rest = text.trim_start();
    // Each iteration consumes a condition and the comma after it.
    loop {
        let number = bodies.len() + 1;
        let Some(body) = rest.strip_prefix('(') else {
            let error = "does not begin with a (; write it as (name=value;name=value)";
            return (bodies, Some((number, error)));
        };
        let after = match pairs(body) {
            Ok((pairs, after)) => {
                bodies.push(pairs);
                after.trim_start()
            }
            Err(error) => return (bodies, Some((number, error))),
        };
        if after.is_empty() {
            return (bodies, None);
        }
        let Some(next) = after.strip_prefix(',') else {
            let error = "is followed by other text than a comma; separate conditions by commas, and write values with ) in quotes";
            return (bodies, Some((number, error)));
        };
        rest = next.trim_start();
    }
}

/// The pairs of a condition after its opening parenthesis, and the text after the closing one.
fn pairs(body: &str) -> Result<(Vec<&str>, &str), &'static str> {
    let (mut pairs, mut start, mut is_quoted) = (Vec::new(), 0, false);
    // The separators are ASCII, so they are not part of other characters.
    for (index, byte) in body.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b';' => {
                pairs.push(&body[start..index]);
                start = index + 1;
            }
            b')' => {
                pairs.push(&body[start..index]);
                return Ok((pairs, &body[index + 1..]));
            }
            b'(' => return Err("has a ( outside of quotes; write the value in double quotes"),
            _ => {}
        }
    }
    Err(if is_quoted {
        "has a quote that is not closed, or no ) after its quotes"
    } else {
        "is not closed; end it with a )"
    })
}

/// Reads a condition from its pairs. Empty pairs are skipped, as in query strings.
fn condition(pairs: &[&str], origin: Origin) -> Result<Condition, Vec<ParameterError>> {
    let mut reading = ConditionReader {
        builder: QueryBuilder::of_origin(origin),
        origin,
        seen: Vec::new(),
        bounds: [None; 2],
    };
    for pair in pairs.iter().filter(|pair| !pair.trim().is_empty()) {
        reading.pair(pair);
    }
    reading.finish()
}

/// A condition under construction.
struct ConditionReader {
    builder: QueryBuilder,
    origin: Origin,
    seen: Vec<&'static str>,
    /// In the order of [`BOUNDS`].
    bounds: [Option<u32>; 2],
}

/// What a pair sets.
enum PairTarget {
    Filter(Parameter),
    Bound(usize),
}

impl PairTarget {
    fn name(&self) -> &'static str {
        match *self {
            PairTarget::Filter(parameter) => parameter.name(),
            PairTarget::Bound(index) => BOUNDS[index],
        }
    }
}

impl ConditionReader {
    fn pair(&mut self, pair: &str) {
        let Some((name, value)) = pair.split_once('=') else {
            return self.error(ParameterError::new(
                pair.trim(),
                ErrorCode::InvalidValue,
                format!("{} has no =; write name=value", quoted(pair.trim())),
            ));
        };
        let Some(target) = self.target(name.trim()) else {
            return;
        };
        let name = target.name();
        if self.seen.contains(&name) {
            return self.error(params::repeated(name));
        }
        self.seen.push(name);
        let set = self
            .decoded(value)
            .and_then(|value| self.set(&target, &value));
        if let Err(error) = set {
            self.error(ParameterError::of_value(name, error));
        }
    }

    /// What a name sets. Unknown ones are errors.
    fn target(&mut self, name: &str) -> Option<PairTarget> {
        let accepted = match self.origin {
            Origin::Typed => ParameterSet::FILTERS_WITHOUT_IDS,
            Origin::Host | Origin::Written => ParameterSet::FILTERS,
        };
        let filter = Parameter::of_name(name).filter(|&known| accepted.contains(known));
        let bound = || BOUNDS.iter().position(|bound| *bound == name);
        let target = filter
            .map(PairTarget::Filter)
            .or_else(|| bound().map(PairTarget::Bound));
        if target.is_none() {
            let names = accepted.iter().map(Parameter::name).chain(BOUNDS);
            let names: Vec<&str> = names.collect();
            self.error(ParameterError::unknown(name, &names));
        }
        target
    }

    fn decoded<'t>(&self, value: &'t str) -> Result<Cow<'t, str>, ValueError> {
        if self.origin != Origin::Written {
            return Ok(Cow::Borrowed(value));
        }
        params::decode(value).map_err(|error| {
            let error = format!("is {}, {error}", quoted(value));
            (ErrorCode::MalformedQuery, error)
        })
    }

    fn set(&mut self, target: &PairTarget, value: &str) -> Result<(), ValueError> {
        match *target {
            PairTarget::Bound(index) => self.bounds[index] = Some(bound(value, self.origin)?),
            PairTarget::Filter(parameter) if self.may_be_quoted(parameter) => {
                self.builder.set(parameter, &unquoted(value)?);
            }
            PairTarget::Filter(parameter) => self.builder.set(parameter, value),
        }
        Ok(())
    }

    /// Whether a value in double quotes is one item of a list, so that it can have a `)`.
    fn may_be_quoted(&self, parameter: Parameter) -> bool {
        let is_text = matches!(
            parameter,
            Parameter::CompanySlug
                | Parameter::Country
                | Parameter::Industry
                | Parameter::FundingStage
        );
        is_text && self.origin != Origin::Written
    }

    fn error(&mut self, error: ParameterError) {
        self.builder.add_error(error);
    }

    fn finish(mut self) -> Result<Condition, Vec<ParameterError>> {
        let [min, max] = self.bounds;
        let bounds = Condition::default()
            .with_min(min.unwrap_or(MIN_DEFAULT))
            .with_max(max);
        if let Some(error) = contradiction(&bounds) {
            self.error(error);
        }
        let query = self.builder.build();
        let query = query.map_err(|invalid| invalid.errors().to_vec())?;
        Ok(Condition::new(query.filter)
            .with_min(bounds.min())
            .with_max(max))
    }
}

/// A minimum over the maximum.
pub(super) fn contradiction(condition: &Condition) -> Option<ParameterError> {
    let (min, max) = (condition.min(), condition.max()?);
    condition.is_contradictory().then(|| {
        let default = if min == MIN_DEFAULT {
            " (min is 1 unless given)"
        } else {
            ""
        };
        ParameterError::new(
            "min",
            ErrorCode::ConflictingParameters,
            format!("min {min} is over max {max}; it must be the same or less{default}"),
        )
    })
}

/// A value that is one item of a list if it begins with a quote.
fn unquoted(value: &str) -> Result<Cow<'_, str>, ValueError> {
    if !value.starts_with('"') {
        return Ok(Cow::Borrowed(value));
    }
    let mut items = list::split(value).unwrap_or_default();
    match (items.pop(), items.is_empty()) {
        (Some(item), true) => Ok(item),
        _ => {
            let error = format!(
                "is {}; allowed is one text in double quotes, quotes within doubled",
                quoted(value)
            );
            Err((ErrorCode::InvalidValue, error))
        }
    }
}

fn bound(value: &str, origin: Origin) -> Result<u32, ValueError> {
    let digits = match origin {
        Origin::Typed => CONDITION_BOUND_DIGITS_MAX,
        Origin::Host | Origin::Written => u32::MAX.ilog10() as usize + 1,
    };
    let number = values::whole_number(value, digits)?;
    u32::try_from(number).map_err(|_| values::not_a_whole_number(value, digits))
}

#[cfg(test)]
mod tests;
