//! Statements under way: as many as may run, each over a new snapshot, within its memory and time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow_flight::error::FlightError;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::runtime_env::RuntimeEnv;
use futures_util::{Stream, StreamExt, stream};
use prost::bytes::Bytes;
use time::Date;
use tokio::runtime::Handle;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, sleep, timeout_at};
use tonic::Status;

use super::access::SqlOperator;
use super::handle::StatementHandle;
use super::host::{FlightHost, FlightOptions};
use crate::corpus::SqlCorpus;
use crate::database::{Database, StatementLimits};
use crate::error::{SqlError, SqlErrorKind};
use crate::statement;

/// Batches that wait for their reader.
const BATCHES_AHEAD: usize = 2;

/// How often it is looked whether the tables of the last statement are still those of the service.
const FORMER_INTERVAL: Duration = Duration::from_secs(1);

/// Most characters of an error, which travels in a header.
const MESSAGE_CHARS_MAX: usize = 2_000;

/// Most characters of a statement in logs.
const LOGGED_CHARS_MAX: usize = 1_000;

/// The statements of a listener. Clones share everything.
#[derive(Clone)]
pub(super) struct Statements(Arc<StatementsState>);

struct StatementsState {
    host: Arc<dyn FlightHost>,
    options: FlightOptions,
    memory: Arc<RuntimeEnv>,
    threads: Handle,
    slots: Arc<Semaphore>,
    current: Mutex<Option<CurrentTables>>,
    under_way: Mutex<HashMap<Bytes, Cancellation>>,
}

/// The tables that the last statement asked.
struct CurrentTables {
    corpus: SqlCorpus,
    today: Date,
    database: Database,
}

/// Ends a statement, and tells its reader.
#[derive(Clone)]
struct Cancellation {
    task: AbortHandle,
    reader: Arc<Notify>,
}

impl Statements {
    pub(super) fn new(
        host: Arc<dyn FlightHost>,
        options: FlightOptions,
        memory: Arc<RuntimeEnv>,
        threads: Handle,
    ) -> Statements {
        Statements(Arc::new(StatementsState {
            host,
            options,
            memory,
            threads,
            slots: Arc::new(Semaphore::new(options.queries)),
            current: Mutex::default(),
            under_way: Mutex::default(),
        }))
    }

    /// The columns of a statement, which is not run, and its parameters.
    ///
    /// # Errors
    /// It is wrong or refused, or as many statements run as may.
    pub(super) async fn columns(&self, text: &str) -> Result<(SchemaRef, Schema), Status> {
        let (statements, text) = (self.clone(), text.to_owned());
        self.on_thread(async move { statements.database()?.0.columns(&text).await })
            .await
    }

    /// Why a statement that should change something does not run.
    pub(super) async fn refuse_change(&self, text: &str) -> Status {
        let text = text.to_owned();
        let parsed = self.on_thread(async move { statement::parse(&text) }).await;
        parsed.err().unwrap_or_else(|| {
            Status::invalid_argument(
                "the statement only reads: ask it as a query, which returns its rows",
            )
        })
    }

