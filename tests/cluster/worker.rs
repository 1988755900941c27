//! What a worker's port accepts: plans of this program, and no other work of the engine.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::http::HeaderMap;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::file_format::csv::CsvFormatFactory;
use datafusion::datasource::file_format::format_as_file_type;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::physical_expr::Partitioning;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::prelude::{CsvReadOptions, SessionConfig, SessionContext};
use datafusion_distributed::grpc::{BoxCloneSyncChannel, create_worker_client};
use datafusion_distributed::{
    DistributedConfig, DistributedExt, ExecuteTaskRequest, MaybeEncoded, ProducerHead,
    SetPlanRequest, TaskKey, WorkUnitFeedDeclaration, WorkerChannel,
};
use futures_util::{StreamExt, TryStreamExt, stream};
use tonic::transport::Endpoint;
use url::Url;

use crate::fixture::{Cluster, Fixture, Shape, worker_address};

/// What stands in a file that nobody on the network may read.
const SECRET: &str = "the secret of this machine";

/// One node, and what is sent to its worker's port.
struct Target {
    fixture: Fixture,
    cluster: Cluster,
    address: SocketAddr,
    session: SessionContext,
}

impl Target {
    fn start() -> Target {
        let fixture = Fixture::new();
        fixture.generate("corpus", 200, 9);
        fixture.publish("corpus", 2, "store");
        let shape = Shape {
            nodes: 1,
            ..Shape::with_replicas(1)
        };
        let cluster = Cluster::start(&fixture, "cluster", "store", shape);
        let config = SessionConfig::new()
            .with_target_partitions(1)
            .with_distributed_option_extension(DistributedConfig::default());
        Target {
            address: worker_address(&fixture, "cluster", 0),
            fixture,
            cluster,
            session: SessionContext::new_with_config(config),
        }
    }

    fn client(&self) -> Box<dyn WorkerChannel> {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address));
        let channel = endpoint.expect("an address").connect_lazy();
        create_worker_client(BoxCloneSyncChannel::new(channel))
    }

    fn context(&self) -> Arc<TaskContext> {
        self.session.task_ctx()
    }

    /// Registers a plan and runs its first partition.
    async fn run(&self, plan: Arc<dyn ExecutionPlan>) -> Result<Vec<RecordBatch>> {
        self.send(plan, Vec::new(), ProducerHead::None).await
    }

    async fn send(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        work_unit_feed_declarations: Vec<WorkUnitFeedDeclaration>,
        producer_head: ProducerHead,
    ) -> Result<Vec<RecordBatch>> {
        static STAGES: AtomicUsize = AtomicUsize::new(1);
        let task_key = TaskKey {
            query_id: Default::default(),
            stage_id: STAGES.fetch_add(1, Ordering::Relaxed),
            task_number: 0,
        };
        let set_plan = SetPlanRequest {
            task_key,
            task_count: 1,
            plan: MaybeEncoded::Decoded(plan),
            work_unit_feed_declarations,
            target_worker_url: Url::parse(&format!("http://{}", self.address)).expect("a URL"),
            query_start_time_ns: 0,
        };
        let (mut client, context) = (self.client(), self.context());
        let metrics = ExecutionPlanMetricsSet::new();
        let registered = client.coordinator_channel(
            HeaderMap::new(),
            set_plan,
            stream::pending().boxed(),
            metrics.clone(),
            &context,
        );
        // The plan is forgotten when this ends.
        let _channel = registered.await?;
        let request = ExecuteTaskRequest {
            task_key,
            target_partition_start: 0,
            target_partition_end: 1,
            producer_head,
        };
        let streams = client.execute_task(HeaderMap::new(), request, metrics, &context);
        let batches: Vec<Vec<RecordBatch>> = stream::iter(streams.await?)
            .then(|stream| stream.try_collect())
            .try_collect()
            .await?;
        Ok(batches.concat())
    }

    /// Checks that the port refused, said why, logged it, and that the node still answers.
    fn assert_refused(&self, outcome: Result<Vec<RecordBatch>>, reason: &str) {
        let error = match outcome {
            Ok(batches) => panic!("the worker has answered: {batches:?}"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(reason), "{error}");
        let node = &self.cluster.nodes[0];
        node.await_log(reason);
        assert!(node.log().contains("is refused"), "{}", node.log());
        let answer = node.get("/api/v1/signals?countOnly=true");
        assert_eq!(answer.status, 200, "{}", node.log());
    }

    /// A scan of a file of this machine.
    async fn scan(&self) -> datafusion::prelude::DataFrame {
        let path = self.fixture.path("secret.csv");
        std::fs::write(&path, format!("{SECRET}\n")).expect("a written file");
        let options = CsvReadOptions::new().has_header(false);
        let path = path.to_str().expect("a path");
        self.session.read_csv(path, options).await.expect("a scan")
    }
}

