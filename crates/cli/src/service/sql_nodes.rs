//! SQL at a node of a cluster: tables over the shards of all nodes, and the scans that other nodes ask for.

use std::sync::Arc;
use std::time::Duration;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SendableRecordBatchStream;
use signaldex::Snapshot;
use signaldex_cluster::{NodeReader, ShardScanner, ShardsElsewhere};
use signaldex_sql::{FlightOptions, RemoteShards, ShardScan, ShardScans, SqlCorpus, SqlError};

/// The corpus of a cluster in the generation that is served, for statements that take at most so long.
pub(crate) fn corpus_of(node: &NodeReader, timeout: Duration) -> Result<SqlCorpus, SqlError> {
    let shards = node.shards().map_err(SqlError::io)?;
    let elsewhere = shards.elsewhere.into_iter();
    let elsewhere = elsewhere
        .map(|shards| -> Arc<dyn RemoteShards> { Arc::new(AskedNode { shards, timeout }) });
    Ok(SqlCorpus {
        snapshots: shards.here,
        elsewhere: elsewhere.collect(),
    })
}

/// What answers the scans of other nodes, within the limits of a listener.
pub(crate) fn scanner(options: FlightOptions) -> Arc<dyn ShardScanner> {
    Arc::new(Scanner(ShardScans::new(options)))
}

/// Shards of another node as the tables ask them.
struct AskedNode {
    shards: ShardsElsewhere,
    timeout: Duration,
}

impl RemoteShards for AskedNode {
    fn name(&self) -> &str {
        self.shards.name()
    }

    fn rows(&self, scan: &ShardScan) -> SendableRecordBatchStream {
        self.shards
            .rows(scan.to_bytes(), scan.schema(), self.timeout)
    }

    fn keep(&self) -> Box<dyn Send + Sync> {
        Box::new(self.shards.keep())
    }
}

/// Scans of this node's shards as others ask them.
#[derive(Debug)]
struct Scanner(ShardScans);

impl ShardScanner for Scanner {
    fn rows(
        &self,
        shards: Vec<Arc<Snapshot>>,
        scan: &[u8],
        left: Duration,
    ) -> Result<SendableRecordBatchStream> {
        let scan = ShardScan::from_bytes(scan);
        let scan = scan.map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(self.0.run(shards, scan, left))
    }
}