    /// What a future of the engine returns, on a thread with the stack that statements need.
    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, SqlError>> + Send + 'static,
    ) -> Result<T, Status> {
        let (slot, deadline) = (self.slot()?, self.deadline());
        let task = self.0.threads.spawn(async move {
            let done = work.await;
            drop(slot);
            done
        });
        let abort = task.abort_handle();
        let done = timeout_at(deadline, task).await;
        let done = done.inspect_err(|_| abort.abort());
        outcome(done.map_err(|_| self.late())?)
    }

    /// Runs a statement. Returns its columns and rows.
    ///
    /// # Errors
    /// It is wrong, refused or too slow, or as many statements run as may.
    pub(super) async fn run(
        &self,
        handle: StatementHandle,
        operator: &SqlOperator,
    ) -> Result<
        (
            SchemaRef,
            impl Stream<Item = Result<RecordBatch, FlightError>> + use<>,
        ),
        Status,
    > {
        let (slot, deadline) = (self.slot()?, self.deadline());
        let (announce, announced) = oneshot::channel();
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let (statements, id) = (self.clone(), handle.id.clone());
        let mut report = StatementReport::new(operator, &handle.text);
        let task = self.0.threads.spawn(async move {
            // Ends a statement whose reader takes no rows.
            let computed = statements.compute(&handle, announce, sender);
            let done = timeout_at(deadline, computed).await;
            // Before the reader sees the end and asks the next one.
            drop(slot);
            done.unwrap_or_else(|_| Err(statements.timeout()))
        });
        let cancelled = Arc::new(Notify::new());
        let cancellation = Cancellation {
            task: task.abort_handle(),
            reader: Arc::clone(&cancelled),
        };
        self.under_way().insert(id.clone(), cancellation);
        let under_way = RunningStatement {
            statements: self.clone(),
            id,
            task: task.abort_handle(),
        };
        let columns = tokio::select! {
            columns = announced => columns.ok(),
            () = cancelled.notified() => return Err(report.ended_with(cancelled_status())),
            () = tokio::time::sleep_until(deadline) => return Err(report.ended_with(self.late())),
        };
        let Some(columns) = columns else {
            let failed = outcome(task.await).err().unwrap_or_else(broken);
            return Err(report.ended_with(failed));
        };
        let rows = StatementRows {
            batches,
            task,
            deadline,
            cancelled,
            under_way,
            report,
        };
        Ok((columns, rows.stream()))
    }

    async fn compute(
        &self,
        handle: &StatementHandle,
        announce: oneshot::Sender<SchemaRef>,
        sender: mpsc::Sender<RecordBatch>,
    ) -> Result<(), SqlError> {
        let (database, corpus) = self.database()?;
        // A join may scan a table when the service has long been serving another generation.
        let _kept = corpus.keep();
        let mut batches = database.stream(&handle.text, handle.values()).await?;
        // A reader that has gone needs no rows.
        let _ = announce.send(batches.schema());
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            if batch.num_rows() > 0 && sender.send(batch).await.is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Cancels a statement. Returns whether it was under way.
    pub(super) fn cancel(&self, id: &Bytes) -> bool {
        let found = self.under_way().get(id).cloned();
        if let Some(found) = &found {
            found.reader.notify_one();
            found.task.abort();
        }
        found.is_some()
    }

    /// Lets go of the tables of the last statement once the service has others, for as long as the listener is there:
    /// they keep the files of their snapshot.
    pub(super) fn forget_former(&self) -> impl Future<Output = ()> + Send + use<> {
        let statements = Arc::downgrade(&self.0);
        async move {
            while let Some(state) = statements.upgrade() {
                let state = Statements(state);
                let is_current = |tables: &CurrentTables| {
                    let now = state.0.host.corpus();
                    now.is_ok_and(|now| tables.are_of(&now, state.0.host.today()))
                };
                let former = {
                    let mut current = state.current();
                    let is_former = current.as_ref().is_some_and(|tables| !is_current(tables));
                    is_former.then(|| current.take())
                };
                drop((former, state));
                sleep(FORMER_INTERVAL).await;
            }
        }
    }

    /// The corpus that the service serves now, with the tables over it.
    fn database(&self) -> Result<(Database, SqlCorpus), SqlError> {
        let state = &*self.0;
        let (corpus, today) = (state.host.corpus()?, state.host.today());
        if let Some(tables) = &*self.current()
            && tables.are_of(&corpus, today)
        {
            return Ok((tables.database.clone(), corpus));
        }
        let limits = StatementLimits {
            memory: state.options.memory,
            // The other processors are left to searches.
            threads: 1,
            timeout: state.options.timeout,
        };
        let memory = Arc::clone(&state.memory);
        let database = Database::sharing(corpus.clone(), today, limits, memory)?;
        *self.current() = Some(CurrentTables {
            corpus: corpus.clone(),
            today,
            database: database.clone(),
        });
        Ok((database, corpus))
    }

    fn slot(&self) -> Result<OwnedSemaphorePermit, Status> {
        let slot = Arc::clone(&self.0.slots).try_acquire_owned();
        slot.map_err(|_| {
            Status::resource_exhausted(format!(
                "{} statements run already: ask again later; --sql-queries allows more",
                self.0.options.queries
            ))
        })
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.0.options.timeout
    }

    fn timeout(&self) -> SqlError {
        SqlError::new(
            SqlErrorKind::Timeout,
            format!(
                "the statement took longer than {} seconds",
                self.0.options.timeout.as_secs_f64()
            ),
        )
    }

    fn late(&self) -> Status {
        status(&self.timeout())
    }

    fn current(&self) -> MutexGuard<'_, Option<CurrentTables>> {
        let current = self.0.current.lock();
        current.unwrap_or_else(PoisonError::into_inner)
    }

    fn under_way(&self) -> MutexGuard<'_, HashMap<Bytes, Cancellation>> {
        let under_way = self.0.under_way.lock();
        under_way.unwrap_or_else(PoisonError::into_inner)
    }
}

