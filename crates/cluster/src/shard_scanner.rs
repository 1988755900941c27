//! What a node needs to answer scans of SQL: the tables, which this package does not know.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use signaldex::Snapshot;

/// Runs scans over shards of this node, for statements at others.
///
/// `signaldex-sql` has one; a node without it refuses scans.
pub trait ShardScanner: fmt::Debug + Send + Sync {
    /// The rows of a scan, as the tables write it, for a reader who waits so long. It starts when they are taken, and ends
    /// with the stream.
    ///
    /// # Errors
    /// The scan is malformed.
    fn rows(
        &self,
        shards: Vec<Arc<Snapshot>>,
        scan: &[u8],
        left: Duration,
    ) -> Result<SendableRecordBatchStream>;
}
