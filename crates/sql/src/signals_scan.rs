//! Scans of `signals`: which segments each partition reads, in which order, and how many rows there are. After the
//! partitions of this process comes one for the shards of each other node.

use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use signaldex::SignalId;

use crate::columns::SignalColumn;
use crate::corpus::RemoteShards;
use crate::elsewhere::{counts_elsewhere, rows_without_columns, write_names};
use crate::error::of_corpus;
use crate::leaf::{leaf_methods, properties_of, stream_of};
use crate::narrowing::Narrowed;
use crate::shard_scan::{ScanOutput, ShardScan, signal_index};
use crate::signal_batches::SignalBatches;
use crate::snapshot_set::SnapshotSet;

/// Up to this many partitions each is in the order of ids; more would be dear to merge.
const ORDERED_PARTITIONS_MAX: usize = 8;

/// Reads columns of the rows that fulfil some conditions.
pub(crate) struct SignalsScan {
    pub(crate) corpus: Arc<SnapshotSet>,
    pub(crate) narrowed: Arc<Narrowed>,
    pub(crate) columns: Vec<SignalColumn>,
    schema: SchemaRef,
    /// Most rows of a partition.
    limit: Option<usize>,
    /// The segments of each partition of this process, by number.
    partitions: Vec<Vec<usize>>,
    properties: Arc<PlanProperties>,
    count: OnceLock<Option<usize>>,
}

impl SignalsScan {
    pub(crate) fn new(
        corpus: Arc<SnapshotSet>,
        narrowed: Narrowed,
        columns: Vec<SignalColumn>,
        schema: SchemaRef,
        threads: usize,
    ) -> SignalsScan {
        let (partitions, are_ordered) = match narrowed.ids {
            Some(_) => partitions(&corpus, threads),
            None => (vec![Vec::new()], true),
        };
        let id = columns.iter().position(|column| column.name == "id");
        let id = id.filter(|_| are_ordered && corpus.elsewhere.is_empty());
        let order = id.map(|id| {
            let options = SortOptions {
                descending: true,
                nulls_first: true,
            };
            [PhysicalSortExpr::new(
                Arc::new(Column::new("id", id)),
                options,
            )]
        });
        let equivalence = EquivalenceProperties::new_with_orderings(Arc::clone(&schema), order);
        let elsewhere = match narrowed.ids {
            Some(_) => corpus.elsewhere.len(),
            None => 0,
        };
        let count = partitions.len() + elsewhere;
        let properties = properties_of(equivalence, count, EmissionType::Incremental);
        SignalsScan {
            corpus,
            narrowed: Arc::new(narrowed),
            columns,
            schema,
            limit: None,
            partitions,
            properties,
            count: OnceLock::new(),
        }
    }

    /// The same scan with a limit for the rows of each partition.
    pub(crate) fn with_limit(&self, limit: Option<usize>) -> SignalsScan {
        SignalsScan {
            corpus: Arc::clone(&self.corpus),
            narrowed: Arc::clone(&self.narrowed),
            columns: self.columns.clone(),
            schema: Arc::clone(&self.schema),
            limit,
            partitions: self.partitions.clone(),
            properties: Arc::clone(&self.properties),
            count: OnceLock::new(),
        }
    }

    pub(crate) fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// What another node is asked.
    pub(crate) fn asked(&self, output: ScanOutput) -> ShardScan {
        ShardScan {
            output,
            conditions: self.narrowed.conditions.clone(),
            slugs: None,
            limit: self.limit,
            as_of: self.corpus.as_of,
        }
    }

    /// Asks other nodes for their numbers of rows where no column is wanted and this one knows its own.
    pub(crate) async fn with_count_elsewhere(self) -> Result<SignalsScan> {
        let is_asked = self.columns.is_empty() && !self.corpus.elsewhere.is_empty();
        if is_asked && !self.has_limit() && self.narrowed.ids.is_some() {
            let own = self.counted().map_err(of_corpus)?;
            if let Some(own) = own {
                let scan = self.asked(ScanOutput::SignalCounts(None));
                let elsewhere = counts_elsewhere(&self.corpus, &scan).await?.total();
                let total = usize::try_from(own as u64 + elsewhere).ok();
                self.count.get_or_init(|| total);
            }
        }
        Ok(self)
    }