impl CurrentTables {
    fn are_of(&self, corpus: &SqlCorpus, today: Date) -> bool {
        self.today == today && self.corpus.is(corpus)
    }
}

/// Ends a statement when its reader has gone.
struct RunningStatement {
    statements: Statements,
    id: Bytes,
    task: AbortHandle,
}

impl Drop for RunningStatement {
    fn drop(&mut self) {
        self.task.abort();
        self.statements.under_way().remove(&self.id);
    }
}

/// The rows of a statement as its reader takes them.
struct StatementRows {
    batches: mpsc::Receiver<RecordBatch>,
    task: JoinHandle<Result<(), SqlError>>,
    deadline: Instant,
    cancelled: Arc<Notify>,
    under_way: RunningStatement,
    report: StatementReport,
}

impl StatementRows {
    /// Ends with an error unless all rows were read.
    fn stream(self) -> impl Stream<Item = Result<RecordBatch, FlightError>> {
        stream::unfold(Some(self), |rows| async move {
            let mut rows = rows?;
            match rows.next().await {
                Ok(Some(batch)) => {
                    rows.report.rows += batch.num_rows();
                    Some((Ok(batch), Some(rows)))
                }
                Ok(None) => {
                    rows.report.outcome = "done".to_owned();
                    None
                }
                Err(status) => Some((Err(FlightError::from(rows.report.ended_with(status))), None)),
            }
        })
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>, Status> {
        let late = self.under_way.statements.late();
        let StatementRows {
            batches,
            task,
            cancelled,
            ..
        } = self;
        let next = async {
            match batches.recv().await {
                Some(batch) => Ok(Some(batch)),
                None => outcome(task.await).map(|()| None),
            }
        };
        tokio::select! {
            biased;
            () = cancelled.notified() => Err(cancelled_status()),
            next = timeout_at(self.deadline, next) => next.unwrap_or(Err(late)),
        }
    }
}

/// Logs a statement when it has ended.
struct StatementReport {
    operator: SqlOperator,
    statement: String,
    started: Instant,
    rows: usize,
    outcome: String,
}

impl StatementReport {
    fn new(operator: &SqlOperator, statement: &str) -> StatementReport {
        StatementReport {
            operator: operator.clone(),
            statement: statement.chars().take(LOGGED_CHARS_MAX).collect(),
            started: Instant::now(),
            rows: 0,
            outcome: "left".to_owned(),
        }
    }

    fn ended_with(&mut self, status: Status) -> Status {
        self.outcome = status.message().to_owned();
        status
    }
}

impl Drop for StatementReport {
    fn drop(&mut self) {
        tracing::info!(
            user = self.operator.name,
            peer = self.operator.peer,
            rows = self.rows,
            milliseconds = self.started.elapsed().as_millis() as u64,
            outcome = self.outcome,
            statement = self.statement,
            "SQL statement"
        );
    }
}

/// What a task of the engine has returned, if it has.
fn outcome<T>(done: Result<Result<T, SqlError>, tokio::task::JoinError>) -> Result<T, Status> {
    match done {
        Ok(done) => done.map_err(|error| status(&error)),
        Err(error) if error.is_cancelled() => Err(cancelled_status()),
        Err(_) => Err(broken()),
    }
}

fn cancelled_status() -> Status {
    Status::cancelled("the statement was cancelled")
}

fn broken() -> Status {
    Status::internal("the engine cannot run this statement")
}

/// An error as clients get it, with the option that helps.
pub(super) fn status(error: &SqlError) -> Status {
    let text: String = error.to_string().chars().take(MESSAGE_CHARS_MAX).collect();
    match error.kind() {
        SqlErrorKind::Statement | SqlErrorKind::Refused => Status::invalid_argument(text),
        SqlErrorKind::Memory => Status::resource_exhausted(format!(
            "{text}: --sql-memory is for all statements together; give it more, or group and sort less"
        )),
        SqlErrorKind::Timeout => {
            Status::deadline_exceeded(format!("{text}; --sql-timeout allows more"))
        }
        SqlErrorKind::Io => Status::internal(text),
    }
}
