//! What aggregates are grouped by, what they measure, and the order of groups.

use super::values::{self, ValueError};
use super::{Facet, TimeUnit};

/// What matches are grouped by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum GroupBy {
    /// A unit of time of the signal's date.
    Time(TimeUnit),
    /// A list of `filter-options`.
    Facet(Facet),
    /// `company`, which stands alone.
    Company,
}

/// What is measured of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum Measure {
    /// `count`: the number of signals, which every answer has.
    Count,
    /// `companies`: how many different companies they are of.
    Companies,
    /// `sum` of the amounts.
    Sum,
    /// `min`: the smallest amount.
    Min,
    /// `max`: the largest amount.
    Max,
    /// `median` of the amounts.
    Median,
    /// `p25`: the lower quartile of the amounts.
    P25,
    /// `p75`: the upper quartile of the amounts.
    P75,
}

/// The order of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub enum AggregateOrder {
    /// `key`: ascending by key, those without a value last.
    Key,
    /// `-key`: descending by key, those without a value last.
    KeyDescending,
    /// `-count`: most signals first, then by key.
    Count,
    /// `-sum`: the largest sum first, then by key; groups without an amount last. Needs a `fundingCurrency`.
    Sum,
}

impl GroupBy {
    /// The names of everything that can be grouped by.
    pub const NAMES: [&str; 6 + Facet::ALL.len()] = {
        let mut names = ["day", "week", "month", "quarter", "year", ""].as_slice();
        let mut all = [""; 6 + Facet::ALL.len()];
        let mut number = 0;
        // `all[..number]` are set.
        while let [first, rest @ ..] = names {
            all[number] = if first.is_empty() { "company" } else { *first };
            names = rest;
            number += 1;
        }
        while number < all.len() {
            all[number] = Facet::LIST_NAMES[number - 6];
            number += 1;
        }
        all
    };

    /// The name in a query string, and of the member in the keys of answers.
    ///
    /// ```
    /// use signaldex::Facet;
    /// use signaldex::query::GroupBy;
    ///
    /// assert_eq!(GroupBy::Facet(Facet::Country).as_str(), "countries");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            GroupBy::Time(unit) => unit.as_str(),
            GroupBy::Facet(facet) => facet.description().options,
            GroupBy::Company => "company",
        }
    }

    pub(super) fn of_name(name: &str) -> Result<GroupBy, ValueError> {
        let units = TimeUnit::ALL.into_iter().map(GroupBy::Time);
        let facets = Facet::ALL.into_iter().map(GroupBy::Facet);
        let mut known = units.chain([GroupBy::Company]).chain(facets);
        let found = known.find(|known| known.as_str() == name);
        found.ok_or_else(|| values::of_item(values::not_a_choice(name, &GroupBy::NAMES)))
    }
}

impl Measure {
    /// Every measure, in the order in which answers show them.
    pub const ALL: [Measure; 8] = [
        Measure::Count,
        Measure::Companies,
        Measure::Sum,
        Measure::Min,
        Measure::Max,
        Measure::Median,
        Measure::P25,
        Measure::P75,
    ];

    /// The names of all measures, in the order of [`ALL`](Measure::ALL).
    pub const NAMES: [&str; 8] = [
        "count",
        "companies",
        "sum",
        "min",
        "max",
        "median",
        "p25",
        "p75",
    ];

    /// The name in a query string and in answers.
    ///
    /// ```
    /// assert_eq!(signaldex::query::Measure::Median.as_str(), "median");
    /// ```
    pub fn as_str(self) -> &'static str {
        Measure::NAMES[self as usize]
    }

    /// Whether amounts are measured.
    ///
    /// ```
    /// use signaldex::query::Measure;
    ///
    /// assert!(Measure::Sum.is_of_amounts() && !Measure::Companies.is_of_amounts());
    /// ```
    pub fn is_of_amounts(self) -> bool {
        self >= Measure::Sum
    }

    pub(super) fn of_name(name: &str) -> Result<Measure, ValueError> {
        let found = Measure::ALL
            .into_iter()
            .find(|known| known.as_str() == name);
        found.ok_or_else(|| values::of_item(values::not_a_choice(name, &Measure::NAMES)))
    }
}

impl AggregateOrder {
    /// Every order.
    pub const ALL: [AggregateOrder; 4] = [
        AggregateOrder::Key,
        AggregateOrder::KeyDescending,
        AggregateOrder::Count,
        AggregateOrder::Sum,
    ];

    /// The names of all orders, in the order of [`ALL`](AggregateOrder::ALL).
    pub const NAMES: [&str; 4] = ["key", "-key", "-count", "-sum"];

    /// The name in a query string.
    ///
    /// ```
    /// assert_eq!(signaldex::query::AggregateOrder::Sum.as_str(), "-sum");
    /// ```
    pub fn as_str(self) -> &'static str {
        AggregateOrder::NAMES[self as usize]
    }

    pub(super) fn of_name(name: &str) -> Result<AggregateOrder, ValueError> {
        let mut known = AggregateOrder::ALL.into_iter();
        let found = known.find(|known| known.as_str() == name);
        found.ok_or_else(|| values::not_a_choice(name, &AggregateOrder::NAMES))
    }

    /// The order of groups where none is given.
    pub(super) fn default_of(by: &[GroupBy]) -> AggregateOrder {
        match by.first() {
            Some(GroupBy::Time(_)) => AggregateOrder::Key,
            _ => AggregateOrder::Count,
        }
    }
}
