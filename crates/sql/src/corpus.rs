//! What the tables stand on: snapshots of this process, and shards at other nodes.

use std::fmt;
use std::sync::Arc;

use datafusion::execution::SendableRecordBatchStream;
use signaldex::Snapshot;

use crate::shard_scan::ShardScan;

/// Where the rows of the tables are.
///
/// ```
/// use signaldex::sample;
/// use signaldex_sql::SqlCorpus;
///
/// let corpus = SqlCorpus::from(vec![sample::index()?.snapshot()]);
/// assert!(corpus.elsewhere.is_empty());
/// # Ok::<(), signaldex::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct SqlCorpus {
    /// Snapshots of this process, of which no two have a company in common.
    pub snapshots: Vec<Arc<Snapshot>>,
    /// Further shards of the same corpus, by the node that is asked about them.
    pub elsewhere: Vec<Arc<dyn RemoteShards>>,
}

/// Shards that another process reads.
pub trait RemoteShards: Send + Sync {
    /// The node, the generation and the shards. Those of equal names have equal rows.
    fn name(&self) -> &str;

    /// Asks for the rows of a scan once they are taken, and no longer when the stream is dropped. The batches have the
    /// columns of [`ShardScan::schema`].
    fn rows(&self, scan: &ShardScan) -> SendableRecordBatchStream;

    /// Has the shards kept where they are, until what is returned is dropped, for a statement that may ask for rows late.
    fn keep(&self) -> Box<dyn Send + Sync>;
}

impl SqlCorpus {
    /// Has the shards at other nodes kept, as [`RemoteShards::keep`].
    #[cfg(feature = "flight")]
    pub(crate) fn keep(&self) -> Vec<Box<dyn Send + Sync>> {
        self.elsewhere.iter().map(|shards| shards.keep()).collect()
    }

    /// Whether the rows are those of another corpus for certain.
    #[cfg(feature = "flight")]
    pub(crate) fn is(&self, other: &SqlCorpus) -> bool {
        let mut snapshots = self.snapshots.iter().zip(&other.snapshots);
        let mut elsewhere = self.elsewhere.iter().zip(&other.elsewhere);
        self.snapshots.len() == other.snapshots.len()
            && self.elsewhere.len() == other.elsewhere.len()
            && snapshots.all(|(one, other)| Arc::ptr_eq(one, other))
            && elsewhere.all(|(one, other)| one.name() == other.name())
    }
}

impl From<Vec<Arc<Snapshot>>> for SqlCorpus {
    fn from(snapshots: Vec<Arc<Snapshot>>) -> SqlCorpus {
        SqlCorpus {
            snapshots,
            elsewhere: Vec::new(),
        }
    }
}

impl fmt::Debug for SqlCorpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elsewhere: Vec<&str> = self.elsewhere.iter().map(|shards| shards.name()).collect();
        f.debug_struct("SqlCorpus")
            .field("snapshots", &self.snapshots.len())
            .field("elsewhere", &elsewhere)
            .finish()
    }
}
