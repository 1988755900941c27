//! Scans for statements at other nodes: as many as may run, each on a thread of low priority, for as long as it may take.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::{StreamExt, stream};
use signaldex::Snapshot;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::host::FlightOptions;
use super::priority;
use crate::error::{SqlError, SqlErrorKind};
use crate::shard_scan::ShardScan;

/// Batches that wait for their reader.
const BATCHES_AHEAD: usize = 2;

/// Scans for each statement that may run at a node: a join has one for each side.
const SCANS_PER_STATEMENT: usize = 16;

/// Runs scans of this node's shards. Clones share the limits.
#[derive(Clone, Debug)]
pub struct ShardScans {
    slots: Arc<Semaphore>,
    scans_max: usize,
    timeout: Duration,
}

impl ShardScans {
    /// Within the limits of a listener: 16 scans for each statement that may run, each as long as a statement may.
    ///
    /// ```
    /// use signaldex_sql::{FlightOptions, ShardScans};
    ///
    /// let scans = ShardScans::new(FlightOptions::default());
    /// ```
    pub fn new(options: FlightOptions) -> ShardScans {
        let scans_max = SCANS_PER_STATEMENT * options.queries;
        ShardScans {
            slots: Arc::new(Semaphore::new(scans_max)),
            scans_max,
            timeout: options.timeout,
        }
    }

    /// The rows of a scan over snapshots, for a reader who waits so long. It starts when they are taken, on a thread of
    /// its own, and ends with the stream.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use signaldex::sample;
    /// use signaldex_sql::{FlightOptions, ShardScan, ShardScans};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let scans = ShardScans::new(FlightOptions::default());
    /// let scan = ShardScan::from_bytes(&[8, 4, 40, 204, 184, 172, 2])?;
    /// let rows = scans.run(vec![sample::index()?.snapshot()], scan, Duration::from_secs(60));
    /// assert_eq!(rows.schema().fields().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn run(
        &self,
        snapshots: Vec<Arc<Snapshot>>,
        scan: ShardScan,
        left: Duration,
    ) -> SendableRecordBatchStream {
        let (schema, scans) = (scan.schema(), self.clone());
        let deadline = Instant::now() + left.min(self.timeout);
        let batches = stream::once(async move {
            match scans.start(snapshots, scan, deadline) {
                Ok(batches) => stream::unfold(Some(batches), next_of).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            }
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, batches.flatten()))
    }

    fn start(
        &self,
        snapshots: Vec<Arc<Snapshot>>,
        scan: ShardScan,
        deadline: Instant,
    ) -> Result<WaitingBatches> {
        let slot = Arc::clone(&self.slots).try_acquire_owned().map_err(|_| {
            of_sql(SqlError::io(format!(
                "{} scans run there already: ask again later; --sql-queries allows more",
                self.scans_max
            )))
        })?;
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let running = RunningScan {
            sender,
            deadline,
            _slot: slot,
        };
        let started = thread::Builder::new()
            .name("sql-scan".to_owned())
            .spawn(move || running.run(snapshots, scan));
        started.map_err(DataFusionError::IoError)?;
        Ok(batches)
    }
}

/// The batches of a scan, and `None` after the last one: without it the thread has panicked.
type WaitingBatches = mpsc::Receiver<Option<Result<RecordBatch>>>;

/// The next batch, until the end or an error.
async fn next_of(
    batches: Option<WaitingBatches>,
) -> Option<(Result<RecordBatch>, Option<WaitingBatches>)> {
    let mut batches = batches?;
    match batches.recv().await {
        Some(None) => None,
        Some(Some(Ok(batch))) => Some((Ok(batch), Some(batches))),
        Some(Some(Err(error))) => Some((Err(error), None)),
        None => Some((Err(of_sql(SqlError::io("a scan has ended early"))), None)),
    }
}

/// A scan on its thread.
struct RunningScan {
    sender: mpsc::Sender<Option<Result<RecordBatch>>>,
    deadline: Instant,
    _slot: OwnedSemaphorePermit,
}

impl RunningScan {
    fn run(self, snapshots: Vec<Arc<Snapshot>>, scan: ShardScan) {
        priority::lower();
        let batches = match scan.batches(snapshots) {
            Ok(batches) => batches,
            Err(error) => return self.end_with(error),
        };
        // Ends at an error, when the reader has gone, or late: after each batch, also an empty one.
        for batch in batches {
            if self.sender.is_closed() {
                return;
            }
            if Instant::now() >= self.deadline {
                return self.end_with(of_sql(SqlError::new(
                    SqlErrorKind::Timeout,
                    "the scan took longer than the statement may",
                )));
            }
            let is_empty = batch.as_ref().is_ok_and(|batch| batch.num_rows() == 0);
            let has_failed = batch.is_err();
            if (!is_empty && self.sender.blocking_send(Some(batch)).is_err()) || has_failed {
                return;
            }
        }
        let _ = self.sender.blocking_send(None);
    }

    fn end_with(self, error: DataFusionError) {
        // Fails only if the reader has gone.
        let _ = self.sender.blocking_send(Some(Err(error)));
    }
}

fn of_sql(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
