//! Numbers of signals by one column, from the counters of the index instead of a scan.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures_util::stream;
use signaldex::Facet;

use crate::columns::SignalSource;
use crate::elsewhere::{counts_elsewhere, write_names};
use crate::label_counts::LabelCounts;
use crate::leaf::{leaf_methods, properties_of, stream_of};
use crate::narrowing::Narrowed;
use crate::shard_scan::{ScanOutput, ShardScan};
use crate::signals_scan::SignalsScan;
use crate::snapshot_set::SnapshotSet;

/// Answers `SELECT country, count(*) … GROUP BY country`, and the same for each column of a facet, from the counters of
/// the index. Belongs before all other rules of a session:
///
/// ```
/// use std::sync::Arc;
///
/// use datafusion::execution::SessionStateBuilder;
/// use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
/// use datafusion::prelude::SessionContext;
/// use signaldex_sql::CountsFromIndex;
///
/// let mut rules = PhysicalOptimizer::new().rules;
/// rules.insert(0, Arc::new(CountsFromIndex));
/// let state = SessionStateBuilder::new().with_default_features();
/// let state = state.with_physical_optimizer_rules(rules).build();
/// let context = SessionContext::new_with_state(state);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct CountsFromIndex;

impl PhysicalOptimizerRule for CountsFromIndex {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_down(|node| {
            Ok(match counted(&node) {
                Some(counts) => Transformed::yes(Arc::new(counts) as Arc<dyn ExecutionPlan>),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "counts_from_index"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The counters that take the place of an aggregation, if it counts all rows of a filter by one facet. A partial count
/// is a count, so it does not matter whether others are added up above.
fn counted(node: &Arc<dyn ExecutionPlan>) -> Option<CountsScan> {
    let aggregation = node.downcast_ref::<AggregateExec>()?;
    let group = aggregation.group_expr();
    let [(expression, _)] = group.expr() else {
        return None;
    };
    let counts_rows = aggregation
        .aggr_expr()
        .iter()
        .all(|of| is_count_of_rows(of));
    let is_plain = aggregation.mode().input_mode() == AggregateInputMode::Raw
        && !group.has_grouping_set()
        && aggregation.filter_expr().iter().all(Option::is_none);
    let scan = aggregation.input().downcast_ref::<SignalsScan>()?;
    let column = expression.downcast_ref::<Column>()?;
    let SignalSource::Facet(facet) = scan.columns.get(column.index())?.source else {
        return None;
    };
    let filter = &scan.narrowed.filter;
    // Counters of a facet leave its own filter out.
    let is_counted =
        scan.narrowed.is_exact() && !scan.has_limit() && filter.chosen(facet).next().is_none();
    (counts_rows && is_plain && is_counted).then(|| CountsScan {
        corpus: Arc::clone(&scan.corpus),
        narrowed: Arc::clone(&scan.narrowed),
        facet,
        elsewhere: scan.asked(ScanOutput::SignalCounts(Some(facet))),
        properties: properties_of(
            EquivalenceProperties::new(aggregation.schema()),
            1,
            EmissionType::Final,
        ),
        schema: aggregation.schema(),
    })
}

/// Whether an aggregate is `count(*)`.
fn is_count_of_rows(aggregate: &AggregateFunctionExpr) -> bool {
    let arguments = aggregate.expressions();
    let is_constant = |argument: &Arc<dyn PhysicalExpr>| {
        let literal = argument.downcast_ref::<Literal>();
        literal.is_some_and(|literal| !literal.value().is_null())
    };
    aggregate.fun().name() == "count"
        && !aggregate.is_distinct()
        && arguments.iter().all(is_constant)
}

/// The labels of a facet with their counts.
#[derive(Debug)]
struct CountsScan {
    corpus: Arc<SnapshotSet>,
    narrowed: Arc<Narrowed>,
    facet: Facet,
    /// What other nodes are asked.
    elsewhere: ShardScan,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl CountsScan {
    fn counted(&self) -> Result<LabelCounts> {
        LabelCounts::of(&self.corpus, &self.narrowed, Some(self.facet))
    }

    /// The sums of the counts of this process and of all others.
    fn counted_everywhere(&self) -> impl Future<Output = Result<RecordBatch>> + Send + use<> {
        let (corpus, narrowed) = (Arc::clone(&self.corpus), Arc::clone(&self.narrowed));
        let (facet, scan) = (self.facet, self.elsewhere.clone());
        let schema = Arc::clone(&self.schema);
        async move {
            let mut counts = counts_elsewhere(&corpus, &scan).await?;
            counts.merge(LabelCounts::of(&corpus, &narrowed, Some(facet))?);
            batch_of(&counts, &schema)
        }
    }
}

/// The result of the aggregation: the label, then the count once for each `count(*)`.
fn batch_of(counts: &LabelCounts, schema: &SchemaRef) -> Result<RecordBatch> {
    let (labels, counts) = counts.columns()?;
    // Numbers of rows fit: there are fewer than 2⁶³.
    let counts = Int64Array::from_iter_values(counts.iter().map(|&count| count as i64));
    let counts: ArrayRef = Arc::new(counts);
    let columns = schema.fields().iter().enumerate();
    let columns = columns.map(|(index, _)| Arc::clone(if index == 0 { &labels } else { &counts }));
    Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect())?)
}

impl DisplayAs for CountsScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facet = self.facet.description().name;
        let filter = &self.narrowed.filter;
        write!(f, "CountsScan: facet={facet}, index=[{filter}]")?;
        write_names(&self.corpus, f)
    }
}

impl ExecutionPlan for CountsScan {
    leaf_methods!("CountsScan");

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if self.corpus.elsewhere.is_empty() {
            let counted = self.counted();
            let batch = counted.and_then(|counts| batch_of(&counts, &self.schema));
            return Ok(stream_of(&self.schema, [batch]));
        }
        let batches = stream::once(self.counted_everywhere());
        let schema = Arc::clone(&self.schema);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}
