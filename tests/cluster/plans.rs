//! What runs where: filters, orders and limits in the leaves, sums begun on the workers, and few rows
//! over the network.

use signaldex::cluster::{ClusterSettings, Node, NodeOptions, Security};
use signaldex::http::{Limits, Server, ServerLimits, State, Today};
use signaldex::{Filter, Query};
use tokio::net::TcpListener;

use crate::client;
use crate::fixture::{Fixture, NAMES, TODAY, settings_path, write_settings};

const SHARDS: u32 = 5;

/// Three nodes in one process, and a server in front of the first.
struct Nodes {
    fixture: Fixture,
    nodes: Vec<Node>,
    address: std::net::SocketAddr,
}

impl Nodes {
    async fn start() -> Nodes {
        let fixture = Fixture::new();
        fixture.generate("corpus", 2_000, 3);
        fixture.publish("corpus", SHARDS, "store");
        let mut listeners = Vec::new();
        for _ in NAMES {
            listeners.push(TcpListener::bind("127.0.0.1:0").await.expect("a port"));
        }
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let ports: Vec<u16> = listeners.iter().map(port).collect();
        let path = settings_path(&fixture, "cluster");
        write_settings(&path, &fixture.path("store"), 1, &ports);
        let mut nodes = Vec::new();
        for (name, listener) in NAMES.into_iter().zip(listeners) {
            let settings = ClusterSettings::read(&path).expect("a cluster");
            let options = NodeOptions::new(fixture.path(name));
            let node = Node::start(settings, name, listener, Security::none(), options);
            nodes.push(node.await.expect("a node"));
        }
        while nodes.iter().any(|node| node.error().is_some()) {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let state = State::open(fixture.path("state.db")).expect("a state");
        let service = nodes[0].service(state, Today::Fixed(TODAY), Limits::default());
        let server = Server::new(service.expect("a service"), ServerLimits::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(server.run(listener, std::future::pending()));
        Nodes {
            fixture,
            nodes,
            address,
        }
    }

    /// The rows that crossed the network to answer this.
    async fn rows_of(&self, target: &str) -> u64 {
        let before = self.nodes[0].rows_received();
        let (address, target) = (self.address, target.to_owned());
        let authorization = format!("Bearer {}", self.fixture.key);
        let answer = tokio::task::spawn_blocking(move || {
            let headers = [("authorization", authorization.as_str())];
            client::request(address, "GET", &target, &headers)
        });
        assert_eq!(answer.await.expect("an answer").status, 200);
        self.nodes[0].rows_received() - before
    }
}

/// The part of a drawn plan above the network, and what runs on the workers.
fn stages(plan: &str) -> (&str, &str) {
    plan.split_once("Stage 1 ──").expect("two stages")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn filter_order_and_limit_are_in_the_leaf_and_sums_begin_on_the_workers() {
    let nodes = Nodes::start().await;
    let query = Query::parse("q=raises \"series a\"&country=germany&limit=7").expect("a query");
    let plan = nodes.nodes[0].explain(&query, TODAY).await.expect("a plan");
    println!("{plan}");
    let (coordinator, workers) = stages(&plan);
    assert!(
        coordinator.contains("SortPreservingMergeExec: [id@0 DESC"),
        "{plan}"
    );
    assert!(coordinator.contains("fetch=8"), "{plan}");
    assert!(workers.contains("SignalsExec"), "{plan}");
    assert!(
        workers.contains("filter=[all=raises,series a&country=germany], limit=8"),
        "{plan}"
    );
    for operator in ["SortExec", "FilterExec", "CoalesceBatches", "Repartition"] {
        assert!(!plan.contains(operator), "{operator}: {plan}");
    }
    let count = Query::parse("q=raises&countOnly=true").expect("a query");
    let count = nodes.nodes[0].explain(&count, TODAY).await.expect("a plan");
    let filter = Filter::parse("q=raises").expect("a filter");
    let facets = nodes.nodes[0]
        .explain_facets(&filter, TODAY)
        .await
        .expect("a plan");
    for (plan, leaf) in [
        (count, "count, filter=[all=raises]"),
        (facets, "facets, filter=[all=raises]"),
    ] {
        println!("{plan}");
        let (coordinator, workers) = stages(&plan);
        assert!(coordinator.contains("AggregateExec: mode=Final"), "{plan}");
        assert!(workers.contains("AggregateExec: mode=Partial"), "{plan}");
        assert!(workers.contains(leaf), "{plan}");
        assert!(
            !plan.contains("SortExec") && !plan.contains("FilterExec"),
            "{plan}"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_most_a_page_and_one_row_of_each_shard_crosses_the_network() {
    let nodes = Nodes::start().await;
    for limit in [1, 7, 50] {
        for filter in ["", "&q=raises", "&q=new&days=90", "&country=germany"] {
            let rows = nodes
                .rows_of(&format!("/api/v1/signals?limit={limit}{filter}"))
                .await;
            assert!(
                rows <= u64::from(SHARDS) * (limit + 1),
                "{limit} {filter}: {rows}"
            );
        }
    }
    let rows = nodes.rows_of("/api/v1/signals?limit=50").await;
    assert!(
        rows > 50,
        "the cluster's nodes are asked, not this one alone: {rows}"
    );
    let counts = nodes
        .rows_of("/api/v1/signals?countOnly=true&q=raises")
        .await;
    // A sum for each partition, of which some are empty.
    assert!(counts <= u64::from(3 * SHARDS), "{counts}");
    println!("rows over the network: {rows} for a page of 50, {counts} for a count");
}
