//! The leaf of every plan: shards of one node, asked one question, and the codec that ships it.
//!
//! Filter, order and limit are inside the question, so nothing of them is left to the operators
//! above. A partition is a shard; where a node has fewer than another, the rest are empty.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use bincode::config::{Configuration, Limit, LittleEndian, Varint};
use datafusion::arrow::compute::SortOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_datafusion_err, exec_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::col;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, EmptyRecordBatchStream, ExecutionPlan, PlanProperties,
};
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use futures_util::stream;

use super::Shards;
use super::columns::{self, ID, batch_of};
use crate::cluster::generation::SHARDS_MAX;
use crate::cluster::question::{Question, Wanted};

/// The longest encoded leaf, in bytes.
const BYTES_MAX: usize = 2 << 20;

const CODEC: Configuration<LittleEndian, Varint, Limit<BYTES_MAX>> =
    bincode::config::standard().with_limit::<BYTES_MAX>();

/// Shards, asked one question.
pub(super) struct Leaf {
    question: Arc<Question>,
    /// By partition.
    shards: Vec<Option<u32>>,
    properties: Arc<PlanProperties>,
    /// What answers; only where the leaf runs.
    source: Option<Arc<dyn Shards>>,
}

impl Leaf {
    pub(super) fn new(question: Arc<Question>, shards: Vec<Option<u32>>) -> Result<Leaf> {
        let schema = columns::schema_of(question.kind());
        let equivalences = match ordering(&question)? {
            Some(order) => EquivalenceProperties::new_with_orderings(schema, [order]),
            None => EquivalenceProperties::new(schema),
        };
        let properties = PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(shards.len()),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Ok(Leaf {
            question,
            shards,
            properties: Arc::new(properties),
            source: None,
        })
    }

    /// The same leaf where it can be run.
    pub(super) fn answered_by(self, source: Arc<dyn Shards>) -> Leaf {
        Leaf {
            source: Some(source),
            ..self
        }
    }
}

/// The order in which every partition answers, where it has one.
pub(super) fn ordering(question: &Question) -> Result<Option<LexOrdering>> {
    let schema = columns::schema_of(question.kind());
    let (limit, descending) = question.rows();
    if limit.is_none() {
        return Ok(None);
    }
    let options = SortOptions {
        descending,
        nulls_first: false,
    };
    let by_id = PhysicalSortExpr::new(col(ID, &schema)?, options);
    Ok(LexOrdering::new([by_id]))
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Leaf")
            .field("question", &self.question)
            .field("shards", &self.shards)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for Leaf {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shards = self.shards.iter().flatten();
        let shards: Vec<String> = shards.map(u32::to_string).collect();
        write!(
            f,
            "SignalsExec: generation={}, shards=[{}], ",
            self.question.generation,
            shards.join(", ")
        )?;
        match &self.question.wanted {
            Wanted::Rows { query, .. } => {
                let (filter, limit) = (query.filter().canonical(), query.limit());
                write!(f, "rows, filter=[{filter}], limit={limit}")
            }
            Wanted::Count { filter, .. } => write!(f, "count, filter=[{}]", filter.canonical()),
            Wanted::Facets { filter, .. } => write!(f, "facets, filter=[{}]", filter.canonical()),
            Wanted::Signal(id) => write!(f, "signal {id}"),
            Wanted::Company(_) => write!(f, "company"),
            Wanted::LoadedShards => write!(f, "loaded shards"),
        }
    }
}

impl ExecutionPlan for Leaf {
    fn name(&self) -> &'static str {
        "SignalsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let Some(&shard) = self.shards.get(partition) else {
            return exec_err!("there is no partition {partition}");
        };
        let Some(shard) = shard else {
            return Ok(Box::pin(EmptyRecordBatchStream::new(schema)));
        };
        let Some(source) = self.source.clone() else {
            return exec_err!("a leaf runs where its shards are");
        };
        let question = Arc::clone(&self.question);
        let reservation = MemoryConsumer::new("SignalsExec").register(context.memory_pool());
        // Answered when it is polled, which the worker does in a task for each partition.
        let answer = async move {
            let answer = source.answer(&question, shard);
            let batch = batch_of(answer.map_err(|error| exec_datafusion_err!("{error}"))?)?;
            // The engine counts what waits for its reader, but refuses nothing: this does.
            reservation.try_grow(batch.get_array_memory_size())?;
            Ok(batch)
        };
        let stream = stream::once(answer);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }
}

/// Bounds the work of a leaf that was sent: each shard is asked at most once.
fn check_shards(shards: &[Option<u32>]) -> Result<()> {
    if shards.len() > SHARDS_MAX as usize {
        let count = shards.len();
        return exec_err!("the leaf has {count} partitions; at most {SHARDS_MAX} are allowed");
    }
    let mut asked = HashSet::new();
    match shards.iter().flatten().find(|shard| !asked.insert(**shard)) {
        Some(shard) => exec_err!("the leaf asks shard {shard} twice"),
        None => Ok(()),
    }
}

/// Ships leaves. On a worker it says what answers them.
#[derive(Clone, Default)]
pub(super) struct LeafCodec {
    source: Option<Arc<dyn Shards>>,
}

impl LeafCodec {
    pub(super) fn answering(source: Arc<dyn Shards>) -> LeafCodec {
        LeafCodec {
            source: Some(source),
        }
    }
}

impl fmt::Debug for LeafCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeafCodec").finish_non_exhaustive()
    }
}

impl PhysicalExtensionCodec for LeafCodec {
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &TaskContext,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (body, read): ((Vec<Option<u32>>, Vec<u8>), usize) =
            bincode::serde::decode_from_slice(bytes, CODEC)
                .map_err(|error| exec_datafusion_err!("the leaf is malformed: {error}"))?;
        let (shards, question) = body;
        if read != bytes.len() || !inputs.is_empty() || shards.is_empty() {
            return exec_err!("the leaf is malformed");
        }
        check_shards(&shards)?;
        let question = Question::decode(&question);
        let question = question.map_err(|error| exec_datafusion_err!("{error}"))?;
        let mut leaf = Leaf::new(Arc::new(question), shards)?;
        leaf.source.clone_from(&self.source);
        Ok(Arc::new(leaf))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        _: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        let Some(leaf) = node.downcast_ref::<Leaf>() else {
            return exec_err!("only leaves of ours are shipped, not {}", node.name());
        };
        let question = leaf.question.encode();
        let question = question.map_err(|error| exec_datafusion_err!("{error}"))?;
        bincode::serde::encode_into_std_write((&leaf.shards, question), bytes, CODEC)
            .map(drop)
            .map_err(|error| exec_datafusion_err!("the leaf cannot be sent: {error}"))
    }
}

#[cfg(test)]
mod tests;
