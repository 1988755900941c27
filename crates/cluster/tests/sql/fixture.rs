//! Nodes of one process, each with a listener for SQL, and clients of them.

use std::net::TcpListener as StdListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures_util::future::join_all;
use futures_util::{StreamExt, TryStreamExt, stream};
use signaldex::json::Sink;
use signaldex::replicate::{PublishOptions, Store};
use signaldex::{Company, Index, Signal, Snapshot, sample};
use signaldex_cluster::{
    ClusterSettings, Node, NodeOptions, NodeReader, Security, ShardFolder, ShardUpdate, Splitter,
    publish_cluster,
};
use signaldex_sql::{
    Database, FlightHost, FlightOptions, FlightServer, RemoteShards, ShardScan, SqlCorpus,
    SqlError, StatementLimits,
};
use tempfile::TempDir;
use time::Date;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

use crate::sql_nodes::{corpus_of, scanner};

const TOKEN: &str = "sdxadmin_a-token-of-the-tests";
pub(crate) const SHARDS: u32 = 7;

pub(crate) type Rows = Vec<Vec<String>>;
pub(crate) type Client = FlightSqlServiceClient<Channel>;

/// Asks all nodes by one of them.
struct Host {
    reader: NodeReader,
    timeout: Duration,
    gate: Option<&'static Gate>,
}

/// Where statements wait before they ask other nodes for rows.
pub(crate) struct Gate {
    pub(crate) open: Semaphore,
    /// Scans that have come to it.
    pub(crate) arrived: AtomicUsize,
    /// Whether statements keep their generation.
    keeps: bool,
}

/// Shards at other nodes, behind a gate.
struct GatedShards {
    shards: Arc<dyn RemoteShards>,
    gate: &'static Gate,
}

impl Gate {
    /// A closed one.
    pub(crate) fn new(keeps: bool) -> &'static Gate {
        Box::leak(Box::new(Gate {
            open: Semaphore::new(0),
            arrived: AtomicUsize::new(0),
            keeps,
        }))
    }
}

impl RemoteShards for GatedShards {
    fn name(&self) -> &str {
        self.shards.name()
    }

    fn rows(&self, scan: &ShardScan) -> SendableRecordBatchStream {
        let (rows, gate) = (self.shards.rows(scan), self.gate);
        let schema = rows.schema();
        let rows = stream::once(async move {
            gate.arrived.fetch_add(1, Ordering::SeqCst);
            gate.open.acquire().await.expect("a gate").forget();
            rows
        });
        Box::pin(RecordBatchStreamAdapter::new(schema, rows.flatten()))
    }

    fn keep(&self) -> Box<dyn Send + Sync> {
        if self.gate.keeps {
            self.shards.keep()
        } else {
            Box::new(())
        }
    }
}

impl FlightHost for Host {
    fn corpus(&self) -> Result<SqlCorpus, SqlError> {
        let mut corpus = corpus_of(&self.reader, self.timeout)?;
        if let Some(gate) = self.gate {
            let gated =
                |shards| -> Arc<dyn RemoteShards> { Arc::new(GatedShards { shards, gate }) };
            corpus.elsewhere = corpus.elsewhere.into_iter().map(gated).collect();
        }
        Ok(corpus)
    }

    fn today(&self) -> Date {
        sample::AS_OF
    }

    fn is_admin(&self, secret: &str) -> Result<bool, SqlError> {
        Ok(secret == TOKEN)
    }
}

/// A node with its listener for SQL.
pub(crate) struct SqlNode {
    pub(crate) node: Node,
    _server: FlightServer,
    pub(crate) client: Client,
}

/// Some nodes over the shards of a corpus.
pub(crate) struct Nodes {
    pub(crate) nodes: Vec<SqlNode>,
    folder: TempDir,
}

/// How nodes are started.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) replicas: usize,
    /// The node that takes no scans.
    pub(crate) without_sql: Option<usize>,
    pub(crate) options: FlightOptions,
    pub(crate) gate: Option<&'static Gate>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            replicas: 1,
            without_sql: None,
            options: FlightOptions::default(),
            gate: None,
        }
    }
}

impl Nodes {
    /// Three nodes over seven shards of a snapshot's records.
    pub(crate) async fn start(snapshot: &Snapshot, setup: Setup) -> Nodes {
        let folder = tempfile::tempdir().expect("a folder");
        let parts = folder.path().join("parts");
        let mut splitter = Splitter::new(&parts, SHARDS).expect("shards");
        for company in snapshot.scan_companies() {
            let company: Company<'_> = company.expect("a record");
            splitter.add_company(&company).expect("a company");
        }
        for found in snapshot.scan() {
            let signal: Signal<'_> = found.expect("a record").signal;
            splitter.add_signal(&signal).expect("a signal");
        }
        splitter.finish().expect("shards");
        publish(folder.path()).await;
        let mut listeners = Vec::new();
        for _ in 0..3 {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.expect("a port"));
        }
        let listed = |(number, listener): (usize, &TcpListener)| {
            let address = listener.local_addr().expect("an address");
            format!(r#"{{"name": "node-{number}", "address": "{address}"}}"#)
        };
        let listed: Vec<String> = listeners.iter().enumerate().map(listed).collect();
        let settings = format!(
            r#"{{"store": {:?}, "replicas": {}, "nodes": [{}]}}"#,
            folder.path().join("store"),
            setup.replicas,
            listed.join(", ")
        );
        let settings = ClusterSettings::parse(&settings).expect("settings");
        let starting = listeners.into_iter().enumerate();
        let starting = starting.map(|(number, listener)| {
            let cache = folder.path().join(format!("cache-{number}"));
            SqlNode::start(settings.clone(), number, listener, cache, setup)
        });
        let nodes = join_all(starting).await;
        let nodes = Nodes { nodes, folder };
        nodes.ready(setup).await;
        nodes
    }

