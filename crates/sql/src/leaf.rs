//! What plans without children have in common.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{Partitioning, PlanProperties};
use futures_util::{StreamExt, stream};

/// Records that are read before a thread yields, some 100 µs.
///
/// A thread of idle priority does not always make way for one that wakes up: the scheduler of Linux may count the time that
/// the latter had before against it, and looks again at the next tick, after up to 4 ms. At a yield it looks at once.
pub(crate) const RECORDS_PER_YIELD: usize = 256;

/// The methods of an `ExecutionPlan` that are the same for each plan without children. It has a field `properties`.
macro_rules! leaf_methods {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn properties(&self) -> &Arc<datafusion::physical_plan::PlanProperties> {
            &self.properties
        }

        fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
            Vec::new()
        }

        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &Arc<dyn datafusion::physical_expr::PhysicalExpr>,
            ) -> Result<datafusion::common::tree_node::TreeNodeRecursion>,
        ) -> Result<datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }

        fn with_new_children(
            self: Arc<Self>,
            _: Vec<Arc<dyn ExecutionPlan>>,
        ) -> Result<Arc<dyn ExecutionPlan>> {
            Ok(self)
        }
    };
}

pub(crate) use leaf_methods;

/// The properties of a plan that ends, with what is known of its order, and its number of partitions.
pub(crate) fn properties_of(
    equivalence: EquivalenceProperties,
    partitions: usize,
    emission: EmissionType,
) -> Arc<PlanProperties> {
    let partitioning = Partitioning::UnknownPartitioning(partitions);
    let bounded = Boundedness::Bounded;
    Arc::new(PlanProperties::new(
        equivalence,
        partitioning,
        emission,
        bounded,
    ))
}

/// Batches that are read when they are asked for. The thread yields after each.
pub(crate) fn stream_of<B>(schema: &SchemaRef, batches: B) -> SendableRecordBatchStream
where
    B: IntoIterator<Item = Result<RecordBatch>>,
    B::IntoIter: Send + 'static,
{
    let schema = Arc::clone(schema);
    let batches = stream::iter(batches).inspect(|_| std::thread::yield_now());
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}
