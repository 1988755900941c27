//! Runs the scans of other nodes over shards that are here.

use std::iter::once;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use signaldex::Snapshot;

use crate::columns::{SIGNAL_COLUMNS, projected, signals_schema};
use crate::companies::CompaniesScan;
use crate::error::of_corpus;
use crate::label_counts::LabelCounts;
use crate::narrowing::Narrowed;
use crate::shard_scan::{ScanOutput, ShardScan};
use crate::signal_batches::SignalBatches;
use crate::snapshot_set::SnapshotSet;

/// The batches of a scan.
pub(crate) type ScanBatches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

impl ShardScan {
    /// The batches of the scan over snapshots, computed as they are taken; some may be empty.
    pub(crate) fn batches(self, snapshots: Vec<Arc<Snapshot>>) -> Result<ScanBatches> {
        let corpus = SnapshotSet::new(snapshots, self.as_of).map_err(of_corpus)?;
        let corpus = Arc::new(corpus);
        let narrowed = Arc::new(Narrowed::new(&corpus, &self.conditions)?);
        Ok(match self.output {
            ScanOutput::Signals(columns) => {
                let schema = signals_schema();
                let (columns, schema) = projected(&SIGNAL_COLUMNS, &schema, Some(&columns))?;
                let segments = corpus.segment_numbers();
                let limit = self.limit;
                let batches =
                    SignalBatches::new(corpus, narrowed, columns, schema, segments, limit);
                Box::new(batches)
            }
            ScanOutput::Companies(columns) => {
                let scan = CompaniesScan::new(corpus, self.slugs, &columns)?;
                Box::new(scan.limited(self.limit).batches())
            }
            ScanOutput::SignalCounts(facet) => {
                let counts = LabelCounts::of(&corpus, &narrowed, facet)?;
                Box::new(once(counts.batch()))
            }
            ScanOutput::CompanyCount => {
                let scan = CompaniesScan::new(corpus, self.slugs, &[])?;
                Box::new(once(LabelCounts::of_all(scan.counted()?).batch()))
            }
        })
    }
}