    /// Waits until every node knows of one for each shard, which also takes scans unless the only replica does not.
    async fn ready(&self, setup: Setup) {
        let takes_scans = setup.without_sql.is_none() || setup.replicas > 1;
        let is_ready = |node: &SqlNode| {
            node.node.error().is_none() && (!takes_scans || node.node.shards().is_ok())
        };
        for _ in 0..200 {
            if self.nodes.iter().all(is_ready) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("the nodes do not get ready");
    }

    /// Changes the shards, and publishes them.
    pub(crate) async fn publish(&self, signal: &Signal<'static>) {
        let folder = ShardFolder::open(self.folder.path().join("parts")).expect("shards");
        let mut update = ShardUpdate::begin(&folder).expect("an update");
        update.add_signal(signal).expect("a signal");
        update.commit().expect("a commit");
        publish(self.folder.path()).await;
    }
}

async fn publish(folder: &Path) {
    let store = folder.join("store");
    std::fs::create_dir_all(&store).expect("a folder");
    let store = Store::open(&store.to_string_lossy()).expect("a store");
    let parts = folder.join("parts");
    let published = publish_cluster(&parts, &store, PublishOptions::default());
    published.await.expect("a generation");
}

impl SqlNode {
    async fn start(
        settings: ClusterSettings,
        number: usize,
        listener: TcpListener,
        cache: std::path::PathBuf,
        setup: Setup,
    ) -> SqlNode {
        let scanner = (setup.without_sql != Some(number)).then(|| scanner(setup.options));
        let options = NodeOptions {
            scanner,
            interval: Duration::from_millis(100),
            ..NodeOptions::new(cache)
        };
        let name = format!("node-{number}");
        let node = Node::start(settings, &name, listener, Security::none(), options).await;
        let node = node.expect("a node");
        let host = Host {
            reader: node.reader(),
            timeout: setup.options.timeout,
            gate: setup.gate,
        };
        let listener = StdListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let server = FlightServer::start(listener, None, host, setup.options).expect("threads");
        let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
        let endpoint = endpoint.timeout(Duration::from_secs(120));
        let mut client =
            FlightSqlServiceClient::new(endpoint.connect().await.expect("a connection"));
        client.set_token(TOKEN.to_owned());
        SqlNode {
            node,
            _server: server,
            client,
        }
    }

    /// The rows of a statement as texts.
    pub(crate) async fn ask(&self, statement: &str) -> Result<Rows, Status> {
        let mut client = self.client.clone();
        let rows = async {
            let info = client.execute(statement.to_owned(), None).await?;
            let ticket = info.endpoint[0].ticket.clone().expect("a ticket");
            let batches: Vec<RecordBatch> = client.do_get(ticket).await?.try_collect().await?;
            Ok::<Rows, FlightError>(batches.iter().flat_map(texts).collect())
        };
        rows.await.map_err(Status::from)
    }

    pub(crate) async fn answer(&self, statement: &str) -> Rows {
        let rows = self.ask(statement).await;
        rows.unwrap_or_else(|status| panic!("{statement}: {status}"))
    }

    pub(crate) async fn refusal(&self, statement: &str) -> Status {
        match self.ask(statement).await {
            Ok(rows) => panic!("{statement}: {} rows", rows.len()),
            Err(status) => status,
        }
    }
}

/// The rows of a statement over one index.
pub(crate) fn answer_of(index: &Index, statement: &str) -> Rows {
    let limits = StatementLimits::default();
    let database = Database::new(vec![index.snapshot()], sample::AS_OF, limits).expect("tables");
    let runtime = signaldex_sql::runtime(1).expect("threads");
    let mut rows = Vec::new();
    let ran = database.run(&runtime, statement, |batch| {
        rows.extend(texts(batch));
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{statement}: {error}"));
    rows
}

fn texts(batch: &RecordBatch) -> Rows {
    let options = FormatOptions::default().with_null("null");
    let columns = batch.columns().iter();
    let columns: Vec<ArrayFormatter<'_>> = columns
        .map(|column| ArrayFormatter::try_new(column, &options).expect("a type with texts"))
        .collect();
    let row = |row: usize| {
        columns
            .iter()
            .map(|column| column.value(row).to_string())
            .collect()
    };
    (0..batch.num_rows()).map(row).collect()
}
