//! Groups by texts where a statement groups by a column of companies.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, cast};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{
    AggregateExec, AggregateInputMode, AggregateOutputMode, PhysicalGroupBy,
};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use crate::columns::{SIGNAL_COLUMNS, SignalSource};

/// Makes texts of the dictionaries by which an aggregation groups, and dictionaries of its groups, where one of them is of
/// companies.
///
/// For texts the engine has a table of groups; for dictionaries only one of encoded rows. That takes longer for many
/// groups and less for few (`benches/grouped_texts.py`). Belongs before the engine's rules, some of which divide
/// aggregations.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GroupedTexts;

impl PhysicalOptimizerRule for GroupedTexts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match grouped_by_texts(&node)? {
                Some(grouped) => Transformed::yes(grouped),
                None => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &'static str {
        "grouped_texts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// An aggregation whose result is final, with texts as groups, and the cast to what its columns were.
fn grouped_by_texts(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(last) = node.downcast_ref::<AggregateExec>() else {
        return Ok(None);
    };
    if last.mode().output_mode() != AggregateOutputMode::Final {
        return Ok(None);
    }
    let with_texts = if last.mode().input_mode() == AggregateInputMode::Raw {
        of_rows(last)?
    } else {
        let partial = last.input().downcast_ref::<AggregateExec>();
        let partial = partial.map(of_rows).transpose()?.flatten();
        // Its groups are the columns of the part below, so they are of the types that those have now.
        let groups = last.group_expr().clone();
        partial
            .map(|partial| rebuilt(last, groups, Arc::new(partial)))
            .transpose()?
    };
    with_texts
        .map(|with_texts| as_before(Arc::new(with_texts), node))
        .transpose()
}

/// An aggregation of rows with texts in place of dictionaries; `None` where it groups by none of companies.
fn of_rows(aggregation: &AggregateExec) -> Result<Option<AggregateExec>> {
    let group = aggregation.group_expr();
    let input = aggregation.input();
    let schema = input.schema();
    if group.has_grouping_set() {
        return Ok(None);
    }
    let mut has_companies = false;
    let expressions = group.expr().iter().map(|(expression, name)| {
        let is_dictionary = is_dictionary_of_texts(&expression.data_type(&schema)?);
        has_companies |= is_dictionary && is_of_companies(expression);
        let expression = Arc::clone(expression);
        let expression = if is_dictionary {
            cast(expression, &schema, DataType::Utf8View)?
        } else {
            expression
        };
        Ok::<_, DataFusionError>((expression, name.clone()))
    });
    let groups = PhysicalGroupBy::new_single(expressions.collect::<Result<_>>()?);
    has_companies
        .then(|| rebuilt(aggregation, groups, Arc::clone(input)))
        .transpose()
}

/// Whether an expression is a column of dictionaries with many values.
fn is_of_companies(expression: &Arc<dyn PhysicalExpr>) -> bool {
    let column = expression.downcast_ref::<Column>();
    column.is_some_and(|column| {
        let mut known = SIGNAL_COLUMNS.iter();
        let known = known.find(|known| known.name == column.name());
        let source = known.map(|known| known.source);
        matches!(
            source,
            Some(SignalSource::CompanySlug | SignalSource::CompanyName)
        )
    })
}

fn is_dictionary_of_texts(of: &DataType) -> bool {
    matches!(of, DataType::Dictionary(_, values) if **values == DataType::Utf8)
}

fn rebuilt(
    aggregation: &AggregateExec,
    groups: PhysicalGroupBy,
    input: Arc<dyn ExecutionPlan>,
) -> Result<AggregateExec> {
    AggregateExec::try_new(
        *aggregation.mode(),
        groups,
        aggregation.aggr_expr().to_vec(),
        aggregation.filter_expr().to_vec(),
        input,
        aggregation.input_schema(),
    )
}

/// The columns of `plan` with the types that `before` has.
fn as_before(
    plan: Arc<dyn ExecutionPlan>,
    before: &Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let (schema, fields) = (plan.schema(), before.schema());
    let columns = fields.fields().iter().enumerate().map(|(index, field)| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), index));
        let expr = cast(column, &schema, field.data_type().clone())?;
        Ok(ProjectionExpr::new(expr, field.name()))
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(ProjectionExec::try_new(columns, plan)?))
}