fn plain() -> Arc<dyn ExecutionPlan> {
    let field = Field::new("count", DataType::UInt64, false);
    Arc::new(EmptyExec::new(Arc::new(Schema::new(vec![field]))))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_scans_a_file_is_refused() {
    let target = Target::start();
    let plan = target.scan().await.create_physical_plan().await;
    let plan = plan.expect("a plan");
    assert!(format!("{plan:?}").contains("secret.csv"));
    let outcome = target.run(plan).await;
    target.assert_refused(
        outcome,
        "only SignalsExec, AggregateExec and LocalLimitExec",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_writes_a_file_is_refused() {
    let target = Target::start();
    let output = target.fixture.path("written.csv");
    let scan = target.scan().await;
    let copy = LogicalPlanBuilder::copy_to(
        scan.logical_plan().clone(),
        output.to_str().expect("a path").to_owned(),
        format_as_file_type(Arc::new(CsvFormatFactory::new())),
        Default::default(),
        Vec::new(),
    );
    let copy = copy.and_then(LogicalPlanBuilder::build).expect("a plan");
    let state = target.session.state();
    let plan = state.create_physical_plan(&copy).await.expect("a plan");
    let outcome = target.run(plan).await;
    assert!(!output.exists(), "the worker has written a file");
    target.assert_refused(
        outcome,
        "only SignalsExec, AggregateExec and LocalLimitExec",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_without_files_are_refused_too() {
    let target = Target::start();
    let outcome = target.run(plain()).await;
    target.assert_refused(
        outcome,
        "only SignalsExec, AggregateExec and LocalLimitExec",
    );
}

/// The engine allocates a queue for each partition of a feed that a request declares.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn feeds_of_work_are_refused() {
    let target = Target::start();
    let feed = WorkUnitFeedDeclaration {
        id: Default::default(),
        partitions: 1,
    };
    let outcome = target.send(plain(), vec![feed], ProducerHead::None).await;
    target.assert_refused(outcome, "declares feeds of work");
}

/// The engine puts this operator above the plan after it was registered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_head_above_the_plan_is_refused() {
    let target = Target::start();
    let (mut client, context) = (target.client(), target.context());
    let request = ExecuteTaskRequest {
        task_key: TaskKey {
            query_id: Default::default(),
            stage_id: 0,
            task_number: 0,
        },
        target_partition_start: 0,
        target_partition_end: 1,
        producer_head: ProducerHead::RepartitionExec {
            partitioning: MaybeEncoded::Decoded(Partitioning::RoundRobinBatch(1)),
        },
    };
    let metrics = ExecutionPlanMetricsSet::new();
    let streams = client.execute_task(HeaderMap::new(), request, metrics, &context);
    let streams = streams.await.expect("streams that fail when they are read");
    let outcome: Result<Vec<Vec<RecordBatch>>, DataFusionError> = stream::iter(streams)
        .then(|stream| stream.try_collect())
        .try_collect()
        .await;
    target.assert_refused(
        outcome.map(|batches| batches.concat()),
        "an operator above the plan",
    );
}
