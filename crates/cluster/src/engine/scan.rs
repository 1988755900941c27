//! The leaf of plans of SQL: a scan of shards at another node, one plan and one connection each.
//!
//! What is scanned is bytes of the tables' own: nothing of the engine's expressions or functions crosses. The node that
//! asks runs the rest of the statement.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, exec_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use super::leaf::{leaf_methods, properties_of};
use crate::worker::Worker;

/// The only partition of a scan.
pub(super) const SCAN_PARTITIONS: usize = 1;

/// What a worker is asked. Every field is optional, so that a node of another release is told so.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ScanMessage {
    /// Of the program of the node that asks.
    #[prost(string, optional, tag = "1")]
    pub(crate) release: Option<String>,
    #[prost(uint64, optional, tag = "2")]
    pub(crate) generation: Option<u64>,
    #[prost(uint32, repeated, tag = "3")]
    pub(crate) shards: Vec<u32>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) scan: Option<Vec<u8>>,
    /// How long the statement may still take.
    #[prost(uint64, optional, tag = "5")]
    pub(crate) milliseconds_left: Option<u64>,
}

/// The leaf.
pub(super) struct ScanExec {
    pub(super) message: ScanMessage,
    properties: Arc<PlanProperties>,
    /// At the worker alone; taken once.
    rows: Mutex<Option<SendableRecordBatchStream>>,
}

impl ScanExec {
    /// The leaf at the node that asks.
    pub(super) fn new(message: ScanMessage, schema: SchemaRef) -> ScanExec {
        ScanExec {
            message,
            properties: properties_of(schema, SCAN_PARTITIONS),
            rows: Mutex::default(),
        }
    }

    /// The leaf at a worker, which holds the shards from now on.
    ///
    /// # Errors
    /// The node takes no scans, is of another release, or lacks a shard; or the scan is malformed.
    pub(super) fn at(worker: &Worker, message: ScanMessage) -> Result<ScanExec> {
        let Some(scanner) = worker.scanner() else {
            return exec_err!("{}", super::requests::WITHOUT_SQL);
        };
        let (own, release) = (super::OWN_RELEASE, message.release.as_deref());
        if release != Some(own) {
            let release = release.unwrap_or("another one");
            return exec_err!(
                "it is of release {own}, and the node that asks is of {release}: SQL needs equal ones"
            );
        }
        let generation = message.generation.unwrap_or_default();
        let shards = match worker.snapshots(generation, &message.shards) {
            Ok(shards) => shards,
            Err(error) => return exec_err!("{error}: ask again"),
        };
        let left = message.milliseconds_left.map(Duration::from_millis);
        let scan = message.scan.as_deref().unwrap_or_default();
        let rows = scanner.rows(shards, scan, left.unwrap_or(Duration::MAX))?;
        let leaf = ScanExec::new(message, rows.schema());
        Ok(ScanExec {
            rows: Mutex::new(Some(rows)),
            ..leaf
        })
    }
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScanExec").finish()
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ScanExec")
    }
}

impl ExecutionPlan for ScanExec {
    leaf_methods!("ScanExec");

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let rows = self.rows.lock();
        let rows = rows.unwrap_or_else(PoisonError::into_inner).take();
        match rows {
            Some(rows) => Ok(rows),
            None => exec_err!("the rows of a scan are taken once, at a worker"),
        }
    }
}
