//! A session over the tables that runs statements within limits.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
#[cfg(feature = "flight")]
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::ParamValues;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::{ExecutionPlan, displayable, execute_stream};
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use futures_util::StreamExt;
use signaldex::Snapshot;
use time::Date;
use tokio::runtime::{Builder, Runtime};

use crate::columns::{CATALOG, SCHEMA};
use crate::companies::CompaniesTable;
use crate::conditions::{is_about_search, refuse_two_searches};
use crate::corpus::SqlCorpus;
use crate::counts::CountsFromIndex;
use crate::error::{SqlError, SqlErrorKind};
use crate::grouped_texts::GroupedTexts;
use crate::interruptible::InterruptibleJoins;
use crate::signals::SignalsTable;
use crate::snapshot_set::SnapshotSet;
use crate::statement;

/// Stack of a thread that runs statements: address space, of which a statement with as many words as are allowed, nested
/// as deep as it can be, touches a part.
const STACK_BYTES: usize = 512 << 20;

/// Batches that wait for their reader.
const BATCHES_AHEAD: usize = 2;

/// Functions that make texts of any length from short ones; the engine does not count them against its memory.
const REFUSED_FUNCTIONS: [&str; 3] = ["repeat", "lpad", "rpad"];

/// What a statement may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementLimits {
    /// Bytes of groups, joins and sorts of all statements together. Batches on their way are not counted.
    pub memory: usize,
    /// Partitions in which a statement runs.
    pub threads: usize,
    /// The longest that a reader waits for the rows of a statement, all waits added up.
    pub timeout: Duration,
}

impl Default for StatementLimits {
    /// 1 GiB, one thread and a minute.
    fn default() -> StatementLimits {
        StatementLimits {
            memory: 1 << 30,
            threads: 1,
            timeout: Duration::from_secs(60),
        }
    }
}

/// The tables `signals` and `companies`, and statements over them.
#[derive(Clone)]
pub struct Database {
    context: SessionContext,
    limits: StatementLimits,
}

/// A runtime for [`Database::run`], whose threads have the stack that statements need.
///
/// # Errors
/// The operating system starts no thread.
///
/// ```
/// let runtime = signaldex_sql::runtime(2)?;
/// runtime.shutdown_background(); // a statement that timed out may still be computing
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn runtime(threads: usize) -> std::io::Result<Runtime> {
    runtime_builder(threads).build()
}

pub(crate) fn runtime_builder(threads: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder
        .worker_threads(threads.max(1))
        .thread_stack_size(STACK_BYTES)
        .thread_name("sql")
        .enable_time();
    builder
}

/// The memory that statements share, and no disk.
pub(crate) fn environment(memory: usize) -> Result<Arc<RuntimeEnv>, SqlError> {
    let disk = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(GreedyMemoryPool::new(memory)))
        .with_disk_manager_builder(disk)
        .build_arc()?;
    Ok(environment)
}

impl Database {
    /// The tables of snapshots of which no two have a company in common, such as those of all shards; `as_of` counts as
    /// today in searches.
    ///
    /// ```
    /// use signaldex::sample;
    /// use signaldex_sql::{Database, StatementLimits};
    ///
    /// let snapshot = sample::index()?.snapshot();
    /// let database = Database::new(vec![snapshot], sample::AS_OF, StatementLimits::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The ids of a snapshot are damaged.
    pub fn new(
        snapshots: Vec<Arc<Snapshot>>,
        as_of: Date,
        limits: StatementLimits,
    ) -> Result<Database, SqlError> {
        Database::sharing(snapshots, as_of, limits, environment(limits.memory)?)
    }

