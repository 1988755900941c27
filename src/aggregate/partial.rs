//! Answers about a part of the signals: counters and amounts, which add up over shards.

use std::collections::{BTreeMap, BTreeSet};

use smol_str::SmolStr;

use super::answer::{
    AggregateGroup, AggregateTotals, Aggregates, AmountFigures, Figures, KeyValue,
};
use super::decimal::{DecimalSum, between, quartile};
use super::ranking::{self, RankedGroup, compare_keys};
use crate::query::{AggregateQuery, Facet, GroupBy, Measure};
use crate::signal::Currency;
use crate::{Error, Result};

/// What a part of the signals, such as a shard, says to a query: all its groups with counters, never a rounded figure.
///
/// All signals of a company are in one part, so numbers of companies add up. [`merge`](Self::merge) is associative and
/// commutative; [`finish`](Self::finish) makes the answer over all parts.
///
/// ```
/// use signaldex::query::ParameterSet;
/// use signaldex::{AggregateQuery, PartialAggregates, sample};
///
/// let text = "by=month&measures=companies,sum,median&fundingCurrency=USD&order=-sum";
/// let query = AggregateQuery::from_query_string(text, ParameterSet::FILTERS)?;
/// let snapshot = sample::index()?.snapshot(); // stands for that of each shard
/// let mut merged = PartialAggregates::default();
/// for snapshot in [snapshot.clone()] {
///     merged.merge(snapshot.partial_aggregates(&query, sample::AS_OF)?, &query);
/// }
/// assert_eq!(merged.finish(&query)?, snapshot.aggregate(&query, sample::AS_OF)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct PartialAggregates {
    /// All groups, ascending by key; one with an empty key if the query groups by nothing and something matches.
    pub groups: Vec<PartialGroup>,
    /// How many different companies the matches are of; 0 unless the query measures companies.
    pub companies: u64,
}

/// The counters of a group.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct PartialGroup {
    /// As [`AggregateGroup::key`].
    pub key: Vec<Option<KeyValue>>,
    /// The number of signals, at least 1.
    pub count: u64,
    /// How many different companies they are of; 0 unless the query measures companies.
    pub companies: u64,
    /// The amounts, ascending by currency, those without one last, and by amount; none unless the query measures amounts
    /// or orders by their sums.
    pub amounts: Vec<AmountCount>,
}

/// How often an amount occurs in a currency.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
#[non_exhaustive]
pub struct AmountCount {
    /// The currency; `None` for amounts without one.
    pub currency: Option<Currency>,
    /// The amount.
    pub amount: f64,
    /// How often it occurs, at least 1.
    pub count: u64,
}

impl AmountCount {
    /// An amount that occurs several times in a currency.
    ///
    /// ```
    /// assert_eq!(signaldex::AmountCount::new(None, 1.5, 2).count, 2);
    /// ```
    pub fn new(currency: Option<Currency>, amount: f64, count: u64) -> AmountCount {
        AmountCount {
            currency,
            amount,
            count,
        }
    }

    /// By currency, those without one last, then by amount. Amounts are not negative, so their bits compare like them.
    fn rank(&self) -> (bool, Option<Currency>, u64) {
        let bits = (self.amount + 0.0).to_bits();
        (self.currency.is_none(), self.currency, bits)
    }
}

impl PartialGroup {
    /// The counters of a group without amounts.
    ///
    /// ```
    /// use signaldex::PartialGroup;
    ///
    /// let group = PartialGroup::new(vec![None], 3, 2);
    /// assert!(group.amounts.is_empty());
    /// ```
    pub fn new(key: Vec<Option<KeyValue>>, count: u64, companies: u64) -> PartialGroup {
        PartialGroup {
            key,
            count,
            companies,
            amounts: Vec::new(),
        }
    }

    /// Adds amounts in any order.
    ///
    /// ```
    /// use signaldex::{AmountCount, PartialGroup};
    ///
    /// let mut group = PartialGroup::new(vec![None], 3, 2);
    /// group.add_amounts(vec![AmountCount::new(None, 2.0, 1), AmountCount::new(None, 2.0, 1)]);
    /// assert_eq!(group.amounts, [AmountCount::new(None, 2.0, 2)]);
    /// ```
    pub fn add_amounts(&mut self, amounts: Vec<AmountCount>) {
        let mut all = std::mem::take(&mut self.amounts);
        all.extend(amounts);
        self.amounts = merged(all, Vec::new());
    }

