//! Facets over several snapshots as over one index: their labels are numbered once, and counts are added by number.

use std::sync::Arc;

use hashbrown::HashMap;
use smol_str::SmolStr;
use time::Date;

use super::facets::{self, FacetCount, Facets};
use super::snapshot::Snapshot;
use crate::query::{Facet, Filter};
use crate::segment::{FacetView, Segment};
use crate::{Error, Result};

/// Numbers the labels of the facets of several snapshots, so that their counts are added without reading a text.
///
/// Made once where the same snapshots, such as shards of one corpus, are counted together often.
///
/// ```
/// use signaldex::{Facet, FacetDictionary, Filter, sample};
///
/// let shards = vec![sample::index()?.snapshot(), sample::index()?.snapshot()];
/// let dictionary = FacetDictionary::new(shards);
/// let filter = Filter::from_query_string("q=robotics")?;
/// let mut counters = dictionary.counters();
/// for shard in 0..2 {
///     dictionary.count(shard, &filter, sample::AS_OF, &Facet::ALL, &mut counters)?;
/// }
/// let facets = dictionary.facets(&counters);
/// assert_eq!(facets.values(Facet::Category)[0].count() % 2, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FacetDictionary {
    snapshots: Vec<Arc<Snapshot>>,
    labels: [LabelNumbers; Facet::ALL.len()],
    /// By snapshot; `None` for one with damaged labels, which is counted by text or fails as it does alone.
    numbers: Vec<Option<Vec<SegmentNumbers>>>,
}

/// The numbers of the values of a segment, by facet.
type SegmentNumbers = [Box<[u32]>; Facet::ALL.len()];

/// The distinct labels of a facet, sorted by key and then by label.
#[derive(Default)]
struct LabelNumbers {
    labels: Vec<SmolStr>,
    /// Whether a label has the key of the one before it.
    is_spelling: Vec<bool>,
    by_label: HashMap<SmolStr, u32>,
}

/// Counts of facets, by the numbers of a [`FacetDictionary`].
///
/// ```
/// use signaldex::{Facet, FacetDictionary};
///
/// let dictionary = FacetDictionary::new(Vec::new());
/// assert!(dictionary.facets(&dictionary.counters()).values(Facet::Size).is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct FacetCounters {
    counts: Box<[Vec<u64>; Facet::ALL.len()]>,
    /// Labels that the dictionary does not have.
    others: Vec<(Facet, String, u64)>,
}

