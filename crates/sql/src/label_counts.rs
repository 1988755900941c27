//! Numbers of signals by label: from the counters of the index, or from rows where the conditions need them.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use datafusion::arrow::datatypes::{UInt32Type, UInt64Type};
use datafusion::common::{Result, exec_datafusion_err};
use signaldex::{Facet, Snapshot};

use crate::columns::{COUNTS_SCHEMA, SIGNAL_COLUMNS, SignalSource, projected, signals_schema};
use crate::error::of_corpus;
use crate::narrowing::Narrowed;
use crate::signal_batches::SignalBatches;
use crate::snapshot_set::SnapshotSet;

/// How many rows have each label of a facet, or none; all have none where rows are counted alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelCounts(BTreeMap<Option<String>, u64>);

impl LabelCounts {
    /// The counts of the rows that fulfil the conditions, over the snapshots of a corpus.
    pub(crate) fn of(
        corpus: &Arc<SnapshotSet>,
        narrowed: &Arc<Narrowed>,
        facet: Option<Facet>,
    ) -> Result<LabelCounts> {
        if narrowed.ids.is_none() {
            return Ok(LabelCounts::default());
        }
        match facet {
            _ if !narrowed.is_exact() => LabelCounts::by_rows(corpus, narrowed, facet),
            // Counters of a facet leave its own filter out.
            Some(facet) if narrowed.filter.chosen(facet).next().is_some() => {
                LabelCounts::by_rows(corpus, narrowed, Some(facet))
            }
            Some(facet) => LabelCounts::by_counters(corpus, narrowed, facet),
            None => {
                let mut counts = LabelCounts::default();
                for snapshot in &corpus.snapshots {
                    counts.add(None, count_of(snapshot, corpus, narrowed)?);
                }
                Ok(counts)
            }
        }
    }

    /// A number of rows that have no labels.
    #[cfg(feature = "flight")]
    pub(crate) fn of_all(count: u64) -> LabelCounts {
        let mut counts = LabelCounts::default();
        counts.add(None, count);
        counts
    }

    fn by_counters(corpus: &SnapshotSet, narrowed: &Narrowed, facet: Facet) -> Result<LabelCounts> {
        let dictionary = corpus.counting();
        let mut counters = dictionary.counters();
        let mut total = 0;
        for (number, snapshot) in corpus.snapshots.iter().enumerate() {
            let (filter, as_of) = (&narrowed.filter, corpus.as_of);
            let counted = dictionary.count(number, filter, as_of, &[facet], &mut counters);
            counted.map_err(of_corpus)?;
            total += count_of(snapshot, corpus, narrowed)?;
        }
        let mut counts = LabelCounts::default();
        for (_, label, count) in dictionary.labels(&counters) {
            counts.add(Some(label.to_owned()), count);
        }
        counts.add(None, total.saturating_sub(counts.total()));
        Ok(counts)
    }

    fn by_rows(
        corpus: &Arc<SnapshotSet>,
        narrowed: &Arc<Narrowed>,
        facet: Option<Facet>,
    ) -> Result<LabelCounts> {
        let is_counted = |source| matches!(source, SignalSource::Facet(of) if Some(of) == facet);
        let column = SIGNAL_COLUMNS
            .iter()
            .position(|column| is_counted(column.source));
        let projection = column.into_iter().collect();
        let (columns, schema) = projected(&SIGNAL_COLUMNS, &signals_schema(), Some(&projection))?;
        let (corpus, narrowed) = (Arc::clone(corpus), Arc::clone(narrowed));
        let segments = corpus.segment_numbers();
        let batches = SignalBatches::new(corpus, narrowed, columns, schema, segments, None);
        let mut counts = LabelCounts::default();
        for batch in batches {
            counts.add_rows(&batch?);
        }
        Ok(counts)
    }

    /// Counts rows by their only column; all of them as without a label where there is none.
    fn add_rows(&mut self, batch: &RecordBatch) {
        let labels = batch.columns().first();
        let Some(labels) = labels.and_then(|labels| labels.as_dictionary_opt::<UInt32Type>())
        else {
            return self.add(None, batch.num_rows() as u64);
        };
        let mut by_key = vec![0; labels.values().len()];
        for key in labels.keys().iter().flatten() {
            by_key[key as usize] += 1;
        }
        let texts = labels.values().as_string::<i32>();
        for (text, count) in texts.iter().zip(by_key) {
            self.add(text.map(str::to_owned), count);
        }
        self.add(None, labels.null_count() as u64);
    }

    fn add(&mut self, label: Option<String>, count: u64) {
        if count > 0 {
            *self.0.entry(label).or_default() += count;
        }
    }

    /// Adds counts of other rows.
    pub(crate) fn merge(&mut self, other: LabelCounts) {
        for (label, count) in other.0 {
            self.add(label, count);
        }
    }

    /// The number of all rows.
    pub(crate) fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Adds what another node has counted.
    ///
    /// # Errors
    /// The batch has other columns.
    pub(crate) fn add_batch(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut columns = batch.columns().iter();
        let labels = columns
            .next()
            .and_then(|labels| labels.as_string_opt::<i32>());
        let counts = columns
            .next()
            .and_then(|counts| counts.as_primitive_opt::<UInt64Type>());
        let (Some(labels), Some(counts)) = (labels, counts) else {
            return Err(exec_datafusion_err!("a node has sent no counts"));
        };
        for (label, count) in labels.iter().zip(counts.values()) {
            self.add(label.map(str::to_owned), *count);
        }
        Ok(())
    }

    /// The counts as they travel.
    pub(crate) fn batch(&self) -> Result<RecordBatch> {
        let labels: StringArray = self.0.keys().map(Option::as_deref).collect();
        let counts = UInt64Array::from_iter_values(self.0.values().copied());
        let columns: Vec<ArrayRef> = vec![Arc::new(labels), Arc::new(counts)];
        Ok(RecordBatch::try_new(Arc::clone(&COUNTS_SCHEMA), columns)?)
    }

    /// The labels as a dictionary, and the counts in the same order.
    pub(crate) fn columns(&self) -> Result<(ArrayRef, Vec<u64>)> {
        let texts: StringArray = self.0.keys().flatten().map(Some).collect();
        let mut next = 0..;
        let keys: UInt32Array = self
            .0
            .keys()
            .map(|label| label.as_ref().and_then(|_| next.next()))
            .collect();
        let labels = DictionaryArray::<UInt32Type>::try_new(keys, Arc::new(texts))?;
        Ok((Arc::new(labels), self.0.values().copied().collect()))
    }
}

fn count_of(snapshot: &Snapshot, corpus: &SnapshotSet, narrowed: &Narrowed) -> Result<u64> {
    let count = snapshot.count(&narrowed.filter, corpus.as_of);
    count.map_err(of_corpus)
}