    fn add(&mut self, other: PartialGroup) {
        self.count += other.count;
        self.companies += other.companies;
        self.amounts = merged(std::mem::take(&mut self.amounts), other.amounts);
    }
}

/// Adds up two ascending lists of amounts.
fn merged(one: Vec<AmountCount>, other: Vec<AmountCount>) -> Vec<AmountCount> {
    if one.is_empty() {
        return other;
    }
    let mut all = one;
    all.extend(other);
    // A stable sort merges two sorted runs in one pass.
    all.sort_by_key(AmountCount::rank);
    all.dedup_by(|next, kept| {
        let is_same = next.rank() == kept.rank();
        kept.count += if is_same { next.count } else { 0 };
        is_same
    });
    all
}

impl PartialAggregates {
    /// The partial answer of groups in any order. Groups of the same key are added up, and each value of a list gets its
    /// smallest label. `companies` is the number of different companies of all matches.
    ///
    /// ```
    /// use signaldex::query::ParameterSet;
    /// use signaldex::{AggregateQuery, KeyValue, PartialAggregates, PartialGroup};
    ///
    /// let query = AggregateQuery::from_query_string("by=countries", ParameterSet::FILTERS)?;
    /// let labels = ["germany", "GERMANY"].map(|label| vec![Some(KeyValue::Label(label.into()))]);
    /// let groups = labels.map(|key| PartialGroup::new(key, 2, 1));
    /// let partial = PartialAggregates::new(&query, groups.into(), 2);
    /// assert_eq!(partial.groups.len(), 1);
    /// assert_eq!(partial.groups[0].key, [Some(KeyValue::Label("GERMANY".into()))]);
    /// # Ok::<(), signaldex::query::InvalidQuery>(())
    /// ```
    pub fn new(
        query: &AggregateQuery,
        mut groups: Vec<PartialGroup>,
        companies: u64,
    ) -> PartialAggregates {
        for (index, by) in query.by().iter().enumerate() {
            if let &GroupBy::Facet(facet) = by {
                unify_labels(facet, index, &mut groups);
            }
        }
        groups.sort_by(|a, b| compare_keys(&a.key, &b.key, false));
        groups.dedup_by(|next, kept| {
            let is_same = next.key == kept.key;
            if is_same {
                kept.add(std::mem::take(next));
            }
            is_same
        });
        PartialAggregates { groups, companies }
    }

    /// Adds the answer of another part to the same query.
    ///
    /// Cost: sorting the groups, and a folding per label.
    pub fn merge(&mut self, other: PartialAggregates, query: &AggregateQuery) {
        let mut groups = std::mem::take(&mut self.groups);
        groups.extend(other.groups);
        *self = PartialAggregates::new(query, groups, self.companies + other.companies);
    }

    /// The answer, if these are all parts.
    ///
    /// ```
    /// use signaldex::{AggregateQuery, Filter, PartialAggregates};
    ///
    /// let query = AggregateQuery::builder(Filter::default()).build()?;
    /// let aggregates = PartialAggregates::default().finish(&query)?;
    /// assert_eq!(aggregates.totals.figures.count, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There are too many groups of two: [`TooManyGroups`](crate::ErrorKind::TooManyGroups).
    pub fn finish(self, query: &AggregateQuery) -> Result<Aggregates> {
        let is_grouped = !query.by().is_empty();
        let count = if is_grouped { self.groups.len() } else { 0 };
        check_groups(query, count)?;
        let totals = AggregateTotals {
            groups: count as u64,
            figures: self.total_figures(query),
        };
        if !is_grouped {
            return Ok(ranking::answer(query, Vec::new(), totals));
        }
        let mut amounts: Vec<Vec<AmountCount>> = Vec::with_capacity(count);
        let mut groups = Vec::with_capacity(count);
        // Ranked first, so that only the amounts of groups that are shown are measured.
        for group in self.groups {
            let sum = ranking::needs_sum(query).then(|| sum_of(&group.amounts));
            let figures = Figures {
                count: group.count,
                companies: query.has(Measure::Companies).then_some(group.companies),
                amounts: None,
            };
            let key = group.key;
            groups.push(RankedGroup {
                sum: sum.flatten(),
                index: amounts.len(),
                group: AggregateGroup { key, figures },
            });
            amounts.push(group.amounts);
        }
        let truncated = ranking::keep_first(query, &mut groups);
        let measured = groups.into_iter().map(|mut ranked| {
            let figures = &mut ranked.group.figures;
            figures.amounts = query
                .has_amounts()
                .then(|| amount_figures(query, &amounts[ranked.index]));
            ranked.group
        });
        Ok(Aggregates {
            groups: measured.collect(),
            truncated,
            totals,
        })
    }