impl FacetDictionary {
    /// Numbers the labels of these snapshots. Cost: that of sorting their distinct labels, which stay in memory, and
    /// four bytes for each value of each segment.
    ///
    /// ```
    /// use signaldex::{FacetDictionary, sample};
    ///
    /// let dictionary = FacetDictionary::new(vec![sample::index()?.snapshot()]);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn new(snapshots: Vec<Arc<Snapshot>>) -> FacetDictionary {
        let is_sound = |snapshot: &Snapshot| {
            let mut segments = snapshot.segments.iter();
            segments.all(|handle| handle.segment.check_facet_values().is_ok())
        };
        let sound: Vec<bool> = snapshots
            .iter()
            .map(|snapshot| is_sound(snapshot))
            .collect();
        let labels = Facet::ALL.map(|facet| {
            let snapshots = snapshots
                .iter()
                .zip(&sound)
                .filter(|(_, is_sound)| **is_sound);
            let segments = snapshots.flat_map(|(snapshot, _)| &snapshot.segments);
            LabelNumbers::of(segments.map(|handle| handle.segment.facet(facet)))
        });
        let numbers = |(snapshot, is_sound): (&Arc<Snapshot>, &bool)| {
            is_sound.then(|| numbers_of(&labels, snapshot))
        };
        FacetDictionary {
            numbers: snapshots.iter().zip(&sound).map(numbers).collect(),
            labels,
            snapshots,
        }
    }

    /// Counters that are all zero.
    ///
    /// ```
    /// let dictionary = signaldex::FacetDictionary::new(Vec::new());
    /// let counters = dictionary.counters();
    /// ```
    pub fn counters(&self) -> FacetCounters {
        let zeros = |labels: &LabelNumbers| vec![0; labels.labels.len()];
        FacetCounters {
            counts: Box::new(self.labels.each_ref().map(zeros)),
            others: Vec::new(),
        }
    }

    /// Adds the counts of facets in the snapshot of this index to `counters`, each without the facet's own filter as
    /// [`Snapshot::facets`] counts them.
    ///
    /// ```
    /// use signaldex::{Facet, FacetDictionary, Filter, sample};
    ///
    /// let dictionary = FacetDictionary::new(vec![sample::index()?.snapshot()]);
    /// let mut counters = dictionary.counters();
    /// dictionary.count(0, &Filter::default(), sample::AS_OF, &[Facet::Category], &mut counters)?;
    /// assert_eq!(dictionary.facets(&counters).values(Facet::Category)[0].count(), 501);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Snapshot::facets`]; or there is no such snapshot, or the counters are of another dictionary.
    ///
    /// Cost: as [`Snapshot::facets`], without a look at a label.
    pub fn count(
        &self,
        snapshot: usize,
        filter: &Filter,
        today: Date,
        asked: &[Facet],
        counters: &mut FacetCounters,
    ) -> Result<()> {
        let Some(counted) = self.snapshots.get(snapshot) else {
            return Err(Error::invalid(format!(
                "the dictionary has no snapshot {snapshot}"
            )));
        };
        self.count_on(snapshot, counted, (filter, asked), today, counters)
    }

    /// As [`count`](Self::count), on what a key with a filter sees of the snapshot of this index.
    ///
    /// ```
    /// use signaldex::query::KeyFilter;
    /// use signaldex::{Facet, FacetDictionary, Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let narrowed = snapshot.narrowed(&KeyFilter::parse(["country=Japan"], [])?, sample::AS_OF)?;
    /// let dictionary = FacetDictionary::new(vec![snapshot]);
    /// let (mut counters, everything) = (dictionary.counters(), Filter::default());
    /// let asked = (&everything, &[Facet::Country][..]);
    /// dictionary.count_on(0, &narrowed, asked, sample::AS_OF, &mut counters)?;
    /// let facets = dictionary.facets(&counters);
    /// assert_eq!(facets.values(Facet::Country).len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`count`](Self::count), or the snapshots have other segments.
    pub fn count_on(
        &self,
        snapshot: usize,
        counted: &Snapshot,
        (filter, asked): (&Filter, &[Facet]),
        today: Date,
        counters: &mut FacetCounters,
    ) -> Result<()> {
        let known = self.snapshots.get(snapshot).zip(self.numbers.get(snapshot));
        let is_same = |known: &Snapshot| {
            let mut pairs = known.segments.iter().zip(&counted.segments);
            known.segments.len() == counted.segments.len()
                && pairs.all(|(known, counted)| Arc::ptr_eq(&known.segment, &counted.segment))
        };
        let Some((_, numbers)) = known.filter(|(known, _)| is_same(known)) else {
            return Err(Error::invalid("the snapshot is not of the dictionary"));
        };
        if !self.is_own(counters) {
            return Err(Error::invalid("the counters are of another dictionary"));
        }
        let Some(numbers) = numbers else {
            let facets = counted.facets_of(filter, today, asked)?;
            self.add_facets(counters, &facets);
            return Ok(());
        };
        let request = counted.request(filter, today);
        facets::tally(
            &counted.segments,
            &request,
            asked,
            |segment, facet, tally| {
                let numbers = &numbers[segment][facet as usize];
                let counts = &mut counters.counts[facet as usize];
                for (value, count) in tally {
                    counts[numbers[value as usize] as usize] += count;
                }
            },
        )
    }

    fn is_own(&self, counters: &FacetCounters) -> bool {
        let mut pairs = self.labels.iter().zip(&*counters.counts);
        pairs.all(|(labels, counts)| labels.labels.len() == counts.len())
    }

    fn add_facets(&self, counters: &mut FacetCounters, facets: &Facets) {
        for facet in Facet::ALL {
            for value in facets.values(facet) {
                self.add_label(counters, facet, value.label(), value.count());
            }
        }
    }

    /// Adds the count of a label, which may be one that the dictionary does not have.
    ///
    /// ```
    /// use signaldex::{Facet, FacetDictionary, sample};
    ///
    /// let dictionary = FacetDictionary::new(vec![sample::index()?.snapshot()]);
    /// let mut counters = dictionary.counters();
    /// dictionary.add_label(&mut counters, Facet::Country, "Germany", 2);
    /// dictionary.add_label(&mut counters, Facet::Country, "Atlantis", 3);
    /// let facets = dictionary.facets(&counters);
    /// assert_eq!(facets.values(Facet::Country)[0].label(), "Atlantis");
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn add_label(&self, counters: &mut FacetCounters, facet: Facet, label: &str, count: u64) {
        match self.labels[facet as usize].by_label.get(label) {
            Some(&number) => counters.counts[facet as usize][number as usize] += count,
            None => counters.others.push((facet, label.to_owned(), count)),
        }
    }

    /// The labels with counts, in no particular order; those with the same key are apart.
    ///
    /// ```
    /// use signaldex::{Facet, FacetDictionary};
    ///
    /// let dictionary = FacetDictionary::new(Vec::new());
    /// let mut counters = dictionary.counters();
    /// dictionary.add_label(&mut counters, Facet::Country, "Germany", 2);
    /// let labels: Vec<_> = dictionary.labels(&counters).collect();
    /// assert_eq!(labels, [(Facet::Country, "Germany", 2)]);
    /// ```
    pub fn labels<'a>(
        &'a self,
        counters: &'a FacetCounters,
    ) -> impl Iterator<Item = (Facet, &'a str, u64)> {
        let known = Facet::ALL.into_iter().flat_map(move |facet| {
            let labels = self.labels[facet as usize].labels.iter();
            let counts = labels.zip(&counters.counts[facet as usize]);
            let counted = counts.filter(|(_, count)| **count > 0);
            counted.map(move |(label, &count)| (facet, label.as_str(), count))
        });
        let others = counters.others.iter();
        known.chain(others.map(|(facet, label, count)| (*facet, label.as_str(), *count)))
    }

    /// The counted values, as [`Snapshot::facets`] returns them.
    ///
    /// ```
    /// use signaldex::{Facet, FacetDictionary, Filter, sample};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let dictionary = FacetDictionary::new(vec![snapshot.clone()]);
    /// let mut counters = dictionary.counters();
    /// dictionary.count(0, &Filter::default(), sample::AS_OF, &Facet::ALL, &mut counters)?;
    /// assert_eq!(dictionary.facets(&counters), snapshot.facets(&Filter::default(), sample::AS_OF)?);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn facets(&self, counters: &FacetCounters) -> Facets {
        let mut facets = Facets::default();
        for facet in Facet::ALL {
            let (labels, counts) = (
                &self.labels[facet as usize],
                &counters.counts[facet as usize],
            );
            let others = counters.others.iter().filter(|(of, ..)| *of == facet);
            let mut others = others
                .map(|(_, label, count)| (label.clone(), *count))
                .peekable();
            if others.peek().is_some() {
                let known = labels.counted(counts);
                let known = known
                    .into_iter()
                    .map(|value| (value.label().to_owned(), value.count()));
                facets.set(facet, known.chain(others));
            } else {
                facets.set_distinct(facet, labels.counted(counts));
            }
        }
        facets
    }
}