    /// The same, with memory that other databases take from as well.
    pub(crate) fn sharing(
        corpus: impl Into<SqlCorpus>,
        as_of: Date,
        limits: StatementLimits,
        environment: Arc<RuntimeEnv>,
    ) -> Result<Database, SqlError> {
        let corpus = SnapshotSet::new(corpus, as_of).map_err(SqlError::io)?;
        let corpus = Arc::new(corpus);
        let signals = SignalsTable::over(Arc::clone(&corpus));
        let companies = CompaniesTable::over(corpus);
        let config = SessionConfig::new()
            .with_target_partitions(limits.threads.max(1))
            .with_default_catalog_and_schema(CATALOG, SCHEMA)
            .with_information_schema(false);
        let mut rules = PhysicalOptimizer::new().rules;
        rules.insert(0, Arc::new(CountsFromIndex));
        rules.insert(1, Arc::new(GroupedTexts));
        rules.push(Arc::new(InterruptibleJoins));
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(config)
            .with_runtime_env(environment)
            .with_physical_optimizer_rules(rules)
            // No statement reads or writes a file.
            .with_file_formats(Vec::new())
            .with_table_factories(Default::default())
            .build();
        let context = SessionContext::new_with_state(state);
        for name in REFUSED_FUNCTIONS {
            context.deregister_udf(name);
        }
        context.register_table("signals", Arc::new(signals))?;
        context.register_table("companies", Arc::new(companies))?;
        Ok(Database { context, limits })
    }