    fn total_figures(&self, query: &AggregateQuery) -> Figures {
        let amounts = || {
            let mut all: Vec<AmountCount> = Vec::new();
            let amounts = self.groups.iter().flat_map(|group| &group.amounts);
            all.extend(amounts);
            amount_figures(query, &merged(all, Vec::new()))
        };
        Figures {
            count: self.groups.iter().map(|group| group.count).sum(),
            companies: query.has(Measure::Companies).then_some(self.companies),
            amounts: query.has_amounts().then(amounts),
        }
    }
}

/// Refuses too many groups of two.
pub(crate) fn check_groups(query: &AggregateQuery, groups: usize) -> Result<()> {
    if query.by().len() < 2 || groups <= query.groups_max() {
        return Ok(());
    }
    Err(Error::too_many_groups(query.too_many_groups().to_string()))
}

/// Replaces the labels at an index of the keys by the smallest with the same key.
fn unify_labels(facet: Facet, index: usize, groups: &mut [PartialGroup]) {
    let label_of = |group: &PartialGroup| match group.key.get(index) {
        Some(Some(KeyValue::Label(label))) => Some(label.clone()),
        _ => None,
    };
    let labels: BTreeSet<String> = groups.iter().filter_map(label_of).collect();
    // Ascending, so that the first label of a key is its smallest.
    let mut smallest: BTreeMap<SmolStr, &String> = BTreeMap::new();
    let mut replaced: BTreeMap<&String, &String> = BTreeMap::new();
    for label in &labels {
        let kept = *smallest.entry(facet.key(label).into()).or_insert(label);
        if kept != label {
            replaced.insert(label, kept);
        }
    }
    for group in groups.iter_mut().filter(|_| !replaced.is_empty()) {
        if let Some(Some(KeyValue::Label(label))) = group.key.get_mut(index)
            && let Some(kept) = replaced.get(label)
        {
            label.clone_from(kept);
        }
    }
}

/// The sum of the amounts in the one currency that an order by sums has.
fn sum_of(amounts: &[AmountCount]) -> Option<f64> {
    let first = amounts.first()?;
    let mut sum = DecimalSum::default();
    let same = amounts
        .iter()
        .take_while(|amount| amount.currency == first.currency);
    same.for_each(|amount| sum.add(amount.amount, amount.count));
    Some(sum.rounded())
}

/// The figures of ascending amounts, by currency.
pub(crate) fn amount_figures(
    query: &AggregateQuery,
    amounts: &[AmountCount],
) -> Vec<AmountFigures> {
    let currencies = amounts.chunk_by(|a, b| a.currency == b.currency);
    currencies
        .map(|amounts| figures_of(query, amounts))
        .collect()
}

/// The figures of ascending amounts in one currency, at least one.
fn figures_of(query: &AggregateQuery, amounts: &[AmountCount]) -> AmountFigures {
    let count = amounts.iter().map(|amount| amount.count).sum();
    let quantile = |measure, number| {
        let figure = || quartile_of(amounts, count, number);
        query.has(measure).then(figure)
    };
    let end = |measure, amount: Option<&AmountCount>| {
        let amount = amount.filter(|_| query.has(measure));
        amount.map(|amount| amount.amount)
    };
    AmountFigures {
        currency: amounts.first().and_then(|amount| amount.currency),
        count,
        sum: query.has(Measure::Sum).then(|| sum_of(amounts)).flatten(),
        min: end(Measure::Min, amounts.first()),
        max: end(Measure::Max, amounts.last()),
        median: quantile(Measure::Median, 2),
        p25: quantile(Measure::P25, 1),
        p75: quantile(Measure::P75, 3),
    }
}

fn quartile_of(amounts: &[AmountCount], count: u64, number: u64) -> f64 {
    let (index, quarters) = quartile(count, number);
    let mut rest = amounts.iter();
    let mut counted = 0;
    // Invariant: `counted` amounts come before those of `rest`, and none of them is at `index`.
    while let Some(low) = rest.next() {
        counted += low.count;
        if counted <= index {
            continue;
        }
        let is_same = index + 1 < counted;
        let next = if is_same { None } else { rest.next() };
        return between(low.amount, next.unwrap_or(low).amount, quarters);
    }
    0.0
}

#[cfg(test)]
mod tests;
