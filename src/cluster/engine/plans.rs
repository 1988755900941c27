//! Plans: what runs on the workers, what on the coordinator, and where the network is between.
//!
//! ```text
//! rows           SortPreservingMerge(limit) <- network <- leaf
//! count, facets  Aggregate(final) <- Coalesce <- network <- Aggregate(partial) <- leaf
//! ```

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result, exec_datafusion_err, exec_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::{EmptyRelation, LogicalPlan};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::col;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion_distributed::{DistributedLeafExec, NetworkCoalesceExec};
use url::Url;

use super::columns::{self, COUNT, FACET, VALUE};
use super::leaf::{Leaf, ordering};
use super::{Own, Shards, Task};
use crate::cluster::question::{Kind, Question};

/// The one function of a plan, as the engine names it.
pub(super) const SUM: &str = "sum";

/// A plan that was made, waiting in the session of its query, and where its tasks go.
pub(super) struct Planned {
    plan: Arc<dyn ExecutionPlan>,
    addresses: Vec<Url>,
}

impl Planned {
    /// Plans the tasks of a question. A lone one of the own node is run in place, without a network.
    pub(super) fn new(
        question: &Arc<Question>,
        tasks: &[Task],
        nodes: &[Url],
        own: &Own,
    ) -> Result<Planned> {
        let mut tasks = tasks.to_vec();
        let source = match tasks.as_slice() {
            [task] if task.node == own.node => Some(Arc::clone(&own.shards)),
            _ => None,
        };
        // The engine has a stage of one task run by the coordinator itself: one more without shards
        // keeps it on the worker.
        if let ([task], None) = (tasks.as_slice(), &source) {
            tasks.push(Task {
                node: task.node,
                shards: Vec::new(),
            });
        }
        let address = |task: &Task| {
            let address = nodes.get(task.node).cloned();
            address.ok_or_else(|| exec_datafusion_err!("there is no node {}", task.node))
        };
        Ok(Planned {
            addresses: tasks.iter().map(address).collect::<Result<_>>()?,
            plan: plan(question, &tasks, own, source)?,
        })
    }

    /// The address of each task.
    pub(super) fn addresses(&self) -> Vec<Url> {
        self.addresses.clone()
    }
}

fn plan(
    question: &Arc<Question>,
    tasks: &[Task],
    own: &Own,
    source: Option<Arc<dyn Shards>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let leaf = match (source, tasks) {
        (Some(source), [task]) => {
            let shards = task.shards.iter().copied().map(Some).collect();
            Arc::new(Leaf::new(Arc::clone(question), shards)?.answered_by(source))
        }
        _ => leaf(question, tasks, own)?,
    };
    match question.kind() {
        Kind::Rows => merged(question, leaf, tasks.len()),
        Kind::Count => summed(Kind::Count, &[], leaf, tasks.len()),
        Kind::Facets => summed(Kind::Facets, &[FACET, VALUE], leaf, tasks.len()),
    }
}

/// A leaf that is another one in each task.
fn leaf(question: &Arc<Question>, tasks: &[Task], own: &Own) -> Result<Arc<dyn ExecutionPlan>> {
    let partitions = tasks.iter().map(|task| task.shards.len()).max();
    let partitions = partitions.unwrap_or(0).max(1);
    let of_task = |task: &Task| -> Result<Arc<dyn ExecutionPlan>> {
        let shards = task.shards.iter().copied().map(Some);
        let shards = shards.chain(std::iter::repeat(None)).take(partitions);
        let leaf = Leaf::new(Arc::clone(question), shards.collect())?;
        // That of the own node is not shipped, so no codec gives it what it runs on.
        Ok(Arc::new(if task.node == own.node {
            leaf.answered_by(Arc::clone(&own.shards))
        } else {
            leaf
        }))
    };
    let variants: Vec<_> = tasks.iter().map(of_task).collect::<Result<_>>()?;
    let all = tasks.iter().flat_map(|task| &task.shards);
    let all: Vec<_> = all.copied().map(Some).collect();
    let whole = Arc::new(Leaf::new(Arc::clone(question), all)?);
    Ok(Arc::new(DistributedLeafExec::try_new(whole, variants)?))
}

fn merged(
    question: &Question,
    leaf: Arc<dyn ExecutionPlan>,
    tasks: usize,
) -> Result<Arc<dyn ExecutionPlan>> {
    let network = Arc::new(NetworkCoalesceExec::try_new(leaf, tasks, 1)?);
    let (limit, _) = question.rows();
    Ok(match ordering(question)? {
        Some(order) => Arc::new(SortPreservingMergeExec::new(order, network).with_fetch(limit)),
        None => Arc::new(CoalescePartitionsExec::new(network)),
    })
}

fn summed(
    kind: Kind,
    groups: &[&str],
    leaf: Arc<dyn ExecutionPlan>,
    tasks: usize,
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = columns::schema_of(kind);
    let sum = sum(&schema)?;
    let aggregate = |mode, input: Arc<dyn ExecutionPlan>| {
        let groups = group_by(groups, &input.schema())?;
        let (sum, schema) = (vec![Arc::clone(&sum)], Arc::clone(&schema));
        AggregateExec::try_new(mode, groups, sum, vec![None], input, schema).map(Arc::new)
    };
    let partial = aggregate(AggregateMode::Partial, leaf)?;
    let network = Arc::new(NetworkCoalesceExec::try_new(partial, tasks, 1)?);
    let gathered = Arc::new(CoalescePartitionsExec::new(network));
    Ok(aggregate(AggregateMode::Final, gathered)?)
}

pub(super) fn sum(schema: &SchemaRef) -> Result<Arc<AggregateFunctionExpr>> {
    let sum = AggregateExprBuilder::new(sum_udaf(), vec![col(COUNT, schema)?])
        .schema(Arc::clone(schema))
        .alias(COUNT)
        .build()?;
    Ok(Arc::new(sum))
}

pub(super) fn group_by(groups: &[&str], schema: &SchemaRef) -> Result<PhysicalGroupBy> {
    let group = |name: &&str| -> Result<(Arc<dyn PhysicalExpr>, String)> {
        Ok((col(name, schema)?, (*name).to_owned()))
    };
    let groups = groups.iter().map(group).collect::<Result<_>>()?;
    Ok(PhysicalGroupBy::new_single(groups))
}

/// Hands out the plan that waits in the session: there is no logical plan to make one of.
#[derive(Debug)]
pub(super) struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        _: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match session.config().get_extension::<Planned>() {
            Some(planned) => Ok(Arc::clone(&planned.plan)),
            None => exec_err!("no plan waits in the session"),
        }
    }
}

/// What stands for a logical plan.
pub(super) fn nothing() -> LogicalPlan {
    LogicalPlan::EmptyRelation(EmptyRelation {
        produce_one_row: false,
        schema: Arc::new(DFSchema::empty()),
    })
}
