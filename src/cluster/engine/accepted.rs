//! What a worker computes: the decoded plan, checked operator by operator before it is registered.

use std::sync::Arc;

use datafusion::common::{Result, exec_err};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::limit::LocalLimitExec;
use datafusion_distributed::{WorkerPlanRewriteEvent, WorkerPlanRewriteEventResponse};

use super::leaf::Leaf;
use super::plans::SUM;
use super::requests::OPERATORS;

/// The most operators of a plan: a limit, sums and a leaf, and one to spare.
const OPERATORS_MAX: usize = 4;

/// Passes a plan that a worker may run, unchanged. An error keeps it from being registered.
pub(super) fn check(event: WorkerPlanRewriteEvent<'_>) -> Result<WorkerPlanRewriteEventResponse> {
    if let Err(error) = check_plan(&event.plan) {
        let reason = error.to_string();
        tracing::warn!(reason, "a plan sent to the worker is refused");
        return Err(error);
    }
    Ok(WorkerPlanRewriteEventResponse::new(event.plan))
}

fn check_plan(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    let mut operator = plan;
    // Every operator but the leaf has one input, which is the next to look at.
    for _ in 0..OPERATORS_MAX {
        if operator.is::<Leaf>() {
            return Ok(());
        }
        operator = if let Some(limit) = operator.downcast_ref::<LocalLimitExec>() {
            limit.input()
        } else if let Some(sums) = operator.downcast_ref::<AggregateExec>() {
            check_sums(sums)?;
            sums.input()
        } else {
            return exec_err!("{OPERATORS}, not {}", operator.name());
        };
    }
    exec_err!("a worker runs plans of at most {OPERATORS_MAX} operators")
}

/// Sums of one column, by columns: nothing else is evaluated.
fn check_sums(sums: &AggregateExec) -> Result<()> {
    let groups = sums.group_expr();
    let is_allowed = *sums.mode() == AggregateMode::Partial
        && sums.aggr_expr().iter().all(|function| is_sum(function))
        && sums.filter_expr().iter().all(Option::is_none)
        && !groups.has_grouping_set()
        && groups.expr().iter().all(|(group, _)| is_column(group))
        && sums.limit_options().is_none();
    if is_allowed {
        Ok(())
    } else {
        exec_err!("a worker aggregates only by partial sums of a column, by columns")
    }
}

fn is_sum(function: &AggregateFunctionExpr) -> bool {
    function.fun().name() == SUM
        && function.expressions().iter().all(is_column)
        && function.order_bys().is_empty()
        && !function.is_distinct()
}

fn is_column(expression: &Arc<dyn PhysicalExpr>) -> bool {
    expression.is::<Column>()
}

#[cfg(test)]
mod tests;
