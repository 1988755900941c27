//! Facet counts of a snapshot, each without the facet's own filter, merged over segments.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use smallvec::SmallVec;
use smol_str::SmolStr;
use time::Date;

use super::live::SegmentHandle;
use crate::Result;
use crate::exec::{FacetTally, Request};
use crate::query::{Facet, Filter};
use crate::segment::FacetView;
use crate::signal::{Company, Signal};

/// The number of signals with each value of each facet.
///
/// Each facet is counted under all filters except its own, so its counts show the effect of choosing another
/// value. Values without signals are omitted; the others are sorted by descending count, then by ascending
/// label.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facets {
    lists: [Vec<FacetCount>; Facet::ALL.len()],
}

/// A value of a facet and the number of signals that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase"))]
pub struct FacetCount {
    label: SmolStr,
    count: u64,
}

impl FacetCount {
    pub(super) fn new(label: SmolStr, count: u64) -> FacetCount {
        FacetCount { label, count }
    }

    pub(super) fn add(&mut self, count: u64) {
        self.count += count;
    }

    /// The label of the value.
    ///
    /// ```
    /// use signaldex::{Facet, FacetCount, Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let facets = snapshot.facets_of(&Filter::default(), sample::AS_OF, &[Facet::Size])?;
    /// let mut sizes: Vec<&str> = facets.values(Facet::Size).iter().map(FacetCount::label).collect();
    /// sizes.sort_unstable();
    /// assert_eq!(sizes, ["1-49", "101-500", "50-100", "501+"]);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The number of signals; at least 1.
    ///
    /// ```
    /// use signaldex::{Facet, FacetCount, Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let facets = snapshot.facets_of(&Filter::default(), sample::AS_OF, &[Facet::Category])?;
    /// let categorised: u64 = facets.values(Facet::Category).iter().map(FacetCount::count).sum();
    /// assert_eq!(snapshot.signal_count() - categorised, 37); // signals without a category
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn count(&self) -> u64 {
        self.count
    }
}

/// A map from facet to values. Missing facets have no values.
#[cfg(feature = "serde")]
impl serde::Serialize for Facets {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Facet::ALL.map(|facet| (facet, self.values(facet))))
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Facets {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Facets, D::Error> {
        let mut facets = Facets::default();
        for (facet, values) in BTreeMap::<Facet, Vec<FacetCount>>::deserialize(deserializer)? {
            facets.lists[facet as usize] = values;
        }
        Ok(facets)
    }
}

impl Facets {
    /// Counts facets by visiting every record once per facet. This slow, plain function defines the meaning of
    /// facets: the engine must agree with it.
    ///
    /// ```
    /// use signaldex::{Company, Facet, Facets, Filter, Signal, SignalId};
    ///
    /// let mut acme = Company::new("acme", "Acme GmbH");
    /// acme.country = Some("Germany".into());
    /// let signal = Signal::new(SignalId::MIN, "acme", "Acme hires");
    /// let today = time::macros::date!(2026 - 06 - 30);
    /// let facets = Facets::of([(&signal, &acme)].into_iter(), &Filter::default(), today);
    /// assert_eq!(facets.values(Facet::Country)[0].label(), "Germany");
    /// ```
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
                    let label = SmolStr::from(label);
                    let none = FacetCount {
                        label: label.clone(),
                        count: 0,
                    };
                    let value = values.entry(key).or_insert(none);
                    value.count += 1;
                    // The smallest label stands for all labels with the key.
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
    ///
    /// ```
    /// use signaldex::{Facet, Filter, sample};
    ///
    /// let filter = Filter::from_query_string("q=robotics")?;
    /// let facets = sample::index()?.snapshot().facets(&filter, sample::AS_OF)?;
    /// let countries = facets.values(Facet::Country);
    /// for country in countries {
    ///     println!("{} ({})", country.label(), country.count());
    /// }
    /// assert!(countries[0].count() >= countries[1].count());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values(&self, facet: Facet) -> &[FacetCount] {
        &self.lists[facet as usize]
    }

    /// Sets the values of a facet from labels with counts. Labels with the same key are added up.
    ///
    /// ```
    /// use signaldex::{Facet, Facets};
    ///
    /// let mut facets = Facets::default();
    /// let shards = [("Germany", 2), ("France", 3), ("GERMANY", 2)];
    /// facets.set(Facet::Country, shards.map(|(label, count)| (label.to_owned(), count)));
    /// let countries = facets.values(Facet::Country);
    /// assert_eq!((countries[0].label(), countries[0].count()), ("GERMANY", 4));
    /// ```
    pub fn set(&mut self, facet: Facet, counts: impl IntoIterator<Item = (String, u64)>) {
        let counts = counts.into_iter().map(|(label, count)| ValueCount {
            key: facet.key(&label).into_owned().into(),
            label: label.into(),
            count,
        });
        self.lists[facet as usize] = merged(counts.collect());
    }

    /// Sets the values of a facet, of which each has another key.
    pub(super) fn set_distinct(&mut self, facet: Facet, values: Vec<FacetCount>) {
        self.lists[facet as usize] = sorted(values);
    }
}