    /// The number of rows, where the index knows it or counts them faster than they are read.
    fn count(&self) -> Option<usize> {
        if !self.corpus.elsewhere.is_empty() && self.narrowed.ids.is_some() {
            return self.count.get().copied().flatten();
        }
        let is_cheap = self.narrowed.is_everything() || self.columns.is_empty();
        if !is_cheap || self.has_limit() {
            return None;
        }
        *self.count.get_or_init(|| self.counted().ok().flatten())
    }

    fn rows_of(&self, shards: &Arc<dyn RemoteShards>) -> SendableRecordBatchStream {
        if self.columns.is_empty() {
            let counts = self.asked(ScanOutput::SignalCounts(None));
            return rows_without_columns(shards, &counts, &self.schema, self.limit);
        }
        let columns = self.columns.iter().filter_map(signal_index).collect();
        shards.rows(&self.asked(ScanOutput::Signals(columns)))
    }

    fn counted(&self) -> signaldex::Result<Option<usize>> {
        let Narrowed { filter, ids, .. } = &*self.narrowed;
        if ids.is_none() {
            return Ok(Some(0));
        }
        if !self.narrowed.is_exact() {
            return Ok(None);
        }
        let mut total = 0;
        for snapshot in &self.corpus.snapshots {
            total += snapshot.count(filter, self.corpus.as_of)?;
        }
        Ok(usize::try_from(total).ok())
    }
}

/// The segments of each partition, and whether each is in the descending order of ids.
fn partitions(corpus: &SnapshotSet, threads: usize) -> (Vec<Vec<usize>>, bool) {
    // Invariant: the ids of each chain descend from segment to segment.
    let mut chains: Vec<(SignalId, Vec<usize>)> = Vec::new();
    for (number, ids) in corpus.newest_first() {
        match chains.iter_mut().find(|(first, _)| first > ids.end()) {
            Some((first, chain)) => {
                *first = *ids.start();
                chain.push(number);
            }
            None => chains.push((*ids.start(), vec![number])),
        }
    }
    let mut chains: Vec<Vec<usize>> = chains.into_iter().map(|(_, chain)| chain).collect();
    if chains.is_empty() {
        chains.push(Vec::new());
    }
    let most = threads.max(ORDERED_PARTITIONS_MAX);
    if chains.len() <= most {
        return (chains, true);
    }
    let mut partitions = vec![Vec::new(); threads.max(1)];
    for (index, chain) in chains.into_iter().enumerate() {
        let index = index % partitions.len();
        partitions[index].extend(chain);
    }
    (partitions, false)
}

impl fmt::Debug for SignalsScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_as(DisplayFormatType::Default, f)
    }
}

impl DisplayAs for SignalsScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name).collect();
        let Narrowed {
            filter,
            ids,
            residual,
            ..
        } = &*self.narrowed;
        write!(f, "SignalsScan: columns=[{}]", names.join(", "))?;
        match ids {
            None => write!(f, ", no row")?,
            Some(ids) if *ids != (SignalId::MIN..=SignalId::MAX) => {
                write!(f, ", ids={}..={}", ids.start(), ids.end())?;
            }
            Some(_) => {}
        }
        if !filter.is_empty() {
            write!(f, ", index=[{filter}]")?;
        }
        if !residual.is_empty() {
            write!(f, ", rows={residual:?}")?;
        }
        write_names(&self.corpus, f)?;
        match self.limit {
            Some(limit) => write!(f, ", limit={limit}"),
            None => Ok(()),
        }
    }
}

impl ExecutionPlan for SignalsScan {
    leaf_methods!("SignalsScan");

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let elsewhere = partition.checked_sub(self.partitions.len());
        if let Some(shards) = elsewhere.and_then(|shards| self.corpus.elsewhere.get(shards)) {
            return Ok(self.rows_of(shards));
        }
        let batches = SignalBatches::new(
            Arc::clone(&self.corpus),
            Arc::clone(&self.narrowed),
            self.columns.clone(),
            Arc::clone(&self.schema),
            self.partitions.get(partition).cloned().unwrap_or_default(),
            self.limit,
        );
        Ok(stream_of(&self.schema, batches))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        let is_whole = self.partitions.len() == 1 && self.corpus.elsewhere.is_empty();
        if partition.is_none() || is_whole {
            statistics.num_rows = match self.count() {
                Some(count) => Precision::Exact(count),
                // Any filter may find all.
                None => Precision::Absent,
            };
        }
        Ok(Arc::new(statistics))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(self.with_limit(limit)))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}
