//! The answer to a query of aggregates: groups with their figures, and totals.

use std::cmp::Ordering;

use crate::query::{CalendarPeriod, Measure};
use crate::signal::Currency;

/// The answer to an [`AggregateQuery`](crate::AggregateQuery).
///
/// ```
/// use signaldex::query::ParameterSet;
/// use signaldex::{AggregateQuery, sample};
///
/// let text = "by=countries&measures=companies&limit=2";
/// let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
/// let aggregates = sample::index()?.snapshot().aggregate(&query, sample::AS_OF)?;
/// assert_eq!(aggregates.groups.len(), 2);
/// assert!(aggregates.truncated && aggregates.totals.groups > 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct Aggregates {
    /// The first groups, in the order of the query; none if it groups by nothing.
    pub groups: Vec<AggregateGroup>,
    /// Whether there are more groups.
    pub truncated: bool,
    /// The figures over all matches, whatever groups are shown.
    pub totals: AggregateTotals,
}

/// A group: the matches with the same key, at least one.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct AggregateGroup {
    /// The value of each of [`by`](crate::AggregateQuery::by); `None` for what the matches lack.
    pub key: Vec<Option<KeyValue>>,
    /// The figures.
    pub figures: Figures,
}

/// A value of a key. Values of one kind are ordered as answers order them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum KeyValue {
    /// A period of a unit of time.
    Time(CalendarPeriod),
    /// A value of a list, by the smallest of its labels among all matches.
    Label(String),
    /// A company.
    Company {
        /// Its slug.
        slug: String,
        /// Its name.
        name: String,
    },
}

/// The figures over all matches.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct AggregateTotals {
    /// The number of all groups; 0 if the query groups by nothing.
    pub groups: u64,
    /// The figures.
    pub figures: Figures,
}

/// The figures of a set of signals: those that the query measures.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct Figures {
    /// The number of signals.
    pub count: u64,
    /// How many different companies they are of.
    pub companies: Option<u64>,
    /// The figures of amounts, by currency: ascending, those without a currency last. Signals without an amount are in
    /// none.
    pub amounts: Option<Vec<AmountFigures>>,
}

/// The figures of the amounts in one currency, as decimal numbers rounded once: see
/// [`AggregateQuery::of`](crate::AggregateQuery::of).
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct AmountFigures {
    /// The currency; `None` for amounts without one.
    pub currency: Option<Currency>,
    /// The number of amounts, at least 1.
    pub count: u64,
    /// Their sum.
    pub sum: Option<f64>,
    /// The smallest.
    pub min: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
    /// The median.
    pub median: Option<f64>,
    /// The lower quartile.
    pub p25: Option<f64>,
    /// The upper quartile.
    pub p75: Option<f64>,
}

impl AmountFigures {
    /// The figure of a measure of amounts, if it was measured.
    ///
    /// ```
    /// use signaldex::AmountFigures;
    /// use signaldex::query::Measure;
    ///
    /// assert_eq!(AmountFigures::default().figure(Measure::Median), None);
    /// ```
    pub fn figure(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Count | Measure::Companies => None,
            Measure::Sum => self.sum,
            Measure::Min => self.min,
            Measure::Max => self.max,
            Measure::Median => self.median,
            Measure::P25 => self.p25,
            Measure::P75 => self.p75,
        }
    }
}

/// Compares values of a key, missing ones last.
pub(super) fn missing_last<T>(
    a: Option<&T>,
    b: Option<&T>,
    compare: impl FnOnce(&T, &T) -> Ordering,
) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => compare(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}
