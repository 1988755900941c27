//! What scans take from shards at other nodes.

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

/// The sums of the counts of all shards at other nodes, which are asked at the same time.
pub(crate) async fn counts_elsewhere(
    corpus: &SnapshotSet,
    scan: &ShardScan,
) -> Result<LabelCounts> {
    let asked = corpus.elsewhere.iter();
    let counts = try_join_all(asked.map(|shards| counts_of(shards, scan))).await?;
    let mut total = LabelCounts::default();
    for batch in counts.iter().flatten() {
        total.add_batch(batch)?;
    }
    Ok(total)
}

async fn counts_of(shards: &Arc<dyn RemoteShards>, scan: &ShardScan) -> Result<Vec<RecordBatch>> {
    shards.rows(scan).try_collect().await
}

/// As many rows without columns as shards count, so that their number travels instead of them.
pub(crate) fn rows_without_columns(
    shards: &Arc<dyn RemoteShards>,
    scan: &ShardScan,
    schema: &SchemaRef,
    limit: Option<usize>,
) -> SendableRecordBatchStream {
    let (counts, of_batches) = (shards.rows(scan), Arc::clone(schema));
    let batches = stream::once(async move {
        let mut total = LabelCounts::default();
        for batch in counts.try_collect::<Vec<RecordBatch>>().await? {
            total.add_batch(&batch)?;
        }
        let rows = limit.map_or(total.total(), |limit| total.total().min(limit as u64));
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
