//! What scans take from shards at other nodes.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::future::try_join_all;
use futures_util::{StreamExt, TryStreamExt, stream};

use crate::corpus::RemoteShards;
use crate::label_counts::LabelCounts;
use crate::shard_scan::ShardScan;
use crate::snapshot_set::SnapshotSet;

/// Rows of a batch without columns.
const BATCH_ROWS: u64 = 16_384;

/// Names the shards at other nodes behind what a plan shows of itself.
pub(crate) fn write_names(corpus: &SnapshotSet, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut elsewhere = corpus.elsewhere.iter();
    elsewhere.try_for_each(|shards| write!(f, ", elsewhere=[{}]", shards.name()))
}

/// The sums of the counts of all shards at other nodes, which are asked at the same time.
pub(crate) async fn counts_elsewhere(
    corpus: &SnapshotSet,
    scan: &ShardScan,
) -> Result<LabelCounts> {
    let asked = corpus.elsewhere.iter();
    let counts = try_join_all(asked.map(|shards| counts_of(shards.rows(scan)))).await?;
    let mut total = LabelCounts::default();
    counts.into_iter().for_each(|counts| total.merge(counts));
    Ok(total)
}

/// The counts that a node sends.
async fn counts_of(mut batches: SendableRecordBatchStream) -> Result<LabelCounts> {
    let mut counts = LabelCounts::default();
    while let Some(batch) = batches.try_next().await? {
        counts.add_batch(&batch)?;
    }
    Ok(counts)
}

/// As many rows without columns as shards count, so that their number travels instead of them.
pub(crate) fn rows_without_columns(
    shards: &Arc<dyn RemoteShards>,
    scan: &ShardScan,
    schema: &SchemaRef,
    limit: Option<usize>,
) -> SendableRecordBatchStream {
    let (counts, of_batches) = (counts_of(shards.rows(scan)), Arc::clone(schema));
    let batches = stream::once(async move {
        let total = counts.await?.total();
        let rows = limit.map_or(total, |limit| total.min(limit as u64));
        Ok::<_, DataFusionError>(stream::iter(empty_rows(of_batches, rows)))
    });
    let batches = batches.try_flatten().boxed();
    Box::pin(RecordBatchStreamAdapter::new(Arc::clone(schema), batches))
}

fn empty_rows(schema: SchemaRef, rows: u64) -> impl Iterator<Item = Result<RecordBatch>> + Send {
    let starts = (0..rows).step_by(BATCH_ROWS as usize);
    starts.map(move |start| {
        let count = BATCH_ROWS.min(rows - start) as usize;
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let schema = Arc::clone(&schema);
        Ok(RecordBatch::try_new_with_options(
            schema,
            Vec::new(),
            &options,
        )?)
    })
}
