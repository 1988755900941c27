//! Facet counts of a snapshot: each list lifted from its own filter, merged over segments.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use time::Date;

use super::live::LiveSegment;
use crate::encoding::row::Row;
use crate::exec::{self, FacetTally};
use crate::plan::Strategies;
use crate::query::{Facet, Filter};
use crate::signal::{Company, Signal};

/// How many signals have each value of each facet.
///
/// Each list counts under all filters but the facet's own, so that it says what choosing another
/// value would give. Values that no signal has are left out; the rest come by descending count,
/// then by ascending label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facets {
    lists: [Vec<FacetCount>; Facet::ALL.len()],
}

/// A value of a facet and the number of signals that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FacetCount {
    /// The value as it is shown.
    pub label: String,
    /// The number of signals; at least 1.
    pub count: u64,
}

impl Facets {
    /// What facets mean, in plain slow code: looks at every record of an index once for each
    /// facet. The engine is defined as agreeing with it.
    pub fn of<'r>(
        records: impl Iterator<Item = (&'r Signal<'r>, &'r Company<'r>)> + Clone,
        filter: &Filter,
        today: Date,
    ) -> Facets {
        let mut facets = Facets::default();
        for facet in Facet::ALL {
            let lifted = filter.without(facet);
            let mut values: BTreeMap<String, FacetCount> = BTreeMap::new();
            for (signal, company) in records.clone() {
                let Some(label) = facet.label(signal, company) else {
                    continue;
                };
                if lifted.matches(signal, company, today) {
                    let label = label.into_owned();
                    let key = facet.key(&label).into_owned();
                    let none = FacetCount {
                        label: label.clone(),
                        count: 0,
                    };
                    let value = values.entry(key).or_insert(none);
                    value.count += 1;
                    value.label = value.label.clone().min(label);
                }
            }
            let list = &mut facets.lists[facet as usize];
            list.extend(values.into_values());
            list.sort_by_key(|value| (Reverse(value.count), value.label.clone()));
        }
        facets
    }

    /// The values of a facet.
    pub fn values(&self, facet: Facet) -> &[FacetCount] {
        &self.lists[facet as usize]
    }

    /// Orders and stores the values of a facet, counted by any means.
    ///
    /// `counts` are labels and counts; labels with one key are added up.
    #[cfg(any(feature = "cluster", all(test, feature = "json")))]
    pub(crate) fn set(&mut self, facet: Facet, counts: impl IntoIterator<Item = (String, u64)>) {
        let counts = counts.into_iter().map(|(label, count)| ValueCount {
            key: facet.key(&label).into_owned().into(),
            label: label.into(),
            count,
        });
        self.lists[facet as usize] = merged(counts.collect());
    }
}

/// A value of a facet and how many signals have it, as one segment counts them.
struct ValueCount<'a> {
    key: Cow<'a, str>,
    label: Cow<'a, str>,
    count: u64,
}

/// Adds up the values with one key, each shown by its smallest label, most signals first.
fn merged(mut counts: Vec<ValueCount<'_>>) -> Vec<FacetCount> {
    counts.retain(|value| value.count > 0);
    // Those of one segment are sorted already. Values of one key are then neighbours, the smallest
    // label first.
    counts.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| a.label.cmp(&b.label)));
    let values = counts.chunk_by(|a, b| a.key == b.key);
    let mut list: Vec<FacetCount> = values
        .map(|same| FacetCount {
            label: same[0].label.to_string(),
            count: same.iter().map(|value| value.count).sum(),
        })
        .collect();
    list.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.label.cmp(&b.label)));
    list
}

/// Counts all facets. Cost: one run for the facets without a filter of their own, and one for
/// each facet with one.
pub(super) fn count(
    segments: &[LiveSegment],
    filter: &Filter,
    today: Date,
    strategies: &Strategies,
) -> Facets {
    let (filtered, free): (Vec<Facet>, Vec<Facet>) = Facet::ALL
        .into_iter()
        .partition(|&facet| !filter.value_keys(facet).is_empty());
    let mut facets = Facets::default();
    count_group(&mut facets, segments, filter, &free, today, strategies);
    for facet in filtered {
        let lifted = filter.without(facet);
        count_group(&mut facets, segments, &lifted, &[facet], today, strategies);
    }
    facets
}

/// Counts some facets under one filter.
fn count_group(
    facets: &mut Facets,
    segments: &[LiveSegment],
    filter: &Filter,
    group: &[Facet],
    today: Date,
    strategies: &Strategies,
) {
    let mut counts: Vec<Vec<ValueCount<'_>>> = group.iter().map(|_| Vec::new()).collect();
    for live in segments {
        let tallies = tally(live, filter, group, today, strategies);
        for (counts, tally) in counts.iter_mut().zip(tallies) {
            let view = live.segment.facet(tally.facet);
            let found = tally
                .counts
                .iter()
                .enumerate()
                .filter(|&(_, &count)| count > 0);
            counts.extend(found.map(|(value, &count)| ValueCount {
                key: view.keys.get(value).into(),
                label: view.labels.get(value).into(),
                count,
            }));
        }
    }
    for (&facet, counts) in group.iter().zip(counts) {
        facets.lists[facet as usize] = merged(counts);
    }
}

fn tally(
    live: &LiveSegment,
    filter: &Filter,
    group: &[Facet],
    today: Date,
    strategies: &Strategies,
) -> Vec<FacetTally> {
    let plan = live.plan(filter, today, strategies, None);
    if strategies.stored_counts && plan.is_everything() {
        return group.iter().map(|&facet| stored(live, facet)).collect();
    }
    exec::tally(
        live.execution(&plan, strategies, false),
        group,
        strategies.intersected_facets,
    )
}

/// The stored cardinalities of a facet's postings, less the deleted rows.
fn stored(live: &LiveSegment, facet: Facet) -> FacetTally {
    let (view, postings) = (live.segment.facet(facet), live.segment.postings());
    let count = |value| u64::from(postings.cardinality(view.posting(value)));
    let mut counts: Vec<u64> = (0..view.len()).map(count).collect();
    for row in live.deleted.rows() {
        if let Some(value) = view.column.get(Row(row)).checked_sub(1) {
            let count = &mut counts[value as usize];
            *count = count.saturating_sub(1);
        }
    }
    FacetTally { facet, counts }
}