/// A value of a facet with its count in one segment.
struct ValueCount<'a> {
    key: Cow<'a, str>,
    label: Cow<'a, str>,
    count: u64,
}

/// Adds up values with the same key, with the smallest label, sorted by descending count.
fn merged(mut counts: Vec<ValueCount<'_>>) -> Vec<FacetCount> {
    counts.retain(|value| value.count > 0);
    // The values of each segment are already sorted. Values with the same key become neighbours, the
    // smallest label first.
    counts.sort_by(|a, b| a.key.cmp(&b.key).then_with(|| a.label.cmp(&b.label)));
    let values = counts.chunk_by(|a, b| a.key == b.key);
    let value = |same: &[ValueCount<'_>]| FacetCount {
        // Labels with the same key are sorted, so the first is the smallest.
        label: SmolStr::from(&*same[0].label),
        count: same.iter().map(|value| value.count).sum(),
    };
    sorted(values.map(value).collect())
}

/// Sorts by descending count, then by label.
fn sorted(mut list: Vec<FacetCount>) -> Vec<FacetCount> {
    list.sort_unstable_by(|a, b| b.count.cmp(&a.count).then_with(|| a.label.cmp(&b.label)));
    list
}

/// Counts facets of a request. Cost: one run for all facets without their own filter, and one for each facet
/// with a filter.
///
/// # Errors
/// A part of a segment that the request or the facets need is damaged.
pub(super) fn count(
    segments: &[SegmentHandle],
    request: &Request<'_>,
    asked: &[Facet],
) -> Result<Facets> {
    let mut facets = Facets::default();
    for_each_group(request, asked, |request, group| {
        count_group(&mut facets, segments, request, group)
    })?;
    Ok(facets)
}

/// Counts facets by segment: `each` gets the index of the segment, the facet, and its counts.
///
/// # Errors
/// As [`count`].
pub(super) fn tally(
    segments: &[SegmentHandle],
    request: &Request<'_>,
    asked: &[Facet],
    mut each: impl FnMut(usize, Facet, FacetTally),
) -> Result<()> {
    for_each_group(request, asked, |request, group| {
        for (index, handle) in segments.iter().enumerate() {
            for (&facet, tally) in group.iter().zip(handle.live().facets(request, group)?) {
                each(index, facet, tally);
            }
        }
        Ok(())
    })
}

/// Calls `each` with the facets that are counted together, and their request.
fn for_each_group(
    request: &Request<'_>,
    asked: &[Facet],
    mut each: impl FnMut(&Request<'_>, &[Facet]) -> Result<()>,
) -> Result<()> {
    let filter = request.filter;
    type Group = SmallVec<[Facet; Facet::ALL.len()]>;
    let asked = asked.iter().copied();
    let (filtered, free): (Group, Group) =
        asked.partition(|&facet| !filter.value_keys(facet).is_empty());
    if !free.is_empty() {
        each(request, &free)?;
    }
    for facet in filtered {
        let filter = &filter.without(facet);
        each(&Request { filter, ..*request }, &[facet])?;
    }
    Ok(())
}

/// Counts facets under one filter.
fn count_group(
    facets: &mut Facets,
    segments: &[SegmentHandle],
    request: &Request<'_>,
    group: &[Facet],
) -> Result<()> {
    let tallies = |handle: &SegmentHandle| handle.live().facets(request, group);
    // A single segment needs no merging by key, unless keys repeat in it, which `listed` handles.
    if let [only] = segments {
        for (&facet, tally) in group.iter().zip(tallies(only)?) {
            facets.lists[facet as usize] = listed(only.segment.facet(facet), tally);
        }
        return Ok(());
    }
    let mut counts: Vec<Vec<ValueCount<'_>>> = group.iter().map(|_| Vec::new()).collect();
    for handle in segments {
        for ((&facet, counts), tally) in group.iter().zip(&mut counts).zip(tallies(handle)?) {
            counts.extend(value_counts(handle.segment.facet(facet), tally));
        }
    }
    for (&facet, counts) in group.iter().zip(counts) {
        facets.lists[facet as usize] = merged(counts);
    }
    Ok(())
}

/// The values of a facet of an index with a single segment.
fn listed(view: &FacetView<'_>, tally: FacetTally) -> Vec<FacetCount> {
    if view.has_repeated_keys {
        return merged(value_counts(view, tally).collect());
    }
    let value = |(value, count)| FacetCount {
        label: view.labels.get(value as usize).into(),
        count,
    };
    sorted(tally.into_iter().map(value).collect())
}

fn value_counts<'a>(
    view: &FacetView<'a>,
    tally: FacetTally,
) -> impl Iterator<Item = ValueCount<'a>> {
    tally.into_iter().map(|(value, count)| ValueCount {
        key: view.keys.get(value as usize).into(),
        label: view.labels.get(value as usize).into(),
        count,
    })
}
