//! Conditions on companies: a number of signals of a kind, within bounds.

use std::fmt;
use std::str::FromStr;

use time::Date;

use super::values::Origin;
use super::{Filter, InvalidQuery, conditions};
use crate::signal::{Company, Signal};

/// A condition on a company: the number of its signals that match a filter is within bounds.
///
/// `Display` writes a text that [`FromStr`] reads back: `(categories=funding;min=2)`, with percent-encoded values. What
/// people type is read by [`CompanyQuery::from_query_string`](super::CompanyQuery::from_query_string).
///
/// ```
/// use signaldex::Filter;
/// use signaldex::query::Condition;
///
/// let condition = Condition::new(Filter::from_query_string("hiringType=new-role&days=90")?).with_min(2);
/// assert!(condition.allows(2) && condition.allows(1_000) && !condition.allows(1));
/// assert_eq!(condition.to_string(), "(days=90;hiringType=new-role;min=2)");
/// assert_eq!(condition.to_string().parse(), Ok(condition));
/// # Ok::<(), signaldex::query::InvalidQuery>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Condition {
    filter: Filter,
    min: Option<u32>,
    max: Option<u32>,
}

/// The signals of a company that match a condition's filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct ConditionMatches {
    /// Their number.
    pub count: u64,
    /// Their latest date, if one has a date.
    pub latest_date: Option<Date>,
}

/// The minimum of a condition without one.
pub(super) const MIN_DEFAULT: u32 = 1;

#[cfg(feature = "serde")]
serde_as_text!(Condition);

impl Condition {
    /// At least one signal matches the filter.
    ///
    /// ```
    /// use signaldex::Filter;
    /// use signaldex::query::Condition;
    ///
    /// let any_signal = Condition::new(Filter::default());
    /// assert_eq!((any_signal.min(), any_signal.max()), (1, None));
    /// assert_eq!(any_signal.to_string(), "()");
    /// ```
    pub fn new(filter: Filter) -> Condition {
        Condition {
            filter,
            min: None,
            max: None,
        }
    }

    /// The condition with this minimum.
    ///
    /// ```
    /// use signaldex::query::Condition;
    ///
    /// assert!(Condition::default().with_min(0).allows(0));
    /// ```
    pub fn with_min(self, min: u32) -> Condition {
        // The default is not kept, so that equal conditions are equal.
        let min = Some(min).filter(|&min| min != MIN_DEFAULT);
        Condition { min, ..self }
    }

    /// The condition with this maximum.
    ///
    /// ```
    /// use signaldex::query::Condition;
    ///
    /// let condition = Condition::default().with_max(3);
    /// assert!(condition.allows(3) && !condition.allows(4));
    /// ```
    pub fn with_max(self, max: impl Into<Option<u32>>) -> Condition {
        Condition {
            max: max.into(),
            ..self
        }
    }

    /// The filter of the counted signals.
    ///
    /// ```
    /// assert!(signaldex::query::Condition::default().filter().is_empty());
    /// ```
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// The smallest number of matching signals; 1 unless given.
    pub fn min(&self) -> u32 {
        self.min.unwrap_or(MIN_DEFAULT)
    }

    /// The greatest number of matching signals.
    pub fn max(&self) -> Option<u32> {
        self.max
    }

    /// Whether a company with this number of matching signals fulfils the condition.
    ///
    /// ```
    /// use signaldex::query::Condition;
    ///
    /// assert!(!Condition::default().allows(0));
    /// ```
    pub fn allows(&self, count: u64) -> bool {
        let at_most = |max: u32| count <= u64::from(max);
        u64::from(self.min()) <= count && self.max.is_none_or(at_most)
    }

    /// Counts the matching signals of a company by looking at each. This slow, plain function defines what the
    /// condition counts: the engine must agree with it.
    ///
    /// ```
    /// use signaldex::query::Condition;
    /// use signaldex::{Company, Filter, Signal, SignalId};
    ///
    /// let acme = Company::new("acme", "Acme GmbH");
    /// let signals = [Signal::new(SignalId::MIN, "acme", "Acme hires"), Signal::new(SignalId::MAX, "acme", "Acme raises")];
    /// let hires = Condition::new(Filter::from_query_string("q=hires")?);
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// assert_eq!(hires.matches_of(&acme, signals.iter(), today).count, 1);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn matches_of<'r, 's: 'r>(
        &self,
        company: &Company<'_>,
        signals: impl Iterator<Item = &'r Signal<'s>>,
        today: Date,
    ) -> ConditionMatches {
        let mut found = ConditionMatches::default();
        for signal in signals.filter(|signal| self.filter.matches(signal, company, today)) {
            found.count += 1;
            found.latest_date = found.latest_date.max(signal.date);
        }
        found
    }

    /// Whether no number is within the bounds.
    pub(super) fn is_contradictory(&self) -> bool {
        self.max.is_some_and(|max| self.min() > max)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Values are percent-encoded, so each `&` separates two of them.
        let mut text = self.filter.to_string().replace('&', ";");
        for (name, bound) in [("min", self.min), ("max", self.max)] {
            if let Some(bound) = bound {
                let separator = if text.is_empty() { "" } else { ";" };
                text.push_str(&format!("{separator}{name}={bound}"));
            }
        }
        write!(f, "({text})")
    }
}

impl FromStr for Condition {
    type Err = InvalidQuery;

    /// Reads what `Display` writes.
    fn from_str(text: &str) -> Result<Condition, InvalidQuery> {
        let found = conditions::parse("has", text, Origin::Written);
        let mut found = found.map_err(InvalidQuery::new)?;
        match (found.pop(), found.is_empty()) {
            (Some(condition), true) => Ok(condition),
            _ => Err(conditions::not_one("has").into()),
        }
    }
}
