//! What the tables stand on: snapshots as one corpus, and the labels of their facets as dictionaries.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::StringArray;
use signaldex::{Facet, FacetDictionary, Result, SegmentColumns, SignalId, Snapshot};
use time::Date;

use crate::corpus::{RemoteShards, SqlCorpus};

/// The snapshots of all shards, or of one index.
pub(crate) struct SnapshotSet {
    pub(crate) snapshots: Vec<Arc<Snapshot>>,
    /// Shards of the corpus that are not among the snapshots.
    pub(crate) elsewhere: Vec<Arc<dyn RemoteShards>>,
    /// The day that counts as today.
    pub(crate) as_of: Date,
    /// The snapshot, the segment's index in it, and its ids.
    segments: Vec<SegmentPlace>,
    labels: [OnceLock<Arc<CorpusLabels>>; Facet::ALL.len()],
    counting: OnceLock<FacetDictionary>,
}

struct SegmentPlace {
    snapshot: usize,
    index: usize,
    ids: Option<RangeInclusive<SignalId>>,
}

/// The distinct labels of a facet over all segments, sorted.
pub(crate) struct CorpusLabels {
    pub(crate) labels: Arc<StringArray>,
    /// For each segment, the index of each of its labels.
    pub(crate) by_segment: Vec<Vec<u32>>,
}

impl SnapshotSet {
    /// # Errors
    /// The ids of a segment are damaged.
    pub(crate) fn new(corpus: impl Into<SqlCorpus>, as_of: Date) -> Result<SnapshotSet> {
        let SqlCorpus {
            snapshots,
            elsewhere,
        } = corpus.into();
        let mut segments = Vec::new();
        for (snapshot, of) in snapshots.iter().enumerate() {
            for (index, segment) in of.segments().enumerate() {
                segments.push(SegmentPlace {
                    snapshot,
                    index,
                    ids: segment.id_range()?,
                });
            }
        }
        Ok(SnapshotSet {
            snapshots,
            elsewhere,
            as_of,
            segments,
            labels: Default::default(),
            counting: OnceLock::new(),
        })
    }

    /// Snapshots of whose signals nothing is read.
    pub(crate) fn of_companies(snapshots: Vec<Arc<Snapshot>>) -> SnapshotSet {
        SnapshotSet {
            snapshots,
            elsewhere: Vec::new(),
            as_of: Date::MIN,
            segments: Vec::new(),
            labels: Default::default(),
            counting: OnceLock::new(),
        }
    }

    /// A segment, by its number in the corpus.
    pub(crate) fn segment(&self, number: usize) -> Option<SegmentColumns<'_>> {
        let place = self.segments.get(number)?;
        self.snapshots[place.snapshot].segments().nth(place.index)
    }

    /// The numbers of all segments.
    pub(crate) fn segment_numbers(&self) -> Vec<usize> {
        (0..self.segments.len()).collect()
    }

    /// The segments that have rows, those with the greatest ids first, each with its number and ids.
    pub(crate) fn newest_first(&self) -> Vec<(usize, RangeInclusive<SignalId>)> {
        let numbered = self.segments.iter().enumerate();
        let mut found: Vec<_> = numbered
            .filter_map(|(number, place)| Some((number, place.ids.clone()?)))
            .collect();
        found.sort_by(|(_, one), (_, other)| other.end().cmp(one.end()));
        found
    }

    /// The labels of a facet, which are numbered the first time.
    ///
    /// # Errors
    /// The labels of a segment are damaged.
    pub(crate) fn labels(&self, facet: Facet) -> Result<Arc<CorpusLabels>> {
        let known = &self.labels[facet as usize];
        if let Some(labels) = known.get() {
            return Ok(Arc::clone(labels));
        }
        let labels = Arc::new(CorpusLabels::of(self, facet)?);
        Ok(Arc::clone(known.get_or_init(|| labels)))
    }

    /// Counters over all snapshots by the exact label.
    pub(crate) fn counting(&self) -> &FacetDictionary {
        let new = || FacetDictionary::new(self.snapshots.clone());
        self.counting.get_or_init(new)
    }
}

impl std::fmt::Debug for SnapshotSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SnapshotSet")
            .field("snapshots", &self.snapshots.len())
            .field("segments", &self.segments.len())
            .field("elsewhere", &self.elsewhere.len())
            .finish_non_exhaustive()
    }
}

impl CorpusLabels {
    fn of(corpus: &SnapshotSet, facet: Facet) -> Result<CorpusLabels> {
        let mut by_segment: Vec<Vec<&str>> = Vec::new();
        for number in 0..corpus.segments.len() {
            if let Some(segment) = corpus.segment(number) {
                by_segment.push(segment.labels(facet)?.collect());
            }
        }
        let mut distinct: Vec<&str> = by_segment.iter().flatten().copied().collect();
        distinct.sort_unstable();
        distinct.dedup();
        let numbers: HashMap<&str, u32> = distinct.iter().copied().zip(0..).collect();
        let number = |labels: &Vec<&str>| labels.iter().map(|label| numbers[label]).collect();
        Ok(CorpusLabels {
            by_segment: by_segment.iter().map(number).collect(),
            labels: Arc::new(StringArray::from(distinct)),
        })
    }
}