impl std::fmt::Debug for FacetDictionary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let labels: usize = self.labels.iter().map(|labels| labels.labels.len()).sum();
        f.debug_struct("FacetDictionary")
            .field("snapshots", &self.snapshots.len())
            .field("labels", &labels)
            .finish()
    }
}

fn numbers_of(
    labels: &[LabelNumbers; Facet::ALL.len()],
    snapshot: &Snapshot,
) -> Vec<SegmentNumbers> {
    let segments = snapshot.segments.iter();
    let of_segment = |segment: &Segment| {
        Facet::ALL.map(|facet| labels[facet as usize].of_view(segment.facet(facet)))
    };
    segments.map(|handle| of_segment(&handle.segment)).collect()
}

impl FacetCounters {
    /// Adds other counters of the same dictionary.
    ///
    /// ```
    /// use signaldex::{Facet, FacetDictionary, sample};
    ///
    /// let dictionary = FacetDictionary::new(vec![sample::index()?.snapshot()]);
    /// let mut counters = dictionary.counters();
    /// dictionary.add_label(&mut counters, Facet::Country, "Germany", 2);
    /// counters.add(counters.clone());
    /// assert_eq!(dictionary.facets(&counters).values(Facet::Country)[0].count(), 4);
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn add(&mut self, other: FacetCounters) {
        for (counts, others) in self.counts.iter_mut().zip(&*other.counts) {
            for (count, other) in counts.iter_mut().zip(others) {
                *count += other;
            }
        }
        self.others.extend(other.others);
    }
}

impl LabelNumbers {
    fn of<'a>(views: impl Iterator<Item = &'a FacetView<'a>>) -> LabelNumbers {
        let mut values: Vec<(&str, &str)> = views
            .flat_map(|view| {
                (0..view.len()).map(move |value| (view.keys.get(value), view.labels.get(value)))
            })
            .collect();
        values.sort_unstable();
        values.dedup();
        let has_former_key = |index: usize| index > 0 && values[index - 1].0 == values[index].0;
        let labels: Vec<SmolStr> = values.iter().map(|(_, label)| (*label).into()).collect();
        LabelNumbers {
            is_spelling: (0..values.len()).map(has_former_key).collect(),
            by_label: labels.iter().cloned().zip(0..).collect(),
            labels,
        }
    }

    /// The numbers of the values of a segment, whose labels are all known.
    fn of_view(&self, view: &FacetView<'_>) -> Box<[u32]> {
        let numbers = (0..view.len()).map(|value| self.by_label.get(view.labels.get(value)));
        numbers
            .map(|number| number.copied().unwrap_or_default())
            .collect()
    }

    /// The values with counts. Labels with the same key are one value.
    fn counted(&self, counts: &[u64]) -> Vec<FacetCount> {
        let mut values: Vec<FacetCount> = Vec::new();
        // The number of the first spelling of the last value.
        let mut last = None;
        let mut first = 0;
        for (number, &count) in counts.iter().enumerate() {
            if !self.is_spelling[number] {
                first = number;
            }
            match values.last_mut() {
                _ if count == 0 => {}
                Some(value) if last == Some(first) => value.add(count),
                _ => {
                    values.push(FacetCount::new(self.labels[number].clone(), count));
                    last = Some(first);
                }
            }
        }
        values
    }
}

#[cfg(test)]
mod tests;