    /// Runs a statement and passes its rows to `each`, batch by batch, the first time an empty batch that has the columns.
    /// An error of `each` ends the statement.
    ///
    /// ```
    /// use signaldex::sample;
    /// use signaldex_sql::{Database, StatementLimits, SqlErrorKind, runtime};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let snapshot = sample::index()?.snapshot();
    /// let database = Database::new(vec![snapshot], sample::AS_OF, StatementLimits::default())?;
    /// let error = database.run(&runtime(1)?, "SELECT contry FROM signals", |_| Ok(()));
    /// let error = error.expect_err("the column does not exist");
    /// assert_eq!(error.kind(), SqlErrorKind::Statement);
    /// assert_eq!(error.to_string(), "there is no column contry; did you mean country?");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The statement is wrong, refused or exceeds a limit, or a file of the index is damaged.
    ///
    /// # Panics
    /// If called from an asynchronous task.
    pub fn run(
        &self,
        runtime: &Runtime,
        statement: &str,
        mut each: impl FnMut(&RecordBatch) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let (sender, receiver) = mpsc::sync_channel(BATCHES_AHEAD);
        let (database, statement) = (self.clone(), statement.to_owned());
        // On a thread of the runtime, for its stack.
        let task = runtime.spawn(async move { database.send(&statement, sender).await });
        let mut time_left = self.limits.timeout;
        // Not with a timer of the runtime: its threads drive it, and all of them may be computing.
        let mut receive = || {
            let started = Instant::now();
            let received = receiver.recv_timeout(time_left);
            time_left = time_left.saturating_sub(started.elapsed());
            received
        };
        loop {
            match receive() {
                Ok(batch) => each(&batch)?,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    task.abort();
                    return Err(SqlError::new(
                        SqlErrorKind::Timeout,
                        format!(
                            "the statement took longer than {} seconds",
                            self.limits.timeout.as_secs_f64()
                        ),
                    ));
                }
            }
        }
        runtime.block_on(task).unwrap_or_else(|error| {
            Err(SqlError::new(
                SqlErrorKind::Statement,
                format!("the engine cannot run this statement: {error}"),
            ))
        })
    }

    /// The plan of a statement, which is not run.
    ///
    /// ```
    /// use signaldex::sample;
    /// use signaldex_sql::{Database, StatementLimits, runtime};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let snapshot = sample::index()?.snapshot();
    /// let database = Database::new(vec![snapshot], sample::AS_OF, StatementLimits::default())?;
    /// let statement = "SELECT title FROM signals WHERE country = 'Germany' AND query = 'q=robots' LIMIT 5";
    /// let plan = database.explain(&runtime(1)?, statement)?;
    /// assert!(plan.contains("index=[all=robots&country=germany]"), "{plan}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// If called from an asynchronous task.
    pub fn explain(&self, runtime: &Runtime, statement: &str) -> Result<String, SqlError> {
        let (database, statement) = (self.clone(), statement.to_owned());
        let task = runtime.spawn(async move {
            let plan = database.plan(&statement, None).await?;
            Ok(displayable(&*plan).indent(false).to_string())
        });
        runtime.block_on(task).unwrap_or_else(|error| {
            Err(SqlError::new(
                SqlErrorKind::Statement,
                format!("the engine cannot plan this statement: {error}"),
            ))
        })
    }

    async fn send(&self, statement: &str, sender: SyncSender<RecordBatch>) -> Result<(), SqlError> {
        let mut batches = self.stream(statement, None).await?;
        let empty = RecordBatch::new_empty(batches.schema());
        // Blocks a thread of the runtime while its reader is slow. A reader that has gone needs no more rows.
        if sender.send(empty).is_err() {
            return Ok(());
        }
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            if batch.num_rows() > 0 && sender.send(batch).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// The columns of a statement's result, and the types of its parameters, `$1` first.
    #[cfg(feature = "flight")]
    pub(crate) async fn columns(&self, text: &str) -> Result<(SchemaRef, Schema), SqlError> {
        let plan = logical_plan(&self.context.state(), text).await?;
        let parameters = parameters_of(&plan)?;
        if parameters.fields().is_empty() {
            // A statement that cannot run is refused here.
            return Ok((self.plan(text, None).await?.schema(), parameters));
        }
        Ok((Arc::clone(plan.schema().inner()), parameters))
    }

    /// The rows of a statement with values of its parameters.
    pub(crate) async fn stream(
        &self,
        statement: &str,
        values: Option<ParamValues>,
    ) -> Result<SendableRecordBatchStream, SqlError> {
        let plan = self.plan(statement, values).await?;
        Ok(execute_stream(plan, self.context.task_ctx())?)
    }

    /// Plans a statement that only reads.
    pub(crate) async fn plan(
        &self,
        text: &str,
        values: Option<ParamValues>,
    ) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
        let state = self.context.state();
        let plan = logical_plan(&state, text).await?;
        let plan = match values {
            Some(values) => plan.with_param_values(values)?,
            None => plan,
        };
        plan.apply_with_subqueries(|node| {
            if let LogicalPlan::Filter(filter) = node {
                refuse_two_searches(&filter.predicate)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        let optimized = state.optimize(&plan)?;
        refuse_searches_above_tables(&optimized)?;
        let planner = Arc::clone(state.query_planner());
        Ok(planner.create_physical_plan(&optimized, &state).await?)
    }
}

/// What a statement that only reads means, before it is optimized.
async fn logical_plan(state: &SessionState, text: &str) -> Result<LogicalPlan, SqlError> {
    let statement = statement::parse(text)?;
    let plan = state.statement_to_plan(statement).await?;
    // What the parser let pass is looked at again.
    SQLOptions::new()
        .with_allow_ddl(false)
        .with_allow_dml(false)
        .with_allow_statements(false)
        .verify_plan(&plan)?;
    Ok(plan)
}

/// The parameters of a plan, by number. One whose type is not known takes any.
#[cfg(feature = "flight")]
fn parameters_of(plan: &LogicalPlan) -> Result<Schema, SqlError> {
    let types = plan.get_parameter_types()?.into_iter();
    let mut numbered: Vec<(usize, Field)> = types
        .map(|(name, data_type)| {
            let number = name.trim_start_matches('$').parse().unwrap_or(usize::MAX);
            let data_type = data_type.unwrap_or(DataType::Null);
            (number, Field::new(name, data_type, true))
        })
        .collect();
    numbered.sort_by_key(|(number, _)| *number);
    let fields: Vec<Field> = numbered.into_iter().map(|(_, field)| field).collect();
    Ok(Schema::new(fields))
}

/// A search that did not reach its table would find nothing, because the column is null there.
fn refuse_searches_above_tables(plan: &LogicalPlan) -> Result<(), SqlError> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        let condition = match node {
            LogicalPlan::Filter(filter) => Some(&filter.predicate),
            LogicalPlan::Join(join) => join.filter.as_ref(),
            _ => None,
        };
        if let Some(condition) = condition
            && is_about_search(condition)?
        {
            found = true;
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if found {
        return Err(SqlError::new(
            SqlErrorKind::Statement,
            "query = '…' stands in the WHERE clause next to its table signals: not over a LIMIT, a grouping or an outer join",
        ));
    }
    Ok(())
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
