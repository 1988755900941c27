//! Foreign plans at the worker's port, in the clear and over TLS: each is refused with its reason, and questions are
//! answered as before.

use std::path::Path;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::{DataFusionError, Result as EngineResult};
use datafusion::execution::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::union::UnionExec;
use datafusion_distributed::{
    CoordinatorToWorkerMsg, DistributedConfig, ExecuteTaskRequest, GetWorkerInfoRequest,
    MaybeEncoded, NetworkBoundary, NetworkCoalesceExec, ProducerHead, SetPlanRequest, Stage,
    TaskKey, WorkUnitFeedDeclaration, WorkerChannel, WorkerPlanRewriteEvent,
    WorkerToCoordinatorMsg,
};
use datafusion_proto::protobuf::physical_plan_node::PhysicalPlanType;
use datafusion_proto::protobuf::{PhysicalExtensionNode, PhysicalPlanNode};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use prost::Message;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use uuid::Uuid;

use super::super::feed::{FeedExec, PARTITIONS, Questions};
use super::super::peer::{Peer, untrusted_client};
use super::super::rows::SCHEMA;
use super::*;
use crate::answer::ShardAnswer;
use crate::connections::{Connector, Tcp};
use crate::loaded_shards::LoadedShards;
use crate::question::{Question, ShardRequest};
use signaldex::SignalId;

mod scans;

/// A worker that listens.
struct Listening {
    connector: Connector,
    task: tokio::task::JoinHandle<Error>,
}

impl Listening {
    async fn start(security: Security) -> Listening {
        Listening::over(Worker::new(LoadedShards::default(), None), security).await
    }

    async fn over(worker: Worker, security: Security) -> Listening {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        Listening {
            connector: Connector {
                address,
                network: Arc::new(Tcp),
                security: security.clone(),
                refusals: Arc::default(),
            },
            task: tokio::spawn(serve(worker, listener, security, Arrivals::channel().0)),
        }
    }

    /// A connection of one who has what a node has.
    async fn untrusted_client(&self) -> Box<dyn WorkerChannel> {
        untrusted_client(self.connector.connect().await.expect("a connection"))
    }

