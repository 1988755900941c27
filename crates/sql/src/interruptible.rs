//! Joins that let a statement be ended.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};

/// Lets joins return to the runtime after some batches, so that a statement ends at its time limit and when it is
/// cancelled.
///
/// The engine makes leaves return; but a join makes any number of batches of one batch of its inputs, and an aggregate
/// above takes all of them in one go. Belongs after all other rules of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct InterruptibleJoins;

impl PhysicalOptimizerRule for InterruptibleJoins {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Upwards, so that a join is not visited again below what wraps it.
        plan.transform_up(|node| {
            Ok(if is_join(&node) {
                Transformed::yes(Arc::new(CooperativeExec::new(node)) as Arc<dyn ExecutionPlan>)
            } else {
                Transformed::no(node)
            })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "interruptible_joins"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn is_join(node: &Arc<dyn ExecutionPlan>) -> bool {
    node.downcast_ref::<CrossJoinExec>().is_some()
        || node.downcast_ref::<HashJoinExec>().is_some()
        || node.downcast_ref::<NestedLoopJoinExec>().is_some()
        || node.downcast_ref::<SortMergeJoinExec>().is_some()
}
