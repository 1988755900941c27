//! The order of groups, and which of them an answer shows.

use std::cmp::Ordering;

use super::answer::{AggregateGroup, AggregateTotals, Aggregates, KeyValue, missing_last};
use crate::query::{AggregateOrder, AggregateQuery};

/// A group, and what an order by sums compares.
#[derive(Clone, Debug)]
pub(crate) struct RankedGroup {
    /// The sum of its amounts, as shown; `None` if it has none, or the order needs none.
    pub(crate) sum: Option<f64>,
    /// Its number before it is ranked, by which it is measured afterwards.
    pub(crate) index: usize,
    pub(crate) group: AggregateGroup,
}

/// Whether groups are ordered by the sums of their amounts.
pub(crate) fn needs_sum(query: &AggregateQuery) -> bool {
    query.order() == AggregateOrder::Sum
}

/// Compares keys of groups, missing values last.
pub(crate) fn compare_keys(
    a: &[Option<KeyValue>],
    b: &[Option<KeyValue>],
    descending: bool,
) -> Ordering {
    let compare = |a: &KeyValue, b: &KeyValue| if descending { b.cmp(a) } else { a.cmp(b) };
    let values = a.iter().zip(b);
    let mut orders = values.map(|(a, b)| missing_last(a.as_ref(), b.as_ref(), compare));
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

/// Compares groups in the order of a query.
fn compare(order: AggregateOrder, a: &RankedGroup, b: &RankedGroup) -> Ordering {
    let by_figure = match order {
        AggregateOrder::Key | AggregateOrder::KeyDescending => Ordering::Equal,
        AggregateOrder::Count => b.group.figures.count.cmp(&a.group.figures.count),
        AggregateOrder::Sum => missing_last(a.sum.as_ref(), b.sum.as_ref(), |a, b| b.total_cmp(a)),
    };
    let descending = order == AggregateOrder::KeyDescending;
    by_figure.then_with(|| compare_keys(&a.group.key, &b.group.key, descending))
}

/// Sorts the groups of a query and keeps those that it shows; returns whether there are more.
pub(crate) fn keep_first(query: &AggregateQuery, groups: &mut Vec<RankedGroup>) -> bool {
    let shown = query.limit().unwrap_or(usize::MAX);
    let by_order = |a: &RankedGroup, b: &RankedGroup| compare(query.order(), a, b);
    let is_cut = shown < groups.len();
    if is_cut {
        groups.select_nth_unstable_by(shown, by_order);
        groups.truncate(shown);
    }
    groups.sort_unstable_by(by_order);
    is_cut
}

/// The answer of all groups of a query.
pub(crate) fn answer(
    query: &AggregateQuery,
    mut groups: Vec<RankedGroup>,
    totals: AggregateTotals,
) -> Aggregates {
    let truncated = keep_first(query, &mut groups);
    Aggregates {
        groups: groups.into_iter().map(|ranked| ranked.group).collect(),
        truncated,
        totals,
    }
}