    fn peer(&self) -> Peer {
        Peer::new(self.connector.clone())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Mutual TLS with files in a folder.
fn tls(folder: &Path) -> Security {
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("parameters");
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &authority).expect("a certificate");
    let path = |name: &str| folder.join(name);
    for (name, text) in [
        ("one.pem", certificate.pem()),
        ("one.key", key.serialize_pem()),
        ("ca.pem", authority.pem()),
    ] {
        std::fs::write(path(name), text).expect("a written file");
    }
    Security::tls(&path("one.pem"), &path("one.key"), &path("ca.pem")).expect("TLS")
}

/// The session of one who sends plans.
fn session() -> SessionState {
    SessionStateBuilder::new()
        .with_distributed_user_codec(FeedCodec(None))
        .with_distributed_option_extension(DistributedConfig::default())
        .build()
}

fn leaf() -> Arc<dyn ExecutionPlan> {
    let (_, questions) = mpsc::unbounded_channel();
    Arc::new(FeedExec::new(Questions::new(questions)))
}

fn encoded(plan: Arc<dyn ExecutionPlan>) -> Vec<u8> {
    let plan = MaybeEncoded::Decoded(plan).encode(&session().task_ctx());
    plan.expect("a plan that can be sent")
}

/// A plan as its number among the kinds of plans and its content.
fn of_kind(kind: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_key(kind, prost::encoding::WireType::LengthDelimited, &mut bytes);
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend_from_slice(content);
    bytes
}

/// `depth` coalescing nodes over another plan.
fn nested(depth: usize, mut plan: Vec<u8>) -> Vec<u8> {
    const COALESCE: u32 = 13;
    // Invariant: the plan has as many nodes as there were turns, and one.
    for _ in 0..depth {
        plan = of_kind(COALESCE, &of_kind(1, &plan));
    }
    plan
}

/// A node that would make the worker ask another address.
fn network_node() -> Vec<u8> {
    let boundary = NetworkCoalesceExec::try_new(leaf(), 1, 1).expect("a boundary");
    let Stage::Local(stage) = boundary.input_stage() else {
        panic!("a new stage is local");
    };
    let mut stage = stage.clone();
    stage.num = 1;
    let sent = boundary
        .with_input_stage(Stage::Local(stage))
        .expect("a plan");
    let node = PhysicalPlanNode::decode(&encoded(sent)[..]).expect("a plan");
    let Some(PhysicalPlanType::Extension(node)) = node.physical_plan_type else {
        panic!("a network node is an extension");
    };
    // Without its input, the engine takes the stage for one at other workers.
    let node = PhysicalExtensionNode {
        inputs: Vec::new(),
        ..node
    };
    PhysicalPlanNode {
        physical_plan_type: Some(PhysicalPlanType::Extension(node)),
    }
    .encode_to_vec()
}

/// The plans that are not run here, by name: every kind that the engine knows but the leaf, and what is malformed.
fn foreign_plans() -> Vec<(String, Vec<u8>)> {
    const EXTENSION: u32 = 18;
    let kinds = (1..=39).filter(|kind| *kind != 5 && *kind != EXTENSION);
    let mut plans: Vec<(String, Vec<u8>)> = kinds
        .map(|kind| (format!("a plan of kind {kind}"), of_kind(kind, &[])))
        .collect();
    let schema = Arc::clone(&SCHEMA);
    let union = UnionExec::try_new(vec![leaf(), leaf()]).expect("a union");
    let over_leaf = CoalescePartitionsExec::new(leaf());
    let csv = b"\x0a\x20\x0a\x1e\x0a\x0b/etc/passwd";
    plans.extend(
        [
            ("no plan", Vec::new()),
            ("bytes", vec![0xff; 64]),
            ("half a leaf", encoded(leaf())[..20].to_vec()),
            ("an empty leaf", of_kind(EXTENSION, &[])),
            ("no rows", encoded(Arc::new(EmptyExec::new(schema)))),
            ("a node over the leaf", encoded(Arc::new(over_leaf))),
            ("two leaves", encoded(union)),
            ("a network node to another address", network_node()),
            ("a scan of a file", of_kind(2, csv)),
            ("a leaf with an input", {
                let mut content = PhysicalPlanNode::decode(&encoded(leaf())[..]).expect("a plan");
                if let Some(PhysicalPlanType::Extension(node)) = &mut content.physical_plan_type {
                    node.inputs.push(PhysicalPlanNode::default());
                }
                content.encode_to_vec()
            }),
            ("300 nodes deep", nested(300, encoded(leaf()))),
        ]
        .map(|(name, plan)| (name.to_owned(), plan)),
    );
    plans
}

fn key() -> TaskKey {
    TaskKey {
        query_id: Uuid::new_v4(),
        stage_id: 1,
        task_number: 0,
    }
}

/// A plan with one feed of `partitions` partitions.
fn set_plan(key: TaskKey, plan: Vec<u8>, partitions: usize) -> SetPlanRequest {
    let id = Uuid::new_v4();
    SetPlanRequest {
        task_key: key,
        task_count: 1,
        plan: MaybeEncoded::Encoded(plan),
        work_unit_feed_declarations: vec![WorkUnitFeedDeclaration { id, partitions }],
        target_worker_url: Url::parse("http://worker").expect("an address"),
        query_start_time_ns: 1,
    }
}

type FromWorker = BoxStream<'static, EngineResult<WorkerToCoordinatorMsg>>;

async fn send(client: &mut dyn WorkerChannel, request: SetPlanRequest) -> EngineResult<FromWorker> {
    let messages = futures_util::stream::pending::<CoordinatorToWorkerMsg>().boxed();
    let metrics = ExecutionPlanMetricsSet::new();
    let context = session().task_ctx();
    client
        .coordinator_channel(Default::default(), request, messages, metrics, &context)
        .await
}

/// The first answer of a plan's partitions.
async fn execute(
    client: &mut dyn WorkerChannel,
    key: TaskKey,
    partitions: std::ops::Range<usize>,
    head: ProducerHead,
) -> EngineResult<Option<RecordBatch>> {
    let request = ExecuteTaskRequest {
        task_key: key,
        target_partition_start: partitions.start,
        target_partition_end: partitions.end,
        producer_head: head,
    };
    let metrics = ExecutionPlanMetricsSet::new();
    let context = session().task_ctx();
    let streams = client.execute_task(Default::default(), request, metrics, &context);
    let mut streams = futures_util::stream::select_all(streams.await?);
    streams.next().await.transpose()
}

fn reason<T>(outcome: EngineResult<T>, of: &str) -> String {
    match outcome {
        Ok(_) => panic!("{of}: it is taken"),
        Err(error) => DataFusionError::to_string(&error),
    }
}

/// A question that the worker answers.
async fn ask(peer: &Peer) {
    let question = Question {
        generation: 0,
        shards: Vec::new(),
        rendered_max: 0,
        key: None,
        wanted: Arc::new(ShardRequest::Signal(SignalId::MAX)),
    };
    let answer = peer.ask(&question, Duration::from_secs(10)).await;
    assert_eq!(answer.expect("an answer"), ShardAnswer::Rows(Vec::new()));
}

async fn foreign_requests_are_refused(security: Security) {
    let listening = Listening::start(security).await;
    let peer = listening.peer();
    ask(&peer).await;
    let plans = foreign_plans();
    assert!(plans.len() >= 28, "{}", plans.len());
    for (name, plan) in plans {
        let mut client = listening.untrusted_client().await;
        let sent = send(&mut *client, set_plan(key(), plan, PARTITIONS)).await;
        let reason = reason(sent, &name);
        assert!(
            reason.contains("this port takes questions alone"),
            "{name}: {reason}"
        );
    }
    for (name, plan, partitions, expected) in [
        (
            "3,000 nodes deep",
            nested(3_000, encoded(leaf())),
            2,
            "at most 16384",
        ),
        ("100 MB", vec![0; 100_000_000], 2, "at most 16384"),
        (
            "no partition",
            encoded(leaf()),
            0,
            "one feed with 2 partitions",
        ),
        (
            "a million million partitions",
            encoded(leaf()),
            1 << 40,
            "one feed with 2 partitions",
        ),
    ] {
        let mut client = listening.untrusted_client().await;
        let sent = send(&mut *client, set_plan(key(), plan, partitions)).await;
        let reason = reason(sent, name);
        assert!(reason.contains(expected), "{name}: {reason}");
    }
    ask(&peer).await;
}

#[tokio::test]
async fn foreign_plans_are_refused_in_the_clear() {
    foreign_requests_are_refused(Security::none()).await;
}

#[tokio::test]
async fn foreign_plans_are_refused_over_tls() {
    let folder = tempfile::tempdir().expect("a folder");
    foreign_requests_are_refused(tls(folder.path())).await;
}

/// A plan is executed as it was sent, with its own partitions, at its own connection.
#[tokio::test]
async fn foreign_executions_are_refused() {
    let listening = Listening::start(Security::none()).await;
    let broadcast = ProducerHead::BroadcastExec {
        output_partitions: 1 << 40,
    };
    let repartition = ProducerHead::RepartitionExec {
        partitioning: MaybeEncoded::Encoded(vec![1; 100]),
    };
    for (partitions, head, expected) in [
        (0..2, broadcast, "fields that are not allowed"),
        (0..2, repartition, "fields that are not allowed"),
        (0..3, ProducerHead::None, "partitions 0 to 2"),
    ] {
        let (mut client, key) = (listening.untrusted_client().await, key());
        let sent = send(&mut *client, set_plan(key, encoded(leaf()), PARTITIONS)).await;
        let _channel = sent.expect("a plan");
        let reason = reason(execute(&mut *client, key, partitions, head).await, expected);
        assert!(reason.contains(expected), "{reason}");
    }
    ask(&listening.peer()).await;
}

#[tokio::test]
async fn a_connection_has_one_plan_and_no_other() {
    let listening = Listening::start(Security::none()).await;
    let (mut client, own) = (listening.untrusted_client().await, key());
    let sent = send(&mut *client, set_plan(own, encoded(leaf()), PARTITIONS)).await;
    let _channel = sent.expect("a plan");
    let second = send(&mut *client, set_plan(key(), encoded(leaf()), PARTITIONS)).await;
    let second = reason(second, "a second plan");
    assert!(second.contains("a connection has one plan"), "{second}");
    // The plan of another connection.
    let mut other = listening.untrusted_client().await;
    let channel = send(&mut *other, set_plan(key(), encoded(leaf()), PARTITIONS)).await;
    let _other_channel = channel.expect("a plan");
    let stolen = execute(&mut *other, own, 0..2, ProducerHead::None).await;
    let stolen = reason(stolen, "the plan of another");
    assert!(
        stolen.contains("the connection has no such plan"),
        "{stolen}"
    );
    let info = client.get_worker_info(GetWorkerInfoRequest {}).await;
    let info = reason(info.map(drop), "another method");
    assert!(info.contains("this port takes questions alone"), "{info}");
}

/// What the engine asks before it registers a plan, were the first check not there.
#[test]
fn the_engine_asks_for_every_node_of_a_plan() {
    let state = session();
    let handled = |plan| {
        let config = state.config();
        refuse_foreign(WorkerPlanRewriteEvent {
            plan,
            session_config: config,
        })
        .map(drop)
    };
    assert!(handled(leaf()).is_ok());
    let over_leaf = Arc::new(CoalescePartitionsExec::new(leaf()));
    let empty = Arc::new(EmptyExec::new(Arc::clone(&SCHEMA)));
    let deep = UnionExec::try_new(vec![leaf(), empty.clone()]).expect("a union");
    for plan in [over_leaf as Arc<dyn ExecutionPlan>, empty, deep] {
        let name = plan.name().to_owned();
        let reason = reason(handled(plan), &name);
        assert!(reason.contains("is not run here"), "{name}: {reason}");
    }
}

#[test]
fn plans_have_neither_files_nor_a_disk() {
    let runtime = runtime().expect("a runtime");
    for url in ["file:///etc/passwd", "s3://bucket/key"] {
        let url = Url::parse(url).expect("a URL");
        let found = runtime.object_store_registry.get_store(&url);
        assert!(reason(found, url.as_str()).contains("is not read here"));
    }
    assert!(!runtime.disk_manager.tmp_files_enabled());
    let state = state(&Arc::new(RuntimeEnv::default()));
    assert!(state.scalar_functions().is_empty() && state.aggregate_functions().is_empty());
}

/// A worker is told when a connection's certificate is no longer the one of the files.
#[tokio::test]
async fn connections_are_told_of_another_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let security = tls(folder.path());
    let former = security.current();
    let replaced = security.clone();
    let waiting = tokio::spawn(async move { replaced.replaced(former.as_ref()).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(!waiting.is_finished());
    security.read_again().expect("the same files");
    waiting.await.expect("told");
}
