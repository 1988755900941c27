//! The table `signals`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use signaldex::Snapshot;
use time::Date;

use crate::columns::{SIGNAL_COLUMNS, projected, signals_schema};
use crate::conditions::{SqlCondition, is_about_search};
use crate::narrowing::Narrowed;
use crate::signals_scan::SignalsScan;
use crate::snapshot_set::SnapshotSet;

/// The live signals of some snapshots, such as the shards of one corpus.
///
/// ```
/// use std::sync::Arc;
///
/// use datafusion::prelude::SessionContext;
/// use signaldex::sample;
/// use signaldex_sql::SignalsTable;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let context = SessionContext::new();
/// let table = SignalsTable::new(vec![sample::index()?.snapshot()], sample::AS_OF)?;
/// context.register_table("signals", Arc::new(table))?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct SignalsTable {
    corpus: Arc<SnapshotSet>,
    schema: SchemaRef,
    /// Whether conditions other than searches are evaluated by the index.
    pushes_down: bool,
}

impl SignalsTable {
    /// A table of snapshots of which no two have a signal in common, with `as_of` as today.
    ///
    /// # Errors
    /// The ids of a snapshot are damaged.
    pub fn new(snapshots: Vec<Arc<Snapshot>>, as_of: Date) -> signaldex::Result<SignalsTable> {
        Ok(SignalsTable::over(Arc::new(SnapshotSet::new(
            snapshots, as_of,
        )?)))
    }

    pub(crate) fn over(corpus: Arc<SnapshotSet>) -> SignalsTable {
        SignalsTable {
            corpus,
            schema: signals_schema(),
            pushes_down: true,
        }
    }

    /// The same table, of whose conditions the index evaluates searches alone, and the engine all others: slower, with the
    /// same rows.
    ///
    /// ```
    /// use signaldex::sample;
    /// use signaldex_sql::SignalsTable;
    ///
    /// let table = SignalsTable::new(vec![sample::index()?.snapshot()], sample::AS_OF)?;
    /// let plain = table.without_push_down();
    /// # Ok::<(), signaldex::Error>(())
    /// ```
    pub fn without_push_down(mut self) -> SignalsTable {
        self.pushes_down = false;
        self
    }

    fn conditions_of(&self, expression: &Expr) -> Result<Option<Vec<SqlCondition>>> {
        if self.pushes_down || is_about_search(expression)? {
            SqlCondition::of(expression)
        } else {
            Ok(None)
        }
    }
}

#[async_trait]
impl TableProvider for SignalsTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| {
            Ok(match self.conditions_of(filter)? {
                Some(_) => TableProviderFilterPushDown::Exact,
                None => TableProviderFilterPushDown::Unsupported,
            })
        };
        filters.iter().map(support).collect()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut conditions = Vec::new();
        for filter in filters {
            conditions.extend(self.conditions_of(filter)?.into_iter().flatten());
        }
        let narrowed = Narrowed::new(&self.corpus, &conditions)?;
        let (columns, schema) = projected(&SIGNAL_COLUMNS, &self.schema, projection)?;
        let threads = state.config().target_partitions();
        let corpus = Arc::clone(&self.corpus);
        let scan = SignalsScan::new(corpus, narrowed, columns, schema, threads);
        let scan = scan.with_limit(limit).with_count_elsewhere().await?;
        Ok(Arc::new(scan))
    }
}
